package io.undercroft.broker;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
        Map<String, Double> sums = new TreeMap<>();
        try (JMXConnector connector = JMXConnectorFactory.connect(url(port))) {
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

    /** Names of the live threads. */
    public static List<String> threads(int port) throws IOException {
        try (JMXConnector connector = JMXConnectorFactory.connect(url(port))) {
            ThreadMXBean threads = ManagementFactory.newPlatformMXBeanProxy(connector.getMBeanServerConnection(),
                    ManagementFactory.THREAD_MXBEAN_NAME, ThreadMXBean.class);
            // A thread may end between the two questions.
            return Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds())).filter(Objects::nonNull)
                    .map(ThreadInfo::getThreadName).toList();
        }
    }

    private static JMXServiceURL url(int port) throws IOException {
        return new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:" + port + "/jmxrmi");
    }
}
