package io.undercroft.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataTopicPartitioner;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/**
 * One scenario against one manager class, in a process of its own: {@code Bench SERVERS stock|ours SCENARIO [key=value …]}.
 * Prints one line of JSON for each result; {@code run.sh} has the order of things, {@code report.py} the table.
 */
public final class Bench {
    private static final String STOCK = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager";
    private static final String OURS = "io.undercroft.kafka.UndercroftRemoteLogMetadataManager";
    private static final String TOPIC = "orders";
    /** Another one, whose segments are written during a measurement. */
    private static final String WRITTEN = "payments";
    private static final int WRITTEN_PARTITIONS = 100;
    private static final int METADATA_PARTITIONS = 50;

    private final String servers;
    private final String manager;
    private final String scenario;
    private final Map<String, String> options = new HashMap<>();
    /** Settings of the manager. */
    private final Map<String, String> settings = new HashMap<>();

    private Bench(String[] arguments) {
        servers = arguments[0];
        manager = arguments[1];
        scenario = arguments[2];
        for (String argument : Arrays.asList(arguments).subList(3, arguments.length)) {
            String[] parts = argument.split("=", 2);
            if (parts[0].contains(".")) {
                settings.put(parts[0], parts[1]);
            } else {
                options.put(parts[0], parts[1]);
            }
        }
    }

    public static void main(String[] arguments) {
        int status = 0;
        try {
            new Bench(arguments).run();
        } catch (Throwable failed) {
            failed.printStackTrace();
            status = 1;
        }
        System.out.flush();
        // A stock manager's threads may go on for half a minute.
        Runtime.getRuntime().halt(status);
    }

    private void run() throws Exception {
        switch (scenario) {
            case "prepare": prepare(); break;
            case "write": write(); break;
            case "roll": Brokers.roll(servers, METADATA_PARTITIONS); break;
            case "boot": boot(false); break;
            case "lookup": boot(true); break;
            case "churn": churn(); break;
            case "steady": steady(); break;
            default: throw new IllegalArgumentException(scenario);
        }
    }

    private int number(String option, int otherwise) {
        return Integer.parseInt(options.getOrDefault(option, String.valueOf(otherwise)));
    }

    private String tag() {
        return options.getOrDefault("as", scenario);
    }

    private History history(String topic, int partitions) throws Exception {
        return new History(topic, Brokers.topicId(servers, topic), partitions, number("segments", 343), number("deleted", 257));
    }

    private History history() throws Exception {
        return history(TOPIC, number("partitions", 1_000));
    }

    private Manager open() throws Exception {
        return new Manager(manager.equals("stock") ? STOCK : OURS, servers, METADATA_PARTITIONS, settings);
    }

    private static Set<TopicIdPartition> partitions(History history, int count) {
        Set<TopicIdPartition> all = new LinkedHashSet<>();
        for (int i = 0; i < count; i++) {
            all.add(history.partition(i));
        }
        return all;
    }

    // ---- before the measurements

    private void prepare() throws Exception {
        Map<String, String> configs = new HashMap<>();
        for (String pair : options.getOrDefault("topic", "cleanup.policy=delete;retention.ms=-1").split(";")) {
            String[] parts = pair.split("=");
            configs.put(parts[0], parts[1]);
        }
        Brokers.create(servers, Brokers.METADATA_TOPIC, METADATA_PARTITIONS, configs);
        int partitions = number("partitions", 1_000);
        Brokers.create(servers, TOPIC, partitions, Map.of());
        Brokers.create(servers, WRITTEN, WRITTEN_PARTITIONS, Map.of());
        Brokers.awaitLeaders(servers, Brokers.METADATA_TOPIC, METADATA_PARTITIONS);
        Brokers.awaitLeaders(servers, TOPIC, partitions);
        Brokers.awaitLeaders(servers, WRITTEN, WRITTEN_PARTITIONS);
        System.out.println(Brokers.topicId(servers, TOPIC));
    }

    private void write() throws Exception {
        History history = new History(TOPIC, Uuid.fromString(options.get("id")), number("partitions", 1_000),
            number("segments", 343), number("deleted", 257));
        boolean keyed = options.containsKey("keyed");
        try (LogFiles files = new LogFiles(Path.of(options.get("into")), METADATA_PARTITIONS, keyed, number("roll", 1 << 30))) {
            System.err.println(files.write(history, options.containsKey("live")) + " records");
        }
    }

    // ---- measurements

