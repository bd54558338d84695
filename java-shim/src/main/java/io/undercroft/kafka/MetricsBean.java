package io.undercroft.kafka;

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.ReflectionException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Metrics of one manager as {@code undercroft:type=storage|metadata,broker-id=…,instance=…}, every value a double.
 *
 * <p>A bean of our own: behind a {@code …class.path} a broker offers no plugin metrics, and before 4.1 it has none.
 */
final class MetricsBean implements DynamicMBean {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsBean.class);
    private static final int INSTANCES_MAX = 10_000;

    private final long metrics;
    private final Map<String, Integer> indexes = new LinkedHashMap<>();
    private final MBeanInfo info;
    private ObjectName name;
    private boolean freed;

    /** Takes over the handle. */
    private MetricsBean(long metrics) throws NativeException {
        this.metrics = metrics;
        List<Map<String, String>> described =
            Json.objects(new String(NativeMetrics.describe(metrics), StandardCharsets.UTF_8));
        MBeanAttributeInfo[] attributes = new MBeanAttributeInfo[described.size()];
        for (int i = 0; i < attributes.length; i++) {
            Map<String, String> one = described.get(i);
            indexes.put(one.get("name"), i);
            attributes[i] = new MBeanAttributeInfo(one.get("name"), "double",
                one.get("kind") + ": " + one.get("text"), true, false, false);
        }
        info = new MBeanInfo(MetricsBean.class.getName(), "Metrics of Undercroft", attributes, null, null, null);
    }

    /** Registers a bean; null, and a warning, where that is not possible: no broker fails to start for its metrics. */
    static MetricsBean register(String type, String brokerId, long metrics) {
        MetricsBean bean = null;
        try {
            bean = new MetricsBean(metrics);
            bean.name = bean.registerUnderFreeName(type, brokerId);
            return bean;
        } catch (NativeException | JMException | RuntimeException failed) {
            LOG.warn("No metrics of the {} side in JMX", type, failed);
            NativeMetrics.free(metrics);
            return null;
        }
    }

    void unregister() {
        try {
            ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
        } catch (JMException | RuntimeException gone) {
            LOG.debug("{} was not registered any more", name, gone);
        }
        synchronized (this) {
            freed = true;
            NativeMetrics.free(metrics);
        }
    }

    ObjectName name() {
        return name;
    }

    /** Several managers live in one JVM, behind several class loaders: the server's own names tell which are taken. */
    private ObjectName registerUnderFreeName(String type, String brokerId) throws JMException {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        for (int instance = 0; instance < INSTANCES_MAX; instance++) {
            ObjectName candidate = name(type, brokerId, instance);
            try {
                server.registerMBean(this, candidate);
                return candidate;
            } catch (InstanceAlreadyExistsException taken) {
                LOG.trace("{} is taken", candidate);
            }
        }
        throw new JMException("all names are taken");
    }

    private static ObjectName name(String type, String brokerId, int instance) throws MalformedObjectNameException {
        String id = brokerId.matches("-?\\w+") ? brokerId : ObjectName.quote(brokerId);
        return new ObjectName("undercroft:type=" + type + ",broker-id=" + id + ",instance=" + instance);
    }

    private synchronized double[] read() throws ReflectionException {
        double[] values = new double[indexes.size()];
        if (freed) {
            return values;
        }
        try {
            NativeMetrics.read(metrics, values);
            return values;
        } catch (NativeException failed) {
            throw new ReflectionException(new IllegalStateException(failed.toString()));
        }
    }

    @Override
    public Object getAttribute(String attribute) throws AttributeNotFoundException, ReflectionException {
        Integer index = indexes.get(attribute);
        if (index == null) {
            throw new AttributeNotFoundException(attribute);
        }
        return read()[index];
    }

    @Override
    public AttributeList getAttributes(String[] attributes) {
        AttributeList list = new AttributeList();
        try {
            double[] values = read();
            for (String attribute : attributes) {
                Integer index = indexes.get(attribute);
                if (index != null) {
                    list.add(new Attribute(attribute, values[index]));
                }
            }
        } catch (ReflectionException failed) {
            LOG.debug("Metrics could not be read", failed);
        }
        return list;
    }

    @Override
    public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
        throw new AttributeNotFoundException(attribute.getName() + " is read-only");
    }

    @Override
    public AttributeList setAttributes(AttributeList attributes) {
        return new AttributeList();
    }

    @Override
    public Object invoke(String action, Object[] parameters, String[] signature) throws ReflectionException {
        throw new ReflectionException(new NoSuchMethodException(action));
    }

    @Override
    public MBeanInfo getMBeanInfo() {
        return info;
    }
}
