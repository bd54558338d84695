package io.undercroft.bench;

import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/**
 * What a topic has lived through: its segments were copied one after the other, and the oldest were deleted once so many
 * were there. All of it follows from numbers, so that who reads it back can check every answer.
 */
final class History {
    static final int OFFSETS = 1_000;
    static final int SIZE_BYTES = 1 << 30;
    private static final long BEGAN_MS = 1_700_000_000_000L;
    private static final long PERIOD_MS = 60_000;
    /** A leader change comes after so many segments, in the middle of the next one. */
    private static final int SEGMENTS_PER_EPOCH = 200;

    final String topic;
    final Uuid topicId;
    final int partitions;
    final int segments;
    final int deleted;

    History(String topic, Uuid topicId, int partitions, int segments, int deleted) {
        this.topic = topic;
        this.topicId = topicId;
        this.partitions = partitions;
        this.segments = segments;
        this.deleted = deleted;
    }

    int live() {
        return segments - deleted;
    }

    TopicIdPartition partition(int number) {
        return new TopicIdPartition(topicId, new TopicPartition(topic, number));
    }

    RemoteLogSegmentId id(TopicIdPartition of, int segment) {
        long seed = of.topicId().getLeastSignificantBits() ^ ((long) of.partition() << 32 | segment);
        return new RemoteLogSegmentId(of, new Uuid(scatter(seed), scatter(~seed)));
    }

    static int epoch(int segment) {
        return segment / SEGMENTS_PER_EPOCH;
    }

    static NavigableMap<Integer, Long> epochs(int segment) {
        NavigableMap<Integer, Long> epochs = new TreeMap<>();
        long start = (long) segment * OFFSETS;
        if (segment > 0 && segment % SEGMENTS_PER_EPOCH == 0) {
            epochs.put(epoch(segment) - 1, start);
            epochs.put(epoch(segment), start + OFFSETS / 2);
        } else {
            epochs.put(epoch(segment), start);
        }
        return epochs;
    }

    RemoteLogSegmentMetadata begun(TopicIdPartition of, int segment) {
        long start = (long) segment * OFFSETS;
        long at = BEGAN_MS + segment * PERIOD_MS;
        return new RemoteLogSegmentMetadata(id(of, segment), start, start + OFFSETS - 1, at, 1, at + 1, SIZE_BYTES, epochs(segment));
    }

    RemoteLogSegmentMetadataUpdate entered(TopicIdPartition of, int segment, RemoteLogSegmentState state) {
        return new RemoteLogSegmentMetadataUpdate(id(of, segment), BEGAN_MS + segment * PERIOD_MS + 2, Optional.empty(), state, 1);
    }

    /** KIP-1266's key of the first record. */
    static String key(TopicIdPartition of, int segment) {
        return of.topicId() + ":" + of.topic() + ":" + of.partition() + ":" + ((segment + 1L) * OFFSETS - 1) + ":" + epoch(segment);
    }

    /** Numbers that look random (the finaliser of MurmurHash3). */
    private static long scatter(long number) {
        long mixed = (number ^ number >>> 33) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ mixed >>> 33;
    }
}
