package io.undercroft.kafka;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.ObjectName;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The storage side's metrics under the names of Aiven's plugin, with {@code metrics.aiven.names=true}: dashboards and rules
 * made for it find them. All are there from the start, those of a topic from when it is first met.
 *
 * <p>Rates and averages are of the last minute, from numbers remembered every few seconds.
 */
final class AivenBeans {
    private static final Logger LOG = LoggerFactory.getLogger(AivenBeans.class);
    private static final long SAMPLE_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final String OF_A_TOPIC = "topic-";

    /** Where the numbers come from: by the core's names, those with a label as {@code name label}. */
    interface Numbers {
        Map<String, Double> now() throws NativeException;
    }

    private static final class Sample {
        private final long at;
        private final Map<String, Double> values;

        private Sample(long at, Map<String, Double> values) {
            this.at = at;
            this.values = values;
        }
    }

    private final Numbers numbers;
    private final LongSupplier nanos;
    private final List<AivenTable.Bean> table;
    private final Deque<Sample> samples = new ArrayDeque<>();
    private final Map<String, One> registered = new HashMap<>();
    private boolean closed;

    private AivenBeans(Numbers numbers, LongSupplier nanos, List<AivenTable.Bean> table) {
        this.numbers = numbers;
        this.nanos = nanos;
        this.table = table;
    }

    /** Registers the beans for a store; null, and a warning, where that is not possible. */
    static AivenBeans register(Numbers numbers, String backend, LongSupplier nanos) {
        try {
            List<AivenTable.Bean> table = new ArrayList<>(AivenTable.read());
            table.removeIf(bean -> !bean.isOf(backend));
            AivenBeans beans = new AivenBeans(numbers, nanos, table);
            beans.refresh();
            return beans;
        } catch (IOException | RuntimeException failed) {
            LOG.warn("No metrics under the names of Aiven's plugin in JMX", failed);
            return null;
        }
    }

    /** Remembers numbers, and lets the beans of new topics come. To be called about once a second. */
    synchronized void refresh() {
        long now = nanos.getAsLong();
        if (closed || (!samples.isEmpty() && now - samples.getLast().at < SAMPLE_NANOS)) {
            return;
        }
        try {
            Map<String, Double> values = numbers.now();
            samples.addLast(new Sample(now, values));
            // The last one that is older than the window stays: what happened since is counted from there.
            while (samples.size() > 2 && now - second().at >= WINDOW_NANOS) {
                samples.removeFirst();
            }
            TreeSet<String> topics = new TreeSet<>();
            values.keySet().stream().filter(name -> name.startsWith(OF_A_TOPIC) && name.indexOf(' ') > 0)
                .forEach(name -> topics.add(name.substring(name.indexOf(' ') + 1)));
            for (AivenTable.Bean bean : table) {
                if (bean.ofTopics) {
                    topics.forEach(topic -> registered.computeIfAbsent(bean.name + " " + topic, unknown -> new One(bean, topic)));
                } else {
                    registered.computeIfAbsent(bean.name, unknown -> new One(bean, null));
                }
            }
        } catch (NativeException | RuntimeException failed) {
            LOG.debug("Metrics could not be read", failed);
        }
    }

    synchronized void unregister() {
        closed = true;
        registered.values().forEach(One::unregister);
        registered.clear();
    }

    private Sample second() {
        return samples.stream().skip(1).findFirst().orElseGet(samples::getFirst);
    }

    private synchronized double value(AivenTable.Attribute attribute, String topic, Map<String, Double> values, long now) {
        Sample before = samples.isEmpty() ? new Sample(now, values) : samples.getFirst();
        double seconds = Math.max(1, (now - before.at) / 1e9);
        double first = attribute.sources.get(0).of(values, topic);
        double grown = first - attribute.sources.get(0).of(before.values, topic);
        switch (attribute.form) {
            case RATE:
                return grown * attribute.factor / seconds;
            case AVERAGE:
                AivenTable.Source count = attribute.sources.get(1);
                return grown * attribute.factor / (count.of(values, topic) - count.of(before.values, topic));
            case TOTAL:
                double less = attribute.sources.size() > 1 ? attribute.sources.get(1).of(values, topic) : 0;
                return (first - less) * attribute.factor;
            default:
                return first * attribute.factor;
        }
    }

    /** One bean of the server's. */
    private final class One extends ReadOnlyBean {
        private final AivenTable.Bean bean;
        private final String topic;
        private ObjectName name;

        private One(AivenTable.Bean bean, String topic) {
            this.bean = bean;
            this.topic = topic;
            bean.attributes.forEach(one -> attributes().add(new MBeanAttributeInfo(one.name, "double", "", true, false, false)));
            try {
                String label = topic == null ? "" : ",topic=" + (topic.matches("[\\w.-]+") ? topic : ObjectName.quote(topic));
                ObjectName candidate = new ObjectName(bean.name + label);
                ManagementFactory.getPlatformMBeanServer().registerMBean(this, candidate);
                name = candidate;
            } catch (JMException | RuntimeException failed) {
                // Another manager of this JVM has it, or Aiven's plugin itself.
                LOG.info("{} is not ours to publish: {}", bean.name, failed.toString());
            }
        }

        private void unregister() {
            if (name != null) {
                MetricsBean.unregister(name);
            }
        }

        @Override
        Map<String, Object> values() throws NativeException {
            Map<String, Double> values = numbers.now();
            long now = nanos.getAsLong();
            Map<String, Object> named = new HashMap<>();
            bean.attributes.forEach(one -> named.put(one.name, value(one, topic, values, now)));
            return named;
        }

        @Override
        String description() {
            return "Metrics of Undercroft under the names of Aiven's plugin";
        }
    }
}
