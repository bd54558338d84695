package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The same short way on every release line, through both ways into a broker, and on a second JDK. */
class DeploymentIT {
    private static void roundTrip(String test, Rig.Wish wish) throws Exception {
        try (Rig rig = Rig.overFolder(test, wish)) {
            rig.broker.start();
            try (TieredTopic topic = rig.tiered("round", 2)) {
                rig.mustRead(topic, Rig.SOON);
                topic.delete();
                rig.awaitEmptyStore();
            }
            Duration stop = rig.broker.stop(Duration.ofSeconds(30));
            assertTrue(stop.toSeconds() < 30);
            rig.mustHaveNoCrashFile();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"3.9.0", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"})
    void a_segment_goes_and_comes_on_every_release_line(String kafka) throws Exception {
        roundTrip("release-" + kafka, new Rig.Wish().kafka(kafka));
    }

    @ParameterizedTest
    @ValueSource(strings = {"3.9.2", "4.4.0"})
    void two_class_loaders_of_their_own_share_one_core(String kafka) throws Exception {
        roundTrip("own-path-" + kafka, new Rig.Wish().kafka(kafka).deployment(Managers.Deployment.OWN_PATH));
    }

    @ParameterizedTest
    @ValueSource(strings = {"3.9.2", "4.4.0"})
    void the_second_jdk_serves_too(String kafka) throws Exception {
        Optional<Path> jdk = secondJdk();
        assumeTrue(jdk.isPresent(), "no JDK later than 17 in /usr/lib/jvm; set UNDERCROFT_JDK2 to one");
        roundTrip("second-jdk-" + kafka, new Rig.Wish().kafka(kafka).java(jdk.orElseThrow()));
    }

    @Test
    void a_broker_that_is_stopped_right_after_its_start_stops_soon() throws Exception {
        try (Rig rig = Rig.overFolder("stop-at-once", new Rig.Wish())) {
            rig.broker.start();
            rig.broker.stop(Duration.ofSeconds(20));
            rig.mustHaveNoCrashFile();
        }
    }

    private static Optional<Path> secondJdk() throws IOException {
        String given = System.getenv("UNDERCROFT_JDK2");
        if (given != null && !given.isEmpty()) {
            return Optional.of(Path.of(given));
        }
        Path all = Path.of("/usr/lib/jvm");
        if (!Files.isDirectory(all)) {
            return Optional.empty();
        }
        try (Stream<Path> homes = Files.list(all)) {
            return homes.filter(h -> Files.isExecutable(h.resolve("bin/java")) && version(h) > 17).findFirst();
        }
    }

    private static int version(Path home) {
        try {
            return Files.readAllLines(home.resolve("release")).stream().filter(l -> l.startsWith("JAVA_VERSION=\""))
                    .map(l -> l.replaceAll("[^0-9.]", "").split("\\.")[0]).mapToInt(Integer::parseInt).findFirst().orElse(0);
        } catch (IOException unreadable) {
            return 0;
        }
    }
}
