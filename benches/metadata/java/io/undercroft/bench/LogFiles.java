package io.undercroft.bench;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataTopicPartitioner;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * Writes a history into the log files of a broker that does not run; it takes them for its own when it starts. Twelve
 * million records with a batch for each, as a stock broker's single writes are, take minutes through a producer.
 */
final class LogFiles implements AutoCloseable {
    private static final long TIMESTAMP_MS = 1_760_000_000_000L;
    private final RemoteLogMetadataSerde serde = new RemoteLogMetadataSerde();
    private final RemoteLogMetadataTopicPartitioner partitioner;
    private final Partition[] partitions;
    private final boolean isKeyed;
    private long records;

    /** With `rollBytes` reached a partition goes on in another file. */
    LogFiles(Path logDir, int count, boolean isKeyed, long rollBytes) {
        partitioner = new RemoteLogMetadataTopicPartitioner(count);
        partitions = new Partition[count];
        for (int i = 0; i < count; i++) {
            partitions[i] = new Partition(logDir.resolve(Brokers.METADATA_TOPIC + "-" + i), rollBytes);
        }
        this.isKeyed = isKeyed;
    }

    /** The whole history; with {@code isLiveOnly} what a log cleaner can't take away of it. */
    long write(History history, boolean isLiveOnly) throws IOException {
        for (int segment = isLiveOnly ? history.deleted : 0; segment < history.segments; segment++) {
            for (int number = 0; number < history.partitions; number++) {
                TopicIdPartition of = history.partition(number);
                String key = History.key(of, segment);
                put(of, key, history.begun(of, segment));
                put(of, key + ":UPDATE", history.entered(of, segment, RemoteLogSegmentState.COPY_SEGMENT_FINISHED));
                int expired = segment - history.live();
                if (expired >= 0 && !isLiveOnly) {
                    delete(history, of, expired);
                }
            }
        }
        return records;
    }

    private void delete(History history, TopicIdPartition of, int segment) throws IOException {
        String key = History.key(of, segment);
        put(of, key + ":UPDATE", history.entered(of, segment, RemoteLogSegmentState.DELETE_SEGMENT_STARTED));
        put(of, key + ":UPDATE", history.entered(of, segment, RemoteLogSegmentState.DELETE_SEGMENT_FINISHED));
        if (isKeyed) {
            put(of, key + ":UPDATE", null);
            put(of, key, null);
        }
    }

    private void put(TopicIdPartition of, String key, RemoteLogMetadata value) throws IOException {
        byte[] keyBytes = isKeyed ? key.getBytes(StandardCharsets.UTF_8) : null;
        partitions[partitioner.metadataPartition(of)].append(keyBytes, value == null ? null : serde.serialize(value));
        records++;
    }

    @Override
    public void close() throws IOException {
        for (Partition partition : partitions) {
            partition.close();
        }
    }

    /** Kafka's record batches of version 2 with one record each: no producer, no compression. */
    private static final class Partition {
        private static final int BATCH_HEAD = 61;
        private static final int CRC_AT = 17;
        private final Path folder;
        private final long rollBytes;
        private final ByteBuffer buffer = ByteBuffer.allocate(1 << 16);
        private OutputStream file;
        private long size;
        private long offset;

        Partition(Path folder, long rollBytes) {
            this.folder = folder;
            this.rollBytes = rollBytes;
        }

        void append(byte[] key, byte[] value) throws IOException {
            encode(key, value);
            if (file == null || size + buffer.limit() > rollBytes) {
                close();
                file = new BufferedOutputStream(Files.newOutputStream(folder.resolve(String.format("%020d.log", offset))), 1 << 17);
                size = 0;
            }
            file.write(buffer.array(), 0, buffer.limit());
            size += buffer.limit();
            offset++;
        }

        private void encode(byte[] key, byte[] value) {
            int body = 3 + sized(key) + sized(value) + 1;
            buffer.clear().position(BATCH_HEAD);
            varint(body);
            buffer.put((byte) 0).put((byte) 0).put((byte) 0);
            bytes(key);
            bytes(value);
            buffer.put((byte) 0).flip();
            buffer.putLong(0, offset).putInt(8, buffer.limit() - 12).putInt(12, 0).put(16, (byte) 2);
            buffer.putShort(21, (short) 0).putInt(23, 0).putLong(27, TIMESTAMP_MS).putLong(35, TIMESTAMP_MS);
            buffer.putLong(43, -1).putShort(51, (short) -1).putInt(53, -1).putInt(57, 1);
            CRC32C crc = new CRC32C();
            crc.update(buffer.array(), CRC_AT + 4, buffer.limit() - CRC_AT - 4);
            buffer.putInt(CRC_AT, (int) crc.getValue());
        }

        private void bytes(byte[] bytes) {
            varint(bytes == null ? -1 : bytes.length);
            if (bytes != null) {
                buffer.put(bytes);
            }
        }

        private void varint(int value) {
            int zigzag = value << 1 ^ value >> 31;
            for (; (zigzag & ~0x7f) != 0; zigzag >>>= 7) {
                buffer.put((byte) (zigzag & 0x7f | 0x80));
            }
            buffer.put((byte) zigzag);
        }

        private static int sized(byte[] bytes) {
            int length = bytes == null ? 0 : bytes.length;
            int zigzag = bytes == null ? 1 : length << 1;
            return length + (zigzag < 0x80 ? 1 : zigzag < 0x4000 ? 2 : 3);
        }

        void close() throws IOException {
            if (file != null) {
                file.close();
            }
        }
    }
}