    private void boot(boolean withLookups) throws Exception {
        History history = history();
        Set<TopicIdPartition> all = partitions(history, history.partitions);
        double heapBefore = Meter.heapMb();
        double rssBefore = Meter.memoryMb("VmRSS");
        Meter meter = new Meter();
        Manager opened = open();
        opened.lead(all);
        opened.awaitReady(all);
        double wall = meter.wallSeconds();
        double cpu = meter.cpuSeconds();
        double peak = Meter.memoryMb("VmHWM");
        double heap = Meter.heapMb() - heapBefore;
        double rss = Meter.memoryMb("VmRSS") - rssBefore;
        long live = 0;
        for (TopicIdPartition partition : all) {
            live += opened.check(history, partition);
        }
        Meter.tell(tag(), manager, "wall_s", wall, "cpu_s", cpu, "peak_rss_mb", peak, "peak_rss_over_jvm_mb", peak - rssBefore,
            "heap_bytes_per_segment", heap * 1e6 / live, "rss_bytes_per_segment", rss * 1048576 / live, "live_segments", live);
        if (withLookups) {
            lookups(opened, history, new ArrayList<>(all));
        }
        if (options.containsKey("close")) {
            Meter closing = new Meter();
            opened.spi.close();
            Meter.tell(tag() + "-close", manager, "wall_s", closing.wallSeconds());
        }
    }

    private interface Call {
        /** Does it for a partition and says how many things it answered. */
        long ask(TopicIdPartition partition, int segment) throws Exception;
    }

    private void lookups(Manager opened, History history, List<TopicIdPartition> all) throws Exception {
        int newest = History.epoch(history.segments - 1);
        int calls = number("calls", 200_000);
        double find = nanos(history, all, calls, (partition, segment) -> {
            long offset = (long) segment * History.OFFSETS + History.OFFSETS * 3 / 4;
            return opened.spi.remoteLogSegmentMetadata(partition, History.epoch(segment), offset).get().startOffset() < 0 ? 0 : 1;
        });
        double highest = nanos(history, all, calls, (partition, segment) ->
            opened.spi.highestOffsetForEpoch(partition, newest).get() < 0 ? 0 : 1);
        double ofEpoch = nanos(history, all, calls / 50, (partition, segment) -> count(opened.spi.listRemoteLogSegments(partition, newest)));
        double listed = nanos(history, all, calls / 50, (partition, segment) -> count(opened.spi.listRemoteLogSegments(partition)));
        Meter.tell("lookup", manager, "find_ns", find, "highest_ns", highest, "list_epoch_ns", ofEpoch, "list_all_ns", listed);
    }

    private static long count(Iterator<RemoteLogSegmentMetadata> segments) {
        long count = 0;
        for (; segments.hasNext(); count++) {
            if (segments.next().segmentSizeInBytes() != History.SIZE_BYTES) {
                throw new IllegalStateException("a wrong size");
            }
        }
        return count;
    }

