//! The copies that this process began, for as long as their end is not on record.
//!
//! A broker tells a metadata manager nothing when a copy fails or is cancelled: that it has ended is known only from the
//! storage side, and from what was never heard of it.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::metadata::plan::OwnCopy;
use crate::model::{SegmentId, SegmentObjects};

/// Longer than a record can be on its way.
const UNHEARD_MAX_MS: i64 = 600_000;

/// The time, and how long an attempt of which nothing is heard counts as open.
pub(super) struct Times {
    pub(super) now_ms: i64,
    /// Between its add and its copy, where the storage side tells what it copies.
    pub(super) linger_ms: i64,
    /// At all, where none does.
    pub(super) lease_ms: i64,
}

/// All of them.
#[derive(Default)]
pub(in super::super) struct Attempts(Mutex<HashMap<SegmentId, Attempt>>);

#[derive(Debug, Clone, Copy, Default)]
struct Attempt {
    /// When something was last heard of it.
    heard_ms: i64,
    /// Records of it in flight that a copy may depend on.
    in_flight: u32,
    /// The caller was told that the attempt failed before it began.
    has_failed: bool,
    is_finish_said: bool,
    /// Its deletion begins, and a COPY_FINISHED must not be said any more.
    is_given_up: bool,
}

impl Attempts {
    /// The record that makes the segment known is about to be written.
    pub(in super::super) fn begin(&self, segment: &SegmentId, now_ms: i64) {
        let mut attempts = self.0.lock();
        let attempt = attempts.entry(segment.clone()).or_default();
        (attempt.heard_ms, attempt.has_failed) = (now_ms, false);
        attempt.in_flight += 1;
    }

    /// COPY_FINISHED is about to be written. False if the attempt was given up.
    #[must_use]
    pub(in super::super) fn finish(&self, segment: &SegmentId, now_ms: i64) -> bool {
        let mut attempts = self.0.lock();
        // Of a copy that another process began nothing is known here, and nothing is given up.
        let Some(attempt) = attempts.get_mut(segment) else { return true };
        if attempt.is_given_up {
            return false;
        }
        (attempt.heard_ms, attempt.is_finish_said) = (now_ms, true);
        attempt.in_flight += 1;
        true
    }

    /// A record of the attempt has come to its end, or was never written.
    pub(in super::super) fn heard(&self, segment: &SegmentId, now_ms: i64, has_failed: bool) {
        if let Some(attempt) = self.0.lock().get_mut(segment) {
            attempt.heard_ms = now_ms;
            attempt.in_flight = attempt.in_flight.saturating_sub(1);
            attempt.has_failed |= has_failed && !attempt.is_finish_said;
        }
    }

    /// From now on no COPY_FINISHED is written. False if one was, or may be.
    pub(super) fn give_up(&self, segment: &SegmentId, now_ms: i64) -> bool {
        let mut attempts = self.0.lock();
        let Some(attempt) = attempts.get_mut(segment) else { return false };
        attempt.is_given_up |= !attempt.may_finish(now_ms);
        attempt.is_given_up
    }

    pub(super) fn is_given_up(&self, segment: &SegmentId) -> bool {
        self.0.lock().get(segment).is_some_and(|attempt| attempt.is_given_up)
    }

    /// What is known of a segment in COPY_STARTED.
    pub(super) fn look(
        &self,
        segment: &SegmentId,
        objects: Option<&dyn SegmentObjects>,
        &Times { now_ms, linger_ms, lease_ms }: &Times,
    ) -> OwnCopy {
        let attempt = self.0.lock().get(segment).copied();
        let is_copying = objects.is_some_and(|objects| objects.is_copying(segment));
        let copy_end = objects.and_then(|objects| objects.copy_end(segment));
        match attempt {
            _ if is_copying => OwnCopy::Open,
            Some(attempt) if attempt.in_flight > 0 => OwnCopy::Open,
            Some(attempt) if attempt.has_failed || copy_end.is_some() => {
                OwnCopy::Ended { is_finish_said: attempt.may_finish(now_ms) }
            }
            // Between the add and the copy nobody is on the stack.
            Some(attempt) if now_ms.saturating_sub(attempt.heard_ms) < linger_ms => OwnCopy::Open,
            Some(attempt) if objects.is_some() => OwnCopy::Ended { is_finish_said: attempt.may_finish(now_ms) },
            // A storage side of another make: whether it still copies is not known before the lease is over. (That this
            // process began it must not be forgotten before: by a clock that was set back it is older than the process.)
            Some(attempt) if now_ms.saturating_sub(attempt.heard_ms) <= lease_ms => OwnCopy::Open,
            Some(_) => OwnCopy::No,
            // Begun by an earlier manager of this process, which may have said anything.
            None if copy_end.is_some() => OwnCopy::Ended { is_finish_said: true },
            None => OwnCopy::No,
        }
    }

    /// The attempt has come to a good end.
    pub(super) fn forget(&self, segment: &SegmentId) {
        self.0.lock().remove(segment);
    }

    /// Forgets attempts for which `is_open` says no, and gives their segments. Where nobody knows (no record of it was
    /// read), one may still come for a while.
    pub(super) fn settle(&self, is_open: impl Fn(&SegmentId) -> Option<bool>, now_ms: i64) -> Vec<SegmentId> {
        let candidates: Vec<(SegmentId, i64)> = {
            let attempts = self.0.lock();
            let idle = attempts.iter().filter(|(_, attempt)| attempt.in_flight == 0);
            idle.map(|(id, attempt)| (id.clone(), attempt.heard_ms)).collect()
        };
        let is_settled = |(segment, heard_ms): &(SegmentId, i64)| {
            !is_open(segment).unwrap_or(now_ms.saturating_sub(*heard_ms) < UNHEARD_MAX_MS)
        };
        let settled: Vec<_> = candidates.into_iter().filter(is_settled).collect();
        let mut attempts = self.0.lock();
        settled.into_iter().map(|(segment, _)| segment).filter(|segment| attempts.remove(segment).is_some()).collect()
    }
}

