//! Which short keys are free.

use crate::model::{LeaderEpoch, Offset};

use super::Naming;

/// For each leader epoch, ascending, the highest end offset that was ever keyed in it. A short key belongs to one segment for ever,
/// also after its deletion: so only what lies above gets one. Nothing else has to be remembered of keys.
///
/// A short key at or below the mark may be free; that it isn't used costs some bytes. The marks outlive reading again from
/// the start in one process, as the log may have lost the keys by then. A process that starts has another epoch.
#[derive(Debug, Default, Clone)]
pub(super) struct Watermarks(Vec<Mark>);

/// The highest end offset of one epoch.
#[derive(Debug, Clone, Copy)]
struct Mark {
    epoch: LeaderEpoch,
    /// That the log has or had a key of.
    read: Offset,
    /// That anybody has or will have a key of: this process may have chosen one whose record is on its way.
    taken: Offset,
}

impl Watermarks {
    /// There is or was a key of this epoch and end offset.
    pub(super) fn note(&mut self, epoch: LeaderEpoch, end_offset: Offset) {
        if !epoch.is_known() {
            return;
        }
        let mark = self.of(epoch);
        mark.read = mark.read.max(end_offset);
        mark.taken = mark.taken.max(end_offset);
    }

    fn of(&mut self, epoch: LeaderEpoch) -> &mut Mark {
        let at = self.0.binary_search_by_key(&epoch, |mark| mark.epoch).unwrap_or_else(|at| {
            let none = Offset(i64::MIN);
            self.0.insert(at, Mark { epoch, read: none, taken: none });
            at
        });
        &mut self.0[at]
    }

    /// All of them, by epoch.
    pub(super) fn all(&self) -> impl Iterator<Item = (LeaderEpoch, Offset)> {
        self.0.iter().map(|mark| (mark.epoch, mark.taken))
    }

    /// Whether a record of the log may have a short key of this epoch and end offset.
    pub(super) fn may_be_read(&self, epoch: LeaderEpoch, end_offset: Offset) -> bool {
        let found = self.0.binary_search_by_key(&epoch, |mark| mark.epoch);
        found.is_ok_and(|at| end_offset <= self.0[at].read)
    }

    /// Whether a short key of this epoch and end offset may be somebody's.
    fn may_be_taken(&self, epoch: LeaderEpoch, end_offset: Offset) -> bool {
        let found = self.0.binary_search_by_key(&epoch, |mark| mark.epoch);
        found.is_ok_and(|at| end_offset <= self.0[at].taken)
    }

    /// The name for a segment that is about to be added; its short key is taken from now on.
    pub(super) fn choose(&mut self, epoch: LeaderEpoch, end_offset: Offset) -> Naming {
        if !epoch.is_known() {
            return Naming::UNKNOWN;
        }
        let has_segment_id = self.may_be_taken(epoch, end_offset);
        let mark = self.of(epoch);
        mark.taken = mark.taken.max(end_offset);
        Naming { epoch, has_segment_id }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_chosen_is_taken_at_once_and_in_the_log_only_when_a_record_of_it_was_read() {
        let (mut marks, epoch) = (Watermarks::default(), LeaderEpoch(3));
        assert!(!marks.choose(epoch, Offset(9)).has_segment_id);
        assert!(!marks.may_be_read(epoch, Offset(9)), "nobody else has it, so nobody is looked for");
        assert!(marks.choose(epoch, Offset(9)).has_segment_id);
        marks.note(epoch, Offset(9));
        assert!(marks.may_be_read(epoch, Offset(9)) && !marks.may_be_read(epoch, Offset(10)));
        assert!(!marks.may_be_read(LeaderEpoch(2), Offset(9)));
        assert_eq!(marks.all().collect::<Vec<_>>(), [(epoch, Offset(9))]);
    }
}
