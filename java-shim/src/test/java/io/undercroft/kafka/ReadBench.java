package io.undercroft.kafka;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * Cost of the shim in reads: run by hand with {@code -Dundercroft.native.path} naming the scripted core, whose readers
 * cost nothing. Prints the median of many rounds.
 */
public final class ReadBench {
    private static final int ROUNDS = 2_000;

    private ReadBench() {
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            real(Path.of(args[0]));
            return;
        }
        try (UndercroftRemoteStorageManager storage = new UndercroftRemoteStorageManager()) {
            storage.configure(Map.of("broker.id", 1));
            for (int size : new int[] {17, 16_384, 65_536, 1 << 20, 4 << 20}) {
                System.out.printf("%,9d bytes: read %,9.1f us%n", size, readMicros(storage, size));
            }
            System.out.printf("open + first 64 KiB + close: %,9.1f us%n", openMicros(storage));
        }
    }

    /** With a folder as argument: the same reads from the real core, out of its cache. */
    private static void real(Path folder) throws Exception {
        try (UndercroftRemoteStorageManager storage = new UndercroftRemoteStorageManager()) {
            Path store = Files.createDirectories(folder.resolve("store"));
            storage.configure(Map.of("storage.backend.class", "filesystem", "storage.root", store.toString()));
            RemoteLogSegmentMetadata segment = Segments.of(Segments.partition("bench"), 0, 16 << 20);
            RemoteLogSegmentMetadata copied = segment.createWithUpdates(Segments.update(segment,
                RemoteLogSegmentState.COPY_SEGMENT_FINISHED, storage.copyLogSegmentData(segment, Segments.files(folder, 16 << 20, false))));
            byte[] dst = new byte[1 << 20];
            long[] took = new long[ROUNDS / 4];
            for (int round = 0; round < took.length; round++) {
                long began = System.nanoTime();
                try (InputStream stream = storage.fetchLogSegment(copied, 4 << 20)) {
                    for (int at = 0; at < dst.length; ) {
                        at += stream.read(dst, at, dst.length - at);
                    }
                }
                took[round] = System.nanoTime() - began;
            }
            System.out.printf("open + 1 MiB from the core's cache + close: %,9.1f us%n", median(took));
        }
    }

    /** All of {@code size} bytes, as a broker takes them: again and again until they are there. */
    private static double readMicros(UndercroftRemoteStorageManager storage, int size) throws Exception {
        TopicIdPartition partition = Segments.partition("fast");
        byte[] dst = new byte[size];
        long[] took = new long[ROUNDS];
        InputStream stream = storage.fetchLogSegment(Segments.of(partition, 0, Integer.MAX_VALUE), 0);
        stream.skip(SegmentStream.BUFFER_BYTES);
        long left = Integer.MAX_VALUE - SegmentStream.BUFFER_BYTES;
        for (int round = 0; round < ROUNDS; round++) {
            if (left < 2L * size) {
                stream.close();
                stream = storage.fetchLogSegment(Segments.of(partition, 0, Integer.MAX_VALUE), 0);
                left = Integer.MAX_VALUE;
            }
            long began = System.nanoTime();
            for (int at = 0; at < size; ) {
                at += stream.read(dst, at, size - at);
            }
            took[round] = System.nanoTime() - began;
            left -= size;
        }
        stream.close();
        return median(took);
    }

    private static double openMicros(UndercroftRemoteStorageManager storage) throws Exception {
        RemoteLogSegmentMetadata segment = Segments.of(Segments.partition("fast"), 0, 1 << 20);
        long[] took = new long[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            long began = System.nanoTime();
            storage.fetchLogSegment(segment, 0).close();
            took[round] = System.nanoTime() - began;
        }
        return median(took);
    }

    private static double median(long[] nanos) {
        java.util.Arrays.sort(nanos);
        return nanos[nanos.length / 2] / 1000.0;
    }
}
