//! One record: what it says, and what became of it.

use std::fmt;

use crate::metadata::partition::Outcome;
use crate::model::TopicIdPartition;
use crate::wire::{self, DecodeError, KeyError, Lane, LevelRecord, Record, RecordKey, SegmentKey};

/// Where a record stands, and when it was written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Metadata partition.
    pub partition: i32,
    pub offset: i64,
    /// Milliseconds since 1970, as the log says.
    pub timestamp_ms: i64,
}

/// A record, as somebody who reads along understands it.
#[derive(Debug)]
pub struct Reading {
    pub place: Place,
    pub key: ReadKey,
    pub meaning: Meaning,
    pub verdict: Verdict,
}

/// The key of a record.
#[derive(Debug)]
pub enum ReadKey {
    None,
    /// None of ours; the text is the key as far as it is text.
    Unreadable {
        text: String,
        error: KeyError,
    },
    Read(RecordKey),
}

/// The value of a record.
#[derive(Debug)]
pub enum Meaning {
    /// No value: its key is to be forgotten.
    Tombstone,
    /// The level that writers keep to from here on.
    Level(LevelRecord),
    Record(Record),
    Unreadable(DecodeError),
}

/// What the state makes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is about a segment or a partition.
    Judged(Outcome),
    /// It says nothing of a segment.
    Skipped,
    /// Passed over.
    Unreadable,
    /// No manager looks here for it: the number of metadata partitions was another one when it was written.
    Misplaced { belongs: i32 },
}

/// Which kind of key a fact stands under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    None,
    /// A key that is none of ours, or one of another partition.
    Other,
    Base,
    /// The base of a later attempt at the same end offset and epoch, or of one whose epoch is unknown.
    BaseWithId,
    Update,
    Delete,
    Gone,
    Claim,
    Rewrite,
    Partition,
    Level,
}

impl KeyForm {
    /// A word for it, as the commands print it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Other => "other",
            Self::Base => "base",
            Self::BaseWithId => "base+id",
            Self::Update => "UPDATE",
            Self::Delete => "DEL",
            Self::Gone => "GONE",
            Self::Claim => "CLAIM",
            Self::Rewrite => "REWRITE",
            Self::Partition => "PARTITION",
            Self::Level => "level",
        }
    }
}

impl fmt::Display for KeyForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ReadKey {
    pub(super) fn new(key: Option<&[u8]>) -> Self {
        match key.map(|key| (key, wire::parse_key(key))) {
            None => Self::None,
            Some((_, Ok(key))) => Self::Read(key),
            Some((key, Err(error))) => Self::Unreadable { text: key.escape_ascii().to_string(), error },
        }
    }

    /// The key, if it is one of ours.
    #[must_use]
    pub fn known(&self) -> Option<&RecordKey> {
        match self {
            Self::Read(key) => Some(key),
            Self::None | Self::Unreadable { .. } => None,
        }
    }

    /// Its kind.
    #[must_use]
    pub fn form(&self) -> KeyForm {
        match self {
            Self::None => KeyForm::None,
            Self::Unreadable { .. } => KeyForm::Other,
            Self::Read(RecordKey::Partition(_)) => KeyForm::Partition,
            Self::Read(RecordKey::Level) => KeyForm::Level,
            Self::Read(RecordKey::Segment(key)) => match key.lane {
                Lane::Base if key.attempt.is_some() => KeyForm::BaseWithId,
                Lane::Base => KeyForm::Base,
                Lane::Update => KeyForm::Update,
                Lane::Delete { .. } => KeyForm::Delete,
                Lane::Gone { .. } => KeyForm::Gone,
                Lane::Claim { .. } => KeyForm::Claim,
                Lane::Rewrite { .. } => KeyForm::Rewrite,
            },
        }
    }

    pub(super) fn is_level(&self) -> bool {
        matches!(self, Self::Read(RecordKey::Level))
    }

    pub(super) fn segment_key(&self) -> Option<&SegmentKey> {
        match self {
            Self::Read(RecordKey::Segment(key)) => Some(key),
            Self::Read(RecordKey::Partition(_) | RecordKey::Level) | Self::None | Self::Unreadable { .. } => None,
        }
    }

    /// The kind that it has for facts about `partition`.
    pub(super) fn form_for(&self, partition: &TopicIdPartition) -> KeyForm {
        let is_foreign = self.segment_key().is_some_and(|key| key.partition.to_partition() != *partition);
        if is_foreign { KeyForm::Other } else { self.form() }
    }
}
