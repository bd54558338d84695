//! A segment as the state keeps it: without what all segments of a partition share.

use bytes::Bytes;

use crate::model::{
    BrokerId, KafkaUuid, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate,
    TopicIdPartition,
};

use super::naming::Naming;

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) start_offset: Offset,
    pub(super) end_offset: Offset,
    max_timestamp_ms: i64,
    event_timestamp_ms: i64,
    pub(super) epochs: SegmentEpochs,
    custom_metadata: Option<Box<[u8]>>,
    broker_id: BrokerId,
    pub(super) size_bytes: i32,
    pub(super) naming: Naming,
    pub(super) state: SegmentState,
    /// Whether the state is DANGLING because somebody claimed the attempt.
    pub(super) is_claimed: bool,
    pub(super) is_txn_index_empty: bool,
}

/// An update that waits for its segment.
#[derive(Debug)]
pub(super) struct KeptUpdate {
    pub(super) update: SegmentUpdate,
    pub(super) is_claim: bool,
}

impl Segment {
    pub(super) fn new(metadata: &SegmentMetadata, naming: Naming, is_claim: bool) -> Self {
        Self {
            start_offset: metadata.start_offset,
            end_offset: metadata.end_offset,
            max_timestamp_ms: metadata.max_timestamp_ms,
            event_timestamp_ms: metadata.event_timestamp_ms,
            epochs: metadata.epochs.clone(),
            custom_metadata: metadata.custom_metadata.as_deref().map(Box::from),
            broker_id: metadata.broker_id,
            size_bytes: metadata.size_bytes,
            naming,
            state: metadata.state,
            is_claimed: is_claim && metadata.state == SegmentState::Dangling,
            is_txn_index_empty: metadata.is_txn_index_empty,
        }
    }

    /// Takes over what an update says beside the state.
    pub(super) fn take(&mut self, update: &SegmentUpdate) {
        self.broker_id = update.broker_id;
        self.event_timestamp_ms = update.event_timestamp_ms;
        self.custom_metadata = update.custom_metadata.as_deref().map(Box::from);
    }

    pub(super) fn custom_metadata(&self) -> Option<Bytes> {
        self.custom_metadata.as_deref().map(Bytes::copy_from_slice)
    }

    pub(super) fn to_metadata(&self, partition: &TopicIdPartition, uuid: KafkaUuid) -> SegmentMetadata {
        SegmentMetadata {
            id: SegmentId { partition: partition.clone(), uuid },
            start_offset: self.start_offset,
            end_offset: self.end_offset,
            max_timestamp_ms: self.max_timestamp_ms,
            broker_id: self.broker_id,
            event_timestamp_ms: self.event_timestamp_ms,
            epochs: self.epochs.clone(),
            size_bytes: self.size_bytes,
            custom_metadata: self.custom_metadata(),
            state: self.state,
            is_txn_index_empty: self.is_txn_index_empty,
        }
    }
}
