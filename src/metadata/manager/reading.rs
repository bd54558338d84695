//! How far a metadata partition was read, and whether what was read may be gone on with.
//!
//! Two things can have passed a reader by for good: tombstones that a compacted log showed only for a while, and records
//! without a key that it dropped. After either, everything is read again from the start, so that what is known is what
//! every other reader of the log knows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::metadata::log::{Cleanup, LogShape};
use crate::metadata::plan::Level;

use super::checkpoint::{Restored, Slot};
use super::directory::MetaPartition;
use super::last_record::LastRecord;

/// How long a log of which nobody says it shows tombstones: Kafka's own default.
const DELETE_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// A log that shows tombstones for no time at all must still be readable.
const AWAY_MIN: Duration = Duration::from_secs(1);

const AWAY: &str =
    "it was not read to its end for so long that deletions may have passed by; it is read again from the start";
const FOREIGN: &str = "the log does not have the record that the checkpoint rests on; it is read from the start";
const GAP: &str =
    "records were cleaned away that others without a key may have rested on; it is read again from the start";

/// A metadata partition as the reader's thread sees it.
pub(super) struct Reading {
    pub(super) meta: Arc<MetaPartition>,
    /// The next offset that was not applied yet.
    pub(super) position: i64,
    /// The last record that was applied: a log that has another one at its offset is another log.
    pub(super) last: LastRecord,
    /// The round that was asked for when the read began that runs now.
    pub(super) round: u64,
    /// When that read began: what it finds at its end was all there was then.
    pub(super) began: Instant,
    pub(super) is_assigned: bool,
    /// When something was heard of the partition: records, its end, or what is wrong with it.
    heard: Instant,
    /// Whether nothing but troubles was heard since it was assigned.
    is_fresh: bool,
    /// Since it was assigned.
    is_gap_said: bool,
    /// Everything that was in the log then is known; the time of the first read until the end was met once.
    caught_up: Instant,
    /// How often the end was not met in time, one after the other: each time twice as long is taken.
    overdue: u32,
    /// Records without a key that were applied since the start.
    pub(super) unkeyed: u64,
    /// Where the gaps were for which everything was read again, as they may be there again. Each costs a whole reading, so
    /// they are few.
    gaps: BTreeSet<i64>,
    /// Why everything is to be read again.
    pub(super) is_to_begin_again: Option<&'static str>,
    /// Whether the poll under way has moved the position.
    pub(super) is_moved: bool,
    /// Whether it rests on a checkpoint, and the log has not shown yet that it has the last record of it.
    is_unproven: bool,
    opened: Instant,
    /// Records that no checkpoint has.
    pub(super) unsaved: u64,
    /// When a checkpoint was written last, and what of it is done.
    pub(super) saved: Option<Instant>,
    pub(super) slot: Slot,
}

/// The readings, by the number of their metadata partition: a lookup for each record must cost next to nothing.
#[derive(Default)]
pub(super) struct Readings(Vec<Option<Reading>>);

/// What a log does with records that the reader has to reckon with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Forgetting {
    /// How long a reader may be away from the end; for ever if `None`.
    pub(super) away_max: Option<Duration>,
    /// Whether records without a key may be dropped.
    are_unkeyed_dropped: bool,
}

impl Forgetting {
    pub(super) fn of(shape: Option<&LogShape>) -> Self {
        match shape {
            Some(shape) if shape.is_ours_alone => Self { away_max: None, are_unkeyed_dropped: false },
            // Also where records go by their age only: that may have been otherwise a while ago, or become so.
            _ => {
                let retention = shape.and_then(|shape| shape.delete_retention).unwrap_or(DELETE_RETENTION);
                Self { away_max: Some((retention / 2).max(AWAY_MIN)), are_unkeyed_dropped: true }
            }
        }
    }
}

impl Forgetting {
    /// How often the end is to be looked for, by a manager that wants to know what is younger than `decide`.
    pub(super) fn round_interval(self, decide: Duration) -> Duration {
        self.away_max.map_or(decide, |away_max| away_max.min(decide)) / 2
    }
}

