package io.undercroft.kafka;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/** Kafka's objects as frames of bytes and back. The layout stands in {@code frame.h}, the other half of this. */
final class SegmentCodec {
    private static final int SEGMENT_HEAD = 96;
    private static final int EPOCH_SIZE = 16;
    private static final int TOPIC_LENGTH_AT = 20;
    private static final int EPOCHS_AT = 24;
    private static final int CUSTOM_LENGTH_AT = 28;
    private static final int PARTITION_HEAD = 32;
    private static final int FLAG_TXN_INDEX_EMPTY = 1;
    private static final int NO_EPOCH = -1;
    /** The core's state of a failed attempt whose objects may be left; stock brokers have no word for it. */
    private static final int DANGLING = 4;

    private SegmentCodec() {
    }

    static byte[] segment(RemoteLogSegmentMetadata segment) {
        Map<Integer, Long> epochs = segment.segmentLeaderEpochs();
        byte[] topic = utf8(segment.topicIdPartition().topic());
        byte[] custom = segment.customMetadata().map(CustomMetadata::value).orElse(null);
        ByteBuffer frame = frame(SEGMENT_HEAD + epochs.size() * EPOCH_SIZE + topic.length + length(custom));
        frame.putInt(segment.topicIdPartition().partition()).putInt(segment.brokerId())
            .putInt(segment.segmentSizeInBytes()).putInt(segment.state().id())
            .putInt(KafkaApi.isTxnIndexEmpty(segment) ? FLAG_TXN_INDEX_EMPTY : 0)
            .putInt(topic.length).putInt(epochs.size()).putInt(custom == null ? -1 : custom.length)
            .putLong(segment.startOffset()).putLong(segment.endOffset())
            .putLong(segment.maxTimestampMs()).putLong(segment.eventTimestampMs());
        put(frame, segment.topicIdPartition().topicId());
        put(frame, segment.remoteLogSegmentId().id());
        epochs.forEach((epoch, startOffset) -> frame.putInt(epoch).putInt(0).putLong(startOffset));
        return finish(frame.put(topic), custom);
    }

    static byte[] update(RemoteLogSegmentMetadataUpdate update) {
        byte[] topic = utf8(update.topicIdPartition().topic());
        byte[] custom = update.customMetadata().map(CustomMetadata::value).orElse(null);
        ByteBuffer frame = frame(SEGMENT_HEAD + topic.length + length(custom));
        frame.putInt(update.topicIdPartition().partition()).putInt(update.brokerId()).putInt(0).putInt(update.state().id())
            .putInt(0).putInt(topic.length).putInt(0).putInt(custom == null ? -1 : custom.length)
            .putLong(0).putLong(0).putLong(0).putLong(update.eventTimestampMs());
        put(frame, update.topicIdPartition().topicId());
        put(frame, update.remoteLogSegmentId().id());
        return finish(frame.put(topic), custom);
    }

    static byte[] partition(TopicIdPartition partition) {
        return partitions(List.of(partition));
    }

    /** Frames of all, one after the other. Java's interface carries no leader epochs. */
    static byte[] partitions(Collection<TopicIdPartition> partitions) {
        List<byte[]> topics = new ArrayList<>(partitions.size());
        int total = 0;
        for (TopicIdPartition partition : partitions) {
            byte[] topic = utf8(partition.topic());
            topics.add(topic);
            total += padded(PARTITION_HEAD + topic.length);
        }
        ByteBuffer frames = frame(total);
        int at = 0;
        int next = 0;
        for (TopicIdPartition partition : partitions) {
            byte[] topic = topics.get(next++);
            frames.position(at);
            frames.putInt(partition.partition()).putInt(NO_EPOCH).putInt(topic.length).putInt(0);
            put(frames, partition.topicId());
            frames.put(topic);
            at += padded(PARTITION_HEAD + topic.length);
        }
        return frames.array();
    }

