//! Which short keys are free.

use crate::model::{LeaderEpoch, Offset};

use super::Naming;

/// For each leader epoch, ascending, the highest end offset that was ever keyed in it. A short key belongs to one segment for ever,
/// also after its deletion: so only what lies above gets one. Nothing else has to be remembered of keys.
///
/// A short key at or below the mark may be free; that it isn't used costs some bytes. The marks outlive reading again from
/// the start in one process, as the log may have lost the keys by then. A process that starts has another epoch.
#[derive(Debug, Default, Clone)]
pub(super) struct Watermarks(Vec<(LeaderEpoch, Offset)>);

impl Watermarks {
    /// There is or was a key of this epoch and end offset.
    pub(super) fn note(&mut self, epoch: LeaderEpoch, end_offset: Offset) {
        if !epoch.is_known() {
            return;
        }
        match self.0.binary_search_by_key(&epoch, |&(of, _)| of) {
            Ok(at) => self.0[at].1 = end_offset.max(self.0[at].1),
            Err(at) => self.0.insert(at, (epoch, end_offset)),
        }
    }

    /// All of them, by epoch.
    pub(super) fn all(&self) -> impl Iterator<Item = (LeaderEpoch, Offset)> {
        self.0.iter().copied()
    }

    /// Whether a short key of this epoch and end offset may be somebody's.
    pub(super) fn may_be_taken(&self, epoch: LeaderEpoch, end_offset: Offset) -> bool {
        let found = self.0.binary_search_by_key(&epoch, |&(of, _)| of);
        found.is_ok_and(|at| end_offset <= self.0[at].1)
    }

    /// The name for a segment that is about to be added; its short key is taken from now on.
    pub(super) fn choose(&mut self, epoch: LeaderEpoch, end_offset: Offset) -> Naming {
        if !epoch.is_known() {
            return Naming::UNKNOWN;
        }
        let has_segment_id = self.may_be_taken(epoch, end_offset);
        self.note(epoch, end_offset);
        Naming { epoch, has_segment_id }
    }
}
