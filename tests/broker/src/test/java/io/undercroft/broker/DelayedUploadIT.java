package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.junit.jupiter.api.Test;

/** Segments that stay local only for a while (KIP-1241), on a broker that knows nothing of it and on one that does. */
class DelayedUploadIT {
    private static final long NONE = -1;
    private static final int LAG_MS = 25_000;
    private static final Map<String, String> KEPT_LOCALLY = Map.of("local.retention.ms", "3600000");

    @Test
    void a_segment_stays_local_only_for_its_lag_and_is_copied_then_without_an_error() throws Exception {
        Rig.Wish wish = new Rig.Wish().kafka("3.9.2")
                .with("rlmm.config.remote.copy.lag.ms", Integer.toString(LAG_MS))
                .with("rlmm.config.undercroft.topic.eager.remote.copy.lag.ms", "0");
        try (Rig rig = Rig.overFolder("delayed-by-age", wish)) {
            rig.broker.start();
            try (TieredTopic slow = topic(rig, "slow", 1, KEPT_LOCALLY);
                    TieredTopic eager = topic(rig, "eager", 1, KEPT_LOCALLY);
                    TieredTopic capped = topic(rig, "capped", 1, Map.of("local.retention.ms", "2000"))) {
                for (TieredTopic topic : List.of(eager, capped, slow)) {
                    topic.produce(3_000); // two closed segments and the active one
                }
                long produced = System.nanoTime();
                awaitTiered(eager, 0);
                awaitTiered(capped, 0);
                assertEquals(NONE, tiered(slow), "only its lag holds it back, not its broker");
                Await.until("the broker to have come again", Rig.SOON, () -> metric(rig, "copies-held-back-total") > 5);
                assertEquals(1, metric(rig, "partitions-held-back"));
                assertTrue(System.nanoTime() - produced < Duration.ofMillis(LAG_MS - 2_000).toNanos(), "the test itself was in time");
                assertEquals(NONE, tiered(slow));

                awaitTiered(slow, 0);
                assertTrue(System.nanoTime() - produced > Duration.ofMillis(LAG_MS - 3_000).toNanos(), "copied before its time");
                Await.until("nothing to be held back any more", Rig.SOON, () -> metric(rig, "partitions-held-back") == 0);
                rig.mustRead(slow, Rig.SOON);
            }
            mustHaveGoneQuietly(rig);
            rig.broker.stop(Duration.ofSeconds(30));
        }
    }

    @Test
    void a_segment_is_copied_when_enough_log_is_behind_it_also_in_a_second_log_folder() throws Exception {
        Path folder = Place.freshFolder("delayed-by-bytes");
        Path second = folder.resolve("broker/log2");
        Rig.Wish wish = new Rig.Wish().kafka("3.9.2")
                .with("log.dirs", folder.resolve("broker/log") + "," + second)
                .with("rlmm.config.undercroft.topic.bulky.remote.copy.lag.ms", "-1")
                .with("rlmm.config.undercroft.topic.bulky.remote.copy.lag.bytes", "1500000");
        try (Rig rig = Rig.over(folder, new FolderStore(Files.createDirectories(folder.resolve("store")), Rig.standIn()), wish)) {
            rig.broker.start();
            try (TieredTopic bulky = topic(rig, "bulky", 4, KEPT_LOCALLY)) {
                // Segments of 1 MiB; of 3 MB, some 2 MB are behind the first one and 1 MB behind the second.
                bulky.produce(3_000);
                try (var partitions = Files.list(second)) {
                    assertTrue(partitions.anyMatch(p -> p.getFileName().toString().startsWith("bulky-")), "nothing in " + second);
                }
                Await.until("the first segments to be copied", Rig.SOON,
                        () -> bulky.offsets(OffsetSpec.latestTiered()).values().stream().allMatch(offset -> offset > 0));
                Map<Integer, Long> first = bulky.offsets(OffsetSpec.latestTiered());
                double held = metric(rig, "copies-held-back-total");
                Await.until("the broker to have come again", Rig.SOON, () -> metric(rig, "copies-held-back-total") > held + 16);
                assertEquals(first, bulky.offsets(OffsetSpec.latestTiered()), "the second ones have too little behind them");
                assertEquals(4, rig.store.objects().size());

                bulky.produce(1_000);
                Await.until("the second segments to be copied", Rig.SOON, () -> rig.store.objects().size() == 8);
            }
            mustHaveGoneQuietly(rig);
            rig.broker.stop(Duration.ofSeconds(30));
        }
    }

    @Test
    void a_broker_that_delays_uploads_itself_is_left_to_it() throws Exception {
        Rig.Wish wish = new Rig.Wish().kafka("4.4.0").with("rlmm.config.remote.copy.lag.ms", "3600000");
        try (Rig rig = Rig.overFolder("delayed-by-broker", wish)) {
            rig.broker.start();
            try (TieredTopic topic = topic(rig, "own", 1, Map.of())) {
                topic.produce(3_000);
                topic.awaitOnlyRemote(Rig.SOON);
            }
            assertEquals(0, metric(rig, "copies-held-back-total"));
            rig.awaitLogLine("WARN", "this broker has `remote.copy.lag.ms`");
            rig.broker.stop(Duration.ofSeconds(30));
        }
    }

    private static TieredTopic topic(Rig rig, String name, int partitions, Map<String, String> settings) throws Exception {
        return TieredTopic.create(rig.broker, name, partitions, 1 << 20, 1000, settings);
    }

    private static long tiered(TieredTopic topic) throws Exception {
        return topic.offsets(OffsetSpec.latestTiered()).get(0);
    }

    private static void awaitTiered(TieredTopic topic, long atLeast) throws Exception {
        Await.until(topic.name() + " to have a copied segment", Rig.SOON, () -> tiered(topic) > atLeast);
    }

    private static double metric(Rig rig, String name) throws Exception {
        Double value = Jmx.numbers(rig.broker.jmxPort(), "undercroft:type=metadata,*").get(name);
        assertTrue(value != null, "no metric " + name);
        return value;
    }

    /** No attempt but those that came to a good end, no failure counted, no error and no warning of a copy logged. */
    private static void mustHaveGoneQuietly(Rig rig) throws Exception {
        Await.until("writes to end", Rig.SOON, () -> metric(rig, "writes-in-flight") == 0);
        assertEquals(2.0 * rig.store.objects().size(), metric(rig, "write-total"), "each object has its two records and there are no others");
        assertEquals(0, metric(rig, "writes-failed-total"));
        int port = rig.broker.jmxPort();
        assertTrue(Jmx.numbers(port, "kafka.server:type=BrokerTopicMetrics,name=RemoteCopyRequestsPerSec").get("Count") > 0);
        assertEquals(0, Jmx.numbers(port, "kafka.server:type=BrokerTopicMetrics,name=RemoteCopyErrorsPerSec").get("Count"));
        List<String> loud = rig.broker.logText().lines()
                .filter(line -> line.contains("] ERROR ") || line.contains("Exception"))
                .toList();
        assertFalse(loud.stream().findAny().isPresent(), () -> String.join("\n", loud));
    }
}
