//! Keys of the records in the metadata topic: what makes the log cleaner keep or drop a record.
//!
//! | key | record |
//! |---|---|
//! | `topicId:topic:partition:endOffset:epoch` (**base**) | first record of a segment |
//! | base `:segmentId` | base of every later attempt at the same end offset and epoch, in front of each lane |
//! | base `:UPDATE` | COPY_SEGMENT_FINISHED |
//! | base `:DEL:segmentId` | DELETE_SEGMENT_STARTED, and a return to DANGLING |
//! | base `:GONE:segmentId` | DELETE_SEGMENT_FINISHED |
//! | base `:CLAIM:segmentId:nonce` | DANGLING, said by somebody who found the attempt abandoned |
//! | base `:REWRITE:segmentId:writerEpoch` | a whole record that says again what is known |
//! | `topicId:topic:partition:PARTITION` | deletion of a partition |
//! | `remote.log.metadata.version` | level of the metadata topic |
//!
//! The base and `:UPDATE` are KIP-1266's. Neither topic names nor ids contain a colon. A key has one spelling only, so
//! two keys are equal exactly when their bytes are.

mod parse;
#[cfg(test)]
mod tests;

pub use parse::{KeyError, parse_key, parse_key_with};

use std::fmt;
use std::sync::Arc;

use crate::model::{KafkaUuid, LeaderEpoch, Offset, TopicIdPartition};

/// Key of the record that holds the level of the metadata topic.
pub const LEVEL_KEY: &str = "remote.log.metadata.version";

/// Key of a record in the metadata topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RecordKey {
    Segment(SegmentKey),
    /// Deletion of a whole partition.
    Partition(PartitionKey),
    /// Level of the metadata topic.
    Level,
}

/// A user partition as a key names it. Unlike [`TopicIdPartition`], two are equal only if their names are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionKey {
    pub topic_id: KafkaUuid,
    pub topic: Arc<str>,
    pub partition: i32,
}

/// Key of a record about a segment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SegmentKey {
    pub partition: PartitionKey,
    /// Last offset of the segment.
    pub end_offset: Offset,
    /// Leadership under which the copy began; all later records of the segment keep it.
    pub leader_epoch: LeaderEpoch,
    /// The segment's id if the base key was not free for it, or its epoch is unknown.
    pub attempt: Option<KafkaUuid>,
    pub lane: Lane,
}

/// Which of a segment's facts a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// First record of the segment.
    Base,
    /// It is copied.
    Update,
    /// It is to be deleted.
    Delete { segment: KafkaUuid },
    /// It is deleted.
    Gone { segment: KafkaUuid },
    /// Somebody takes over an abandoned attempt; each such record has a `nonce` of its own.
    Claim { segment: KafkaUuid, nonce: u64 },
    /// The leader of `writer_epoch` says again what rested on a record without a key.
    Rewrite { segment: KafkaUuid, writer_epoch: LeaderEpoch },
}

impl PartitionKey {
    /// The partition, for everything that is not about keys.
    #[must_use]
    pub fn to_partition(&self) -> TopicIdPartition {
        TopicIdPartition { topic_id: self.topic_id, topic: Arc::clone(&self.topic), partition: self.partition }
    }
}

impl From<&TopicIdPartition> for PartitionKey {
    fn from(partition: &TopicIdPartition) -> Self {
        Self { topic_id: partition.topic_id, topic: Arc::clone(&partition.topic), partition: partition.partition }
    }
}

impl SegmentKey {
    /// True if a record under this key can be the one that a segment's existence rests on.
    #[must_use]
    pub fn is_base_type(&self) -> bool {
        matches!(self.lane, Lane::Base | Lane::Rewrite { .. })
    }
}

impl RecordKey {
    /// The key as the bytes of a record.
    #[must_use]
    pub fn to_bytes(&self) -> bytes::Bytes {
        self.to_string().into()
    }

    /// The user partition that the record is about; none for the level.
    #[must_use]
    pub fn partition(&self) -> Option<&PartitionKey> {
        match self {
            Self::Segment(key) => Some(&key.partition),
            Self::Partition(partition) => Some(partition),
            Self::Level => None,
        }
    }
}

impl From<SegmentKey> for RecordKey {
    fn from(key: SegmentKey) -> Self {
        Self::Segment(key)
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(key) => key.fmt(f),
            Self::Partition(partition) => write!(f, "{partition}:PARTITION"),
            Self::Level => f.write_str(LEVEL_KEY),
        }
    }
}

impl fmt::Display for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.topic_id, self.topic, self.partition)
    }
}

impl fmt::Display for SegmentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.partition, self.end_offset, self.leader_epoch)?;
        if let Some(attempt) = self.attempt {
            write!(f, ":{attempt}")?;
        }
        match self.lane {
            Lane::Base => Ok(()),
            Lane::Update => f.write_str(":UPDATE"),
            Lane::Delete { segment } => write!(f, ":DEL:{segment}"),
            Lane::Gone { segment } => write!(f, ":GONE:{segment}"),
            Lane::Claim { segment, nonce } => write!(f, ":CLAIM:{segment}:{nonce:016x}"),
            Lane::Rewrite { segment, writer_epoch } => write!(f, ":REWRITE:{segment}:{writer_epoch}"),
        }
    }
}
