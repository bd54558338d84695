//! A segment as the state keeps it: without what all segments of a partition share.

use bytes::Bytes;

use crate::model::{
    BrokerId, KafkaUuid, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate,
    TopicIdPartition,
};

use super::book::KeyBook;
use super::naming::{KeyName, Naming};

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) start_offset: Offset,
    pub(super) end_offset: Offset,
    max_timestamp_ms: i64,
    pub(super) event_timestamp_ms: i64,
    pub(super) epochs: SegmentEpochs,
    custom_metadata: Option<Box<[u8]>>,
    broker_id: BrokerId,
    pub(super) size_bytes: i32,
    pub(super) naming: Naming,
    pub(super) state: SegmentState,
    /// Whether the state is DANGLING because somebody claimed the attempt.
    pub(super) is_claimed: bool,
    pub(super) is_txn_index_empty: bool,
    /// Whether its state stands under a key of its own.
    pub(super) is_state_keyed: bool,
    pub(super) book: KeyBook,
}

/// A segment whose deletion has ended, as long as the log may have something of it. A late record must neither bring it
/// back nor be kept for ever.
#[derive(Debug)]
pub(super) struct Gone {
    pub(super) end_offset: Offset,
    pub(super) naming: Naming,
    pub(super) is_state_keyed: bool,
    pub(super) book: KeyBook,
    /// When its last record was read.
    pub(super) seen_ms: i64,
    /// When its last record was written, by the clock of the log.
    pub(super) timestamp_ms: i64,
}

/// Updates of a segment that is not known, in log order; of each key the last one.
#[derive(Debug, Default)]
pub(super) struct Orphan {
    pub(super) updates: Vec<KeptUpdate>,
    pub(super) seen_ms: i64,
}

/// An update that waits for its segment.
#[derive(Debug)]
pub(super) struct KeptUpdate {
    pub(super) update: SegmentUpdate,
    pub(super) name: Option<KeyName>,
}

impl Segment {
    /// Without any record yet.
    pub(super) fn new(metadata: &SegmentMetadata, naming: Naming) -> Self {
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
            is_claimed: false,
            is_txn_index_empty: metadata.is_txn_index_empty,
            is_state_keyed: false,
            book: KeyBook::default(),
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

    /// An update to what it is now.
    pub(super) fn as_update(&self, id: SegmentId) -> SegmentUpdate {
        SegmentUpdate {
            id,
            broker_id: self.broker_id,
            event_timestamp_ms: self.event_timestamp_ms,
            custom_metadata: self.custom_metadata(),
            state: self.state,
        }
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

impl Gone {
    /// An update to what it is; nobody needs to know more.
    pub(super) fn as_update(&self, id: SegmentId) -> SegmentUpdate {
        SegmentUpdate {
            id,
            broker_id: BrokerId(-1),
            event_timestamp_ms: self.timestamp_ms,
            custom_metadata: None,
            state: SegmentState::DeleteFinished,
        }
    }
}

impl Orphan {
    /// Keeps an update behind the others. An earlier one of the same key is worthless: a log cleaner drops it.
    pub(super) fn keep(&mut self, update: SegmentUpdate, name: Option<KeyName>) {
        if name.is_some() {
            self.updates.retain(|kept| kept.name != name);
        }
        self.updates.push(KeptUpdate { update, name });
    }
}