    /**
     * Nanoseconds of this thread's CPU for each thing that was answered: others on the machine don't count. The best of three
     * rounds: in the first ones the JVM has not compiled everything.
     */
    private static double nanos(History history, List<TopicIdPartition> all, int calls, Call call) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        double best = Double.MAX_VALUE;
        for (int round = 0; round < 3; round++) {
            Random random = new Random(7);
            long answers = 0;
            long began = threads.getCurrentThreadCpuTime();
            for (int i = 0; i < calls; i++) {
                answers += call.ask(all.get(random.nextInt(all.size())), history.deleted + random.nextInt(history.live()));
            }
            best = Math.min(best, (threads.getCurrentThreadCpuTime() - began) / (double) answers);
        }
        return best;
    }

    /** One more partition is assigned while another one of the same metadata partition is written to. */
    private void churn() throws Exception {
        History history = history();
        History written = history(WRITTEN, WRITTEN_PARTITIONS);
        RemoteLogMetadataTopicPartitioner partitioner = new RemoteLogMetadataTopicPartitioner(METADATA_PARTITIONS);
        Map<Integer, TopicIdPartition> neighbours = new HashMap<>();
        partitions(written, WRITTEN_PARTITIONS).forEach(partition -> neighbours.put(partitioner.metadataPartition(partition), partition));
        Set<TopicIdPartition> all = partitions(history, history.partitions);
        List<TopicIdPartition> added = all.stream().filter(partition -> neighbours.containsKey(partitioner.metadataPartition(partition)))
            .limit(number("extra", 7)).collect(Collectors.toList());
        added.forEach(all::remove);
        all.addAll(neighbours.values());
        Manager opened = open();
        opened.lead(all);
        opened.awaitReady(all);
        int base = 1_000_000 + new Random().nextInt(1_000_000_000);
        List<Double> ready = new ArrayList<>();
        List<Double> before = new ArrayList<>();
        List<Double> meanwhile = new ArrayList<>();
        for (TopicIdPartition partition : added) {
            TopicIdPartition neighbour = neighbours.get(partitioner.metadataPartition(partition));
            opened.warmUp(written, neighbour, base);
            before.add(addMillis(opened, written, neighbour, base + 1));
            Meter meter = new Meter();
            opened.lead(Set.of(partition));
            CompletableFuture<Double> ended = CompletableFuture.supplyAsync(() -> millisUntilReady(opened, partition, meter));
            meanwhile.add(addMillis(opened, written, neighbour, base + 2));
            ready.add(ended.get());
            base += 3;
        }
        Meter.tell("churn", manager, "ready_ms", median(ready), "neighbour_before_ms", median(before), "neighbour_meanwhile_ms", median(meanwhile));
    }

    private static double millisUntilReady(Manager opened, TopicIdPartition partition, Meter meter) {
        try {
            opened.awaitReady(Set.of(partition));
        } catch (InterruptedException nobody) {
            throw new IllegalStateException(nobody);
        }
        return meter.wallSeconds() * 1e3;
    }

    private static double addMillis(Manager opened, History history, TopicIdPartition partition, int segment) throws Exception {
        Meter meter = new Meter();
        opened.spi.addRemoteLogSegmentMetadata(history.begun(partition, segment)).get(3, TimeUnit.MINUTES);
        return meter.wallSeconds() * 1e3;
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElse(Double.NaN);
    }

    /** Copies told one after the other, then with so many in flight. */
    private void steady() throws Exception {
        History written = history(WRITTEN, WRITTEN_PARTITIONS);
        Manager opened = open();
        Set<TopicIdPartition> all = partitions(written, WRITTEN_PARTITIONS);
        opened.lead(all);
        opened.awaitReady(all);
        int from = 1_000_000 + new Random().nextInt(1_000_000_000);
        for (TopicIdPartition partition : all) {
            opened.warmUp(written, partition, from++);
        }
        int single = number("single", 200);
        List<Double> millis = new ArrayList<>();
        Meter meter = new Meter();
        for (int i = 0; i < single; i++, from++) {
            Meter one = new Meter();
            opened.cycle(written, written.partition(from % WRITTEN_PARTITIONS), from).get();
            millis.add(one.wallSeconds() * 1e3);
        }
        tell(1, single, meter, millis);
        for (String flight : options.getOrDefault("flights", "100,2000").split(",")) {
            for (int round = 0; round < 2; round++) {
                from = inFlight(opened, written, from, Integer.parseInt(flight), round == 1);
            }
        }
    }

    private int inFlight(Manager opened, History written, int from, int flight, boolean isTold) throws Exception {
        Semaphore room = new Semaphore(flight);
        Queue<Double> millis = new ConcurrentLinkedQueue<>();
        AtomicInteger failures = new AtomicInteger();
        Meter meter = new Meter();
        int next = from;
        for (; meter.wallSeconds() < number("seconds", 8) / (isTold ? 1.0 : 4.0); next++) {
            room.acquire();
            long began = System.nanoTime();
            CompletableFuture<Void> cycle = opened.cycle(written, written.partition(next % WRITTEN_PARTITIONS), next);
            cycle.whenComplete((done, failure) -> {
                if (failure != null && failures.getAndIncrement() == 0) {
                    System.err.println(failure);
                }
                millis.add((System.nanoTime() - began) / 1e6);
                room.release();
            });
        }
        room.acquire(flight);
        if (failures.get() > 0) {
            throw new IllegalStateException(failures + " cycles failed");
        }
        if (isTold) {
            tell(flight, next - from, meter, millis);
        }
        return next;
    }

    private void tell(int flight, int cycles, Meter meter, Iterable<Double> millis) {
        double wall = meter.wallSeconds();
        double cpu = meter.cpuSeconds();
        List<Double> sorted = new ArrayList<>();
        millis.forEach(sorted::add);
        sorted.sort(null);
        Meter.tell("steady-" + flight, manager, "cycles_per_s", cycles / wall, "cpu_us", cpu * 1e6 / cycles,
            "p50_ms", sorted.get(sorted.size() / 2), "p99_ms", sorted.get(sorted.size() * 99 / 100));
    }
}