impl Attempt {
    /// Whether a COPY_FINISHED that was handed to the log may still come.
    fn may_finish(&self, now_ms: i64) -> bool {
        let is_over = self.in_flight == 0 && now_ms.saturating_sub(self.heard_ms) >= UNHEARD_MAX_MS;
        self.is_finish_said && !is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CopyEnd, KafkaUuid, ObjectsError, SegmentMetadata, TopicIdPartition};

    struct Store {
        is_copying: bool,
        copy_end: Option<CopyEnd>,
    }

    #[async_trait::async_trait]
    impl SegmentObjects for Store {
        async fn delete_objects(&self, _: &SegmentMetadata) -> Result<(), ObjectsError> {
            Ok(())
        }

        async fn has_objects(&self, _: &SegmentMetadata) -> Result<bool, ObjectsError> {
            Ok(false)
        }

        fn is_copying(&self, _: &SegmentId) -> bool {
            self.is_copying
        }

        fn copy_end(&self, _: &SegmentId) -> Option<CopyEnd> {
            self.copy_end
        }

        fn outage(&self) -> Option<String> {
            None
        }
    }

    const FAILED: Option<CopyEnd> = Some(CopyEnd::Failed { is_removed: false });
    const ENDED: OwnCopy = OwnCopy::Ended { is_finish_said: false };

    fn id() -> SegmentId {
        let partition = TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3);
        SegmentId { partition, uuid: KafkaUuid([9; 16]) }
    }

    fn look(attempts: &Attempts, is_copying: bool, copy_end: Option<CopyEnd>, now_ms: i64) -> OwnCopy {
        attempts.look(&id(), Some(&Store { is_copying, copy_end }), &at(now_ms))
    }

    fn at(now_ms: i64) -> Times {
        Times { now_ms, linger_ms: 100, lease_ms: 5_000 }
    }

    #[test]
    fn an_attempt_is_open_from_before_its_first_record_to_the_end_of_its_linger() {
        let attempts = Attempts::default();
        assert_eq!(look(&attempts, false, None, 0), OwnCopy::No, "another process's");
        attempts.begin(&id(), 0);
        assert_eq!(look(&attempts, false, None, 1_000), OwnCopy::Open, "the add is in flight");
        attempts.heard(&id(), 1_000, false);
        assert_eq!(look(&attempts, false, None, 1_099), OwnCopy::Open, "the copy has not begun");
        assert_eq!(look(&attempts, true, None, 9_000), OwnCopy::Open, "it runs");
        assert_eq!(look(&attempts, false, FAILED, 1_001), ENDED);
        assert_eq!(look(&attempts, false, None, 1_100), ENDED, "it never began");
        assert!(attempts.finish(&id(), 2_000));
        assert_eq!(look(&attempts, false, Some(CopyEnd::Done), 9_000), OwnCopy::Open, "being said");
        attempts.heard(&id(), 2_000, true);
        assert_eq!(look(&attempts, false, Some(CopyEnd::Done), 2_001), OwnCopy::Ended { is_finish_said: true });
        assert!(!attempts.give_up(&id(), 2_001), "it may count");
        let late = 2_000 + UNHEARD_MAX_MS;
        assert_eq!(look(&attempts, false, Some(CopyEnd::Done), late), ENDED);
        assert!(attempts.give_up(&id(), late), "it never came");
    }

    #[test]
    fn an_add_that_failed_ends_the_attempt_whoever_stores() {
        let attempts = Attempts::default();
        attempts.begin(&id(), 0);
        attempts.heard(&id(), 5, true);
        assert_eq!(look(&attempts, false, None, 5), ENDED);
        assert_eq!(attempts.look(&id(), None, &at(5)), ENDED);
    }

    #[test]
    fn of_a_storage_side_of_another_make_no_end_is_known_before_the_lease_is_over() {
        let attempts = Attempts::default();
        attempts.begin(&id(), 9_000);
        attempts.heard(&id(), 9_000, false);
        for (now_ms, own) in
            [(9_099, OwnCopy::Open), (9_100, OwnCopy::Open), (14_000, OwnCopy::Open), (14_001, OwnCopy::No)]
        {
            assert_eq!(attempts.look(&id(), None, &at(now_ms)), own, "{now_ms}");
        }
        assert_eq!(attempts.look(&id(), None, &at(8)), OwnCopy::Open, "the clock was set back");
    }

    #[test]
    fn what_was_given_up_cannot_finish_any_more() {
        let attempts = Attempts::default();
        attempts.begin(&id(), 0);
        attempts.heard(&id(), 0, false);
        assert!(attempts.give_up(&id(), 0) && attempts.is_given_up(&id()));
        assert!(!attempts.finish(&id(), 1));
        assert_eq!(attempts.settle(|_| Some(true), i64::MAX), []);
        assert_eq!(attempts.settle(|_| None, UNHEARD_MAX_MS - 1), []);
        assert_eq!(attempts.settle(|_| None, UNHEARD_MAX_MS), [id()]);
        assert!(attempts.finish(&id(), 1), "forgotten");
    }
}
