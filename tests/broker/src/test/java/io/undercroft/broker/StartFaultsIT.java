package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.junit.jupiter.api.Test;

/** A store that isn't right when the broker starts: one clear warning, a broker that runs, tiering once it is repaired. */
class StartFaultsIT {
    private static void tiersAfterRepair(Rig rig, String topicName) throws Exception {
        try (TieredTopic topic = TieredTopic.create(rig.broker, topicName, 1, 1 << 20, 1000)) {
            topic.produce(2_100);
            topic.awaitOnlyRemote(Duration.ofSeconds(120));
            rig.mustRead(topic, Rig.SOON);
        }
    }

    @Test
    void a_missing_folder_is_warned_of_and_used_once_it_is_there() throws Exception {
        Path folder = Place.freshFolder("missing-folder");
        Path absent = folder.resolve("not-mounted");
        try (Rig rig = Rig.over(folder, new FolderStore(absent, false), new Rig.Wish())) {
            rig.broker.start();
            rig.awaitLogLine("WARN", absent.toString());
            Files.createDirectories(absent);
            tiersAfterRepair(rig, "after-mount");
        }
    }

    @Test
    void a_missing_bucket_is_warned_of_and_used_once_it_is_there() throws Exception {
        Path folder = Place.freshFolder("missing-bucket");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), null);
        try (Rig rig = Rig.over(folder, weed, new Rig.Wish())) {
            rig.broker.start();
            rig.awaitLogLine("WARN", "absent-bucket");
            weed.createBucket();
            tiersAfterRepair(rig, "after-bucket");
        }
    }

    @Test
    void an_endpoint_that_is_down_is_warned_of_and_used_once_it_is_up() throws Exception {
        Path folder = Place.freshFolder("endpoint-down");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "later");
        weed.stop();
        try (Rig rig = Rig.over(folder, weed, new Rig.Wish())) {
            rig.broker.start();
            rig.awaitLogLine("WARN", weed.endpoint());
            weed.launch();
            tiersAfterRepair(rig, "after-endpoint");
        }
    }

    @Test
    void wrong_credentials_are_warned_of_and_tier_nothing() throws Exception {
        Path folder = Place.freshFolder("wrong-credentials");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "forbidden");
        try (Rig rig = Rig.over(folder, weed, new Rig.Wish().with("rsm.config.storage.aws.secret.access.key", "not-the-secret"))) {
            rig.broker.start();
            String line = rig.awaitLogLine("WARN", "forbidden");
            assertTrue(!line.contains("not-the-secret"), "the secret is in the log: " + line);
            try (TieredTopic topic = TieredTopic.create(rig.broker, "forbidden", 1, 1 << 20, 1000)) {
                topic.produce(2_100);
                Thread.sleep(5_000);
                assertEquals(Map.of(0, -1L), topic.offsets(OffsetSpec.latestTiered()));
                // Nothing is lost: it is all still local.
                rig.mustRead(topic, Rig.SOON);
            }
            assertEquals(Map.of(), weed.objects());
        }
    }

    @Test
    void a_bad_value_stops_the_start_and_names_key_value_and_range() throws Exception {
        String key = "upload.parts.in.flight";
        try (Rig rig = Rig.overFolder("bad-value", new Rig.Wish().with("rsm.config." + key, "1000"))) {
            rig.broker.launch();
            Await.until("the broker to end", Rig.SOON, () -> !rig.broker.isAlive());
            String log = rig.broker.logText();
            assertTrue(log.contains("ConfigException"), rig.broker::logTail);
            assertTrue(log.lines().anyMatch(l -> l.contains(key) && l.contains("1000") && l.contains("128")), rig.broker::logTail);
        }
    }

    @Test
    void an_unknown_key_is_warned_of_once_with_its_nearest_neighbour() throws Exception {
        try (Rig rig = Rig.overFolder("unknown-key", new Rig.Wish().with("rsm.config.storage.rot", "/nowhere"))) {
            rig.broker.start();
            rig.awaitLogLine("WARN", "storage.rot", "storage.root");
            Predicate<String> names = Pattern.compile("storage\\.rot\\b").asPredicate();
            assertEquals(1, rig.broker.logText().lines().filter(l -> l.contains("WARN") && names.test(l)).count());
        }
    }
}
