//! Settings of topics and of this broker: asked for in the background, and kept for a while.
//!
//! Nobody waits here: who looks is told what is known, that it is being asked for, or that it cannot be had.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::metadata::log::{LogError, SettingsOf};

use super::core::Core;
use super::env::RETRY_PAUSE_MAX;
use super::quiet::Quiet;

/// An older answer is used, and asked for anew.
const FRESH: Duration = Duration::from_secs(60);
/// An older answer is no answer.
const STALE: Duration = Duration::from_secs(600);
/// How long a question is asked again and again before it counts as failed, and how long it then rests.
const PATIENCE: Duration = Duration::from_secs(60);
const DOING: &str = "asking for the settings that bound delayed upload (without them segments are copied at once)";

pub(super) type Settings = BTreeMap<String, String>;

/// What a look finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Known(Arc<Settings>),
    /// Not known yet, for at most about [`PATIENCE`].
    Pending,
    /// The question failed.
    Unknown,
}

/// All questions, as many as topics were looked for; they are forgotten with the topic's partitions.
#[derive(Default)]
pub(super) struct Inquiry {
    entries: Mutex<HashMap<SettingsOf, Entry>>,
    quiet: Mutex<Quiet>,
}

#[derive(Default)]
struct Entry {
    is_asked: bool,
    known: Option<(Instant, Arc<Settings>)>,
    /// When the last question failed, unless one succeeded since.
    failed: Option<Instant>,
}

impl Entry {
    fn answer(&self, now: Instant) -> Answer {
        match &self.known {
            Some((at, settings)) if now.duration_since(*at) < STALE => Answer::Known(Arc::clone(settings)),
            _ if self.failed.is_some() => Answer::Unknown,
            _ => Answer::Pending,
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        let is_old = |at: Instant, age| now.duration_since(at) >= age;
        let is_fresh = self.known.as_ref().is_some_and(|&(at, _)| !is_old(at, FRESH));
        !self.is_asked && !is_fresh && self.failed.is_none_or(|at| is_old(at, PATIENCE))
    }
}

impl Inquiry {
    pub(super) fn forget(&self, of: &SettingsOf) {
        self.entries.lock().remove(of);
    }
}

/// What is known now. Asks if that is nothing, or old.
pub(super) fn look(core: &Arc<Core>, of: &SettingsOf) -> Answer {
    let now = Instant::now();
    let mut entries = core.inquiry.entries.lock();
    let entry = entries.entry(of.clone()).or_default();
    if entry.is_due(now) {
        entry.is_asked = true;
        core.env.runtime.spawn(ask(Arc::clone(core), of.clone()));
    }
    entry.answer(now)
}

async fn ask(core: Arc<Core>, of: SettingsOf) {
    let asked = tokio::select! {
        () = core.closed() => return,
        asked = tokio::time::timeout(PATIENCE, ask_patiently(&core, &of)) => asked,
    };
    let answer = asked.unwrap_or_else(|_| {
        let waited_ms = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
        Err(LogError::Timeout {
            what: format!("ask for the settings of {of}"),
            log: "the cluster".to_owned(),
            waited_ms,
        })
    });
    match &answer {
        Ok(_) => core.inquiry.quiet.lock().succeeded(DOING),
        Err(error) => core.inquiry.quiet.lock().failed(DOING, error),
    }
    // A topic that was forgotten meanwhile stays so.
    if let Some(entry) = core.inquiry.entries.lock().get_mut(&of) {
        entry.is_asked = false;
        match answer {
            Ok(settings) => (entry.known, entry.failed) = (Some((Instant::now(), Arc::new(settings))), None),
            Err(_) => entry.failed = Some(Instant::now()),
        }
    }
}

async fn ask_patiently(core: &Core, of: &SettingsOf) -> Result<Settings, LogError> {
    let mut pause = core.options.retry_pause;
    loop {
        let answer = {
            let _permit = core.questions.acquire().await;
            core.log.settings(of).await
        };
        match answer {
            Err(error) if error.is_retriable() => tracing::debug!("settings of {of} are not known yet: {error}"),
            answer => return answer,
        }
        core.sleep(pause).await;
        pause = (pause * 2).min(RETRY_PAUSE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_used_while_it_is_asked_for_anew_and_not_for_ever() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut entry = Entry::default();
        assert_eq!((entry.answer(at(0)), entry.is_due(at(0))), (Answer::Pending, true));
        entry.is_asked = true;
        assert!(!entry.is_due(at(0)), "one question at a time");
        let settings = Arc::new(Settings::new());
        entry = Entry { known: Some((start, Arc::clone(&settings))), ..Entry::default() };
        assert!(!entry.is_due(at(59)));
        assert_eq!((entry.answer(at(60)), entry.is_due(at(60))), (Answer::Known(settings), true));
        assert_eq!(entry.answer(at(600)), Answer::Pending, "as long as nobody has asked again");
        entry.failed = Some(at(590));
        assert_eq!((entry.answer(at(600)), entry.is_due(at(600))), (Answer::Unknown, false));
        assert!(entry.is_due(at(650)), "a failed question is asked again");
    }
}
