package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.Managers;
import io.undercroft.broker.Place;
import io.undercroft.broker.Progress;
import io.undercroft.broker.TieredTopic;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** From a stock cluster's history to a compacted topic, by the operator's command. About three minutes. */
class MigrationIT {
    private static final long EACH = 4_300; // four segments and a piece of a fifth

    @Test
    void a_history_without_keys_is_the_same_when_the_cleaner_has_been_through_it_under_load() throws Exception {
        Cluster.Wish wish = EndState.hasty(new Cluster.Wish().managers(Managers.stockMetadata()))
                .with("log.cleaner.backoff.ms", "500");
        try (Cluster cluster = new Cluster("migration", wish).start();
                TieredTopic quiet = TieredTopic.create(cluster, "quiet", 2, 1 << 20, 1000);
                TieredTopic shrinking = TieredTopic.create(cluster, "shrinking", 1, 1 << 20, 1000);
                TieredTopic gone = TieredTopic.create(cluster, "gone", 1, 1 << 20, 1000);
                TieredTopic busy = TieredTopic.create(cluster, "busy", 1, 1 << 20, 1000)) {
            for (TieredTopic topic : List.of(quiet, shrinking, gone)) {
                topic.produce(EACH);
                topic.awaitOnlyRemote(Cluster.SOON);
            }
            retain(cluster, shrinking.name(), 2_200_000);
            gone.delete();
            assertEquals(4, command(cluster, "--upgrade-to-v1").code, "stock brokers are in the way");
            try (Background load = new Background(busy, 300, 300)) {
                for (int id : cluster.ids()) {
                    Broker broker = cluster.broker(id);
                    broker.stop(Duration.ofSeconds(150));
                    broker.replace(Managers.undercroft(Managers.Deployment.BROKER_PATH));
                    broker.start();
                    cluster.awaitInSync();
                    if (id == 2) {
                        mustNameOnly(3, "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
                                command(cluster, "--upgrade-to-v1"));
                    }
                }
                load.mustRun();
                Set<String> before = live(cluster, quiet, shrinking);
                assertTrue(before.size() >= 8, () -> "a history of " + before);
                assertEquals(4, command(cluster, "--upgrade-to-v2").code, "two levels at once");
                must(0, command(cluster, "--upgrade-to-v1"));
                Await.until("nothing to rest on records without keys", Duration.ofSeconds(150), () -> {
                    Run check = command(cluster, "--check");
                    Progress.show(check.output.lines().reduce((a, b) -> b).orElse(""));
                    return check.code == 0;
                });
                assertEquals(before, live(cluster, quiet, shrinking), "at level 1");
                must(0, command(cluster, "--upgrade-to-v2", "--segment-ms", "3000"));
                clean(cluster);
                Await.until("the cleaner to have dropped all records without keys", Duration.ofSeconds(150),
                        () -> unkeyed(cluster) + " records without a key are left", () -> unkeyed(cluster) == 0);
                assertEquals(before, live(cluster, quiet, shrinking), "at level 2, cleaned");
            }
            // Readers that have never seen the records without keys.
            for (int id : cluster.ids()) {
                cluster.broker(id).kill();
                cluster.broker(id).start();
                cluster.awaitInSync();
            }
            busy.awaitOnlyRemote(Cluster.SOON);
            for (int id : cluster.ids()) {
                for (TieredTopic topic : List.of(quiet, busy)) {
                    for (int partition : cluster.leaders(topic.name()).keySet()) {
                        cluster.lead(topic.name(), partition, id);
                    }
                    TieredTopic.Reading r = topic.readAll(Cluster.SOON);
                    assertTrue(r.right(), () -> r + " under broker " + id + "\n" + cluster.logTail());
                }
                double known = Watch.number(cluster.broker(id), "segments-live");
                assertFalse(known == 0, "broker " + id + " knows no segment");
            }
            EndState.await(cluster, quiet);
            EndState.await(cluster, busy);
        }
    }

    /** Finished segments, as text that tells what differs. */
    private static Set<String> live(Cluster cluster, TieredTopic... topics) {
        List<MetadataTopic.Line> lines = MetadataTopic.read(cluster.bootstrap());
        Set<String> found = new TreeSet<>();
        for (TieredTopic topic : topics) {
            MetadataTopic.segments(lines, topic.name()).values().stream().filter(s -> s.state() == MetadataTopic.FINISHED)
                    .map(MetadataTopic.Segment::toString).forEach(found::add);
        }
        return found;
    }

    private static long unkeyed(Cluster cluster) {
        return MetadataTopic.read(cluster.bootstrap()).stream().filter(l -> l.key() == null).count();
    }

    /** What a cleaner needs to come at once instead of in hours. */
    private static void clean(Cluster cluster) throws Exception {
        cluster.set(Cluster.METADATA_TOPIC, Map.of("min.cleanable.dirty.ratio", "0.001", "max.compaction.lag.ms", "3000",
                "segment.ms", "3000"));
    }

    private static void retain(Cluster cluster, String topic, long bytes) throws Exception {
        cluster.set(topic, Map.of("retention.bytes", Long.toString(bytes)));
        Await.until(topic + " to have shrunk", Cluster.SOON, () -> MetadataTopic.segments(MetadataTopic.read(cluster.bootstrap()), topic)
                .values().stream().anyMatch(s -> s.state() == MetadataTopic.DELETE_FINISHED));
    }

    private record Run(int code, String output) {}

    private static void must(int code, Run run) {
        assertEquals(code, run.code, run::output);
    }

    /** One stock broker among ours is refused by its id and its class, and nobody else is. */
    private static void mustNameOnly(int id, String manager, Run run) {
        must(4, run);
        String inTheWay = run.output.substring(Math.max(0, run.output.indexOf("in the way:")));
        List<String> brokers = inTheWay.lines().filter(line -> line.matches("\\s+broker \\d+: .*")).toList();
        assertEquals(1, brokers.size(), run::output);
        assertTrue(brokers.get(0).contains("broker " + id + ": " + manager), run::output);
    }

    private static Run command(Cluster cluster, String... options) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(Place.target().resolve("dist/undercroft").toString(), "metadata", "migrate",
                "--bootstrap-server", cluster.bootstrap()));
        words.addAll(List.of(options));
        Path out = cluster.folder.resolve("migrate.log");
        Process p = new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(out.toFile()).start();
        if (!p.waitFor(120, TimeUnit.SECONDS)) {
            p.destroyForcibly().waitFor();
            throw new AssertionError(words + " did not end in 120 s\n" + Files.readString(out));
        }
        String text = Files.readString(out);
        Files.writeString(cluster.folder.resolve("migrate-all.log"), String.join(" ", words) + "\n" + text + "exit code " + p.exitValue() + "\n\n",
                java.nio.file.StandardOpenOption.CREATE, java.nio.file.StandardOpenOption.APPEND);
        return new Run(p.exitValue(), text);
    }
}
