//! What the keys of a segment's records have in common, and what a key says of a record.

use crate::model::{KafkaUuid, LeaderEpoch, Offset, TopicIdPartition};
use crate::wire::{Lane, PartitionKey, RecordKey, SegmentKey};

/// What all keys of one segment begin with, beside its partition and end offset. Decided once, when the segment is
/// added, and kept by everybody who writes of it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// Epoch of the leadership that added it; unknown if its first record has no key.
    pub epoch: LeaderEpoch,
    /// Whether every key carries the segment's id too, because the short key is another segment's or the epoch unknown.
    pub has_segment_id: bool,
}

impl Naming {
    /// Of a segment whose first record has no key, or whose writer does not know its epoch.
    pub const UNKNOWN: Self = Self { epoch: LeaderEpoch::UNKNOWN, has_segment_id: true };
}

/// A lane, without the segment that the key's owner knows anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum LaneName {
    Base,
    Update,
    Delete,
    Gone,
    Claim { nonce: u64 },
    Rewrite { writer_epoch: LeaderEpoch },
}

/// A key of one known segment, without what is the same in all of its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct KeyName {
    pub(super) end_offset: Offset,
    pub(super) epoch: LeaderEpoch,
    pub(super) has_segment_id: bool,
    pub(super) lane: LaneName,
}

impl KeyName {
    /// Name of a key that stands over a record about `segment`. `None` if the key is another partition's or segment's:
    /// then nothing of this segment rests on it safely.
    pub(super) fn of(key: Option<&RecordKey>, partition: &TopicIdPartition, segment: KafkaUuid) -> Option<Self> {
        let Some(RecordKey::Segment(key)) = key else { return None };
        let is_ours = is_of(&key.partition, partition) && key.partition.topic == partition.topic;
        let is_its_own = segment_of(key).is_none_or(|named| named == segment)
            && key.attempt.is_none_or(|attempt| attempt == segment);
        (is_ours && is_its_own).then(|| Self::new(key))
    }

    /// The part of `key` that is not the segment's id.
    pub(super) fn new(key: &SegmentKey) -> Self {
        Self {
            end_offset: key.end_offset,
            epoch: key.leader_epoch,
            has_segment_id: key.attempt.is_some(),
            lane: match key.lane {
                Lane::Base => LaneName::Base,
                Lane::Update => LaneName::Update,
                Lane::Delete { .. } => LaneName::Delete,
                Lane::Gone { .. } => LaneName::Gone,
                Lane::Claim { nonce, .. } => LaneName::Claim { nonce },
                Lane::Rewrite { writer_epoch, .. } => LaneName::Rewrite { writer_epoch },
            },
        }
    }

    /// The key again.
    pub(super) fn to_key(self, partition: &TopicIdPartition, segment: KafkaUuid) -> RecordKey {
        RecordKey::Segment(SegmentKey {
            partition: partition.into(),
            end_offset: self.end_offset,
            leader_epoch: self.epoch,
            attempt: self.has_segment_id.then_some(segment),
            lane: match self.lane {
                LaneName::Base => Lane::Base,
                LaneName::Update => Lane::Update,
                LaneName::Delete => Lane::Delete { segment },
                LaneName::Gone => Lane::Gone { segment },
                LaneName::Claim { nonce } => Lane::Claim { segment, nonce },
                LaneName::Rewrite { writer_epoch } => Lane::Rewrite { segment, writer_epoch },
            },
        })
    }

    pub(super) fn naming(self) -> Naming {
        match self.epoch.is_known() {
            true => Naming { epoch: self.epoch, has_segment_id: self.has_segment_id },
            false => Naming::UNKNOWN,
        }
    }

    pub(super) fn is_claim(self) -> bool {
        matches!(self.lane, LaneName::Claim { .. })
    }

    pub(super) fn is_short_base(self) -> bool {
        self.lane == LaneName::Base && !self.has_segment_id
    }

    /// True if a segment's existence can rest on a record under this key.
    pub(super) fn is_base_type(self) -> bool {
        matches!(self.lane, LaneName::Base | LaneName::Rewrite { .. })
    }
}

/// Whether a key is about this partition, whatever the topic was called when it was written.
pub(super) fn is_of(key: &PartitionKey, partition: &TopicIdPartition) -> bool {
    key.topic_id == partition.topic_id && key.partition == partition.partition
}

/// The segment that a key names, if it names one.
pub(super) fn segment_of(key: &SegmentKey) -> Option<KafkaUuid> {
    match key.lane {
        Lane::Base | Lane::Update => key.attempt,
        Lane::Delete { segment } | Lane::Gone { segment } => Some(segment),
        Lane::Claim { segment, .. } | Lane::Rewrite { segment, .. } => Some(segment),
    }
}
