package io.undercroft.kafka;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A metric of one topic, with the attribute {@code Value} that Kafka's gauges have.
 *
 * <p>It goes by the name that Kafka has for such a metric, so that what watches a cluster finds it. Kafka's names do not
 * tell the managers of one JVM apart, and a broker may have such a metric itself: where the name is taken, the metric is
 * found under its manager's own.
 */
final class LabelledBean extends ReadOnlyBean {
    private static final Logger LOG = LoggerFactory.getLogger(LabelledBean.class);
    private static final String VALUE = "Value";

    private final MetricsBean owner;
    private final String text;
    private ObjectName name;

    private LabelledBean(MetricsBean owner, Map<String, String> described) {
        this.owner = owner;
        this.text = described.get("text");
        attributes().add(new MBeanAttributeInfo(VALUE, Object.class.getName(), described.get("kind") + ": " + text, true, false, false));
    }

    /** A bean of what the core described; registered, or a warning in the log. */
    static LabelledBean register(MetricsBean owner, Map<String, String> described) {
        LabelledBean bean = new LabelledBean(owner, described);
        try {
            for (ObjectName candidate : names(owner.name(), described)) {
                if (bean.isRegisteredAs(candidate)) {
                    return bean;
                }
            }
        } catch (JMException | RuntimeException failed) {
            LOG.warn("No metric {} of {} in JMX", described.get("name"), described.get("label.value"), failed);
        }
        return bean;
    }

    private boolean isRegisteredAs(ObjectName candidate) throws JMException {
        try {
            ManagementFactory.getPlatformMBeanServer().registerMBean(this, candidate);
            name = candidate;
            return true;
        } catch (InstanceAlreadyExistsException taken) {
            LOG.debug("{} is taken", candidate);
            return false;
        }
    }

    private static List<ObjectName> names(ObjectName owner, Map<String, String> described) throws MalformedObjectNameException {
        String value = described.get("label.value");
        String label = "," + described.get("label.name") + "=" + (value.matches("[\\w.-]+") ? value : ObjectName.quote(value));
        List<ObjectName> names = new ArrayList<>();
        if (described.containsKey("mbean")) {
            names.add(new ObjectName(described.get("mbean") + label));
        }
        names.add(new ObjectName(owner + ",name=" + described.get("name") + label));
        return names;
    }

    void unregister() {
        if (name != null) {
            MetricsBean.unregister(name);
            name = null;
        }
    }

    /** A metric that is gone and whose bean goes in a moment has counted down to nothing. */
    @Override
    Map<String, Object> values() throws NativeException {
        Double value = owner.valueOf(this);
        return Map.of(VALUE, value == null ? 0L : value.longValue());
    }

    @Override
    String description() {
        return text;
    }
}
