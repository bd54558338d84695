package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Managers;
import io.undercroft.broker.TieredTopic;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.junit.jupiter.api.Test;

/** Who writes under which key, looked up in the topic itself. About a minute. */
class LeaderKeysIT {
    @Test
    void two_leaders_never_share_a_key_while_leadership_moves_under_load() throws Exception {
        try (Cluster cluster = new Cluster("leader-keys", new Cluster.Wish()).start();
                TieredTopic topic = TieredTopic.create(cluster, "keys", 2, 1 << 20, 1000)) {
            for (int round = 0; round < 6; round++) {
                // Half of a segment each: leaders change while one is copied, and while none is.
                topic.produce(round % 2 == 0 ? 1_600 : 500);
                for (int partition = 0; partition < 2; partition++) {
                    cluster.lead(topic.name(), partition, 1 + (round + partition) % 3);
                }
            }
            topic.awaitOnlyRemote(Cluster.SOON);
            List<MetadataTopic.Line> lines = MetadataTopic.read(cluster.bootstrap());
            assertTrue(writers(lines).size() > 2, () -> "only these wrote: " + writers(lines));
            mustHaveEpochsOfTheirOwn(lines);
            assertEquals(Map.of(), MetadataTopic.sharedKeys(lines));
        }
    }

    @Test
    void a_zombie_that_adds_what_the_new_leader_has_copied_already_writes_under_no_key_of_its() throws Exception {
        try (Cluster cluster = new Cluster("zombie-keys", new Cluster.Wish())) {
            Gates gates = new Gates(cluster.folder.resolve("gates-1"));
            cluster.broker(1).replace(Managers.gated(gates.folder()));
            cluster.start();
            try (TieredTopic topic = TieredTopic.create(cluster, "zombie", 1, 1 << 20, 1000)) {
                cluster.lead(topic.name(), 0, 1);
                gates.hold("add-before", topic.name());
                topic.produce(2_200);
                gates.awaitReached("add-before", topic.name());
                cluster.broker(1).pause();
                cluster.awaitLeader(topic.name(), 0, leader -> leader != 1, "another than broker 1");
                Await.until("the new leader to have copied the segment", Cluster.SOON,
                        () -> topic.offsets(OffsetSpec.latestTiered()).get(0) > 1_500);
                gates.open();
                cluster.broker(1).resume();
                cluster.awaitInSync();
                topic.awaitOnlyRemote(Cluster.SOON);
                List<MetadataTopic.Line> lines = MetadataTopic.read(cluster.bootstrap());
                mustHaveEpochsOfTheirOwn(lines);
                assertEquals(Map.of(), MetadataTopic.sharedKeys(lines));
                assertTrue(topic.readAll(Cluster.SOON).right(), cluster::logTail);
            }
        }
    }

    /** A base key's epoch is its writer's: no other broker may ever have added under it. */
    private static void mustHaveEpochsOfTheirOwn(List<MetadataTopic.Line> lines) {
        Map<String, Integer> owners = new HashMap<>();
        for (MetadataTopic.Line line : lines) {
            if (line.isAdd()) {
                String[] parts = line.key().split(":");
                String epoch = line.topic() + "-" + line.userPartition() + " epoch " + parts[4];
                assertTrue(Integer.parseInt(parts[4]) >= 0, line::key);
                Integer owner = owners.putIfAbsent(epoch, line.broker());
                assertTrue(owner == null || owner == line.broker(), () -> epoch + " is used by brokers " + owner + " and " + line.broker());
            }
        }
    }

    private static Set<Integer> writers(List<MetadataTopic.Line> lines) {
        Set<Integer> writers = new TreeSet<>();
        lines.stream().filter(MetadataTopic.Line::isAdd).forEach(l -> writers.add(l.broker()));
        return writers;
    }
}
