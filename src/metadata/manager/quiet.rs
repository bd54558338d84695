//! Says a failure that comes again and again once, and then once a minute.

use std::time::{Duration, Instant};

use crate::metadata::log::LogError;

const INTERVAL: Duration = Duration::from_secs(60);

/// Remembers what was said. One for each thing that is tried again.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    said: Option<(Instant, String)>,
}

impl Quiet {
    /// Tells of a failure: aloud if it is news or a minute old, otherwise at DEBUG.
    pub(super) fn failed(&mut self, doing: &str, error: &LogError) {
        let (now, text) = (Instant::now(), error.to_string());
        let is_known = self.said.as_ref().is_some_and(|(at, said)| *said == text && now.duration_since(*at) < INTERVAL);
        if is_known {
            tracing::debug!("{doing} failed again: {text}");
            return;
        }
        if error.is_retriable() {
            tracing::warn!("{doing} failed and is tried again until it succeeds: {text}");
        } else {
            tracing::error!("{doing} failed; nothing works until this is mended, then it goes on by itself: {text}");
        }
        self.said = Some((now, text));
    }

    /// Tells that it works again, if a failure was told of.
    pub(super) fn succeeded(&mut self, doing: &str) {
        if self.said.take().is_some() {
            tracing::info!("{doing} works now");
        }
    }
}
