//! Who waits for which record to be applied.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use crate::metadata::partition::Outcome;
use crate::model::IdMap;

/// Writes in flight, by metadata partition. The reader may meet a record before its writer knows the offset, so what
/// was not simply applied is remembered as long as a write that began before is in flight.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    partitions: IdMap<i32, PartitionWaiters>,
    next_write: u64,
}

/// A write from its admission to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Write {
    partition: i32,
    number: u64,
}

#[derive(Debug, Default)]
struct PartitionWaiters {
    /// Every record before this offset was applied at some time. Never goes back while the partition is read.
    mark: i64,
    waiting: BTreeMap<i64, oneshot::Sender<Outcome>>,
    /// What became of records that were not simply applied.
    exceptions: BTreeMap<i64, Outcome>,
    /// Writes in flight and the mark when each began: their records lie there or behind.
    floors: BTreeMap<u64, i64>,
    /// Writes before this one went to another log.
    first: u64,
}

/// What is known of a record when its offset is.
#[derive(Debug)]
pub(super) enum Known {
    Now(Outcome),
    Later(oneshot::Receiver<Outcome>),
    /// It stands where another record was read before the write began, so the log is not the one that was read.
    Misplaced,
}

impl Waiters {
    /// A write to `partition` begins.
    pub(super) fn begin(&mut self, partition: i32) -> Write {
        let number = self.next_write;
        self.next_write += 1;
        let entry = self.partitions.entry(partition).or_default();
        entry.floors.insert(number, entry.mark);
        Write { partition, number }
    }

    /// The record of `write` has this offset.
    pub(super) fn landed(&mut self, write: Write, offset: i64) -> Known {
        let entry = self.partitions.entry(write.partition).or_default();
        let is_of_another_log = write.number < entry.first;
        if is_of_another_log || entry.floors.get(&write.number).is_some_and(|&floor| offset < floor) {
            return Known::Misplaced;
        }
        if offset < entry.mark {
            return Known::Now(entry.exceptions.get(&offset).copied().unwrap_or(Outcome::Applied));
        }
        let (sender, receiver) = oneshot::channel();
        entry.waiting.insert(offset, sender);
        Known::Later(receiver)
    }

    /// Every record of `partition` before this offset was applied.
    pub(super) fn mark(&self, partition: i32) -> i64 {
        self.partitions.get(&partition).map_or(0, |entry| entry.mark)
    }

    /// `partition` is not read any more, and no write to it is in flight.
    pub(super) fn forget(&mut self, partition: i32) {
        self.partitions.remove(&partition);
    }

    /// `partition` is read from the start of another log: writes in flight went to the one before, or nobody knows where.
    pub(super) fn begin_with_another_log(&mut self, partition: i32) {
        if let Some(entry) = self.partitions.get_mut(&partition) {
            *entry = PartitionWaiters { first: self.next_write, ..PartitionWaiters::default() };
        }
    }

    /// Nobody asks for `write` any more.
    pub(super) fn end(&mut self, write: Write) {
        let Some(entry) = self.partitions.get_mut(&write.partition) else { return };
        entry.floors.remove(&write.number);
        match entry.floors.first_key_value() {
            // Floors rise with the numbers of the writes.
            Some((_, &floor)) => entry.exceptions = entry.exceptions.split_off(&floor),
            None => {
                entry.exceptions.clear();
                entry.waiting.clear();
            }
        }
    }

    /// The reader has applied everything of `partition` before `mark`; `exceptions` says what was not simply applied.
    pub(super) fn applied(&mut self, partition: i32, mark: i64, exceptions: &[(i64, Outcome)]) {
        let entry = self.partitions.entry(partition).or_default();
        if mark <= entry.mark {
            return;
        }
        if !entry.floors.is_empty() {
            entry.exceptions.extend(exceptions.iter().copied().filter(|(offset, _)| *offset >= entry.mark));
        }
        entry.mark = mark;
        let later = entry.waiting.split_off(&mark);
        for (offset, waiting) in std::mem::replace(&mut entry.waiting, later) {
            let outcome = entry.exceptions.get(&offset).copied().unwrap_or(Outcome::Applied);
            // Who gave up waiting needs no answer.
            let _ = waiting.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(known: Known) -> Outcome {
        match known {
            Known::Now(outcome) => outcome,
            other => panic!("not applied yet: {other:?}"),
        }
    }

    fn later(known: Known) -> oneshot::Receiver<Outcome> {
        match known {
            Known::Later(receiver) => receiver,
            other => panic!("{other:?} already"),
        }
    }

    #[test]
    fn a_record_that_the_reader_met_first_keeps_its_outcome() {
        let mut waiters = Waiters::default();
        let write = waiters.begin(0);
        waiters.applied(0, 8, &[(6, Outcome::Kept)]);
        assert_eq!(now(waiters.landed(write, 6)), Outcome::Kept);
        assert_eq!(now(waiters.landed(write, 7)), Outcome::Applied);
    }

    #[test]
    fn a_waiter_hears_of_its_own_record() {
        let mut waiters = Waiters::default();
        let (a, b) = (waiters.begin(0), waiters.begin(0));
        let (mut first, mut second) = (later(waiters.landed(a, 3)), later(waiters.landed(b, 5)));
        waiters.applied(0, 4, &[(3, Outcome::Kept)]);
        assert_eq!(first.try_recv(), Ok(Outcome::Kept));
        assert!(second.try_recv().is_err(), "not read yet");
        waiters.applied(1, 100, &[]);
        assert!(second.try_recv().is_err(), "another partition");
        waiters.applied(0, 9, &[]);
        assert_eq!(second.try_recv(), Ok(Outcome::Applied), "also over a gap");
    }

    #[test]
    fn reading_again_from_the_start_takes_nothing_back() {
        let mut waiters = Waiters::default();
        let write = waiters.begin(0);
        waiters.applied(0, 10, &[(9, Outcome::Kept)]);
        waiters.applied(0, 1, &[(0, Outcome::Kept)]);
        assert_eq!(now(waiters.landed(write, 9)), Outcome::Kept);
    }

    #[test]
    fn what_was_written_to_the_log_before_is_not_said_to_be_in_this_one() {
        let mut waiters = Waiters::default();
        let (landed, under_way) = (waiters.begin(0), waiters.begin(0));
        let mut outcome = later(waiters.landed(landed, 3));
        waiters.begin_with_another_log(0);
        assert_eq!(outcome.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        let new = waiters.begin(0);
        waiters.applied(0, 9, &[(2, Outcome::Kept)]);
        assert!(matches!(waiters.landed(under_way, 5), Known::Misplaced));
        waiters.end(landed);
        waiters.end(under_way);
        assert_eq!(now(waiters.landed(new, 2)), Outcome::Kept);
        assert_eq!(now(waiters.landed(new, 1)), Outcome::Applied);
    }

    #[test]
    fn nothing_is_remembered_once_nobody_can_ask() {
        let mut waiters = Waiters::default();
        let first = waiters.begin(0);
        waiters.applied(0, 10, &[(3, Outcome::Kept)]);
        let second = waiters.begin(0);
        waiters.applied(0, 20, &[(13, Outcome::Kept)]);
        waiters.end(first);
        assert_eq!(waiters.partitions[&0].exceptions.len(), 1);
        waiters.end(second);
        assert!(waiters.partitions[&0].exceptions.is_empty());
        waiters.applied(0, 30, &[(23, Outcome::Kept)]);
        assert!(waiters.partitions[&0].exceptions.is_empty());
    }
}
