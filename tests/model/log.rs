//! The metadata partition: all that was ever written, what the cleaner left of it, and the cleaner.
//!
//! The cleaner does what Kafka's does. It takes the last offset of each key between its checkpoint and a point of its choice
//! (the active segment and `min.compaction.lag.ms` decide on that: any point may be it), and drops from all before that
//! point what has a later record of its key. It drops records without a key. A tombstone gets a date when it is first met
//! and is dropped when a later round finds the date past. A round may end half way, and then nothing of it is remembered
//! but what was swapped already.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use undercroft::wire::{Record, RecordKey};

use crate::op::{B, S};
use crate::random::Fnv;

/// Number of a key.
pub type KeyNumber = u32;

#[derive(Debug)]
pub struct Stored {
    pub key: Option<RecordKey>,
    pub key_number: Option<KeyNumber>,
    /// `None` is a tombstone.
    pub body: Option<Record>,
    /// What the writer's clock said.
    pub timestamp_ms: i64,
    pub writer: B,
    /// The segment that it is about.
    pub seg: Option<S>,
}

#[derive(Debug, Default)]
pub struct Log {
    /// Everything, by offset. No reader but the reference sees it.
    pub all: Vec<Stored>,
    /// Offsets of what is left.
    left: Vec<u32>,
    /// For each offset: when a tombstone may go.
    horizons: HashMap<u32, i64>,
    /// Up to where the cleaner has been.
    checkpoint: usize,
    /// Before this offset records may be missing whose successors stand anywhere before it.
    pub cleaned_to: usize,
    numbers: HashMap<RecordKey, KeyNumber, BuildHasherDefault<Fnv>>,
    /// Scratch: last offset of each key in the dirty part, -1 if none.
    last: Vec<i64>,
}

impl Log {
    pub fn end(&self) -> usize {
        self.all.len()
    }

    /// Number of a key, the same for the same key.
    pub fn number(&mut self, key: &RecordKey) -> KeyNumber {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let number = u32::try_from(self.numbers.len()).expect("few keys");
        self.numbers.insert(key.clone(), number);
        number
    }

    /// Appends a record whose key has its number.
    pub fn append(&mut self, stored: Stored) -> usize {
        let offset = self.all.len();
        self.left.push(u32::try_from(offset).expect("short history"));
        self.all.push(stored);
        offset
    }

    /// What is left from `from` on, with its offsets.
    pub fn left_from(&self, from: usize) -> impl Iterator<Item = (usize, &Stored)> {
        let first = self.left.partition_point(|&offset| (offset as usize) < from);
        self.left[first..].iter().map(|&offset| (offset as usize, &self.all[offset as usize]))
    }

    pub fn left_len(&self) -> usize {
        self.left.len()
    }

    /// One round of the cleaner over all before `dirty_end`, of which what stands before `swapped_end` is swapped.
    pub fn compact(&mut self, dirty_end: usize, swapped_end: usize, now_ms: i64, delete_retention_ms: i64) -> bool {
        let dirty_end = dirty_end.min(self.end());
        let swapped_end = swapped_end.min(dirty_end);
        if swapped_end == 0 || dirty_end < self.checkpoint {
            return false;
        }
        self.last.clear();
        self.last.resize(self.numbers.len(), -1);
        for &offset in &self.left {
            let at = offset as usize;
            if at >= dirty_end {
                break;
            }
            if let Some(number) = self.all[at].key_number.filter(|_| at >= self.checkpoint) {
                self.last[number as usize] = i64::from(offset);
            }
        }
        let before = self.left.len();
        let (all, last, horizons) = (&self.all, &self.last, &mut self.horizons);
        self.left.retain(|&offset| {
            if offset as usize >= swapped_end {
                return true;
            }
            let stored = &all[offset as usize];
            let Some(number) = stored.key_number else { return false };
            if last[number as usize] > i64::from(offset) {
                return false;
            }
            if stored.body.is_none() {
                match horizons.get(&offset) {
                    Some(&horizon) if now_ms >= horizon => return false,
                    Some(_) => {}
                    None => drop(horizons.insert(offset, now_ms + delete_retention_ms)),
                }
            }
            true
        });
        if swapped_end == dirty_end {
            self.checkpoint = dirty_end;
        }
        self.cleaned_to = self.cleaned_to.max(dirty_end);
        before != self.left.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use undercroft::model::{KafkaUuid, TopicIdPartition};

    fn log(keys: &[(Option<i32>, bool)]) -> Log {
        let mut log = Log::default();
        for &(key, is_tombstone) in keys {
            let partition = |number| TopicIdPartition::new(KafkaUuid([1; 16]), "t", number);
            let key = key.map(|number| RecordKey::Partition((&partition(number)).into()));
            let body = (!is_tombstone).then_some(Record::Snapshot);
            let key_number = key.as_ref().map(|key| log.number(key));
            log.append(Stored { key, key_number, body, timestamp_ms: 0, writer: 0, seg: None });
        }
        log
    }

    fn left(log: &Log) -> Vec<usize> {
        log.left_from(0).map(|(offset, _)| offset).collect()
    }

    #[test]
    fn the_cleaner_keeps_the_last_record_of_a_key_before_the_point_and_all_behind_it() {
        let mut log = log(&[(Some(1), false), (Some(2), false), (Some(1), false), (Some(1), false)]);
        assert!(log.compact(3, 3, 0, 10));
        assert_eq!(left(&log), [1, 2, 3]);
        assert!(log.compact(4, 4, 0, 10));
        assert_eq!(left(&log), [1, 3]);
    }

    #[test]
    fn the_cleaner_drops_records_without_a_key() {
        let mut log = log(&[(None, false), (Some(2), false), (None, false)]);
        assert!(log.compact(3, 3, 0, 10));
        assert_eq!(left(&log), [1]);
    }

    #[test]
    fn a_tombstone_goes_only_in_a_round_after_the_one_that_dated_it() {
        let mut log = log(&[(Some(1), false), (Some(1), true), (Some(2), false)]);
        log.compact(2, 2, 100, 10);
        assert_eq!(left(&log), [1, 2]);
        log.compact(3, 3, 109, 10);
        assert_eq!(left(&log), [1, 2], "its time has not come");
        log.compact(3, 3, 110, 10);
        assert_eq!(left(&log), [2]);
    }

    #[test]
    fn a_round_that_ends_half_way_is_done_again() {
        let mut log = log(&[(Some(1), false), (Some(2), false), (Some(1), false), (Some(2), false)]);
        log.compact(4, 1, 0, 10);
        assert_eq!(left(&log), [1, 2, 3]);
        log.compact(4, 4, 0, 10);
        assert_eq!(left(&log), [2, 3]);
    }
}
