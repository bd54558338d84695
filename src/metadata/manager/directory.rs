//! Which partitions are assigned, and which metadata partitions are read for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

use crate::metadata::partition::PartitionState;
use crate::model::TopicIdPartition;
use crate::wire::metadata_partition;

use super::leadership::Leadership;

pub(super) type SharedState = Arc<RwLock<PartitionState>>;

/// All of it, behind one lock that is written only when assignments change.
#[derive(Default)]
pub(super) struct Directory {
    /// Number of metadata partitions; unknown until the log was reached.
    partitions: Option<i32>,
    assigned: HashMap<TopicIdPartition, Arc<Assignment>>,
    /// What the reader has to read.
    pub(super) meta: HashMap<i32, Arc<MetaPartition>>,
}

/// A partition that a host leads or follows.
pub(super) struct Assignment {
    pub(super) partition: TopicIdPartition,
    pub(super) leadership: Leadership,
    bound: OnceLock<Bound>,
}

/// An assignment's place in the log.
pub(super) struct Bound {
    pub(super) meta: Arc<MetaPartition>,
    pub(super) state: SharedState,
    /// The round of [`MetaPartition`] whose end shows everything that was in the log at the assignment.
    round: u64,
}

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
    /// What was wrong last, until the end is met again.
    trouble: Mutex<Option<String>>,
    /// Whether it is so wrong that what is known must not be used.
    has_trouble: AtomicBool,
    /// Whether records that were read are no longer in the log. For good, unless the last of them is met again: what took
    /// their place was passed over.
    has_lost_records: AtomicBool,
    /// Whether it is read on behalf of topics that nobody leads any more.
    is_cared_for: AtomicBool,
    pub(super) states: Mutex<HashMap<TopicIdPartition, SharedState>>,
}

impl Directory {
    /// The log is reached: everything that was assigned before gets its place.
    pub(super) fn set_partitions(&mut self, partitions: i32) {
        self.partitions = Some(partitions);
        let assignments: Vec<_> = self.assigned.values().cloned().collect();
        for assignment in assignments {
            self.bind(&assignment);
        }
    }

    /// Number of metadata partitions, once the log was reached.
    pub(super) fn partitions(&self) -> Option<i32> {
        self.partitions
    }

    /// Adds what is new; gives the assignment of each of `partitions`, in their order.
    pub(super) fn assign(&mut self, partitions: &[&TopicIdPartition]) -> Vec<Arc<Assignment>> {
        let assign = |&partition: &&TopicIdPartition| {
            if let Some(known) = self.assigned.get(partition) {
                return Arc::clone(known);
            }
            let assignment = Arc::new(Assignment {
                partition: partition.clone(),
                leadership: Leadership::default(),
                bound: OnceLock::new(),
            });
            self.bind(&assignment);
            self.assigned.insert(partition.clone(), Arc::clone(&assignment));
            assignment
        };
        partitions.iter().map(assign).collect()
    }

    /// Removes assignments and gives them back. What is read for nobody is dropped later, by the reader.
    pub(super) fn unassign(&mut self, partitions: &[TopicIdPartition]) -> Vec<Arc<Assignment>> {
        let removed: Vec<_> = partitions.iter().filter_map(|partition| self.assigned.remove(partition)).collect();
        for bound in removed.iter().filter_map(|assignment| assignment.bound.get()) {
            bound.meta.users.fetch_sub(1, Ordering::AcqRel);
        }
        removed
    }

    fn bind(&mut self, assignment: &Assignment) {
        let Some(partitions) = self.partitions else { return };
        let partition = &assignment.partition;
        let index = metadata_partition(&partition.topic_id, partition.partition, partitions);
        let meta = self.meta.entry(index).or_insert_with(|| Arc::new(MetaPartition::new(index)));
        assignment.bound.get_or_init(|| {
            meta.users.fetch_add(1, Ordering::AcqRel);
            Bound {
                meta: Arc::clone(meta),
                state: meta.state(partition),
                round: meta.asked.fetch_add(1, Ordering::AcqRel) + 1,
            }
        });
    }

    pub(super) fn assignment(&self, partition: &TopicIdPartition) -> Option<&Arc<Assignment>> {
        self.assigned.get(partition)
    }

    pub(super) fn assignments(&self) -> impl Iterator<Item = &Arc<Assignment>> {
        self.assigned.values()
    }

    pub(super) fn is_ready(&self, partition: &TopicIdPartition) -> bool {
        self.assigned.get(partition).is_some_and(|assignment| assignment.is_ready())
    }

