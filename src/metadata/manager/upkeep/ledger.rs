//! What a storage side in the same process may ask.

use std::sync::{Arc, Weak};

use crate::model::{LeaderEpoch, Offset, SegmentId, SegmentLedger, SegmentMetadata, SegmentState};

use super::super::core::Core;

/// Epochs without a segment that are looked over for the next one.
const LEADERS_BETWEEN: i32 = 8;

/// Answers from memory. Keeps no manager alive.
pub(in super::super) struct Ledger(Weak<Core>);

impl Ledger {
    pub(in super::super) fn of(core: &Arc<Core>) -> Self {
        Self(Arc::downgrade(core))
    }

    fn core(&self) -> Option<Arc<Core>> {
        self.0.upgrade().filter(|core| !core.is_closed())
    }
}

impl SegmentLedger for Ledger {
    fn is_condemned(&self, segment: &SegmentId) -> bool {
        let Some(core) = self.core() else { return false };
        if core.upkeep.attempts.is_given_up(segment) || core.upkeep.is_gone(&segment.partition.topic_id) {
            return true;
        }
        let Some(state) = core.known_state(&segment.partition) else { return false };
        let state = state.read();
        let is_live = |state| matches!(state, SegmentState::CopyStarted | SegmentState::CopyFinished);
        state.deletion().is_some() || state.state_of(segment).is_some_and(|state| !is_live(state))
    }

    /// Only what the log says too: if this process ends, the next leader finds it there.
    fn take_over_delete(&self, segment: &SegmentMetadata) -> bool {
        let Some(core) = self.core() else { return false };
        let id = &segment.id;
        let Ok(state) = core.with_ready(&id.partition, |_, bound| Arc::clone(&bound.state)) else { return false };
        let is_taken = match state.read().state_of(id) {
            Some(SegmentState::DeleteStarted | SegmentState::Dangling) => true,
            // A copy that failed, of a broker that writes nothing then (3.9). It is found like any other.
            Some(SegmentState::CopyStarted) => true,
            Some(SegmentState::CopyFinished | SegmentState::DeleteFinished) | None => false,
        };
        if is_taken {
            core.upkeep.cases.owe(id, core.now_ms());
            core.upkeep.instruments.deletes_taken_over.increment();
        }
        is_taken
    }

    /// A new leader's first segment has another epoch; how many leaders came and went between is a guess.
    fn next_segment(&self, segment: &SegmentMetadata) -> Option<SegmentMetadata> {
        let state = self.core()?.known_state(&segment.id.partition)?;
        let state = state.read();
        let last = segment.epochs.entries().last()?.0.0;
        let offset = Offset(segment.end_offset.0.checked_add(1)?);
        (last..=last.saturating_add(LEADERS_BETWEEN)).find_map(|epoch| state.find(LeaderEpoch(epoch), offset))
    }
}
