//! What is left to do for a partition.

use crate::model::{KafkaUuid, SegmentId, SegmentMetadata, SegmentState};

use super::PartitionState;
use super::segment::{Gone, Segment};
use super::slab::Slotted;

/// How much there is to do, as far as the log tells. Kept with each record, so that asking costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Attempts in COPY_SEGMENT_STARTED.
    pub started: Amount,
    pub dangling: Amount,
    pub delete_started: Amount,
    /// Segments whose deletion has ended and of which keys are to be emptied.
    pub gone_with_keys: usize,
    /// Facts that rest on records without a key: that a segment exists, or its state.
    pub unkeyed_facts: usize,
    /// Updates whose segment is not known.
    pub orphan_updates: usize,
}

/// Segments and their size as the broker wrote them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    pub count: usize,
    pub bytes: u64,
}

/// A segment that does not stay as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// In state COPY_SEGMENT_STARTED, DANGLING or DELETE_SEGMENT_STARTED.
    pub metadata: SegmentMetadata,
    /// Whether it is DANGLING because somebody found the attempt abandoned.
    pub is_claimed: bool,
    /// Whether a record under a key says that its copy has ended, well or not. If none does, somebody may still be copying.
    pub is_copy_over: bool,
    /// When its last record was read, by the clock of the reader.
    pub seen_ms: i64,
}

/// What a log cleaner would lose with a record that has no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NullKeyFact {
    /// That the segment exists.
    Base,
    /// The state that it is in.
    State,
}

impl PartitionState {
    /// What there is to do.
    #[must_use]
    pub fn work(&self) -> Work {
        self.work
    }

    /// Segments in COPY_SEGMENT_STARTED, DANGLING and DELETE_SEGMENT_STARTED, in no order.
    pub fn unsettled(&self) -> impl Iterator<Item = Unsettled> {
        self.unsettled.keys().filter_map(|&uuid| self.look(uuid))
    }

    /// A segment in any state short of the end of its deletion, and when its last record was read if it is unsettled.
    #[must_use]
    pub fn look(&self, segment: KafkaUuid) -> Option<Unsettled> {
        let known = self.live.get(segment)?;
        let seen_ms = self.unsettled.get(&segment).copied().unwrap_or(i64::MIN);
        let is_copy_over = self.other_keys.says_copy_is_over(known.holder());
        Some(Unsettled { metadata: self.metadata(known), is_claimed: known.is_claimed, is_copy_over, seen_ms })
    }

    /// Ids of what [`PartitionState::unsettled`] shows, in no order. Costs little, so that a lock is not held for long.
    pub fn unsettled_ids(&self) -> impl Iterator<Item = KafkaUuid> {
        self.unsettled.keys().copied()
    }

    /// Ids of all segments short of the end of their deletion, in no order.
    pub fn live_ids(&self) -> impl Iterator<Item = KafkaUuid> {
        self.live.iter().map(Segment::uuid)
    }

    /// Facts that rest on records without a key. Of a segment whose deletion has ended only its state counts, and only as
    /// long as a base key would bring the segment back.
    pub fn rests_on_null_keys(&self) -> impl Iterator<Item = (SegmentId, NullKeyFact)> {
        let live = self
            .live
            .iter()
            .flat_map(|segment| self.null_key_facts(segment).into_iter().flatten().map(|fact| (segment.uuid(), fact)));
        let gone = self.gone.iter().filter(|gone| self.is_at_risk(gone));
        let gone = gone.map(|gone| (gone.uuid(), NullKeyFact::State));
        live.chain(gone).map(|(uuid, fact)| (SegmentId { partition: self.partition.clone(), uuid }, fact))
    }

    /// A segment's share of the work.
    pub(super) fn share(&self, segment: KafkaUuid) -> Work {
        let mut work = Work::default();
        if let Some(segment) = self.live.get(segment) {
            let amount = Amount { count: 1, bytes: u64::try_from(segment.size_bytes).unwrap_or(0) };
            match segment.state {
                SegmentState::CopyStarted => work.started = amount,
                SegmentState::Dangling => work.dangling = amount,
                SegmentState::DeleteStarted => work.delete_started = amount,
                SegmentState::CopyFinished | SegmentState::DeleteFinished => {}
            }
            work.unkeyed_facts = self.null_key_facts(segment).into_iter().flatten().count();
        } else if let Some(gone) = self.gone.get(segment) {
            work.gone_with_keys = usize::from(!self.other_keys.is_empty(gone.holder()));
            work.unkeyed_facts = usize::from(self.is_at_risk(gone));
        } else if let Some(orphan) = self.orphans.get(&segment) {
            work.orphan_updates = orphan.updates.len();
        }
        work
    }

    fn null_key_facts(&self, segment: &Segment) -> [Option<NullKeyFact>; 2] {
        let has_base = self.other_keys.has_base_type(segment.holder());
        let base = (!has_base).then_some(NullKeyFact::Base);
        // An attempt that is open says so with its base.
        let is_said = segment.is_state_keyed || (segment.state == SegmentState::CopyStarted && has_base);
        [base, (!is_said).then_some(NullKeyFact::State)]
    }

    /// Whether a log cleaner could bring it back.
    fn is_at_risk(&self, gone: &Gone) -> bool {
        !gone.is_state_keyed && self.other_keys.has_base_type(gone.holder())
    }
}

impl Work {
    /// Whether there are segments that do not stay as they are.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.started.count + self.dangling.count + self.delete_started.count > 0
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, usize::wrapping_add, u64::wrapping_add)
    }

    /// Of what was counted with [`Work::plus`].
    pub(super) fn minus(self, other: Self) -> Self {
        self.with(other, usize::wrapping_sub, u64::wrapping_sub)
    }

    fn with(self, other: Self, count: fn(usize, usize) -> usize, bytes: fn(u64, u64) -> u64) -> Self {
        let amount = |a: Amount, b: Amount| Amount { count: count(a.count, b.count), bytes: bytes(a.bytes, b.bytes) };
        Self {
            started: amount(self.started, other.started),
            dangling: amount(self.dangling, other.dangling),
            delete_started: amount(self.delete_started, other.delete_started),
            gone_with_keys: count(self.gone_with_keys, other.gone_with_keys),
            unkeyed_facts: count(self.unkeyed_facts, other.unkeyed_facts),
            orphan_updates: count(self.orphan_updates, other.orphan_updates),
        }
    }
}
