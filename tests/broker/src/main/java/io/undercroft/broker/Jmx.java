package io.undercroft.broker;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import javax.management.Attribute;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Numbers out of a broker's JMX. */
public final class Jmx {
    private Jmx() {}

    /** All numeric attributes of the MBeans that match, summed over the MBeans, by attribute name. */
    public static Map<String, Double> numbers(int port, String pattern) throws IOException, JMException {
        JMXServiceURL url = new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:" + port + "/jmxrmi");
        Map<String, Double> sums = new TreeMap<>();
        try (JMXConnector connector = JMXConnectorFactory.connect(url)) {
            MBeanServerConnection server = connector.getMBeanServerConnection();
            for (ObjectName name : server.queryNames(new ObjectName(pattern), null)) {
                MBeanAttributeInfo[] infos = server.getMBeanInfo(name).getAttributes();
                String[] attributes = new String[infos.length];
                for (int i = 0; i < infos.length; i++) {
                    attributes[i] = infos[i].getName();
                }
                for (Attribute a : server.getAttributes(name, attributes).asList()) {
                    if (a.getValue() instanceof Number n) {
                        sums.merge(a.getName(), n.doubleValue(), Double::sum);
                    }
                }
            }
        }
        return sums;
    }
}
