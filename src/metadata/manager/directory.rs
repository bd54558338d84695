//! Which partitions are assigned, and which metadata partitions are read for them.

use std::sync::{Arc, OnceLock};

use crate::metadata::log::LogShape;
use crate::metadata::plan::Level;
use crate::model::{IdMap, TopicIdPartition};
use crate::wire::metadata_partition;

use super::leadership::Leadership;
pub(super) use super::meta_partition::{MetaPartition, SharedState};

/// All of it, behind one lock that is written only when assignments change.
pub(super) struct Directory {
    /// Number of metadata partitions; unknown until the log was reached.
    partitions: Option<i32>,
    /// Level of a metadata partition without a level record.
    level: Level,
    assigned: IdMap<TopicIdPartition, Arc<Assignment>>,
    /// What the reader has to read.
    pub(super) meta: IdMap<i32, Arc<MetaPartition>>,
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

impl Default for Directory {
    fn default() -> Self {
        Self { partitions: None, level: Level::Zero, assigned: IdMap::default(), meta: IdMap::default() }
    }
}

impl Directory {
    /// The log is reached: everything that was assigned before gets its place.
    pub(super) fn set_shape(&mut self, shape: &LogShape) {
        self.partitions = Some(shape.partitions);
        self.level = if shape.is_ours_alone { Level::Two } else { Level::Zero };
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
            bound.meta.use_ends();
        }
        removed
    }

    fn bind(&mut self, assignment: &Assignment) {
        let Some(partitions) = self.partitions else { return };
        let partition = &assignment.partition;
        let index = metadata_partition(&partition.topic_id, partition.partition, partitions);
        let level = self.level;
        let meta = self.meta.entry(index).or_insert_with(|| Arc::new(MetaPartition::new(index, level)));
        assignment.bound.get_or_init(|| {
            meta.use_begins();
            Bound { meta: Arc::clone(meta), state: meta.state(partition), round: meta.ask() }
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
        let level = self.level;
        for &index in indexes.iter().filter(|&&index| (0..partitions).contains(&index)) {
            self.meta.entry(index).or_insert_with(|| {
                let meta = MetaPartition::new(index, level);
                meta.set_cared_for(true);
                meta.ask();
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
        self.meta.why_not_ready(self.round)
    }
}
