//! A metadata partition as this process knows it: what was read of it, how far, and whether that may be used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::metadata::partition::PartitionState;
use crate::metadata::plan::Level;
use crate::model::{IdMap, TopicIdPartition};

pub(super) type SharedState = Arc<RwLock<PartitionState>>;

/// A metadata partition that is read, with the state of every user partition that has records in it.
pub(super) struct MetaPartition {
    pub(super) index: i32,
    /// Assignments; changes under the directory's write lock.
    users: AtomicUsize,
    /// Writes in flight; begins under the directory's read lock.
    in_flight: AtomicUsize,
    /// Counted up by each assignment: the end of the log has to be met once more.
    asked: AtomicU64,
    /// The last round for which it was met.
    met: AtomicU64,
    is_too_new: AtomicBool,
    /// Whether records of a later release were passed over, as told.
    has_newer: AtomicBool,
    /// What was wrong last, until the end is met again.
    trouble: Mutex<Option<String>>,
    /// Whether it is so wrong that what is known must not be used.
    has_trouble: AtomicBool,
    /// Whether records that were read are no longer in the log. For good, unless the last of them is met again: what took
    /// their place was passed over.
    has_lost_records: AtomicBool,
    /// Whether that is still to be said, if nothing better is found.
    is_loss_unsaid: AtomicBool,
    /// Why everything is read again from the start, while it is.
    again: Mutex<Option<&'static str>>,
    is_read_again: AtomicBool,
    /// What its last level record said.
    level: Mutex<Level>,
    /// Whether it is empty and its first record, that of its level, is on its way.
    is_level_awaited: AtomicBool,
    /// Everything that was in the log at this time is known.
    known_as_of: Mutex<Option<Instant>>,
    /// Whether it is read on behalf of topics that nobody leads any more.
    is_cared_for: AtomicBool,
    pub(super) states: Mutex<IdMap<TopicIdPartition, SharedState>>,
}

impl MetaPartition {
    pub(super) fn new(index: i32, level: Level) -> Self {
        Self {
            index,
            users: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            asked: AtomicU64::new(0),
            met: AtomicU64::new(0),
            is_too_new: AtomicBool::new(false),
            has_newer: AtomicBool::new(false),
            trouble: Mutex::new(None),
            has_trouble: AtomicBool::new(false),
            has_lost_records: AtomicBool::new(false),
            is_loss_unsaid: AtomicBool::new(false),
            again: Mutex::new(None),
            is_read_again: AtomicBool::new(false),
            level: Mutex::new(level),
            is_level_awaited: AtomicBool::new(false),
            known_as_of: Mutex::new(None),
            is_cared_for: AtomicBool::new(false),
            states: Mutex::default(),
        }
    }

