//! Metadata partitions that are read and of which nothing is heard, not even where they end.
//!
//! A partition without a leader is no error to a client: it waits until there is one, without a word. Whoever waits for
//! the partition here would never learn why.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::metadata::log::LogError;

use super::core::Core;
use super::quiet::Quiet;
use super::reading::{Reading, Readings};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);
/// How often the log is asked for the cause.
const ASK: Duration = Duration::from_secs(30);
const ASK_MAX: Duration = Duration::from_secs(15);
const DOING: &str = "reading every part of the log of remote segment metadata";
/// More would not fit into a line that somebody reads.
const NAMED_MAX: usize = 5;

/// Tells of partitions that have been silent for longer than `patience`: once, and again as long as it lasts.
pub(super) struct Silence {
    patience: Duration,
    quiet: Quiet,
    looked: Option<Instant>,
    asked: Option<Instant>,
    cause: Arc<Cause>,
}

/// What the log says of it, once it has answered.
#[derive(Default)]
struct Cause {
    is_asked: AtomicBool,
    why: Mutex<Option<String>>,
}

/// A partition and how long it has been silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Silent {
    index: i32,
    lasts: Duration,
}

impl Silence {
    pub(super) fn longer_than(patience: Duration) -> Self {
        Self { patience, quiet: Quiet::default(), looked: None, asked: None, cause: Arc::default() }
    }

    /// Looks at what is read, now and then.
    pub(super) fn look(&mut self, core: &Arc<Core>, readings: &Readings, now: Instant) {
        if self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK) {
            return;
        }
        self.looked = Some(now);
        if core.is_doubted() {
            // Whoever looks at the log tells more of it.
            return;
        }
        let silent = |reading: &&Reading| reading.silence(now).is_some_and(|lasts| lasts >= self.patience);
        let silent: Vec<&Reading> = readings.iter().filter(silent).collect();
        if silent.is_empty() {
            self.quiet.succeeded(DOING);
            self.asked = None;
            return;
        }
        let list: Vec<_> = silent
            .iter()
            .map(|reading| Silent { index: reading.meta.index, lasts: reading.silence(now).unwrap_or_default() })
            .collect();
        self.ask(core, list[0].index, now);
        if self.cause.is_asked.load(Ordering::Acquire) {
            return;
        }
        let error = told(&list, self.cause.why.lock().clone());
        for reading in silent.iter().filter(|reading| reading.meta.trouble().is_none()) {
            reading.meta.set_trouble(error.to_string(), false);
        }
        core.instruments.log_failures.increment();
        self.quiet.failed(DOING, &error);
    }

    /// Asks for the cause of one of them: it is mostly that of all.
    fn ask(&mut self, core: &Arc<Core>, index: i32, now: Instant) {
        if self.asked.is_some_and(|asked| now.saturating_duration_since(asked) < ASK) {
            return;
        }
        self.asked = Some(now);
        self.cause.is_asked.store(true, Ordering::Release);
        let (core, cause) = (Arc::clone(core), Arc::clone(&self.cause));
        core.env.runtime.clone().spawn(async move {
            let asked = core.log.why_silent(index);
            let why = tokio::select! {
                () = core.closed() => None,
                why = tokio::time::timeout(ASK_MAX, asked) => why.ok().flatten(),
            };
            *cause.why.lock() = why;
            cause.is_asked.store(false, Ordering::Release);
        });
    }
}

fn told(silent: &[Silent], cause: Option<String>) -> LogError {
    let names: Vec<_> = silent.iter().take(NAMED_MAX).map(|silent| silent.index.to_string()).collect();
    let and_more = match silent.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let lasts = silent.iter().map(|silent| silent.lasts.as_secs()).max().unwrap_or(0);
    let partitions = if silent.len() == 1 { "partition" } else { "partitions" };
    LogError::Unreachable {
        what: format!("read metadata {partitions} {}{and_more}", names.join(", ")),
        log: "its leader".to_owned(),
        why: format!("silent for {lasts} s: {}", cause.unwrap_or_else(|| "no answer from it".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_that_are_silent_are_named_with_the_cause_and_how_long() {
        let silent = |count: i32| -> Vec<_> {
            (0..count).map(|index| Silent { index, lasts: Duration::from_secs(10 + u64::from(index == 0)) }).collect()
        };
        let text = told(&silent(1), Some("nobody leads it now".to_owned())).to_string();
        assert!(text.starts_with("read metadata partition 0: its leader cannot be reached"), "{text}");
        assert!(text.contains("silent for 11 s: nobody leads it now"), "{text}");
        let text = told(&silent(8), None).to_string();
        assert!(text.contains("partitions 0, 1, 2, 3, 4 and 3 more"), "{text}");
    }
}
