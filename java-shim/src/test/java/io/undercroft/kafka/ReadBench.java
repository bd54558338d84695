package io.undercroft.kafka;

import java.io.InputStream;
import java.util.Map;

import org.apache.kafka.common.TopicIdPartition;

/**
 * Cost of the shim in reads: run by hand with {@code -Dundercroft.native.path} naming the scripted core, whose readers
 * cost nothing. Prints the median of many rounds.
 */
public final class ReadBench {
    private static final int ROUNDS = 2_000;

    private ReadBench() {
    }

    public static void main(String[] args) throws Exception {
        try (UndercroftRemoteStorageManager storage = new UndercroftRemoteStorageManager()) {
            storage.configure(Map.of("broker.id", 1));
            for (int size : new int[] {17, 16_384, 65_536, 1 << 20, 4 << 20}) {
                System.out.printf("%,9d bytes: read %,9.1f us%n", size, readMicros(storage, size));
            }
            System.out.printf("open + first 64 KiB + close: %,9.1f us%n", openMicros(storage));
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
        TopicIdPartition partition = Segments.partition("fast");
        long[] took = new long[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            long began = System.nanoTime();
            storage.fetchLogSegment(Segments.of(partition, 0, 1 << 20), 0).close();
            took[round] = System.nanoTime() - began;
        }
        return median(took);
    }

    private static double median(long[] nanos) {
        java.util.Arrays.sort(nanos);
        return nanos[nanos.length / 2] / 1000.0;
    }
}
