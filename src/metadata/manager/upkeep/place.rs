//! A user partition whose leftovers this broker cleans, and by what right.

use std::sync::Arc;

use crate::metadata::plan::Standing;
use crate::model::{LeaderEpoch, TopicIdPartition};

use super::super::core::Core;
use super::super::directory::{Assignment, MetaPartition, SharedState};

/// Where the records and the state of a user partition are.
#[derive(Clone)]
pub(in super::super) struct Place {
    pub(in super::super) partition: TopicIdPartition,
    pub(in super::super) meta: Arc<MetaPartition>,
    pub(in super::super) state: SharedState,
    pub(super) right: Right,
}

/// Why the leftovers are this broker's to clean.
#[derive(Clone)]
pub(super) enum Right {
    /// It leads the partition.
    Leader(Arc<Assignment>),
    /// The topic is gone, so nobody leads the partition, and this broker leads the partition of the log.
    Caretaker,
}

impl Place {
    /// What may be decided now. No leadership if the right has ended meanwhile.
    pub(super) fn standing(&self, core: &Core) -> Standing {
        let leadership = match &self.right {
            Right::Leader(assignment) => assignment.leadership.now().filter(|_| core.is_ready(&self.partition)),
            Right::Caretaker if core.upkeep.is_gone(&self.partition.topic_id) => {
                let is_assigned = core.directory.read().assignment(&self.partition).is_some();
                let is_usable = !core.is_doubted() && self.meta.why_not_ready(1).is_none() && self.meta.is_cared_for();
                (!is_assigned && is_usable).then_some(LeaderEpoch(i32::MAX))
            }
            Right::Caretaker => None,
        };
        core.standing(&self.meta, leadership)
    }

    pub(super) fn is_topic_gone(&self) -> bool {
        matches!(self.right, Right::Caretaker)
    }
}
