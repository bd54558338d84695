package io.undercroft.kafka;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/** Segments and their files, for tests. */
final class Segments {
    static final int SIZE = 300_000;

    private Segments() {
    }

    static TopicIdPartition partition(String topic) {
        return new TopicIdPartition(Uuid.randomUuid(), new TopicPartition(topic, 3));
    }

    static RemoteLogSegmentMetadata of(String topic) {
        return of(partition(topic), 0, SIZE);
    }

    static RemoteLogSegmentMetadata of(TopicIdPartition partition, long startOffset, int size) {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, Uuid.randomUuid()), startOffset, startOffset + 99,
            1_700_000_000_000L, 7, 1_700_000_000_001L, size, Optional.empty(), RemoteLogSegmentState.COPY_SEGMENT_STARTED,
            Map.of(0, startOffset));
    }

    static RemoteLogSegmentMetadataUpdate update(RemoteLogSegmentMetadata segment, RemoteLogSegmentState state,
                                                 Optional<CustomMetadata> custom) {
        return new RemoteLogSegmentMetadataUpdate(segment.remoteLogSegmentId(), 1_700_000_000_002L, custom, state, 7);
    }

    static byte byteAt(long position) {
        return (byte) (position * 31);
    }

    /** Files as a broker has them; their content tells which they are. */
    static LogSegmentData files(Path folder, int size, boolean withTransactions) throws IOException {
        byte[] log = new byte[size];
        for (int i = 0; i < size; i++) {
            log[i] = byteAt(i);
        }
        return new LogSegmentData(
            Files.write(folder.resolve("00000000000000000000.log"), log),
            Files.write(folder.resolve("00000000000000000000.index"), new byte[] {0, 1, 2, 3, 4, 5, 6, 7}),
            Files.write(folder.resolve("00000000000000000000.timeindex"), new byte[] {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
            withTransactions ? Optional.of(Files.write(folder.resolve("00000000000000000000.txnindex"), new byte[34])) : Optional.empty(),
            Files.write(folder.resolve("00000000000000000100.snapshot"), new byte[] {2, 1, 2}),
            ByteBuffer.wrap("0\n1\n0 0\n".getBytes(java.nio.charset.StandardCharsets.UTF_8)));
    }
}