    /** The core's answer about {@code owner}: every one of the segments is that partition's. */
    static List<RemoteLogSegmentMetadata> segments(byte[] frames, TopicIdPartition owner) {
        List<RemoteLogSegmentMetadata> segments = new ArrayList<>(frames.length / (SEGMENT_HEAD + EPOCH_SIZE));
        ByteBuffer from = ByteBuffer.wrap(frames).order(ByteOrder.nativeOrder());
        for (int at = 0; at < frames.length;) {
            segments.add(readSegment(from, at, owner));
            at += SEGMENT_HEAD + from.getInt(at + TOPIC_LENGTH_AT) + from.getInt(at + EPOCHS_AT) * EPOCH_SIZE
                + Math.max(0, from.getInt(at + CUSTOM_LENGTH_AT));
        }
        return segments;
    }

    private static RemoteLogSegmentMetadata readSegment(ByteBuffer from, int at, TopicIdPartition owner) {
        int flags = from.getInt(at + 16);
        int epochsAt = at + SEGMENT_HEAD;
        int topicAt = epochsAt + from.getInt(at + EPOCHS_AT) * EPOCH_SIZE;
        int customLength = from.getInt(at + CUSTOM_LENGTH_AT);
        Optional<CustomMetadata> custom = Optional.empty();
        if (customLength >= 0) {
            int customAt = topicAt + from.getInt(at + TOPIC_LENGTH_AT);
            custom = Optional.of(new CustomMetadata(Arrays.copyOfRange(from.array(), customAt, customAt + customLength)));
        }
        RemoteLogSegmentId id = new RemoteLogSegmentId(owner, uuid(from, at + 80));
        return KafkaApi.segment(id, from.getLong(at + 32), from.getLong(at + 40), from.getLong(at + 48), from.getInt(at + 4),
            from.getLong(at + 56), from.getInt(at + 8), custom, state(from.getInt(at + 12)), epochs(from, epochsAt, topicAt),
            (flags & FLAG_TXN_INDEX_EMPTY) != 0);
    }

    /** Most segments have one: the constructor copies the map, so the smallest one does. */
    private static Map<Integer, Long> epochs(ByteBuffer from, int at, int end) {
        if (end - at == EPOCH_SIZE) {
            return Map.of(from.getInt(at), from.getLong(at + 8));
        }
        Map<Integer, Long> epochs = new TreeMap<>();
        for (int next = at; next < end; next += EPOCH_SIZE) {
            epochs.put(from.getInt(next), from.getLong(next + 8));
        }
        return epochs;
    }

    /** A dangling attempt is shown as one that is being deleted: a broker then deletes it again, and that is right. */
    static RemoteLogSegmentState state(int number) {
        RemoteLogSegmentState state = number == DANGLING
            ? RemoteLogSegmentState.DELETE_SEGMENT_STARTED
            : RemoteLogSegmentState.forId((byte) number);
        if (state == null) {
            throw new IllegalArgumentException("a segment state of " + number);
        }
        return state;
    }

    private static ByteBuffer frame(int length) {
        return ByteBuffer.allocate(length).order(ByteOrder.nativeOrder());
    }

    private static byte[] finish(ByteBuffer frame, byte[] custom) {
        if (custom != null) {
            frame.put(custom);
        }
        return frame.array();
    }

    private static void put(ByteBuffer to, Uuid id) {
        to.order(ByteOrder.BIG_ENDIAN).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
        to.order(ByteOrder.nativeOrder());
    }

    private static Uuid uuid(ByteBuffer from, int at) {
        long most = from.getLong(at);
        long least = from.getLong(at + 8);
        boolean isSwapped = from.order() == ByteOrder.LITTLE_ENDIAN;
        return isSwapped ? new Uuid(Long.reverseBytes(most), Long.reverseBytes(least)) : new Uuid(most, least);
    }

    private static int padded(int length) {
        return (length + 7) & ~7;
    }

    private static int length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
