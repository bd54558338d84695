package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.junit.jupiter.api.Test;

class SegmentCodecTest {
    private static RemoteLogSegmentMetadata segment(String topic, Optional<CustomMetadata> custom, Map<Integer, Long> epochs) {
        TopicIdPartition partition = new TopicIdPartition(Uuid.fromString("AQIDBAUGBwgJCgsMDQ4PEA"), new TopicPartition(topic, 11));
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, Uuid.fromString("__79_Pv6-fj39vX08_Lx8A")),
            5, Long.MAX_VALUE, -1, 2, 3, Integer.MAX_VALUE, custom, RemoteLogSegmentState.COPY_SEGMENT_FINISHED, epochs);
    }

    @Test
    void whatIsEncodedComesBackEqual() {
        for (RemoteLogSegmentMetadata segment : List.of(
            segment("t", Optional.empty(), Map.of(0, 5L)),
            segment("größe-ñ", Optional.of(new CustomMetadata(new byte[] {1, 2, 3})), Map.of(0, 5L, 7, 1L << 40)),
            segment("t".repeat(249), Optional.of(new CustomMetadata(new byte[0])), Map.of(2147483647, 5L)))) {
            assertEquals(List.of(segment), SegmentCodec.segments(SegmentCodec.segment(segment), segment.topicIdPartition()));
        }
    }

    @Test
    void idsStandInKafkasByteOrder() {
        byte[] frame = SegmentCodec.segment(segment("t", Optional.empty(), Map.of(0, 5L)));
        assertArrayEquals(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
            java.util.Arrays.copyOfRange(frame, 64, 80));
    }

    @Test
    void danglingIsShownAsBeingDeleted() {
        assertEquals(RemoteLogSegmentState.DELETE_SEGMENT_STARTED, SegmentCodec.state(4));
        for (RemoteLogSegmentState state : RemoteLogSegmentState.values()) {
            assertEquals(state, SegmentCodec.state(state.id()));
        }
        assertThrows(IllegalArgumentException.class, () -> SegmentCodec.state(5));
    }

    @Test
    void partitionsArePaddedToEight() {
        assertEquals(40, SegmentCodec.partition(Segments.partition("a")).length);
        assertEquals(40 + 48, SegmentCodec.partitions(List.of(Segments.partition("12345678"), Segments.partition("123456789"))).length);
        assertEquals(0, SegmentCodec.partitions(List.of()).length);
    }
}
