//! What is known of a remote segment, and what is said about it later.

use bytes::Bytes;

use super::{BrokerId, Offset, PartitionDeleteState, SegmentEpochs, SegmentId, SegmentState, TopicIdPartition};

/// Everything that Kafka's `RemoteLogSegmentMetadata` says of one copied (or half copied) segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentMetadata {
    pub id: SegmentId,
    pub start_offset: Offset,
    /// Offset of the last record, inclusive.
    pub end_offset: Offset,
    pub max_timestamp_ms: i64,
    /// Broker that wrote the latest event.
    pub broker_id: BrokerId,
    /// When the latest event was written, milliseconds since 1970.
    pub event_timestamp_ms: i64,
    pub epochs: SegmentEpochs,
    /// Size of the segment as the broker wrote it, not of what is stored.
    pub size_bytes: i32,
    /// What the storage side wants back on every later call. `Some` of nothing and `None` are different, as in Kafka.
    pub custom_metadata: Option<Bytes>,
    pub state: SegmentState,
    /// True if the segment has no aborted transactions. Releases before 4.0 never say so.
    pub is_txn_index_empty: bool,
}

/// A later event of a segment (Kafka's `RemoteLogSegmentMetadataUpdate`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentUpdate {
    pub id: SegmentId,
    pub broker_id: BrokerId,
    pub event_timestamp_ms: i64,
    /// Replaces what was known, also by nothing.
    pub custom_metadata: Option<Bytes>,
    pub state: SegmentState,
}

/// An event of a whole partition's deletion (Kafka's `RemotePartitionDeleteMetadata`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDelete {
    pub partition: TopicIdPartition,
    pub broker_id: BrokerId,
    pub event_timestamp_ms: i64,
    pub state: PartitionDeleteState,
}

impl SegmentMetadata {
    /// Why there is no such segment, if there is none: no broker makes one, and no reader of the log takes one.
    #[must_use]
    pub fn why_impossible(&self) -> Option<&'static str> {
        if self.start_offset.0 < 0 {
            return Some("its start offset is negative");
        }
        (self.end_offset < self.start_offset).then_some("it ends before it starts")
    }

    /// This segment after `update`: timestamp, broker, custom metadata and state are the update's.
    #[must_use]
    pub fn updated(&self, update: &SegmentUpdate) -> Self {
        Self {
            broker_id: update.broker_id,
            event_timestamp_ms: update.event_timestamp_ms,
            custom_metadata: update.custom_metadata.clone(),
            state: update.state,
            ..self.clone()
        }
    }
}