    pub(super) fn has_unused(&self) -> bool {
        self.meta.values().any(|meta| meta.is_unused())
    }

    /// Takes out what is read for nobody.
    pub(super) fn take_unused(&mut self) -> Vec<Arc<MetaPartition>> {
        let unused: Vec<i32> = self.meta.iter().filter(|(_, meta)| meta.is_unused()).map(|(&index, _)| index).collect();
        unused.iter().filter_map(|index| self.meta.remove(index)).collect()
    }

    /// Reads these metadata partitions, and no others, also on behalf of topics that nobody leads any more.
    pub(super) fn care_for(&mut self, indexes: &[i32]) {
        let Some(partitions) = self.partitions else { return };
        for meta in self.meta.values() {
            meta.set_cared_for(indexes.contains(&meta.index));
        }
        for &index in indexes.iter().filter(|&&index| (0..partitions).contains(&index)) {
            self.meta.entry(index).or_insert_with(|| {
                let meta = MetaPartition::new(index);
                meta.set_cared_for(true);
                meta.asked.store(1, Ordering::Release);
                Arc::new(meta)
            });
        }
    }

    pub(super) fn clear(&mut self) -> Vec<Arc<Assignment>> {
        self.meta.clear();
        self.assigned.drain().map(|(_, assignment)| assignment).collect()
    }
}

impl Assignment {
    pub(super) fn bound(&self) -> Option<&Bound> {
        self.bound.get()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.bound.get().is_some_and(|bound| bound.why_not_ready().is_none())
    }
}

impl Bound {
    /// Why the state must not be used yet.
    pub(super) fn why_not_ready(&self) -> Option<&'static str> {
        if self.meta.is_too_new.load(Ordering::Acquire) {
            return Some(
                "the log has records of a newer version of this plugin; upgrade, or set \
                 `undercroft.metadata.ignore.newer.records`",
            );
        }
        if self.meta.has_lost_records.load(Ordering::Acquire) {
            return Some(
                "records that were read are no longer in the log (was the log deleted?), and nobody knows what else it \
                 has lost; restart this broker to go on with what the log has now",
            );
        }
        if self.meta.has_trouble.load(Ordering::Acquire) {
            return Some("the log of its records is not as it must be");
        }
        (self.meta.met.load(Ordering::Acquire) < self.round).then_some("its records are still being read")
    }
}

impl MetaPartition {
    fn new(index: i32) -> Self {
        Self {
            index,
            users: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            asked: AtomicU64::new(0),
            met: AtomicU64::new(0),
            is_too_new: AtomicBool::new(false),
            trouble: Mutex::new(None),
            has_trouble: AtomicBool::new(false),
            has_lost_records: AtomicBool::new(false),
            is_cared_for: AtomicBool::new(false),
            states: Mutex::new(HashMap::new()),
        }
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

    pub(super) fn is_cared_for(&self) -> bool {
        self.is_cared_for.load(Ordering::Acquire)
    }

    fn set_cared_for(&self, is_cared_for: bool) {
        self.is_cared_for.store(is_cared_for, Ordering::Release);
    }

    fn is_unused(&self) -> bool {
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

    pub(super) fn set_too_new(&self) -> bool {
        !self.is_too_new.swap(true, Ordering::AcqRel)
    }

    /// Something is wrong with the log, until its end is met again. If it is not as it must be (`is_fatal`), what is
    /// known of it must not be used.
    pub(super) fn set_trouble(&self, why: String, is_fatal: bool) {
        *self.trouble.lock() = Some(why);
        self.has_trouble.fetch_or(is_fatal, Ordering::AcqRel);
    }

    /// The log ends before what was read of it. Tells whether that is news.
    pub(super) fn lose_records(&self) -> bool {
        !self.has_lost_records.swap(true, Ordering::AcqRel)
    }

    /// They are there after all.
    pub(super) fn find_records(&self) {
        self.has_lost_records.store(false, Ordering::Release);
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    pub(super) fn live_segments(&self) -> usize {
        self.states.lock().values().map(|state| state.read().live_segments()).sum()
    }
}

// SHIM
impl MetaPartition {
    pub(super) fn level(&self) -> crate::metadata::plan::Level {
        crate::metadata::plan::Level::Two
    }
    pub(super) fn is_current(&self, _: std::time::Duration) -> bool {
        self.met() > 0
    }
    pub(super) fn is_read_again(&self) -> bool {
        false
    }
    pub(super) fn why_not_ready(&self, round: u64) -> Option<&'static str> {
        (self.met() < round).then_some("shim")
    }
}
