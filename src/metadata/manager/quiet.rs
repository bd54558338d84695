//! Says a failure that comes again and again once, and then once a minute.

use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use crate::metadata::log::LogError;

const INTERVAL: Duration = Duration::from_secs(60);

/// Remembers what was said. One for each thing that is tried again.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    said: Option<(Instant, Discriminant<LogError>)>,
}

impl Quiet {
    /// Tells of a failure: aloud if its kind is news or a minute old, otherwise at DEBUG.
    pub(super) fn failed(&mut self, doing: &str, error: &LogError) {
        if !self.is_news(Instant::now(), error) {
            tracing::debug!("{doing} failed again: {error}");
        } else if error.is_retriable() {
            tracing::warn!("{doing} failed and is tried again until it succeeds: {error}");
        } else {
            tracing::error!("{doing} failed and is tried again until somebody has mended it: {error}");
        }
    }

    /// Tells that it works again, if a failure was told of.
    pub(super) fn succeeded(&mut self, doing: &str) {
        if self.said.take().is_some() {
            tracing::info!("{doing} works now");
        }
    }

    /// The texts of one kind differ in times and addresses; the kind decides what somebody has to do.
    fn is_news(&mut self, now: Instant, error: &LogError) -> bool {
        let kind = discriminant(error);
        let is_known = self.said.is_some_and(|(at, said)| said == kind && now.duration_since(at) < INTERVAL);
        if !is_known {
            self.said = Some((now, kind));
        }
        !is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_once_a_minute_and_another_kind_at_once() {
        let slow = |waited_ms| LogError::Timeout { what: "try".to_owned(), log: "log".to_owned(), waited_ms };
        let closed = LogError::Closed { what: "try".to_owned() };
        let (start, mut quiet) = (Instant::now(), Quiet::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(quiet.is_news(at(0), &slow(5)));
        assert!(!quiet.is_news(at(59), &slow(6)));
        assert!(quiet.is_news(at(60), &slow(7)));
        assert!(quiet.is_news(at(61), &closed));
        quiet.succeeded("trying");
        assert!(quiet.is_news(at(62), &closed));
    }
}
