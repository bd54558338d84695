//! What a reader of the log knows of one user partition.
//!
//! In: records, in log order. Out: lookups, and for every record whether it was applied, kept for later or refused and
//! why. Never: I/O, clocks, locks, bytes of records. The manager owns one [`PartitionState`] per user partition.
//!
//! Lookups answer as Kafka's `RemoteLogMetadataCache` does, with one difference: of two segments that start at the same
//! offset the longer one stays in the lookups, whichever finished last. (There the shorter one hides the tail of the
//! longer one from readers, and the longer one from retention.) When the longer one goes, the shorter one serves what it has,
//! as it would there.

mod apply;
mod lineage;
mod lookup;
mod naming;
mod segment;
#[cfg(test)]
mod tests;

pub use apply::{Outcome, Refusal, impossible};
pub use naming::{KeyFacts, Naming};

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::model::{KafkaUuid, LeaderEpoch, PartitionDeleteState, TopicIdPartition};

use lineage::Lineage;
use naming::KeyOwners;
use segment::{KeptUpdate, Segment};

/// State of one user partition: its segments, which of them serve which offsets, and who owns which key.
#[derive(Debug)]
pub struct PartitionState {
    partition: TopicIdPartition,
    segments: HashMap<KafkaUuid, Segment>,
    lineages: BTreeMap<LeaderEpoch, Lineage>,
    /// Updates that came before the record that creates their segment, in log order.
    kept: HashMap<KafkaUuid, Vec<KeptUpdate>>,
    /// Segments whose deletion has ended. A late record must neither bring one back nor be kept for ever.
    gone: HashSet<KafkaUuid>,
    key_owners: KeyOwners,
    deletion: Option<PartitionDeleteState>,
}

impl PartitionState {
    #[must_use]
    pub fn new(partition: TopicIdPartition) -> Self {
        Self {
            partition,
            segments: HashMap::new(),
            lineages: BTreeMap::new(),
            kept: HashMap::new(),
            gone: HashSet::new(),
            key_owners: KeyOwners::default(),
            deletion: None,
        }
    }

    /// Number of segments short of the end of their deletion.
    #[must_use]
    pub fn live_segments(&self) -> usize {
        self.segments.len()
    }

    /// The last mark of the whole partition's deletion. It changes no segment.
    #[must_use]
    pub fn deletion(&self) -> Option<PartitionDeleteState> {
        self.deletion
    }
}
