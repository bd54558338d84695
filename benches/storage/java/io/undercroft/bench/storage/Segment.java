package io.undercroft.bench.storage;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/** A closed segment on the broker's disk. Its mapped file is what every read is compared with. */
final class Segment {
    static final TopicIdPartition PARTITION =
        new TopicIdPartition(Uuid.fromString("lZ6vvmajTWKDBUTV6SQAtQ"), new TopicPartition("bench-topic", 3));
    /** Length of a batch's beginning up to its magic: all that a broker reads before it knows how long the batch is. */
    static final int HEADER = 17;

    final Path log;
    final Path offsetIndex;
    final Path timeIndex;
    final Path snapshot;
    final ByteBuffer leaderEpochs;
    final long baseOffset;
    final MappedByteBuffer bytes;
    /** Where each batch begins. */
    final int[] batches;
    private long lastOffset;
    private long maxTimestamp;

    /** Maps files that {@link SegmentFiles} has written. */
    Segment(Path folder, String stem, long baseOffset) throws IOException {
        log = folder.resolve(stem + ".log");
        offsetIndex = folder.resolve(stem + ".index");
        timeIndex = folder.resolve(stem + ".timeindex");
        snapshot = folder.resolve(stem + ".snapshot");
        leaderEpochs = ByteBuffer.wrap(("0\n2\n0 0\n3 " + baseOffset + "\n").getBytes(StandardCharsets.UTF_8));
        this.baseOffset = baseOffset;
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
            bytes = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, Files.size(log));
        }
        bytes.load();
        List<Integer> starts = new ArrayList<>();
        for (int at = 0; at < size(); at = batchEnd(at)) {
            starts.add(at);
            lastOffset = bytes.getLong(at) + bytes.getInt(at + 23);
            maxTimestamp = Math.max(maxTimestamp, bytes.getLong(at + 35));
        }
        batches = starts.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Offset of the first record of the segment behind it. */
    long nextOffset() {
        return lastOffset + 1;
    }

    int size() {
        return bytes.capacity();
    }

    int batchEnd(int start) {
        return start + 12 + bytes.getInt(start + 8);
    }

    /** Metadata of a copy of it that begins now. */
    RemoteLogSegmentMetadata metadata() {
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(PARTITION, Uuid.randomUuid()), baseOffset, lastOffset, maxTimestamp,
            1, System.currentTimeMillis(), size(), Map.of(3, baseOffset));
    }

    LogSegmentData files() {
        return new LogSegmentData(log, offsetIndex, timeIndex, Optional.empty(), snapshot, leaderEpochs.duplicate());
    }
}