impl Reading {
    pub(super) fn new(meta: Arc<MetaPartition>, now: Instant) -> Self {
        Self {
            meta,
            position: 0,
            last: LastRecord::default(),
            round: 0,
            began: now,
            is_assigned: false,
            heard: now,
            is_fresh: true,
            is_gap_said: false,
            caught_up: now,
            overdue: 0,
            unkeyed: 0,
            gaps: BTreeSet::new(),
            is_to_begin_again: None,
            is_moved: false,
            is_unproven: false,
            opened: now,
            unsaved: 0,
            saved: None,
            slot: Slot::default(),
        }
    }

    /// Goes on where an earlier process was, once the log has shown the last record that this one met.
    pub(super) fn restore(&mut self, restored: &Restored) {
        (self.position, self.unkeyed) = (restored.position, restored.unkeyed);
        self.last = LastRecord::known(restored.last.0, restored.last.1);
        self.is_unproven = true;
        // A clock that began later can't tell; the age was judged.
        self.caught_up = self.opened.checked_sub(restored.age).unwrap_or(self.opened);
    }

    /// Where reading has to begin: with the last record that is known, if the log has to show that it is the same.
    pub(super) fn from(&self) -> i64 {
        let is_in_doubt = self.is_unproven || self.meta.has_lost_records();
        self.last.offset.filter(|_| is_in_doubt).unwrap_or(self.position)
    }

    /// It is read from now on, for `round`.
    pub(super) fn assigned(&mut self, round: u64, now: Instant) {
        (self.round, self.began, self.is_assigned, self.is_fresh) = (round, now, true, true);
        self.is_gap_said = false;
    }

    /// Something was heard of it.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// How long nothing was heard of it, if its end is still to be met.
    pub(super) fn silence(&self, now: Instant) -> Option<Duration> {
        let is_awaited = self.is_assigned && self.meta.met() < self.round;
        is_awaited.then(|| now.saturating_duration_since(self.heard.max(self.began)))
    }

    /// The next thing in the log is at `offset`. Gives the offset before which everything was read, if what lay in between
    /// is lost because the log begins later than before: it drops records by their age or its size. A log cleaner leaves
    /// gaps too, but not that one.
    pub(super) fn start_has_moved(&mut self, offset: i64, cleanup: Option<Cleanup>) -> Option<i64> {
        let is_first = std::mem::replace(&mut self.is_fresh, false);
        let may_be = match cleanup {
            Some(Cleanup::Delete) => !self.is_gap_said,
            Some(Cleanup::Compact) => false,
            Some(Cleanup::CompactAndDelete | Cleanup::Unknown) | None => is_first,
        };
        let is_known = !self.is_unproven && self.is_to_begin_again.is_none() && !self.meta.has_lost_records();
        let has_moved = may_be && is_known && self.position > 0 && offset > self.position;
        // A log that was compacted for a while has many gaps that are none of these.
        self.is_gap_said |= has_moved;
        has_moved.then_some(self.position)
    }

    pub(super) fn is_unproven(&self) -> bool {
        self.is_unproven
    }

    /// The first of the log that came goes with the checkpoint, or it does not.
    pub(super) fn prove(&mut self, is_same: bool) {
        self.is_unproven = false;
        if !is_same {
            // Only a level that the log itself shows lets anybody write more than stock brokers can read.
            self.meta.set_level(Level::Zero);
            self.is_to_begin_again = Some(FOREIGN);
        }
    }

