//! Says a failure that comes again and again once, and then every five minutes.
#![allow(clippy::disallowed_methods, reason = "shell: what was said a while ago is said again")]

use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use crate::metadata::log::LogError;

const INTERVAL: Duration = Duration::from_secs(300);
/// A failure this long after the last one is another trouble: not every one's end is noticed.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Remembers what was said. One for each thing that is tried again.
#[derive(Debug, Default)]
pub(in crate::metadata) struct Quiet {
    /// How long a trouble that may pass by itself may last before it is said.
    patience: Duration,
    /// The first failure of this trouble, and the last one.
    trouble: Option<(Instant, Instant)>,
    said: Option<(Instant, Kind)>,
}

/// What somebody has to do. The texts of one kind differ in times and addresses, but not why a log does not fit.
type Kind = (Discriminant<LogError>, Option<String>);

/// How a failure is told.
#[derive(Debug, PartialEq, Eq)]
enum Tone {
    /// It may pass, or was said a short while ago.
    Aside,
    Said,
    Again,
}

impl Quiet {
    /// Keeps troubles that pass within `patience` to itself.
    pub(in crate::metadata) fn patient(patience: Duration) -> Self {
        Self { patience, ..Self::default() }
    }

    /// Tells of a failure: aloud if its kind is news or five minutes old, and at once if it needs somebody; otherwise at
    /// DEBUG.
    pub(in crate::metadata) fn failed(&mut self, doing: &str, error: &LogError) {
        match self.tone(Instant::now(), error) {
            Tone::Aside => tracing::debug!("{doing} failed and is tried again: {error}"),
            Tone::Said if !error.is_retriable() => {
                tracing::error!("{doing} failed and is tried again until somebody has mended it: {error}");
            }
            Tone::Said => tracing::warn!("{doing} failed and is tried again until it succeeds: {error}"),
            Tone::Again => tracing::warn!("{doing} still fails and is tried again: {error}"),
        }
    }

    /// Tells that it works again, if a failure was told of.
    pub(in crate::metadata) fn succeeded(&mut self, doing: &str) {
        self.trouble = None;
        if self.said.take().is_some() {
            tracing::info!("{doing} works now");
        }
    }

    fn tone(&mut self, now: Instant, error: &LogError) -> Tone {
        let (since, last) = self.trouble.unwrap_or((now, now));
        let since = if now.duration_since(last) > FORGOTTEN { now } else { since };
        self.trouble = Some((since, now));
        if error.is_retriable() && now.duration_since(since) < self.patience {
            return Tone::Aside;
        }
        let why = match error {
            LogError::Mismatch { why, .. } => Some(why.clone()),
            _ => None,
        };
        let kind = (discriminant(error), why);
        let tone = match &self.said {
            Some((at, said)) if *said == kind && now.duration_since(*at) < INTERVAL => return Tone::Aside,
            Some((_, said)) if *said == kind => Tone::Again,
            _ => Tone::Said,
        };
        self.said = Some((now, kind));
        tone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow() -> LogError {
        LogError::Timeout { what: "try".to_owned(), log: "log".to_owned(), waited_ms: 5 }
    }

    #[test]
    fn a_failure_is_told_every_five_minutes_and_another_kind_at_once() {
        let closed = LogError::Closed { what: "try".to_owned() };
        let (start, mut quiet) = (Instant::now(), Quiet::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(quiet.tone(at(0), &slow()), Tone::Said);
        let said: Vec<u64> = (1..=900).filter(|&s| quiet.tone(at(s), &slow()) != Tone::Aside).collect();
        assert_eq!(said, [300, 600, 900]);
        assert_eq!(quiet.tone(at(901), &closed), Tone::Said);
        quiet.succeeded("trying");
        assert_eq!(quiet.tone(at(902), &closed), Tone::Said);
    }

    #[test]
    fn that_a_log_does_not_fit_for_another_reason_is_told_at_once() {
        let unfit =
            |why: &str| LogError::Mismatch { what: "try".to_owned(), log: "log".to_owned(), why: why.to_owned() };
        let (now, mut quiet) = (Instant::now(), Quiet::default());
        let tones = ["it is gone", "it is gone", "it is another"].map(|why| quiet.tone(now, &unfit(why)));
        assert_eq!(tones, [Tone::Said, Tone::Aside, Tone::Said]);
    }

    #[test]
    fn a_trouble_that_passes_soon_is_not_told_and_one_that_needs_somebody_at_once() {
        let (start, mut quiet) = (Instant::now(), Quiet::patient(Duration::from_secs(10)));
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(quiet.tone(at(0), &slow()), Tone::Aside);
        assert_eq!(quiet.tone(at(9), &slow()), Tone::Aside);
        quiet.succeeded("trying");
        assert_eq!(quiet.tone(at(11), &slow()), Tone::Aside);
        assert_eq!(quiet.tone(at(100), &slow()), Tone::Aside, "another trouble");
        assert_eq!(quiet.tone(at(110), &slow()), Tone::Said);
        let refused = LogError::Refused { what: "try".to_owned(), log: "log".to_owned(), why: "password".to_owned() };
        let mut quiet = Quiet::patient(Duration::from_secs(10));
        assert_eq!(quiet.tone(at(0), &refused), Tone::Said);
    }
}
