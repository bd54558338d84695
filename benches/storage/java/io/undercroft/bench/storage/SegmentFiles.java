package io.undercroft.bench.storage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Random;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Writes segments as a broker would: batches of JSON-like records of about 1 KiB, which zstd at level 3 brings to 0.38, with the
 * two indexes that a broker keeps. The same number makes the same segment.
 */
final class SegmentFiles {
    private static final int INDEX_INTERVAL = 4096;
    private static final long FIRST_TIMESTAMP = 1_764_500_000_000L;
    private static final String[] LEVELS = {"INFO", "INFO", "INFO", "WARN", "DEBUG", "ERROR"};
    private static final String[] SERVICES = {"checkout", "payment", "inventory", "search-api", "gateway", "session", "ledger", "notifier"};

    private final Random random;
    private final Compression compression;
    /** Bytes of records in a batch, before compression. */
    private final int batchBytes;

    private SegmentFiles(int number, String codec) {
        random = new Random(42 + number);
        compression = codec.equals("zstd") ? Compression.zstd().build() : codec.equals("lz4") ? Compression.lz4().build() : Compression.NONE;
        batchBytes = codec.equals("none") ? 16_384 : 65_536;
    }

    /** The segment of this number, which begins at this offset; written unless it is there. */
    static Segment segment(Path folder, int number, long base, int mebibytes, String codec) throws IOException {
        Files.createDirectories(folder);
        String stem = String.format("%020d", base);
        Path done = folder.resolve(stem + ".done");
        if (!Files.exists(done)) {
            new SegmentFiles(number, codec).write(folder, stem, base, mebibytes << 20);
            Files.write(done, new byte[0]);
        }
        return new Segment(folder, stem, base);
    }

    private static FileChannel create(Path path) throws IOException {
        return FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING);
    }

    private void write(Path folder, String stem, long base, int limit) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(batchBytes + 65_536);
        long offset = base;
        int position = 0;
        int sinceEntry = 0;
        try (FileChannel log = create(folder.resolve(stem + ".log"));
             FileChannel offsets = create(folder.resolve(stem + ".index"));
             FileChannel times = create(folder.resolve(stem + ".timeindex"))) {
            while (true) {
                buffer.clear();
                MemoryRecordsBuilder batch = MemoryRecords.builder(buffer, RecordBatch.MAGIC_VALUE_V2, compression,
                    TimestampType.CREATE_TIME, offset, 0L, 7L, (short) 0, 0, false, 0);
                long timestamp = 0;
                for (int raw = 0; raw < batchBytes; offset++) {
                    byte[] value = value(offset);
                    timestamp = FIRST_TIMESTAMP + offset % 10_000_000L * 3;
                    batch.append(timestamp, hex(8).getBytes(StandardCharsets.ISO_8859_1), value);
                    raw += value.length + 24;
                }
                ByteBuffer bytes = batch.build().buffer().duplicate();
                int length = bytes.remaining();
                if (position + length > limit) {
                    break;
                }
                if (sinceEntry > INDEX_INTERVAL) {
                    int relative = (int) (offset - 1 - base);
                    offsets.write(ByteBuffer.allocate(8).putInt(relative).putInt(position).flip());
                    times.write(ByteBuffer.allocate(12).putLong(timestamp).putInt(relative).flip());
                    sinceEntry = 0;
                }
                while (bytes.hasRemaining()) {
                    log.write(bytes);
                }
                position += length;
                sinceEntry += length;
            }
        }
        byte[] snapshot = new byte[60];
        random.nextBytes(snapshot);
        Files.write(folder.resolve(stem + ".snapshot"), snapshot);
    }

    private <T> T any(T[] of) {
        return of[random.nextInt(of.length)];
    }

    private String hex(int bytes) {
        StringBuilder text = new StringBuilder(bytes * 2);
        for (int i = 0; i < bytes * 2; i++) {
            text.append(Character.forDigit(random.nextInt(16), 16));
        }
        return text.toString();
    }

    /** An event: about half of it words, the rest nothing that compresses. */
    private byte[] value(long number) {
        StringBuilder text = new StringBuilder(1_100);
        text.append("{\"ts\":").append(FIRST_TIMESTAMP + number * 3).append(",\"level\":\"").append(any(LEVELS))
            .append("\",\"service\":\"").append(any(SERVICES)).append("\",\"host\":\"ip-10-").append(random.nextInt(16)).append('-')
            .append(random.nextInt(256)).append(".internal\",\"trace_id\":\"").append(hex(16)).append("\",\"span_id\":\"").append(hex(8))
            .append("\",\"user\":").append(random.nextInt(5_000_000)).append(",\"path\":\"/v1/").append(any(SERVICES)).append('/')
            .append(random.nextInt(100_000)).append("\",\"latency_us\":").append(random.nextInt(2_000_000)).append(",\"payload\":\"");
        while (text.length() < 1_020) {
            if (random.nextInt(100) < 45) {
                text.append(hex(12)).append(' ');
            } else {
                text.append(any(SERVICES)).append('=').append(any(LEVELS)).append("; ");
            }
        }
        return text.append("\"}").toString().getBytes(StandardCharsets.ISO_8859_1);
    }
}
