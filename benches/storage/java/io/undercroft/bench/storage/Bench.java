package io.undercroft.bench.storage;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;

/**
 * Drives a RemoteStorageManager as a broker does, compares every byte, and prints a line of JSON for each scenario:
 * {@code Bench CLASS SCENARIO,… [key=value …]}. Keys with a dot are settings of the manager, the others options:
 * {@code n} segments of {@code mib} MiB with batches of {@code codec} below the folder {@code segments}, {@code proxy} (where the proxy
 * tells what it has seen), {@code label}, {@code read} bytes of a fetch, {@code rand} reads, {@code readers}, {@code permib} MiB for each of these.
 */
public final class Bench {
    private final String className;
    private final Map<String, String> options = new HashMap<>();
    private final Map<String, String> settings = new HashMap<>();
    private final List<Segment> segments = new ArrayList<>();
    private final List<RemoteLogSegmentMetadata> copied = new ArrayList<>();
    private final Map<RemoteLogSegmentId, Segment> sources = new ConcurrentHashMap<>();
    private final int readBytes;
    private RemoteStorageManager manager;
    private Meter meter;
    private boolean isGood = true;

    private Bench(String[] arguments) {
        className = arguments[0];
        for (String argument : Arrays.asList(arguments).subList(2, arguments.length)) {
            String[] pair = argument.split("=", 2);
            (pair[0].contains(".") ? settings : options).put(pair[0], pair[1]);
        }
        settings.putIfAbsent("broker.id", "1");
        readBytes = number("read", 1 << 20);
    }

    public static void main(String[] arguments) {
        int status = 1;
        try {
            Bench bench = new Bench(arguments);
            bench.run(arguments[1].split(","));
            status = bench.isGood ? 0 : 1;
        } catch (Throwable failed) {
            failed.printStackTrace();
        }
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private int number(String option, int otherwise) {
        return Integer.parseInt(options.getOrDefault(option, String.valueOf(otherwise)));
    }

    private void open() throws Exception {
        manager = (RemoteStorageManager) Class.forName(className).getDeclaredConstructor().newInstance();
        manager.configure(settings);
    }

    private void run(String[] scenarios) throws Exception {
        String codec = options.getOrDefault("codec", "none");
        Path folder = Path.of(options.get("segments")).resolve(codec + "-" + number("mib", 128));
        for (int i = 0; i < number("n", 4); i++) {
            // One behind the other, as a partition has them.
            long base = i == 0 ? 0 : segments.get(i - 1).nextOffset();
            segments.add(SegmentFiles.segment(folder, i, base, number("mib", 128), codec));
        }
        open();
        for (String scenario : scenarios) {
            String[] parts = scenario.split(":");
            if (parts[0].equals("warm")) {
                warmUp(folder.resolveSibling(codec + "-warm"), codec);
            } else if (parts[0].equals("cold")) {
                manager.close();
                open();
                // The check that a manager makes when it starts is none of what follows.
                Thread.sleep(500);
            } else {
                meter = new Meter(parts[0], options.get("proxy"));
                measure(parts[0], parts.length > 1 ? Integer.parseInt(parts[1]) : 1);
                isGood &= meter.tell(options.getOrDefault("label", ""));
            }
        }
        manager.close();
    }

    private void measure(String scenario, int count) throws Exception {
        switch (scenario) {
            case "copy": copy(count); break;
            case "copies":
                // Not for the others: it costs processor time.
                Meter.watchMemory();
                copy(count);
                break;
            case "seq": case "again": copied.forEach(this::readToTheEnd); break;
            case "rand": readAnywhere(number("rand", 200)); break;
            case "readers": readTogether(number("readers", 16), (long) number("permib", 32) << 20); break;
            case "first": guarded(() -> fetch(copied.get(0), 0)); break;
            case "index": guarded(() -> indexes(copied.get(0))); break;
            case "delete": delete(); break;
            default: throw new IllegalArgumentException(scenario);
        }
    }

    /** What a compiler at run time has to see before its code is what counts. */
    private void warmUp(Path folder, String codec) throws Exception {
        List<Segment> measured = new ArrayList<>(segments);
        segments.clear();
        segments.add(SegmentFiles.segment(folder, 90, 900_000_000, 24, codec));
        meter = new Meter("warm", options.get("proxy"));
        for (int i = 0; i < number("warm", 24); i++) {
            copy(1);
        }
        copied.forEach(this::readToTheEnd);
        guarded(() -> indexes(copied.get(0)));
        delete();
        segments.clear();
        segments.addAll(measured);
        isGood &= meter.tell("");
    }

    private interface Call {
        void run() throws Exception;
    }

    private void guarded(Call call) {
        try {
            call.run();
        } catch (Throwable error) {
            meter.failed(error);
        }
    }

    private void together(int threads, List<Call> calls) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<?>> all = new ArrayList<>();
        for (Call call : calls) {
            all.add(pool.submit(() -> guarded(call)));
        }
        for (Future<?> one : all) {
            one.get();
        }
        pool.shutdown();
    }

    // ---- what a broker does

