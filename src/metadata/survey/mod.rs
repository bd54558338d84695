//! A whole metadata log, looked at by somebody who is no manager.
//!
//! In: records, in log order, of all partitions. Out: the same states that a manager's reader comes to; for each record
//! what it says and what became of it; what is wrong; the records that a stock manager needs. Never: a write.
//!
//! All is pure but `walk`, which reads a log to its end.

mod check;
mod coverage;
mod reading;
mod stock;
#[cfg(test)]
mod tests;
mod trace;
mod user_partition;
mod walk;

pub use check::{Finding, FindingKind, Severity, check};
pub use coverage::{Coverage, EpochCoverage, coverage};
pub use reading::{KeyForm, Meaning, Place, ReadKey, Reading, Verdict};
pub use stock::{StockRecord, stock_records};
pub use trace::{KeptUpdates, Trace};
pub use user_partition::UserPartition;
pub use walk::walk_to_end;

use std::collections::HashMap;

use crate::metadata::partition::Outcome;
use crate::model::{SegmentId, SegmentState, TopicIdPartition};
use crate::wire::{self, Record, metadata_partition};

/// Everything that was read of a log so far.
#[derive(Debug)]
pub struct Survey {
    partitions: i32,
    users: HashMap<TopicIdPartition, UserPartition>,
    tally: Tally,
}

/// How many records there are of each kind, and where the first few of the worrying ones are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub records: u64,
    pub applied: u64,
    /// Updates that came before the record that makes their segment known.
    pub kept: u64,
    pub refused: Places,
    pub tombstones: u64,
    /// Records of the topic's level, and parts of snapshots.
    pub skipped: u64,
    /// No record that can be read; newer versions count separately.
    pub unreadable: Places,
    /// Of a version that this release does not know.
    pub newer: Places,
    /// In a metadata partition where no manager looks for them.
    pub misplaced: Places,
    /// With a key that is none of ours; judged without it.
    pub bad_keys: Places,
    /// Without any key: a log cleaner drops them.
    pub without_key: Places,
}

/// A count, and the first few places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    pub count: u64,
    pub first: Vec<Place>,
}

const PLACES_MAX: usize = 5;

impl Places {
    fn note(&mut self, place: Place) {
        self.count += 1;
        if self.first.len() < PLACES_MAX {
            self.first.push(place);
        }
    }
}

impl Survey {
    /// Of a log with this many metadata partitions.
    #[must_use]
    pub fn new(partitions: i32) -> Self {
        Self { partitions, users: HashMap::new(), tally: Tally::default() }
    }

    /// Counts of all records.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// All user partitions that have records, by topic name, topic id and number.
    #[must_use]
    pub fn user_partitions(&self) -> Vec<&UserPartition> {
        let mut users: Vec<_> = self.users.values().collect();
        users.sort_unstable_by(|a, b| {
            let order = |user: &UserPartition| (user.partition().topic_id, user.partition().partition);
            (&a.partition().topic, order(a)).cmp(&(&b.partition().topic, order(b)))
        });
        users
    }

    /// A user partition, if it has records.
    #[must_use]
    pub fn user_partition(&self, partition: &TopicIdPartition) -> Option<&UserPartition> {
        self.users.get(partition)
    }

    /// State of a segment; of one whose deletion has ended as long as the log speaks of it.
    #[must_use]
    pub fn state_of(&self, segment: &SegmentId) -> Option<SegmentState> {
        self.users.get(&segment.partition)?.state.state_of(segment)
    }

    /// Takes the next record of a metadata partition.
    pub fn take(&mut self, place: Place, key: Option<&[u8]>, value: Option<&[u8]>) -> Reading {
        self.tally.records += 1;
        let key = ReadKey::new(key);
        match &key {
            ReadKey::None => self.tally.without_key.note(place),
            ReadKey::Unreadable { .. } => self.tally.bad_keys.note(place),
            ReadKey::Read(_) => {}
        }
        let meaning = match value.map(wire::decode) {
            None => Meaning::Tombstone,
            Some(Ok(Record::Level(record))) if key.is_level() => Meaning::Level(record),
            Some(decoded) => decoded.map_or_else(Meaning::Unreadable, Meaning::Record),
        };
        let verdict = match &meaning {
            Meaning::Tombstone => {
                self.tally.tombstones += 1;
                self.forget(place, &key);
                Verdict::Skipped
            }
            Meaning::Level(_) | Meaning::Record(Record::Snapshot | Record::Level(_)) => {
                self.tally.skipped += 1;
                Verdict::Skipped
            }
            Meaning::Unreadable(error) => {
                let is_newer = matches!(error, wire::DecodeError::NewerVersion { .. });
                if is_newer { &mut self.tally.newer } else { &mut self.tally.unreadable }.note(place);
                Verdict::Unreadable
            }
            Meaning::Record(record) => self.apply(place, &key, record),
        };
        Reading { place, key, meaning, verdict }
    }

    fn apply(&mut self, place: Place, key: &ReadKey, record: &Record) -> Verdict {
        let Some(partition) = record.partition() else { return Verdict::Skipped };
        let belongs = metadata_partition(&partition.topic_id, partition.partition, self.partitions);
        if belongs != place.partition {
            self.tally.misplaced.note(place);
            return Verdict::Misplaced { belongs };
        }
        let new = || UserPartition::new(partition.clone(), belongs);
        let user = self.users.entry(partition.clone()).or_insert_with(new);
        let outcome = user.apply(place, key, record);
        match outcome {
            Outcome::Applied => self.tally.applied += 1,
            Outcome::Kept => self.tally.kept += 1,
            Outcome::Refused(_) => self.tally.refused.note(place),
        }
        Verdict::Judged(outcome)
    }

    /// A key was emptied.
    fn forget(&mut self, place: Place, key: &ReadKey) {
        let Some(known) = key.known() else { return };
        if let Some(partition) = known.partition()
            && let Some(user) = self.users.get_mut(&partition.to_partition())
        {
            user.forget(place, known);
        }
    }
}
