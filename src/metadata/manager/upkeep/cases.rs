//! How far this process has come with the segments that it cleans.
//!
//! Only in memory: what is written makes the work known to the next leader, which begins it anew.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::metadata::plan::{Cleanup, Stage};
use crate::model::SegmentId;

/// All of them.
#[derive(Default)]
pub(in super::super) struct Cases {
    cases: Mutex<HashMap<SegmentId, Case>>,
    /// How many are hidden, so that a listing costs nothing where none is.
    hidden: AtomicUsize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Case {
    cleanup: Cleanup,
    /// The storage side could not delete it, the broker believes that it did, and no record of ours says that it goes on.
    is_owed: bool,
    /// The broker has said that its deletion has ended.
    is_hidden: bool,
    /// When it was left behind, as far as is known: each try is an event of its own.
    since_ms: Option<i64>,
}

/// Somebody works on a segment; nobody else does meanwhile.
pub(super) struct Busy<'a> {
    cases: &'a Cases,
    segment: SegmentId,
}

impl Cases {
    /// Begins to work on a segment, unless somebody does.
    pub(super) fn work_on(&self, segment: &SegmentId) -> Option<Busy<'_>> {
        let mut cases = self.cases.lock();
        let case = cases.entry(segment.clone()).or_default();
        if std::mem::replace(&mut case.cleanup.is_busy, true) {
            return None;
        }
        Some(Busy { cases: self, segment: segment.clone() })
    }

    /// Owes a deletion that the storage side could not do now.
    pub(super) fn owe(&self, segment: &SegmentId, now_ms: i64) {
        let mut cases = self.cases.lock();
        let case = cases.entry(segment.clone()).or_default();
        case.is_owed = true;
        if case.cleanup.stage == Stage::Idle {
            case.cleanup.stage = Stage::Begun;
        }
        (case.cleanup.failures, case.cleanup.failed_ms) = (case.cleanup.failures.max(1), now_ms);
    }

    /// The broker says that the deletion has ended. True if it is ours to end: then it is hidden from the broker.
    pub(in super::super) fn hide(&self, segment: &SegmentId) -> bool {
        let mut cases = self.cases.lock();
        let Some(case) = cases.get_mut(segment).filter(|case| case.is_ours()) else { return false };
        if !std::mem::replace(&mut case.is_hidden, true) {
            self.hidden.fetch_add(1, Ordering::AcqRel);
        }
        true
    }

    pub(super) fn cleanup(&self, segment: &SegmentId) -> Cleanup {
        self.cases.lock().get(segment).map(|case| case.cleanup).unwrap_or_default()
    }

    fn owed_no_more(&self, segment: &SegmentId) {
        if let Some(case) = self.cases.lock().get_mut(segment) {
            case.is_owed = false;
        }
    }

    /// Since when a segment has dangled whose last event was at `event_ms`.
    pub(super) fn since(&self, segment: &SegmentId, event_ms: i64) -> i64 {
        let mut cases = self.cases.lock();
        cases.get_mut(segment).map_or(event_ms, |case| *case.since_ms.get_or_insert(event_ms))
    }

    /// Whether the storage side could not delete it and our own deletion of it has not begun.
    pub(in super::super) fn is_owed(&self, segment: &SegmentId) -> bool {
        self.cases.lock().get(segment).is_some_and(|case| case.is_owed)
    }

    pub(in super::super) fn is_any_hidden(&self) -> bool {
        self.hidden.load(Ordering::Acquire) > 0
    }

    pub(in super::super) fn is_hidden(&self, segment: &SegmentId) -> bool {
        self.is_any_hidden() && self.cases.lock().get(segment).is_some_and(|case| case.is_hidden)
    }

    /// Forgets what `is_open` says no to and nobody works on.
    pub(super) fn settle(&self, is_open: impl Fn(&SegmentId) -> bool) {
        let resting: Vec<SegmentId> = {
            let cases = self.cases.lock();
            cases.iter().filter(|(_, case)| !case.cleanup.is_busy).map(|(id, _)| id.clone()).collect()
        };
        for segment in resting.iter().filter(|segment| !is_open(segment)) {
            let mut cases = self.cases.lock();
            if cases.get(segment).is_some_and(|case| !case.cleanup.is_busy)
                && cases.remove(segment).is_some_and(|case| case.is_hidden)
            {
                self.hidden.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }
}

impl Case {
    /// Whether the deletion of the objects is ours, and not only the broker's.
    fn is_ours(&self) -> bool {
        self.is_owed || self.cleanup.stage != Stage::Idle
    }
}

impl Busy<'_> {
    /// How far it is, as whoever works on it sees it.
    pub(super) fn cleanup(&self) -> Cleanup {
        let cleanup = self.cases.cases.lock().get(&self.segment).map(|case| case.cleanup).unwrap_or_default();
        Cleanup { is_busy: false, ..cleanup }
    }

    /// A step was done.
    pub(super) fn done(&self, stage: Stage) {
        self.change(|cleanup| (cleanup.stage, cleanup.failures) = (stage, 0));
    }

    /// The deletion begins: a record of ours says so, whatever was owed before. Earlier failures still make it rest.
    pub(super) fn begun(&self) {
        self.change(|cleanup| cleanup.stage = Stage::Begun);
        self.cases.owed_no_more(&self.segment);
    }

    /// A delete failed.
    pub(super) fn failed(&self, now_ms: i64) {
        self.rest(now_ms);
        self.change(|cleanup| cleanup.stage = Stage::Failed);
    }

    /// Something else failed; the step stays.
    pub(super) fn rest(&self, now_ms: i64) {
        self.change(|cleanup| {
            (cleanup.failures, cleanup.failed_ms) = (cleanup.failures.saturating_add(1), now_ms);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Cleanup)) {
        if let Some(case) = self.cases.cases.lock().get_mut(&self.segment) {
            change(&mut case.cleanup);
        }
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.change(|cleanup| cleanup.is_busy = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{KafkaUuid, TopicIdPartition};

    fn id(number: u8) -> SegmentId {
        let partition = TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3);
        SegmentId { partition, uuid: KafkaUuid([number; 16]) }
    }

    #[test]
    fn one_works_on_a_segment_at_a_time_and_the_next_goes_on_where_it_ended() {
        let cases = Cases::default();
        let busy = cases.work_on(&id(1)).expect("free");
        assert!(cases.work_on(&id(1)).is_none() && cases.work_on(&id(2)).is_some());
        busy.failed(5);
        busy.failed(7);
        drop(busy);
        let busy = cases.work_on(&id(1)).expect("free again");
        let expected = Cleanup { stage: Stage::Failed, is_busy: false, failures: 2, failed_ms: 7 };
        assert_eq!(busy.cleanup(), expected);
        busy.begun();
        assert_eq!(busy.cleanup(), Cleanup { stage: Stage::Begun, ..expected }, "it still rests");
        busy.done(Stage::Deleted { at_ms: 9 });
        assert_eq!(busy.cleanup().failures, 0);
    }

    #[test]
    fn it_dangles_since_it_was_left_and_not_since_the_last_try() {
        let cases = Cases::default();
        assert_eq!(cases.since(&id(1), 5), 5);
        drop(cases.work_on(&id(1)));
        assert_eq!([6, 90, 700].map(|event_ms| cases.since(&id(1), event_ms)), [6, 6, 6]);
    }

    #[test]
    fn what_was_owed_is_not_any_more_once_our_own_deletion_has_begun() {
        let cases = Cases::default();
        cases.owe(&id(1), 5);
        let busy = cases.work_on(&id(1)).expect("free");
        busy.failed(6);
        assert!(cases.is_owed(&id(1)), "a try is no end");
        busy.begun();
        assert!(!cases.is_owed(&id(1)) && cases.hide(&id(1)), "it stays ours to end");
    }

    #[test]
    fn only_what_is_ours_is_hidden_and_only_until_it_is_settled() {
        let cases = Cases::default();
        assert!(!cases.hide(&id(1)) && !cases.is_any_hidden());
        drop(cases.work_on(&id(1)));
        assert!(!cases.hide(&id(1)), "looked at and left to the broker");
        cases.owe(&id(1), 5);
        assert!(cases.is_owed(&id(1)) && !cases.is_hidden(&id(1)), "the broker has yet to say that it is over");
        assert!(cases.hide(&id(1)) && cases.hide(&id(1)) && cases.is_hidden(&id(1)));
        let busy = cases.work_on(&id(1)).expect("free");
        cases.settle(|_| false);
        assert!(cases.is_hidden(&id(1)), "somebody works on it");
        drop(busy);
        cases.settle(|_| true);
        assert!(cases.is_hidden(&id(1)));
        cases.settle(|_| false);
        assert!(!cases.is_hidden(&id(1)) && !cases.is_any_hidden());
    }
}
