//! Whether the store is known to be down, judged by how calls of one kind ended. Pure: time is passed in.
//!
//! | state  | a call fails for the store's sake            | a call succeeds | somebody asks                      |
//! |--------|----------------------------------------------|-----------------|------------------------------------|
//! | closed | open, if it is the n-th in a row in a window | forget failures | go on                              |
//! | open   | stay                                         | closed          | wait; but one goes on per interval |

use std::collections::VecDeque;
use std::time::Duration;

/// When a breaker opens, and how often somebody may try while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BreakerSettings {
    /// Failures in a row that open it; 0 keeps it closed for ever.
    pub(super) failures: usize,
    /// All of them must lie within this time.
    pub(super) window: Duration,
    /// While it is open, one caller goes on in each of these.
    pub(super) interval: Duration,
}

/// See the module. Times are those of one clock that never goes back, since any moment.
#[derive(Debug)]
pub(super) struct Breaker {
    settings: BreakerSettings,
    /// When the failures since the last success were, at most as many as open it.
    failed: VecDeque<Duration>,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    since: Duration,
    /// From when on the next caller may try.
    next_try: Duration,
    why: String,
}

/// What a report changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Opened,
    Closed {
        after: Duration,
    },
    /// Nothing.
    None,
}

/// Why nobody should begin now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outage {
    pub(super) lasts: Duration,
    pub(super) next_try_in: Duration,
    /// What the last call failed with.
    pub(super) why: String,
}

impl Breaker {
    pub(super) fn new(settings: BreakerSettings) -> Self {
        Self { settings, failed: VecDeque::new(), open: None }
    }

    /// A call ended because the store did not answer or had trouble. Other failures say nothing of the store and are not
    /// reported.
    pub(super) fn failed(&mut self, now: Duration, why: &str) -> Turn {
        if let Some(open) = &mut self.open {
            why.clone_into(&mut open.why);
            return Turn::None;
        }
        if self.settings.failures == 0 {
            return Turn::None;
        }
        self.failed.push_back(now);
        while self.failed.len() > self.settings.failures {
            self.failed.pop_front();
        }
        let first = self.failed.front().copied().unwrap_or(now);
        if self.failed.len() < self.settings.failures || now.saturating_sub(first) > self.settings.window {
            return Turn::None;
        }
        self.failed.clear();
        self.open = Some(Open { since: now, next_try: now + self.settings.interval, why: why.to_owned() });
        Turn::Opened
    }

    /// A call succeeded, whenever it began.
    pub(super) fn succeeded(&mut self, now: Duration) -> Turn {
        self.failed.clear();
        match self.open.take() {
            Some(open) => Turn::Closed { after: now.saturating_sub(open.since) },
            None => Turn::None,
        }
    }

    /// `None` if a call may begin. While it is open that is the answer once in each interval: whoever gets it is expected
    /// to try, and nothing is lost if it doesn't.
    pub(super) fn ask(&mut self, now: Duration) -> Option<Outage> {
        let open = self.open.as_mut()?;
        if now >= open.next_try {
            open.next_try = now + self.settings.interval;
            return None;
        }
        Some(Outage {
            lasts: now.saturating_sub(open.since),
            next_try_in: open.next_try.saturating_sub(now),
            why: open.why.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BreakerSettings =
        BreakerSettings { failures: 3, window: Duration::from_secs(10), interval: Duration::from_secs(5) };

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    fn opened(at_second: u64) -> Breaker {
        let mut breaker = Breaker::new(SETTINGS);
        for _ in 0..2 {
            assert_eq!(breaker.failed(at(at_second), "down"), Turn::None);
        }
        assert_eq!(breaker.failed(at(at_second), "down"), Turn::Opened);
        breaker
    }

    #[test]
    fn it_opens_at_the_nth_failure_in_a_row_and_says_why() {
        let mut breaker = opened(100);
        let outage = breaker.ask(at(101)).expect("open");
        assert_eq!(outage, Outage { lasts: at(1), next_try_in: at(4), why: "down".to_owned() });
    }

    #[test]
    fn a_success_between_two_failures_keeps_it_closed() {
        let mut breaker = Breaker::new(SETTINGS);
        for second in 0..20 {
            assert_eq!(breaker.failed(at(second), "down"), Turn::None);
            assert_eq!(breaker.failed(at(second), "down"), Turn::None);
            assert_eq!(breaker.succeeded(at(second)), Turn::None);
            assert_eq!(breaker.ask(at(second)), None);
        }
    }

    #[test]
    fn failures_that_lie_too_far_apart_keep_it_closed() {
        let mut breaker = Breaker::new(SETTINGS);
        for second in (0..100).step_by(6) {
            assert_eq!(breaker.failed(at(second), "down"), Turn::None, "{second}");
        }
        assert_eq!(breaker.failed(at(97), "down"), Turn::Opened, "three within ten seconds");
    }

    #[test]
    fn one_caller_per_interval_goes_on_while_it_is_open() {
        let mut breaker = opened(0);
        let passed: Vec<u64> = (0..20).filter(|&second| breaker.ask(at(second)).is_none()).collect();
        assert_eq!(passed, [5, 10, 15]);
        assert!(breaker.ask(at(19)).is_some() && breaker.ask(at(40)).is_none() && breaker.ask(at(40)).is_some());
    }

    #[test]
    fn the_first_success_closes_it() {
        let mut breaker = opened(0);
        assert_eq!(breaker.failed(at(6), "still down"), Turn::None);
        assert_eq!(breaker.ask(at(1)).expect("open").why, "still down");
        assert_eq!(breaker.succeeded(at(7)), Turn::Closed { after: at(7) });
        assert_eq!(breaker.ask(at(7)), None);
        assert_eq!(breaker.failed(at(8), "down"), Turn::None, "it counts from the start again");
    }

    #[test]
    fn without_a_number_of_failures_it_never_opens() {
        let mut breaker = Breaker::new(BreakerSettings { failures: 0, ..SETTINGS });
        for _ in 0..100 {
            assert_eq!(breaker.failed(at(0), "down"), Turn::None);
        }
        assert_eq!(breaker.ask(at(0)), None);
    }
}
