//! A segment as the state keeps it: without what all segments of a partition share.

use bytes::Bytes;

use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate,
    TopicIdPartition,
};

use super::blobs::{Blob, Blobs};
use super::book::{Holder, Usual};
use super::naming::{KeyName, Naming};
use super::slab::Slotted;

/// There are as many of these as segments: every byte counts.
#[derive(Debug)]
pub(super) struct Segment {
    uuid: KafkaUuid,
    pub(super) start_offset: Offset,
    pub(super) end_offset: Offset,
    max_timestamp_ms: i64,
    pub(super) event_timestamp_ms: i64,
    /// `None` if all of it is of one epoch.
    epochs: Option<Box<SegmentEpochs>>,
    first_epoch: LeaderEpoch,
    broker_id: BrokerId,
    pub(super) size_bytes: i32,
    pub(super) custom_metadata: Blob,
    naming_epoch: LeaderEpoch,
    naming_has_id: bool,
    pub(super) state: SegmentState,
    /// Whether the state is DANGLING because somebody claimed the attempt.
    pub(super) is_claimed: bool,
    pub(super) is_txn_index_empty: bool,
    /// Whether its state stands under a key of its own.
    pub(super) is_state_keyed: bool,
    pub(super) usual_keys: Usual,
}

/// A segment whose deletion has ended, as long as the log may have something of it. A late record must neither bring it
/// back nor be kept for ever.
#[derive(Debug)]
pub(super) struct Gone {
    uuid: KafkaUuid,
    pub(super) end_offset: Offset,
    /// When its last record was read.
    pub(super) seen_ms: i64,
    naming_epoch: LeaderEpoch,
    naming_has_id: bool,
    pub(super) is_state_keyed: bool,
    pub(super) usual_keys: Usual,
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
    /// In COPY_SEGMENT_STARTED, without any record yet.
    pub(super) fn new(metadata: &SegmentMetadata, naming: Naming, custom_metadata: Blob) -> Self {
        let entries = metadata.epochs.entries();
        let first_epoch = entries.first().map_or(LeaderEpoch::UNKNOWN, |&(epoch, _)| epoch);
        let is_of_one = entries.len() == 1 && entries[0].1 == metadata.start_offset;
        Self {
            uuid: metadata.id.uuid,
            start_offset: metadata.start_offset,
            end_offset: metadata.end_offset,
            max_timestamp_ms: metadata.max_timestamp_ms,
            event_timestamp_ms: metadata.event_timestamp_ms,
            epochs: (!is_of_one).then(|| Box::new(metadata.epochs.clone())),
            first_epoch,
            broker_id: metadata.broker_id,
            size_bytes: metadata.size_bytes,
            custom_metadata,
            naming_epoch: naming.epoch,
            naming_has_id: naming.has_segment_id,
            state: SegmentState::CopyStarted,
            is_claimed: false,
            is_txn_index_empty: metadata.is_txn_index_empty,
            is_state_keyed: false,
            usual_keys: Usual::default(),
        }
    }

    pub(super) fn naming(&self) -> Naming {
        Naming { epoch: self.naming_epoch, has_segment_id: self.naming_has_id }
    }

    /// From now on its keys carry its id.
    pub(super) fn insist_on_id(&mut self) {
        self.naming_has_id = true;
    }

    pub(super) fn holder(&self) -> Holder {
        let Self { uuid, end_offset, usual_keys: usual, .. } = *self;
        Holder { uuid, end_offset, naming: self.naming(), usual }
    }

