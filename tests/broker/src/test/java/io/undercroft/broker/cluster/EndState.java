package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.Jmx;
import io.undercroft.broker.TieredTopic;
import java.time.Duration;
import java.util.Map;

/** How all must end, whatever happened: all can be read, nothing lies in the store that shouldn't, nothing is left to do. */
final class EndState {
    /** Longer than all that is waited for: a lease, a grace, a topic that must be missing twice, the two minutes after a copy. */
    static final Duration LIMIT = Duration.ofSeconds(200);

    private EndState() {}

    /** Minutes and hours become seconds. */
    static Cluster.Wish hasty(Cluster.Wish wish) {
        return wish.with("rlmm.config.undercroft.metadata.upkeep.interval.ms", "1000")
                .with("rlmm.config.undercroft.metadata.upkeep.grace.ms", "2000")
                .with("rlmm.config.undercroft.metadata.copy.lease.ms", "25000");
    }

    static void await(Cluster cluster, TieredTopic topic) throws Exception {
        topic.awaitOnlyRemote(LIMIT);
        awaitExact(cluster, topic.name());
        TieredTopic.Reading r = topic.readAll(LIMIT);
        assertNull(r.wrong(), () -> r.wrong() + "\n" + cluster.logTail());
        assertTrue(r.complete(), () -> r.records() + " of " + topic.records() + "\n" + cluster.logTail());
    }

    /** For a topic all of whose segments should be gone. */
    static void awaitNothingOf(Cluster cluster, String topic) throws Exception {
        awaitExact(cluster, topic);
        Await.until("no object of " + topic, LIMIT, () -> cluster.store.objects().keySet().stream().noneMatch(o -> o.contains(topic + "-")));
    }

    private static void awaitExact(Cluster cluster, String topic) throws Exception {
        Stores.awaitExactlyLive(cluster, topic, LIMIT);
        for (int id : cluster.ids()) {
            Broker broker = cluster.broker(id);
            Await.until("nothing to dangle on broker " + id, LIMIT, () -> dangling(broker, topic) == 0);
        }
    }

    /** What the broker's gauge says of a topic; 0 if it has none. */
    static double dangling(Broker broker, String topic) throws Exception {
        return danglingGauge(broker, topic).getOrDefault("Value", 0.0);
    }

    /** The gauge's attribute {@code Value}, if the broker leads a partition of the topic. */
    static Map<String, Double> danglingGauge(Broker broker, String topic) throws Exception {
        return Jmx.numbers(broker.jmxPort(), "kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogCount,topic=" + topic);
    }
}
