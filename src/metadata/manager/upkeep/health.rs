//! Whether the store answers deletes, judged by our own. While it doesn't, one try in each interval finds out.

use crate::model::ObjectsError;

/// So many failures in a row are the store's and not a segment's.
const FAILURES_MIN: u32 = 3;

/// See the module. Times are milliseconds of one clock.
#[derive(Debug, Default)]
pub(super) struct Health {
    failures: u32,
    next_try_ms: i64,
}

impl Health {
    /// Whether a try may begin. While the store is down, whoever hears yes is expected to try.
    pub(super) fn may_try(&mut self, now_ms: i64, interval_ms: i64) -> bool {
        if self.failures < FAILURES_MIN {
            return true;
        }
        let may = now_ms >= self.next_try_ms;
        if may {
            self.next_try_ms = now_ms.saturating_add(interval_ms);
        }
        may
    }

    pub(super) fn is_down(&self, now_ms: i64) -> bool {
        self.failures >= FAILURES_MIN && now_ms < self.next_try_ms
    }

    /// A try has ended so. A no of the store's is an answer.
    pub(super) fn ended<T>(&mut self, result: &Result<T, ObjectsError>, now_ms: i64, interval_ms: i64) {
        match result {
            Err(error) if error.is_retriable() => {
                self.failures = self.failures.saturating_add(1);
                if self.failures == FAILURES_MIN {
                    self.next_try_ms = now_ms.saturating_add(interval_ms);
                }
            }
            _ => self.failures = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_is_down_is_asked_once_in_each_interval_until_it_answers() {
        let down = || Err::<(), _>(ObjectsError::Unreachable("down".to_owned()));
        let mut health = Health::default();
        for _ in 0..3 {
            assert!(health.may_try(0, 10), "one segment may be the trouble");
            health.ended(&down(), 0, 10);
        }
        assert!(!health.may_try(9, 10) && health.is_down(9) && !health.is_down(10));
        assert!(health.may_try(10, 10) && !health.may_try(10, 10) && !health.may_try(19, 10));
        health.ended(&down(), 12, 10);
        assert!(!health.may_try(19, 10) && health.may_try(20, 10));
        health.ended(&Err::<(), _>(ObjectsError::Refused("rights".to_owned())), 21, 10);
        assert!(health.may_try(21, 10) && health.may_try(21, 10), "it answers");
    }
}
