//! What a writer knows of its place, and the record that it is to write.

use bytes::Bytes;

use crate::model::{BrokerId, LeaderEpoch, Offset, PartitionDelete, SegmentMetadata, SegmentState, SegmentUpdate};
use crate::wire::{self, RecordKey};

use super::Level;

/// Who writes, and what it may decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Of the metadata partition.
    pub level: Level,
    pub me: BrokerId,
    /// Epoch of this broker's leadership of the user partition; unknown if it leads and nobody can tell the epoch, `None`
    /// if it does not lead. Of a topic that is deleted, whoever cleans up after it passes the largest epoch.
    pub leadership: Option<LeaderEpoch>,
    /// Whether the reader has lately been at the end of the log: only then is what it knows a reason to decide.
    pub is_current: bool,
    /// Milliseconds since 1970.
    pub now_ms: i64,
}

/// A record to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub key: RecordKey,
    pub body: DraftBody,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DraftBody {
    Segment {
        metadata: SegmentMetadata,
        leader_epoch: LeaderEpoch,
    },
    Update {
        update: SegmentUpdate,
        leader_epoch: LeaderEpoch,
        end_offset: Option<Offset>,
    },
    PartitionDelete {
        delete: PartitionDelete,
        leader_epoch: LeaderEpoch,
        end_offset: Option<Offset>,
    },
    /// Nothing: the key is emptied.
    Tombstone,
}

/// What becomes of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "lives for one call, and is a draft nearly always")]
pub enum Step {
    Write(Draft),
    /// The log says so already, under a key; writing it again would change nothing.
    AlreadySo,
}

/// Why nothing is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// The call itself is wrong.
    InvalidArgument(String),
    /// The segment's state does not allow the step.
    Refused { from: SegmentState, to: SegmentState },
    /// Never added, or its deletion has ended.
    UnknownSegment,
    /// Only the leader of the partition decides this.
    NotLed,
    /// What is known may be old: the end of the log has not been reached lately.
    NotCurrent,
}

impl Draft {
    /// The bytes of the record's value in the form of `level`; `None` is a tombstone.
    #[must_use]
    pub fn value(&self, level: Level) -> Option<Bytes> {
        let version = level.value_version();
        match &self.body {
            DraftBody::Segment { metadata, leader_epoch } => {
                Some(wire::encode_segment(metadata, *leader_epoch, version))
            }
            DraftBody::Update { update, leader_epoch, end_offset } => {
                Some(wire::encode_update(update, *leader_epoch, *end_offset, version))
            }
            DraftBody::PartitionDelete { delete, leader_epoch, end_offset } => {
                Some(wire::encode_partition_delete(delete, *leader_epoch, *end_offset, version))
            }
            DraftBody::Tombstone => None,
        }
    }

    /// The record as a reader decodes it, without a way through bytes.
    #[must_use]
    pub fn record(&self) -> Option<wire::Record> {
        match self.body.clone() {
            DraftBody::Segment { metadata, leader_epoch } => {
                Some(wire::Record::Segment(wire::WholeSegment { metadata, leader_epoch }))
            }
            DraftBody::Update { update, leader_epoch, end_offset } => {
                Some(wire::Record::Update(wire::UpdateRecord { update, leader_epoch, end_offset }))
            }
            DraftBody::PartitionDelete { delete, leader_epoch, end_offset } => {
                Some(wire::Record::PartitionDelete(wire::PartitionDeleteRecord { delete, leader_epoch, end_offset }))
            }
            DraftBody::Tombstone => None,
        }
    }
}

impl Standing {
    /// Whether it may make decisions that are the leader's.
    pub(super) fn decides(&self, are_others_let: bool) -> Result<LeaderEpoch, Denied> {
        let epoch = self.leadership.ok_or(Denied::NotLed)?;
        if self.is_current || are_others_let { Ok(epoch) } else { Err(Denied::NotCurrent) }
    }
}
