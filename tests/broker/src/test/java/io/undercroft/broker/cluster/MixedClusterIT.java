package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Broker;
import io.undercroft.broker.Jmx;
import io.undercroft.broker.Managers;
import io.undercroft.broker.TieredTopic;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Brokers with the stock metadata manager and with Undercroft's on one metadata topic. About two minutes a release. */
class MixedClusterIT {
    private static final int PARTITIONS = 2;
    private static final long EACH = 2_200; // two segments and a piece of a third

    private final Set<Integer> isStock = new TreeSet<>(List.of(1, 2, 3));

    @ParameterizedTest
    @ValueSource(strings = {"4.4.0", "3.9.2"})
    void both_sides_see_all_segments_and_live_through_a_rolling_change_to_undercroft_and_back(String kafka) throws Exception {
        Managers stock = Managers.stockMetadata();
        Managers ours = Managers.undercroft(Managers.Deployment.BROKER_PATH);
        try (Cluster cluster = new Cluster("mixed", new Cluster.Wish().kafka(kafka).managers(stock)).start();
                TieredTopic topic = TieredTopic.create(cluster, "mixed", PARTITIONS, 1 << 20, 1000)) {
            more(topic);
            // There: one broker at a time, each time with all others as they are.
            for (int id : List.of(2, 3, 1)) {
                change(cluster, id, ours);
                mustSeeAllWhoeverLeads(cluster, topic);
            }
            // And back.
            for (int id : List.of(3, 1, 2)) {
                change(cluster, id, stock);
                mustSeeAllWhoeverLeads(cluster, topic);
            }
            List<MetadataTopic.Line> lines = MetadataTopic.read(cluster.bootstrap());
            assertEquals(Map.of(), MetadataTopic.sharedKeys(lines));
            assertTrue(lines.stream().allMatch(l -> l.api() != null && l.version() == 0 && l.state() != MetadataTopic.DANGLING),
                    "something was written that a stock reader dies of");
            assertTrue(lines.stream().anyMatch(l -> l.key() != null) && lines.stream().anyMatch(l -> l.key() == null),
                    "both sides wrote");
            topic.delete();
            Stores.awaitEmpty(cluster);
        }
    }

    private void change(Cluster cluster, int id, Managers to) throws Exception {
        Broker broker = cluster.broker(id);
        broker.stop(Duration.ofSeconds(150));
        broker.replace(to);
        if (!isStock.remove(id)) {
            isStock.add(id);
        }
        broker.start();
        cluster.awaitInSync();
    }

    /** All segments read under each leader, and new ones under two of them. */
    private void mustSeeAllWhoeverLeads(Cluster cluster, TieredTopic topic) throws Exception {
        for (int id : cluster.ids()) {
            for (int partition = 0; partition < PARTITIONS; partition++) {
                cluster.lead(topic.name(), partition, id);
            }
            if (id != 2) {
                more(topic);
            }
            TieredTopic.Reading r = topic.readAll(Cluster.SOON);
            assertNull(r.wrong(), () -> r.wrong() + "\n" + cluster.logTail());
            assertTrue(r.complete(), () -> r.records() + " of " + topic.records() + " under broker " + id + "\n" + cluster.logTail());
        }
        for (int id : cluster.ids()) {
            Broker broker = cluster.broker(id);
            assertTrue(!isStock.contains(id) || Jmx.threads(broker.jmxPort()).stream().anyMatch(t -> t.contains("RLMMConsumerTask")),
                    () -> "the stock consumer of broker " + id + " is dead\n" + broker.logTail());
        }
    }

    private static void more(TieredTopic topic) throws Exception {
        topic.produce(EACH);
        topic.awaitOnlyRemote(Cluster.SOON);
    }
}
