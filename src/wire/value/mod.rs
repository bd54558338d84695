//! Values of the records in the metadata topic.
//!
//! ```text
//! value := uvarint frame version (1) | uvarint api key | uvarint api version | body
//! ```
//! Every structure, nested ones too, ends in a tagged-field section. Version 0 is what stock brokers write and all that
//! they can read; version 1 (KIP-1266's draft) adds the leader epoch, and to updates the end offset, as tagged fields.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, decode, decode_with};
pub use encode::{encode_level, encode_partition_delete, encode_segment, encode_update};

use crate::model::{LeaderEpoch, Offset, PartitionDelete, SegmentMetadata, SegmentUpdate, TopicIdPartition};

/// One record of the metadata topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Segment(WholeSegment),
    Update(UpdateRecord),
    PartitionDelete(PartitionDeleteRecord),
    /// A part of a snapshot file that Kafka once meant to keep. None is ever in the topic; its body is not looked at.
    Snapshot,
    /// Ours alone: stock brokers know no such kind.
    Level(LevelRecord),
}

impl Record {
    /// The user partition that the record is about; none for the level and for snapshots.
    #[must_use]
    pub fn partition(&self) -> Option<&TopicIdPartition> {
        match self {
            Self::Segment(whole) => Some(&whole.metadata.id.partition),
            Self::Update(record) => Some(&record.update.id.partition),
            Self::PartitionDelete(record) => Some(&record.delete.partition),
            Self::Snapshot | Self::Level(_) => None,
        }
    }
}

/// Everything about a segment: what begins a copy, or says again what is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeSegment {
    pub metadata: SegmentMetadata,
    /// The writer's leadership when the copy began; [`LeaderEpoch::UNKNOWN`] in version 0.
    pub leader_epoch: LeaderEpoch,
}

/// A later event of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateRecord {
    pub update: SegmentUpdate,
    /// As in the segment's first record; [`LeaderEpoch::UNKNOWN`] in version 0.
    pub leader_epoch: LeaderEpoch,
    /// The segment's end offset; `None` in version 0.
    pub end_offset: Option<Offset>,
}

/// An event of a whole partition's deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionDeleteRecord {
    pub delete: PartitionDelete,
    /// [`LeaderEpoch::UNKNOWN`] in version 0.
    pub leader_epoch: LeaderEpoch,
    /// The partition's end offset when it was deleted; `None` in version 0.
    pub end_offset: Option<Offset>,
}

/// Level of the metadata topic from this record on, for those who write to its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelRecord {
    /// 1 or 2; a later release may have higher ones.
    pub level: i8,
    /// When it was written, milliseconds since 1970.
    pub timestamp_ms: i64,
}

/// Form in which a value is written. Reading takes both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Stock brokers can read it; leader epoch and end offset are left out.
    V0,
    /// Ends the consumer of a stock broker for good.
    V1,
}

impl Version {
    fn number(self) -> u8 {
        match self {
            Self::V0 => 0,
            Self::V1 => 1,
        }
    }
}

/// The only frame version that Kafka writes.
const FRAME_VERSION: u8 = 1;

/// Kinds of records; Kafka's `apiKey`.
mod api_key {
    pub(super) const SEGMENT: u8 = 0;
    pub(super) const UPDATE: u8 = 1;
    pub(super) const PARTITION_DELETE: u8 = 2;
    pub(super) const SNAPSHOT: u8 = 3;
    /// Far from Kafka's, which has used the first four in as many years.
    pub(super) const LEVEL: u8 = 100;
}

/// Tags of the records' own tagged fields.
mod tag {
    /// Of a whole segment, in both versions.
    pub(super) const TXN_INDEX_EMPTY: u32 = 0;
    /// Of a whole segment, from version 1 on. The KIP's text says 0, which `TXN_INDEX_EMPTY` has already.
    pub(super) const SEGMENT_LEADER_EPOCH: u32 = 1;
    /// Of an update and of a partition delete, from version 1 on.
    pub(super) const LEADER_EPOCH: u32 = 0;
    /// Of an update and of a partition delete, from version 1 on.
    pub(super) const END_OFFSET: u32 = 1;
}