    /// Why states must not be used yet by whoever asked for `round`.
    pub(super) fn why_not_ready(&self, round: u64) -> Option<&'static str> {
        if self.is_too_new.load(Ordering::Acquire) {
            return Some(
                "the log has records of a newer version of this plugin; upgrade, or set \
                 `undercroft.metadata.ignore.newer.records`",
            );
        }
        if self.has_lost_records() {
            return Some(
                "records that were read are no longer in the log (was the log deleted?), and nobody knows what else it \
                 has lost; restart this broker to go on with what the log has now",
            );
        }
        if self.has_trouble.load(Ordering::Acquire) {
            return Some("the log of its records is not as it must be");
        }
        if self.is_read_again() {
            return Some(self.again.lock().unwrap_or("its records are read again from the start"));
        }
        if self.is_level_awaited.load(Ordering::Acquire) {
            return Some("its part of the log is empty, and gets its first record");
        }
        (self.met.load(Ordering::Acquire) < round).then_some("its records are still being read")
    }

    /// One more assignment needs it. Called under the directory's write lock.
    pub(super) fn use_begins(&self) {
        self.users.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn use_ends(&self) {
        self.users.fetch_sub(1, Ordering::AcqRel);
    }

    /// State of a user partition, empty if nothing was read of it yet.
    pub(super) fn state(&self, partition: &TopicIdPartition) -> SharedState {
        let mut states = self.states.lock();
        if let Some(state) = states.get(partition) {
            return Arc::clone(state);
        }
        let state = Arc::new(RwLock::new(PartitionState::new(partition.clone())));
        states.insert(partition.clone(), Arc::clone(&state));
        state
    }

    /// Forgets a state that is spent, unless somebody but the caller holds it: the reader, or a write. Tells whether it did.
    pub(super) fn let_go(&self, state: &SharedState, now_ms: i64) -> bool {
        let mut states = self.states.lock();
        let partition = state.read().partition().clone();
        let is_it = states.get(&partition).is_some_and(|known| Arc::ptr_eq(known, state));
        // Nobody takes hold of it meanwhile: that needs the lock.
        let is_free = is_it && Arc::strong_count(state) == 2 && state.read().is_spent(now_ms);
        is_free && states.remove(&partition).is_some()
    }

    pub(super) fn is_cared_for(&self) -> bool {
        self.is_cared_for.load(Ordering::Acquire)
    }

    /// Called under the directory's write lock.
    pub(super) fn set_cared_for(&self, is_cared_for: bool) {
        self.is_cared_for.store(is_cared_for, Ordering::Release);
    }

    pub(super) fn is_unused(&self) -> bool {
        !self.is_cared_for() && self.users.load(Ordering::Acquire) == 0 && self.in_flight.load(Ordering::Acquire) == 0
    }

    pub(super) fn write_begins(&self) {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    /// Tells whether nobody needs the partition any more.
    pub(super) fn write_ends(&self) -> bool {
        self.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 && self.users.load(Ordering::Acquire) == 0
    }

    pub(super) fn has_writes(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }

    /// The round that was asked for last.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Acquire)
    }

    pub(super) fn met(&self) -> u64 {
        self.met.load(Ordering::Acquire)
    }

    /// The end was met by a read that began when `round` had been asked for. Tells whether that is news.
    pub(super) fn meet(&self, round: u64) -> bool {
        let had_trouble = self.has_trouble.swap(false, Ordering::AcqRel);
        *self.trouble.lock() = None;
        self.met.fetch_max(round, Ordering::AcqRel) < round || had_trouble
    }

    /// The end has to be met once more. Gives the round.
    pub(super) fn ask(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Forgets what was read, as the same log tells it again from the start, or tells what was missed. Nothing of it is
    /// ready until the end is met.
    pub(super) fn read_again(&self, why: &'static str) {
        *self.again.lock() = Some(why);
        // Before the states are emptied: whoever holds one looks here once more.
        self.is_read_again.store(true, Ordering::Release);
        for state in self.states.lock().values() {
            let mut state = state.write();
            *state = state.restarted();
        }
    }

    /// As [`MetaPartition::read_again`], of another log: what was wrong with the one before is no matter, and what its
    /// level was.
    pub(super) fn begin_with_another_log(&self, why: &'static str) {
        self.read_again(why);
        self.find_records();
        self.has_trouble.store(false, Ordering::Release);
        *self.trouble.lock() = None;
        self.has_newer.store(false, Ordering::Release);
        self.is_too_new.store(false, Ordering::Release);
        *self.known_as_of.lock() = None;
        self.set_level(Level::Zero);
    }

    /// Whether states lack what is being read again. To be asked by whoever holds the lock of one, as it may have been
    /// ready a moment before.
    pub(super) fn is_read_again(&self) -> bool {
        self.is_read_again.load(Ordering::Acquire)
    }

    /// Everything that was in the log at `as_of` was read.
    pub(super) fn known(&self, as_of: Instant) {
        *self.known_as_of.lock() = Some(as_of);
        self.is_read_again.store(false, Ordering::Release);
    }

    /// Whether everything is known that was in the log `within` ago: only then a leader may decide by what it knows.
    pub(super) fn is_current(&self, within: Duration) -> bool {
        self.known_as_of.lock().is_some_and(|as_of| as_of.elapsed() < within)
    }

    /// What writers may write to it.
    pub(super) fn level(&self) -> Level {
        *self.level.lock()
    }

    /// Tells whether somebody may have waited for it.
    pub(super) fn set_level(&self, level: Level) -> bool {
        *self.level.lock() = level;
        self.is_level_awaited.swap(false, Ordering::AcqRel)
    }

    /// It is empty, and its level is being written. Tells whether that is news.
    pub(super) fn await_level(&self) -> bool {
        !self.is_level_awaited.swap(true, Ordering::AcqRel)
    }

    pub(super) fn is_level_awaited(&self) -> bool {
        self.is_level_awaited.load(Ordering::Acquire)
    }

    pub(super) fn note_newer(&self) {
        self.has_newer.store(true, Ordering::Release);
    }

    /// Whether what is known of it may be kept for another process.
    pub(super) fn is_sound(&self) -> bool {
        let troubles =
            [&self.has_newer, &self.is_too_new, &self.has_lost_records, &self.has_trouble, &self.is_read_again];
        !troubles.iter().any(|trouble| trouble.load(Ordering::Acquire))
    }

    pub(super) fn set_too_new(&self) -> bool {
        !self.is_too_new.swap(true, Ordering::AcqRel)
    }

    /// Something is wrong with the log, until its end is met again. If it is not as it must be (`is_fatal`), what is
    /// known of it must not be used.
    pub(super) fn set_trouble(&self, why: String, is_fatal: bool) {
        *self.trouble.lock() = Some(why);
        self.has_trouble.fetch_or(is_fatal, Ordering::AcqRel);
    }

    /// The log ends before what was read of it; said once the log was looked at. Tells whether that is news.
    pub(super) fn lose_records(&self) -> bool {
        let is_news = !self.has_lost_records.swap(true, Ordering::AcqRel);
        self.is_loss_unsaid.fetch_or(is_news, Ordering::AcqRel);
        is_news
    }

    /// What is to be said of records that were lost.
    pub(super) fn take_loss_unsaid(&self) -> Option<String> {
        let is_due = self.is_loss_unsaid.swap(false, Ordering::AcqRel);
        self.trouble().filter(|_| is_due)
    }

    pub(super) fn has_lost_records(&self) -> bool {
        self.has_lost_records.load(Ordering::Acquire)
    }

    /// They are there after all.
    pub(super) fn find_records(&self) {
        self.is_loss_unsaid.store(false, Ordering::Release);
        self.has_lost_records.store(false, Ordering::Release);
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    pub(super) fn live_segments(&self) -> usize {
        self.states.lock().values().map(|state| state.read().live_segments()).sum()
    }
}