    /// For each epoch its first and last offset, both inclusive.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (LeaderEpoch, Offset, Offset)> + '_ {
        let single = self.epochs.is_none().then_some((self.first_epoch, self.start_offset, self.end_offset));
        single.into_iter().chain(self.epochs.iter().flat_map(|epochs| epochs.ranges(self.end_offset)))
    }

    /// What it has of an epoch.
    pub(super) fn range_of(&self, epoch: LeaderEpoch) -> Option<(Offset, Offset)> {
        if self.epochs.is_none() {
            return (self.first_epoch == epoch).then_some((self.start_offset, self.end_offset));
        }
        let found = self.ranges().find(|&(of, ..)| of == epoch);
        found.map(|(_, start, end)| (start, end))
    }

    /// Takes over what an update says beside the state.
    pub(super) fn take(&mut self, update: &SegmentUpdate, blobs: &mut Blobs) {
        self.broker_id = update.broker_id;
        self.event_timestamp_ms = update.event_timestamp_ms;
        self.custom_metadata = blobs.replace(self.custom_metadata, update.custom_metadata.as_deref());
    }

    /// An update to what it is now.
    pub(super) fn as_update(&self, partition: &TopicIdPartition, blobs: &Blobs) -> SegmentUpdate {
        SegmentUpdate {
            id: SegmentId { partition: partition.clone(), uuid: self.uuid },
            broker_id: self.broker_id,
            event_timestamp_ms: self.event_timestamp_ms,
            custom_metadata: self.custom_metadata(blobs),
            state: self.state,
        }
    }

    pub(super) fn custom_metadata(&self, blobs: &Blobs) -> Option<Bytes> {
        blobs.get(self.custom_metadata).map(Bytes::copy_from_slice)
    }

    pub(super) fn to_metadata(&self, partition: &TopicIdPartition, blobs: &Blobs) -> SegmentMetadata {
        let epochs = match &self.epochs {
            Some(epochs) => (**epochs).clone(),
            None => SegmentEpochs::single(self.first_epoch, self.start_offset),
        };
        SegmentMetadata {
            id: SegmentId { partition: partition.clone(), uuid: self.uuid },
            start_offset: self.start_offset,
            end_offset: self.end_offset,
            max_timestamp_ms: self.max_timestamp_ms,
            broker_id: self.broker_id,
            event_timestamp_ms: self.event_timestamp_ms,
            epochs,
            size_bytes: self.size_bytes,
            custom_metadata: self.custom_metadata(blobs),
            state: self.state,
            is_txn_index_empty: self.is_txn_index_empty,
        }
    }
}

impl Slotted for Segment {
    fn uuid(&self) -> KafkaUuid {
        self.uuid
    }
}

impl Gone {
    pub(super) fn new(segment: &Segment, seen_ms: i64) -> Self {
        Self {
            uuid: segment.uuid,
            end_offset: segment.end_offset,
            seen_ms,
            naming_epoch: segment.naming_epoch,
            naming_has_id: segment.naming_has_id,
            is_state_keyed: segment.is_state_keyed,
            usual_keys: segment.usual_keys,
        }
    }

    /// As another process knew it.
    pub(super) fn known(uuid: KafkaUuid, end_offset: Offset, naming: Naming, seen_ms: i64) -> Self {
        Self {
            uuid,
            end_offset,
            seen_ms,
            naming_epoch: naming.epoch,
            naming_has_id: naming.has_segment_id,
            is_state_keyed: false,
            usual_keys: Usual::default(),
        }
    }

    pub(super) fn naming(&self) -> Naming {
        Naming { epoch: self.naming_epoch, has_segment_id: self.naming_has_id }
    }

    pub(super) fn holder(&self) -> Holder {
        let Self { uuid, end_offset, usual_keys: usual, .. } = *self;
        Holder { uuid, end_offset, naming: self.naming(), usual }
    }

    /// An update to what it is; nobody needs to know more.
    pub(super) fn as_update(&self, partition: &TopicIdPartition) -> SegmentUpdate {
        SegmentUpdate {
            id: SegmentId { partition: partition.clone(), uuid: self.uuid },
            broker_id: BrokerId(-1),
            event_timestamp_ms: 0,
            custom_metadata: None,
            state: SegmentState::DeleteFinished,
        }
    }
}

impl Slotted for Gone {
    fn uuid(&self) -> KafkaUuid {
        self.uuid
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