    /** Copies each segment, {@code threads} at a time; if these are more than there are segments, each thread one. */
    private void copy(int threads) throws Exception {
        List<Call> calls = new ArrayList<>();
        for (int i = 0; i < Math.max(threads, segments.size()); i++) {
            Segment segment = segments.get(i % segments.size());
            calls.add(() -> {
                RemoteLogSegmentMetadata started = segment.metadata();
                long start = System.nanoTime();
                RemoteLogSegmentMetadata finished = started.createWithUpdates(new RemoteLogSegmentMetadataUpdate(started.remoteLogSegmentId(),
                    System.currentTimeMillis(), manager.copyLogSegmentData(started, segment.files()), RemoteLogSegmentState.COPY_SEGMENT_FINISHED, 1));
                meter.took(start);
                meter.bytes.addAndGet(segment.size());
                sources.put(finished.remoteLogSegmentId(), segment);
                synchronized (copied) {
                    copied.add(finished);
                }
            });
        }
        together(threads, calls);
    }

    /** One fetch: opens at a batch, reads its header, then as much as a consumer takes. Returns where the next fetch begins. */
    private int fetch(RemoteLogSegmentMetadata metadata, int position) throws Exception {
        Segment segment = sources.get(metadata.remoteLogSegmentId());
        ByteBuffer buffer;
        long start = System.nanoTime();
        try (InputStream in = manager.fetchLogSegment(metadata, position)) {
            byte[] header = in.readNBytes(Segment.HEADER);
            if (header.length < Segment.HEADER) {
                throw new EOFException("no whole header at " + position);
            }
            int first = 12 + ByteBuffer.wrap(header).getInt(8);
            buffer = ByteBuffer.allocate(Math.min(Math.max(readBytes, first), segment.size() - position));
            buffer.put(header);
            int read = in.readNBytes(buffer.array(), header.length, buffer.remaining());
            if (read < buffer.remaining()) {
                throw new EOFException("ended at " + (position + header.length + read) + " of " + segment.size());
            }
        }
        meter.took(start);
        meter.bytes.addAndGet(buffer.capacity());
        int end = position + buffer.capacity();
        int wrong = segment.bytes.slice(position, buffer.capacity()).mismatch(buffer.rewind());
        if (wrong >= 0) {
            throw new IOException("WRONG DATA at byte " + (position + wrong));
        }
        int next = position;
        while (next + Segment.HEADER <= end && segment.batchEnd(next) <= end) {
            next = segment.batchEnd(next);
        }
        return next;
    }

    private void readToTheEnd(RemoteLogSegmentMetadata metadata) {
        guarded(() -> readOn(metadata, 0, Long.MAX_VALUE));
    }

    private void readOn(RemoteLogSegmentMetadata metadata, int from, long bytes) throws Exception {
        for (int position = from; position < metadata.segmentSizeInBytes() && position - from < bytes;) {
            position = fetch(metadata, position);
        }
    }

    private void readAnywhere(int reads) {
        Random random = new Random(7);
        for (int i = 0; i < reads; i++) {
            RemoteLogSegmentMetadata metadata = copied.get(random.nextInt(copied.size()));
            int[] batches = sources.get(metadata.remoteLogSegmentId()).batches;
            int at = batches[random.nextInt(batches.length)];
            guarded(() -> fetch(metadata, at));
        }
    }

    /** Readers, each of which reads on from a place of its own. */
    private void readTogether(int readers, long bytes) throws Exception {
        int perSegment = (readers + copied.size() - 1) / copied.size();
        List<Call> calls = new ArrayList<>();
        for (int i = 0; i < readers; i++) {
            RemoteLogSegmentMetadata metadata = copied.get(i % copied.size());
            int[] batches = sources.get(metadata.remoteLogSegmentId()).batches;
            int from = batches[(int) ((long) batches.length * (i / copied.size()) / perSegment)];
            calls.add(() -> readOn(metadata, from, bytes));
        }
        together(readers, calls);
    }

    private void indexes(RemoteLogSegmentMetadata metadata) throws Exception {
        Segment segment = sources.get(metadata.remoteLogSegmentId());
        Map<IndexType, byte[]> all = Map.of(IndexType.OFFSET, Files.readAllBytes(segment.offsetIndex),
            IndexType.TIMESTAMP, Files.readAllBytes(segment.timeIndex), IndexType.PRODUCER_SNAPSHOT, Files.readAllBytes(segment.snapshot),
            IndexType.LEADER_EPOCH, segment.leaderEpochs.array());
        for (Map.Entry<IndexType, byte[]> one : all.entrySet()) {
            long start = System.nanoTime();
            try (InputStream in = manager.fetchIndex(metadata, one.getKey())) {
                byte[] got = in.readAllBytes();
                meter.took(start);
                meter.bytes.addAndGet(got.length);
                if (!Arrays.equals(got, one.getValue())) {
                    throw new IOException("WRONG INDEX " + one.getKey());
                }
            }
        }
    }

    private void delete() {
        for (RemoteLogSegmentMetadata metadata : copied) {
            guarded(() -> {
                long start = System.nanoTime();
                manager.deleteLogSegmentData(metadata);
                meter.took(start);
            });
        }
        copied.clear();
    }
}
