package io.undercroft.broker;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.kafka.clients.admin.OffsetSpec;

/**
 * The whole way once, on a stock broker: produce, tier, drop the local copies, read back, SIGKILL, restart, read again,
 * delete the topic. Exits 0 only if every check held.
 */
public final class Demo {
    private static final int PARTITIONS = 3;
    private static final int VALUE_BYTES = 1000;
    private static final String TOPIC = "demo";
    private static final double MB = 1e6;

    private final Options options;
    private final Checks checks = new Checks();
    private Store store;
    private Broker broker;

    private Demo(Options options) {
        this.options = options;
    }

    public static void main(String[] args) {
        int code;
        try {
            code = new Demo(Options.fromEnvironment()).run();
        } catch (IllegalArgumentException e) {
            System.err.println("demo: " + e.getMessage());
            code = 2;
        } catch (Exception | AssertionError e) {
            System.err.println("demo: " + e.getMessage());
            if (!(e instanceof IOException)) {
                e.printStackTrace();
            }
            code = 1;
        }
        System.exit(code);
    }

    private int run() throws Exception {
        Progress.step("Apache Kafka %s, stock; %s; store: %s; mode: %s", options.kafka(),
                options.standIn() ? "Kafka's own test plugin as a stand-in" : "Undercroft " + options.plugin().text(), options.store(), options.mode().text());
        KafkaLibs libs = KafkaLibs.of(options.kafka(), options.standIn());
        Managers managers = options.standIn() ? Managers.kafkasOwn() : Managers.undercroft(options.plugin());
        Path folder = Place.freshFolder("demo");
        try (Store s = openStore(folder); Broker b = new Broker(libs, managers, folder.resolve("broker"), options.java(), properties(s, folder))) {
            store = s;
            broker = b;
            Progress.step("starting the broker");
            b.start();
            flow(folder);
        } catch (AssertionError e) {
            checks.that(false, "%s", e.getMessage());
            e.printStackTrace();
        }
        for (String failure : checks.failed()) {
            System.out.println("FAILED: " + failure.lines().findFirst().orElse(""));
        }
        if (!checks.failed().isEmpty()) {
            System.out.println("The broker's logs are in " + folder.resolve("broker"));
        }
        System.out.printf(Locale.ROOT, "demo: %d checks held, %d failed%n", checks.held(), checks.failed().size());
        return checks.failed().isEmpty() ? 0 : 1;
    }

    private Map<String, String> properties(Store of, Path folder) throws IOException {
        Map<String, String> lines = new LinkedHashMap<>(of.properties());
        lines.putAll(options.mode().properties(folder));
        return lines;
    }

    private Store openStore(Path folder) throws IOException, InterruptedException {
        if (options.store().equals("fs")) {
            // The folder must be there: the plugin creates no root, lest an unmounted disk be filled by mistake.
            return new FolderStore(java.nio.file.Files.createDirectories(folder.resolve("store")), options.standIn());
        }
        Progress.step("starting a server for store %s", options.store());
        return StoreServer.start(options.store(), folder);
    }

    private void flow(Path folder) throws Exception {
        long perPartition = Math.max(1, (long) options.sizeMb() * 1024 * 1024 / PARTITIONS / VALUE_BYTES + 1);
        int segmentBytes = options.sizeMb() >= 64 ? 4 << 20 : 1 << 20;
        try (TieredTopic topic = TieredTopic.create(broker, TOPIC, PARTITIONS, segmentBytes, VALUE_BYTES)) {
            Progress.step("producing %d MiB to topic `%s` (%d partitions, segments of %d MiB)", options.sizeMb(), TOPIC, PARTITIONS, segmentBytes >> 20);
            long start = System.nanoTime();
            topic.produce(perPartition);
            double produceSeconds = (System.nanoTime() - start) / 1e9;
            checks.that(topic.bytes() >= (long) options.sizeMb() << 20, "%,d records produced, %.1f MB", topic.records(), topic.bytes() / MB);

            Progress.step("waiting until every segment is remote and its local copy gone");
            topic.awaitOnlyRemote(Duration.ofMinutes(10));
            double copySeconds = (System.nanoTime() - start) / 1e9;
            for (Map.Entry<Integer, Long> e : topic.offsets(OffsetSpec.earliestLocal()).entrySet()) {
                checks.that(e.getValue() > 0, "partition %d: earliest local offset is %,d", e.getKey(), e.getValue());
            }
            checks.that(broker.localSegments(TOPIC).values().stream().mapToLong(Long::longValue).sum() == 0, "no byte of the topic is left on the broker's disk");
            Map<String, Long> objects = store.objects();
            long storedBytes = objects.values().stream().mapToLong(Long::longValue).sum();
            checks.that(!objects.isEmpty() && storedBytes >= bytesAtLeast(topic), "%d objects in the store, %.1f MB", objects.size(), storedBytes / MB);

            Progress.step("reading all of it back from offset 0");
            TieredTopic.Reading first = readBack(topic, "first reading");

            Progress.step("killing the broker (SIGKILL) and starting it again");
            broker.kill();
            broker.start();
            checks.that(broker.isAlive(), "broker is back after SIGKILL");
            Progress.step("reading all of it again");
            readBack(topic, "reading after SIGKILL");
            checks.that(store.objects().keySet().containsAll(objects.keySet()), "every object is still there");

            if (options.keep()) {
                showWhatIsKept(folder);
            } else {
                Progress.step("deleting the topic");
                topic.delete();
                Await.until("the store to be empty", Duration.ofSeconds(120), this::leftObjects, () -> remaining() == 0);
                checks.that(remaining() == 0, "no object of the deleted topic is left in the store");
            }

            Progress.step("stopping the broker");
            ProcessUse use = broker.use();
            Duration stop = broker.stop(Duration.ofSeconds(60));
            checks.that(true, "broker stopped in %.1f s", stop.toMillis() / 1e3);
            table(topic, objects, storedBytes, produceSeconds, copySeconds, first, use);
        }
    }