    /// Whether what is known is all of the log up to the position.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_unproven && self.is_to_begin_again.is_none() && self.meta.met() >= self.round
    }

    /// How long ago everything was known.
    pub(super) fn away(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.caught_up)
    }

    pub(super) fn open_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.opened)
    }

    /// Whether what is known may be gone on with when the next thing in the log is at `offset`. If not, it is noted why.
    pub(super) fn may_go_on(&mut self, offset: i64, now: Instant, log: Forgetting) -> bool {
        if self.is_unproven {
            self.prove(false);
        }
        if self.is_to_begin_again.is_some() {
            return false;
        }
        let is_gap = offset > self.position && self.unkeyed > 0 && log.are_unkeyed_dropped;
        if is_gap && self.gaps.insert(self.position) {
            self.is_to_begin_again = Some(GAP);
        } else if log.away_max.is_some_and(|max| self.is_overdue(max, now)) {
            self.overdue += 1;
            self.is_to_begin_again = Some(AWAY);
        }
        self.is_to_begin_again.is_none()
    }

    fn is_overdue(&self, away_max: Duration, now: Instant) -> bool {
        self.away(now) > away_max * 2_u32.saturating_pow(self.overdue)
    }

    /// The end was met.
    pub(super) fn caught_up(&mut self) {
        (self.caught_up, self.overdue) = (self.began, 0);
        self.meta.known(self.began);
    }

    /// Forgets all that was read.
    pub(super) fn begin_again(&mut self, now: Instant) {
        (self.is_to_begin_again, self.is_unproven, self.unsaved) = (None, false, 0);
        (self.position, self.last, self.unkeyed) = (0, LastRecord::default(), 0);
        (self.caught_up, self.is_assigned) = (now, false);
        self.slot = Slot::default();
    }

    /// As [`Reading::begin_again`], with a log that has nothing in common with the one before.
    pub(super) fn begin_with_another_log(&mut self, now: Instant) {
        self.begin_again(now);
        self.overdue = 0;
        self.gaps.clear();
    }
}

impl Readings {
    pub(super) fn get_mut(&mut self, index: i32) -> Option<&mut Reading> {
        self.0.get_mut(usize::try_from(index).ok()?)?.as_mut()
    }

