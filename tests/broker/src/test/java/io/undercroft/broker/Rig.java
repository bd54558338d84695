package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.Set;

/** One broker over one store, in a folder named after the test. Closes what it started, in reverse order. */
final class Rig implements AutoCloseable {
    static final Duration SOON = Duration.ofSeconds(60);

    final Path folder;
    final Store store;
    final Broker broker;

    private Rig(Path folder, Store store, Broker broker) {
        this.folder = folder;
        this.store = store;
        this.broker = broker;
    }

    /** What a test wants different from {@link #overFolder}. */
    static final class Wish {
        String kafka = env("KAFKA", Options.DEFAULT_KAFKA);
        Managers.Deployment deployment = Managers.Deployment.BROKER_PATH;
        Path java = env("BROKER_JAVA", "").isEmpty() ? null : Path.of(env("BROKER_JAVA", ""));
        final Map<String, String> properties = new HashMap<>();

        Wish kafka(String version) {
            kafka = version;
            return this;
        }

        Wish deployment(Managers.Deployment d) {
            deployment = d;
            return this;
        }

        Wish java(Path home) {
            java = home;
            return this;
        }

        /** A line of {@code server.properties}. */
        Wish with(String key, String value) {
            properties.put(key, value);
            return this;
        }
    }

    /** {@code STAND_IN=1}: try the tests themselves against Kafka's own managers. */
    static boolean standIn() {
        return env("STAND_IN", "").equals("1");
    }

    private static String env(String name, String otherwise) {
        String v = System.getenv(name);
        return v == null || v.isEmpty() ? otherwise : v;
    }

    /** Over a folder that is there; the broker isn't started. */
    static Rig overFolder(String test, Wish wish) throws IOException, InterruptedException {
        Path folder = Place.freshFolder(test);
        return over(folder, new FolderStore(Files.createDirectories(folder.resolve("store")), standIn()), wish);
    }

    /** Over a store that the test made; the broker isn't started. */
    static Rig over(Path folder, Store store, Wish wish) throws IOException, InterruptedException {
        Map<String, String> properties = new HashMap<>(store.properties());
        properties.putAll(wish.properties);
        KafkaLibs libs = KafkaLibs.of(wish.kafka, standIn());
        Managers managers = standIn() ? Managers.kafkasOwn() : Managers.undercroft(wish.deployment);
        return new Rig(folder, store, new Broker(libs, managers, folder.resolve("broker"), wish.java, properties));
    }

    /** A topic of one partition whose {@code mb} megabytes are only remote when this returns. */
    TieredTopic tiered(String name, int mb) throws Exception {
        TieredTopic topic = TieredTopic.create(broker, name, 1, 1 << 20, 1000);
        topic.produce(mb * 1049L);
        topic.awaitOnlyRemote(SOON);
        return topic;
    }

    /** Reads all and fails unless all came as written. */
    void mustRead(TieredTopic topic, Duration atMost) {
        TieredTopic.Reading r = topic.readAll(atMost);
        assertNull(r.wrong(), () -> r.wrong() + "\n" + broker.logTail());
        assertTrue(r.complete(), () -> r.records() + " of " + topic.records() + " records in " + atMost.toSeconds() + " s\n" + broker.logTail());
    }

    /** Reads for {@code lookFor}; what comes must be as written, and something must be missing. */
    void mustNotReadAll(TieredTopic topic, Duration lookFor) {
        TieredTopic.Reading r = topic.readAll(lookFor);
        assertNull(r.wrong(), () -> r.wrong() + "\n" + broker.logTail());
        assertTrue(!r.complete(), "all records came although the store cannot have given them");
    }

    /** Waits for one log line that holds all of {@code parts}. */
    String awaitLogLine(String... parts) throws InterruptedException {
        String[] found = new String[1];
        try {
            Await.until("a log line with " + String.join(", ", parts), Duration.ofSeconds(40), () -> {
                found[0] = broker.logText().lines().filter(l -> List.of(parts).stream().allMatch(l::contains)).findFirst().orElse(null);
                return found[0] != null;
            });
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + broker.logTail(), e);
        }
        return found[0];
    }

    /** Names of the objects that are there now and not in {@code before}. */
    Set<String> newObjects(Set<String> before) throws IOException {
        Set<String> now = new TreeSet<>(store.objects().keySet());
        now.removeAll(before);
        return now;
    }

    void awaitEmptyStore() throws InterruptedException {
        Await.until("the store to be empty", Duration.ofSeconds(60), () -> "left: " + objectsOrError(), () -> store.objects().isEmpty());
    }

    private String objectsOrError() {
        try {
            return store.objects().keySet().toString();
        } catch (IOException e) {
            return e.getMessage();
        }
    }

    /** The process must not have crashed natively. */
    void mustHaveNoCrashFile() throws IOException {
        try (var files = Files.list(broker.folder())) {
            List<Path> crashes = files.filter(p -> p.getFileName().toString().startsWith("hs_err")).toList();
            assertTrue(crashes.isEmpty(), () -> "the JVM crashed: " + crashes);
        }
    }

    @Override
    public void close() throws IOException {
        broker.close();
        store.close();
    }
}
