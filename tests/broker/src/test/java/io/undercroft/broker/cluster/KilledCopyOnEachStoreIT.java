package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Mode;
import io.undercroft.broker.Place;
import io.undercroft.broker.Progress;
import io.undercroft.broker.Servers;
import io.undercroft.broker.SlowLink;
import io.undercroft.broker.Store;
import io.undercroft.broker.StoreServer;
import io.undercroft.broker.TieredTopic;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** SIGKILL while a segment's bytes are on their way into a store, in several parts where it has them; a minute and a half each. */
class KilledCopyOnEachStoreIT {
    private static final String PART_BYTES = Integer.toString(5 << 20);
    private static final Map<String, String> PART_KEYS = Map.of("s3", "s3.multipart.upload.part.size", "azure", "azure.upload.block.size",
            "gcs", "gcs.resumable.upload.chunk.size");

    /** @param segmentMiB of more than a part, compressed too, but for fake-gcs-server, which knows no parts */
    @ParameterizedTest
    @CsvSource({"s3, PLAIN, 16", "s3, SEALED, 16", "s3, AIVEN, 16", "azure, PLAIN, 16", "gcs, PLAIN, 4"})
    void a_broker_that_is_killed_in_the_middle_of_a_copy_loses_nothing_and_nothing_is_left_of_the_copy(String kind, Mode mode, int segmentMiB)
            throws Exception {
        String name = "killed-" + kind + "-" + mode.text();
        Path folder = Place.freshFolder(name);
        StoreServer server = Servers.startOrLeaveOut(kind, folder);
        // One part at a time: the first is in the store when the second is cut.
        Cluster.Wish wish = EndState.hasty(new Cluster.Wish().size(1).store(server))
                .with("rsm.config.upload.parts.in.flight", "1")
                .with("rsm.config.storage." + PART_KEYS.get(kind), PART_BYTES);
        mode.properties(folder).forEach(wish::with);
        try (SlowLink link = new SlowLink(server.port(), 0)) {
            server.properties(link.endpoint()).forEach(wish::with);
            try (Cluster cluster = new Cluster(folder, wish).start();
                    TieredTopic topic = TieredTopic.create(cluster, name, 1, segmentMiB << 20, 1000, Map.of("local.retention.ms", "3600000"))) {
                // Whoever keeps nothing locally may get small segments: the broker rolls them early, to be rid of them.
                topic.produce(segmentMiB * 1_100L);
                int each = mode.isAiven() ? 3 : 1;
                Await.until("a copied segment", Cluster.SOON, () -> server.objects().size() == each
                        && state(cluster, name, MetadataTopic.FINISHED) == 1);
                Set<String> before = server.objects().keySet();
                long adds = MetadataTopic.adds(cluster.bootstrap(), name);

                link.stickAfter((segmentMiB << 20) * 3L / 8);
                topic.produce(segmentMiB * 1_100L);
                Await.until("a copy that is stuck in the middle", Cluster.SOON, () -> link.isStuck()
                        && MetadataTopic.adds(cluster.bootstrap(), name) > adds && (!kind.equals("s3") || !unfinished(server).isEmpty()));
                mustHaveNoObjectBut(before, kind, server);
                Progress.show("%s: killing the broker", name);
                cluster.broker(1).kill();
                link.flow();
                cluster.broker(1).start();
                cluster.awaitInSync();
                mustRead(cluster, topic);

                cluster.set(name, Map.of("local.retention.ms", "1000"));
                EndState.await(cluster, topic);
                assertEquals(Map.of("Value", 0.0), EndState.danglingGauge(cluster.broker(1), name));
                assertEquals(Set.of(), unfinished(server));
                Set<String> after = server.objects().keySet();
                assertEquals(state(cluster, name, MetadataTopic.FINISHED) * each, after.size(), after::toString);
                assertTrue(after.containsAll(before), after::toString);
                topic.delete();
                EndState.awaitNothingOf(cluster, name);
                Progress.show("%s: all is read back, %d objects in the end, and none after the topic", name, after.size());
            }
        }
    }

    private static void mustHaveNoObjectBut(Set<String> known, String kind, Store store) throws IOException {
        if (kind.equals("gcs")) {
            return; // fake-gcs-server answers nobody while it takes an object
        }
        Set<String> whole = new TreeSet<>(store.objects().keySet());
        whole.removeIf(KilledCopyOnEachStoreIT::isUnfinished);
        assertEquals(known, whole, "an object that isn't whole");
    }

    private static long state(Cluster cluster, String topic, int state) {
        return MetadataTopic.segments(MetadataTopic.read(cluster.bootstrap()), topic).values().stream().filter(s -> s.state() == state).count();
    }

    private static void mustRead(Cluster cluster, TieredTopic topic) {
        TieredTopic.Reading r = topic.readAll(Cluster.SOON);
        assertNull(r.wrong(), () -> r.wrong() + "\n" + cluster.logTail());
        assertTrue(r.complete(), () -> r.records() + " of " + topic.records() + " right after the start\n" + cluster.logTail());
    }

    /** Azure and fake-gcs-server list none: blocks that nobody commits, and requests that nobody ends, are not there. */
    private static Set<String> unfinished(Store store) throws IOException {
        return store.objects().keySet().stream().filter(KilledCopyOnEachStoreIT::isUnfinished).collect(Collectors.toSet());
    }

    private static boolean isUnfinished(String object) {
        return object.startsWith("(unfinished upload");
    }
}
