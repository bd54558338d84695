//! On which records the facts of a segment rest.

use crate::metadata::partition::Outcome;
use crate::model::SegmentState;
use crate::wire::SegmentKey;

use super::reading::{KeyForm, Place};

/// Where a segment's facts stand in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The whole record that makes it known; one with a key, if there is one.
    pub base: Place,
    pub base_key: KeyForm,
    /// The record that says its state.
    pub state: Place,
    pub state_key: KeyForm,
    /// The record that said first that it is copied.
    pub finished: Option<Place>,
}

/// Updates of a segment that no whole record has made known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptUpdates {
    pub updates: Vec<(Place, KeyForm, SegmentState)>,
    pub(super) base: Option<SegmentKey>,
    /// Whether the key of its first record was emptied: then nothing is missing.
    pub is_forgotten: bool,
}

impl Trace {
    pub(super) fn begin(place: Place, key: KeyForm, state: SegmentState) -> Self {
        let finished = (state == SegmentState::CopyFinished).then_some(place);
        Self { base: place, base_key: key, state: place, state_key: key, finished }
    }

    /// Another whole record of the segment.
    pub(super) fn note_whole(&mut self, place: Place, key: KeyForm) {
        if is_lost_to_a_cleaner(self.base_key) && !is_lost_to_a_cleaner(key) {
            (self.base, self.base_key) = (place, key);
        }
    }

    /// A record after which the segment is in state `to`, where it was in `from` before.
    pub(super) fn note_state(&mut self, place: Place, key: KeyForm, (from, to): (SegmentState, SegmentState)) {
        if from != to || (is_lost_to_a_cleaner(self.state_key) && !is_lost_to_a_cleaner(key)) {
            (self.state, self.state_key) = (place, key);
        }
        if to == SegmentState::CopyFinished && self.finished.is_none() {
            self.finished = Some(place);
        }
    }

    /// Whether compaction would lose that the segment exists, or its state.
    #[must_use]
    pub fn rests_on_a_record_without_key(&self) -> bool {
        is_lost_to_a_cleaner(self.base_key) || is_lost_to_a_cleaner(self.state_key)
    }
}

/// A key that is none of ours protects a record too: cleaners compare bytes.
fn is_lost_to_a_cleaner(key: KeyForm) -> bool {
    key == KeyForm::None
}

impl KeptUpdates {
    pub(super) fn new() -> Self {
        Self { updates: Vec::new(), base: None, is_forgotten: false }
    }

    /// The state that the last of them says.
    #[must_use]
    pub fn last_state(&self) -> Option<SegmentState> {
        self.updates.last().map(|&(_, _, state)| state)
    }
}

/// Whether a record changed or confirmed something.
pub(super) fn counts(outcome: Outcome) -> bool {
    outcome == Outcome::Applied
}