    /// The reading of a metadata partition; `begin` makes it if there is none.
    pub(super) fn get_or_begin(&mut self, index: i32, begin: impl FnOnce() -> Reading) -> &mut Reading {
        // Metadata partitions are numbered from 0.
        let index = usize::try_from(index).unwrap_or_default();
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index].get_or_insert_with(begin)
    }

    pub(super) fn remove(&mut self, index: i32) -> Option<Reading> {
        self.0.get_mut(usize::try_from(index).ok()?)?.take()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Reading> {
        self.0.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Reading> {
        self.0.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn reading(now: Instant) -> Reading {
        Reading::new(Arc::new(MetaPartition::new(0, Level::Zero)), now)
    }

    fn log(hours: u32) -> Forgetting {
        let shape = LogShape { cleanup: Cleanup::Compact, delete_retention: Some(HOUR * hours), ..LogShape::of(1) };
        Forgetting::of(Some(&shape))
    }

    #[test]
    fn whoever_was_away_for_half_the_life_of_a_tombstone_begins_again_when_something_new_comes() {
        let start = Instant::now();
        let mut reading = reading(start);
        assert!(reading.may_go_on(0, start + HOUR, log(2)), "an hour is half");
        reading.position = 5;
        (reading.began, reading.is_assigned) = (start + HOUR, true);
        reading.caught_up();
        assert!(reading.may_go_on(5, start + HOUR * 2, log(2)));
        assert!(!reading.may_go_on(5, start + HOUR * 2 + Duration::from_secs(1), log(2)));
        assert!(!reading.may_go_on(5, start, log(2)), "once noted it stays so");
        reading.begin_again(start + HOUR * 3);
        assert_eq!((reading.position, reading.is_assigned), (0, false));
        assert!(reading.may_go_on(0, start + HOUR * 4, log(2)), "the new read has its own time");
        assert!(reading.may_go_on(0, start + HOUR * 5, log(2)), "twice the time");
        assert!(!reading.may_go_on(0, start + HOUR * 6, log(2)), "and may be too slow as well");
    }

    #[test]
    fn a_gap_behind_a_record_without_a_key_begins_again_and_once_only() {
        let now = Instant::now();
        let mut reading = reading(now);
        assert!(reading.may_go_on(3, now, log(2)), "nothing without a key was applied yet");
        (reading.position, reading.unkeyed) = (4, 1);
        assert!(reading.may_go_on(4, now, log(2)), "no gap");
        assert!(!reading.may_go_on(6, now, log(2)));
        reading.begin_again(now);
        (reading.position, reading.unkeyed) = (4, 1);
        assert!(reading.may_go_on(6, now, log(2)), "it belongs to the log");
        reading.position = 9;
        assert!(!reading.may_go_on(10, now, log(2)), "another one does not");
    }

    #[test]
    fn a_log_that_keeps_several_gaps_behind_a_record_without_a_key_is_read_to_its_end_all_the_same() {
        let now = Instant::now();
        let mut reading = reading(now);
        let mut readings = 0;
        loop {
            readings += 1;
            assert!(readings <= 4, "it is read again and again");
            reading.unkeyed = 1;
            let is_whole = [4, 9, 14].into_iter().all(|end| {
                reading.position = end;
                reading.may_go_on(end + 1, now, log(2))
            });
            if is_whole {
                break;
            }
            reading.begin_again(now);
        }
        assert_eq!(readings, 4, "once more for each gap");
    }

    #[test]
    fn of_many_gaps_in_a_log_that_drops_its_oldest_one_is_told_for_each_assignment() {
        let mut reading = reading(Instant::now());
        reading.position = 5;
        let said = |reading: &mut Reading| [7, 9].map(|offset| reading.start_has_moved(offset, Some(Cleanup::Delete)));
        assert_eq!(said(&mut reading), [Some(5), None]);
        let round = reading.meta.ask();
        reading.assigned(round, Instant::now());
        assert_eq!(said(&mut reading), [Some(5), None]);
    }

    #[test]
    fn a_log_that_begins_later_than_it_was_read_is_not_taken_for_one_that_was_cleaned() {
        let moved = |cleanup, is_first: bool| {
            let mut reading = reading(Instant::now());
            assert_eq!(reading.start_has_moved(7, cleanup), None, "nothing was read before");
            reading.position = 5;
            reading.is_fresh = is_first;
            assert_eq!(reading.start_has_moved(5, cleanup), None, "no gap");
            reading.is_fresh = is_first;
            reading.start_has_moved(7, cleanup)
        };
        assert_eq!(moved(Some(Cleanup::Delete), false), Some(5));
        assert_eq!(moved(Some(Cleanup::Compact), true), None);
        for either in [Some(Cleanup::CompactAndDelete), Some(Cleanup::Unknown), None] {
            assert_eq!((moved(either, true), moved(either, false)), (Some(5), None), "{either:?}");
        }
    }

    #[test]
    fn a_partition_is_silent_only_while_its_end_is_awaited() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut reading = reading(start);
        assert_eq!(reading.silence(at(9)), None, "it is not read");
        let round = reading.meta.ask();
        reading.assigned(round, at(10));
        assert_eq!(reading.silence(at(15)), Some(Duration::from_secs(5)));
        reading.heard(at(14));
        assert_eq!(reading.silence(at(15)), Some(Duration::from_secs(1)));
        reading.meta.meet(round);
        assert_eq!(reading.silence(at(99)), None);
    }

    #[test]
    fn the_level_of_a_checkpoint_goes_with_it() {
        let now = Instant::now();
        let mut reading = reading(now);
        reading.meta.set_level(Level::Two);
        reading.restore(&Restored { position: 5, last: (4, 7), unkeyed: 0, age: Duration::ZERO });
        reading.prove(false);
        assert_eq!(reading.meta.level(), Level::Zero, "the log has yet to say it");
    }

    #[test]
    fn a_log_that_only_we_write_forgets_nothing_that_a_reader_needs() {
        let now = Instant::now();
        let shape = LogShape { is_ours_alone: true, cleanup: Cleanup::Compact, ..LogShape::of(1) };
        let log = Forgetting::of(Some(&shape));
        let mut reading = reading(now);
        reading.unkeyed = 1;
        assert!(reading.may_go_on(7, now + HOUR * 1000, log));
        assert_eq!(Forgetting::of(None).away_max, Some(HOUR * 12), "what nobody says is Kafka's default");
    }
}
