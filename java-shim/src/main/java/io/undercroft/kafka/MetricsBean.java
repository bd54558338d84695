package io.undercroft.kafka;

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Metrics of one manager as {@code undercroft:type=storage|metadata,broker-id=…,instance=…}, every value a double.
 *
 * <p>A bean of our own: behind a {@code …class.path} a broker offers no plugin metrics, and before 4.1 it has none. What
 * exists once for each topic is a {@link LabelledBean} of its own.
 */
final class MetricsBean extends ReadOnlyBean {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsBean.class);
    private static final int INSTANCES_MAX = 10_000;
    /** So often a read begins again because a metric came or went meanwhile. */
    private static final int READS_MAX = 5;

    private final long metrics;
    private final Map<String, Integer> indexes = new LinkedHashMap<>();
    /** By what the core calls them; the number is where their values stand. */
    private final Map<String, LabelledBean> labelled = new HashMap<>();
    private final Map<LabelledBean, Integer> places = new HashMap<>();
    private ObjectName name;
    private long generation;
    private int count;
    private boolean freed;

    /** Takes over the handle. */
    private MetricsBean(long metrics) {
        this.metrics = metrics;
    }

    /** Registers a bean; null, and a warning, where that is not possible: no broker fails to start for its metrics. */
    static MetricsBean register(String type, String brokerId, long metrics) {
        MetricsBean bean = new MetricsBean(metrics);
        try {
            synchronized (bean) {
                Map<String, Map<String, String>> ofTopics = bean.describe();
                bean.name = bean.registerUnderFreeName(type, brokerId);
                bean.follow(ofTopics);
            }
            return bean;
        } catch (NativeException | JMException | RuntimeException failed) {
            LOG.warn("No metrics of the {} side in JMX", type, failed);
            bean.unregister();
            return null;
        }
    }

    /** Lets beans come and go with the metrics of the core. Cheap if none has. */
    synchronized void refresh() {
        try {
            if (!freed && NativeMetrics.generation(metrics) != generation) {
                follow(describe());
            }
        } catch (NativeException | RuntimeException failed) {
            LOG.debug("Metrics could not be described again", failed);
        }
    }

    void unregister() {
        synchronized (this) {
            if (freed) {
                return;
            }
            labelled.values().forEach(LabelledBean::unregister);
            labelled.clear();
            if (name != null) {
                unregister(name);
            }
            freed = true;
            NativeMetrics.free(metrics);
        }
    }

    static void unregister(ObjectName name) {
        try {
            ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
        } catch (JMException | RuntimeException gone) {
            LOG.debug("{} was not registered any more", name, gone);
        }
    }

    ObjectName name() {
        return name;
    }

    /** Value of a metric that has a label; null if it is gone. */
    synchronized Double valueOf(LabelledBean bean) throws NativeException {
        double[] values = read();
        Integer place = places.get(bean);
        return place == null || place >= values.length ? null : values[place];
    }

    /** What there is now: the metrics that always exist become attributes, the others are given back by their names. */
    private Map<String, Map<String, String>> describe() throws NativeException {
        // Before the description: a change between the two shows as another generation, and is looked at again.
        long of = NativeMetrics.generation(metrics);
        Map<String, Map<String, String>> ofTopics = new LinkedHashMap<>();
        String text = new String(NativeMetrics.describe(metrics), StandardCharsets.UTF_8);
        int place = 0;
        boolean isFirst = attributes().isEmpty();
        for (Map<String, String> one : Json.objects(text)) {
            if (one.containsKey("label.value")) {
                one.put("place", Integer.toString(place));
                ofTopics.put(one.get("name") + " " + one.get("label.value"), one);
            } else if (isFirst) {
                indexes.put(one.get("name"), place);
                attributes().add(new MBeanAttributeInfo(one.get("name"), "double", one.get("kind") + ": " + one.get("text"),
                    true, false, false));
            }
            place++;
        }
        generation = of;
        count = place;
        return ofTopics;
    }

    private void follow(Map<String, Map<String, String>> ofTopics) {
        labelled.entrySet().removeIf(known -> {
            boolean gone = !ofTopics.containsKey(known.getKey());
            if (gone) {
                known.getValue().unregister();
            }
            return gone;
        });
        places.clear();
        ofTopics.forEach((key, one) -> {
            LabelledBean bean = labelled.computeIfAbsent(key, unknown -> LabelledBean.register(this, one));
            places.put(bean, Integer.valueOf(one.get("place")));
        });
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

    /** Values in the order of the last description, which is made anew if it isn't the order any more. */
    private double[] read() throws NativeException {
        for (int i = 0; i < READS_MAX && !freed; i++) {
            double[] values = new double[count];
            NativeMetrics.read(metrics, values);
            if (NativeMetrics.generation(metrics) == generation) {
                return values;
            }
            follow(describe());
        }
        return new double[count];
    }

    /** All numbers as of now: by their names, those with a label as {@code name label}. */
    synchronized Map<String, Double> numbers() throws NativeException {
        double[] values = read();
        Map<String, Double> named = new HashMap<>();
        indexes.forEach((metric, index) -> named.put(metric, values[index]));
        labelled.forEach((key, bean) -> {
            Integer place = places.get(bean);
            if (place != null && place < values.length) {
                named.put(key, values[place]);
            }
        });
        return named;
    }

    @Override
    synchronized Map<String, Object> values() throws NativeException {
        double[] values = read();
        Map<String, Object> named = new HashMap<>();
        indexes.forEach((metric, index) -> named.put(metric, values[index]));
        return named;
    }

    @Override
    String description() {
        return "Metrics of Undercroft";
    }
}