    private TieredTopic.Reading readBack(TieredTopic topic, String what) throws Exception {
        OptionalLong before = StoreReads.bytes(broker);
        TieredTopic.Reading reading = topic.readAll(Duration.ofMinutes(10));
        checks.that(reading.wrong() == null, "%s: %s", what, reading.wrong() == null ? "each record is as written" : reading.wrong());
        checks.that(reading.complete(), "%s: %,d of %,d records in %.1f s", what, reading.records(), topic.records(), reading.seconds());
        OptionalLong after = StoreReads.bytes(broker);
        if (options.standIn()) {
            Progress.show("the stand-in doesn't count what it reads from the store");
        } else {
            long read = after.orElse(0) - before.orElse(0);
            checks.that(after.isPresent() && read >= bytesAtLeast(topic), "%s: %.1f MB came out of the store (metric %s)", what, read / MB, StoreReads.BYTES);
        }
        return reading;
    }

    /** What the store must have of a topic: all of it, unless that was compressed, and then something. */
    private long bytesAtLeast(TieredTopic topic) {
        return options.mode().isSealed() ? 1 : topic.bytes();
    }

    /** Where topic and store stay, until the next demo. */
    private void showWhatIsKept(Path folder) throws IOException {
        Progress.step("keeping topic and store (KEEP=1), until the next `make demo`");
        Progress.show("store: %s", store.description());
        Progress.show("files: %s", folder);
        if (!options.standIn()) {
            String object = store.objects().keySet().stream().filter(name -> !name.startsWith("(")).findFirst().orElseThrow();
            Progress.show("to look at a segment: target/dist/undercroft object inspect %s", Place.root().relativize(store.file(object)));
        }
    }

    private long remaining() throws IOException {
        return store.objects().size();
    }

    private String leftObjects() {
        try {
            return remaining() + " objects are left";
        } catch (IOException e) {
            return "the store doesn't answer: " + e.getMessage();
        }
    }

    private void table(TieredTopic topic, Map<String, Long> objects, long storedBytes, double produceSeconds, double copySeconds,
                       TieredTopic.Reading read, ProcessUse use) {
        // Each remote segment has one log object, whatever the layout adds beside it.
        long segments = options.standIn() || options.mode().isAiven() ? objects.keySet().stream().filter(n -> n.endsWith(".log")).count() : objects.size();
        System.out.println();
        row("broker", "Apache Kafka " + options.kafka() + ", JDK " + (options.java() == null ? Runtime.version().feature() + "" : options.java().getFileName()));
        row("store", store.description());
        row("mode", options.mode().text());
        row("records", String.format(Locale.ROOT, "%,d", topic.records()));
        row("bytes (keys and values)", String.format(Locale.ROOT, "%,d", topic.bytes()));
        row("segments", String.format(Locale.ROOT, "%,d", segments));
        row("objects", String.format(Locale.ROOT, "%,d (%,d bytes)", objects.size(), storedBytes));
        row("produce", String.format(Locale.ROOT, "%.1f MB/s", topic.bytes() / MB / produceSeconds));
        row("copy, first record to last segment gone", String.format(Locale.ROOT, "%.1f MB/s", topic.bytes() / MB / copySeconds));
        row("read, all from the store", String.format(Locale.ROOT, "%.1f MB/s", read.bytes() / MB / read.seconds()));
        row("broker CPU, both starts", String.format(Locale.ROOT, "%.1f s", use.cpuSeconds()));
        row("broker peak memory (RSS)", String.format(Locale.ROOT, "%.0f MiB", use.peakRssBytes() / 1048576.0));
        System.out.println();
    }

    private static void row(String name, String value) {
        System.out.printf(Locale.ROOT, "  %-42s %s%n", name, value);
    }
}
