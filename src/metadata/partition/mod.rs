//! What a reader of the log knows of one user partition.
//!
//! In: records, in log order. Out: lookups, and for every record whether it was applied, kept for later or refused and
//! why; which segments somebody has to care for; which keys the log has records under. Never: I/O, clocks, locks. The
//! manager owns one [`PartitionState`] per user partition.
//!
//! What it comes to does not depend on what a log cleaner has dropped: a cleaned log makes the same state as the whole
//! one, but for segments whose deletion has ended.
//!
//! Lookups answer as Kafka's `RemoteLogMetadataCache` does, with one difference: of finished segments that overlap, one
//! never hides what only the other one has. (There a shorter one that finished last hides the tail of a longer one.)

mod apply;
mod blobs;
mod book;
mod dispute;
mod entry;
mod leftover;
mod lineage;
mod lookup;
mod naming;
mod segment;
mod slab;
mod snapshot;
#[cfg(test)]
mod tests;
mod tombstone;
mod watermarks;
mod work;

pub use entry::{Entry, Outcome, Refusal};
pub use naming::Naming;
pub use work::{Amount, NullKeyFact, Unsettled, Work};

use std::collections::VecDeque;

use crate::metadata::plan::Laws;
use crate::model::{KafkaUuid, LeaderEpoch, Offset, PartitionDeleteState, TopicIdPartition};

use blobs::Blobs;
use book::OtherKeys;
use lineage::Lineage;
use segment::{Gone, Orphan, Segment};
use slab::{ById, Slab};
use watermarks::Watermarks;

/// State of one user partition: its segments, which of them serve which offsets, and what the log has of them.
#[derive(Debug)]
pub struct PartitionState {
    partition: TopicIdPartition,
    laws: Laws,
    live: Slab<Segment>,
    blobs: Blobs,
    /// One for each epoch that ever had a finished segment, ascending.
    lineages: Vec<Lineage>,
    gone: Slab<Gone>,
    other_keys: OtherKeys,
    /// Updates without the record that creates their segment.
    orphans: ById<Orphan>,
    /// Those of the gone that nothing has to be emptied of, with the time of their last record, the oldest first.
    fading: VecDeque<(i64, KafkaUuid)>,
    /// When the last record of each live segment was read that is not finished.
    unsettled: ById<i64>,
    watermarks: Watermarks,
    mark: Option<Mark>,
    newest_ms: i64,
    work: Work,
    /// Records that were taken.
    changes: u64,
}

/// The last mark of the whole partition's deletion.
#[derive(Debug, Clone, Copy)]
struct Mark {
    state: PartitionDeleteState,
    is_keyed: bool,
    seen_ms: i64,
}

impl PartitionState {
    #[must_use]
    pub fn new(partition: TopicIdPartition) -> Self {
        Self::with_laws(partition, Laws::ALL)
    }

    /// With some of the rules switched off, for a simulator.
    #[doc(hidden)]
    #[must_use]
    pub fn with_laws(partition: TopicIdPartition, laws: Laws) -> Self {
        Self {
            partition,
            laws,
            live: Slab::new(),
            blobs: Blobs::default(),
            lineages: Vec::new(),
            gone: Slab::new(),
            other_keys: OtherKeys::default(),
            orphans: ById::default(),
            fading: VecDeque::new(),
            unsettled: ById::default(),
            watermarks: Watermarks::default(),
            mark: None,
            newest_ms: i64::MIN,
            work: Work::default(),
            changes: 0,
        }
    }

    /// Nothing is known, for reading the log again from its start in the same process. Which short keys are taken is kept:
    /// the log may have lost those keys by now, and this process may still lead in the same epoch.
    #[must_use]
    pub fn restarted(&self) -> Self {
        let mut state = Self::with_laws(self.partition.clone(), self.laws);
        state.watermarks = self.watermarks.clone();
        state.changes = self.changes + 1;
        state
    }

    /// The partition that it is of.
    #[must_use]
    pub fn partition(&self) -> &TopicIdPartition {
        &self.partition
    }

    pub(in crate::metadata) fn laws(&self) -> Laws {
        self.laws
    }

    /// Grows with each record, also through [`PartitionState::restarted`]: where it is the same, all answers are.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Time of the newest record that was taken, as the record says it; `i64::MIN` if there was none.
    #[must_use]
    pub fn newest_ms(&self) -> i64 {
        self.newest_ms
    }

    /// Number of segments short of the end of their deletion.
    #[must_use]
    pub fn live_segments(&self) -> usize {
        self.live.len()
    }

    /// The last mark of the whole partition's deletion. It changes no segment.
    #[must_use]
    pub fn deletion(&self) -> Option<PartitionDeleteState> {
        self.mark.map(|mark| mark.state)
    }

    fn lineage(&self, epoch: LeaderEpoch) -> Option<&Lineage> {
        let at = self.lineages.binary_search_by_key(&epoch, |lineage| lineage.epoch).ok()?;
        self.lineages.get(at)
    }

    /// Does `change` to the lineage of each epoch that the segment at `place` has, with what the segment has of it.
    fn with_lineages(&mut self, place: u32, change: impl Fn(&mut Lineage, &Slab<Segment>, Offset)) {
        let Self { live, lineages, .. } = self;
        let Some(segment) = live.at(place) else { return };
        for (epoch, _, end) in segment.ranges() {
            let at = match lineages.binary_search_by_key(&epoch, |lineage| lineage.epoch) {
                Ok(at) => at,
                Err(at) => {
                    lineages.reserve_exact(1);
                    lineages.insert(at, Lineage::new(epoch));
                    at
                }
            };
            change(&mut lineages[at], live, end);
        }
    }
}
