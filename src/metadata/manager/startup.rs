//! Makes the log usable, for as long as it takes, and looks at it again when it no longer seems to be the right one.

use std::sync::Arc;
use std::time::Duration;

use crate::metadata::log::{LogError, LogShape};

use super::core::Core;
use super::env::RETRY_PAUSE_MAX;
use super::levels;
use super::quiet::Quiet;
use super::supervise::supervise;

const DOING: &str = "opening the log of remote segment metadata";
/// A broker opens its own listener after this manager, and other brokers start beside it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often the log is looked at, at least: three questions to brokers.
const LOOK_MAX: Duration = Duration::from_secs(30);

/// How often it is looked whether the reader has begun with another log.
const TAKE_UP_PAUSE: Duration = Duration::from_millis(10);

fn note(core: &Core, why: String) {
    *core.startup_failure.lock() = Some(why);
}

/// Opens the log, in the background, and looks at it again now and then as long as the manager lives.
pub(super) fn spawn(core: &Arc<Core>) {
    supervise(core, DOING, note, |core| async move {
        if core.shape().is_none() {
            let Some(shape) = ensure(&core).await else { return };
            levels::of_new_log(&core, &shape).await;
            core.start(shape);
        }
        watch(&core).await;
    });
}

/// Something said that the log is not as it must be: nothing is written and nothing answered until it was looked at.
pub(super) fn look_again(core: &Arc<Core>, why: &str) {
    if !core.begin_doubt(why) {
        return;
    }
    supervise(core, DOING, note, |core| async move {
        loop {
            let Some(shape) = ensure(&core).await else { return };
            if !take_up(&core, shape).await {
                break;
            }
            // The reader of the log before may have found meanwhile that it is gone.
        }
        core.end_doubt();
        let mut losses = Vec::new();
        // Whoever had trouble has it until the end is met again, and perhaps nobody writes.
        for meta in core.directory.read().meta.values() {
            losses.extend(meta.take_loss_unsaid());
            meta.ask();
        }
        if let Some(first) = losses.first() {
            let partitions = losses.len();
            tracing::error!(
                "{first} So it is with {partitions} metadata partitions, which are not ready unless their records come \
                 back. Restart this broker to go on with what the log has now"
            );
        }
        core.bell.ring();
    });
}

/// Goes on with what the log is now; tells whether it is another one than before, which the reader begins to read then.
async fn take_up(core: &Core, shape: LogShape) -> bool {
    let another = another(core, &shape);
    match &another {
        None => core.set_shape(shape),
        Some(why) => {
            tracing::warn!(
                "the log of remote segment metadata {why}. It is read from its start and written to from now on. What the \
                 log before had is gone, unless it is imported (`undercroft metadata import`): segments that are only \
                 known from there can be neither read nor deleted"
            );
            core.replace_log(shape);
        }
    }
    while core.log_to_take_up().is_some() && !core.is_closed() {
        core.sleep(TAKE_UP_PAUSE).await;
    }
    another.is_some()
}

/// What is to be said if the log is not the one that is read.
fn another(core: &Core, shape: &LogShape) -> Option<String> {
    let (before, now) = (core.shape()?.id?, shape.id?);
    (before != now).then(|| format!("was deleted and another one has its name (its id is {now} and was {before})"))
}

/// Somebody may delete the log, make another one of its name, or change its settings, and nobody else tells of it.
async fn watch(core: &Arc<Core>) {
    loop {
        core.sleep(LOOK_MAX.min(core.options.decide / 2)).await;
        let looked = tokio::select! {
            () = core.closed() => return,
            looked = core.log.ensure() => looked,
        };
        match looked {
            Ok(shape) => match unfit(core, shape.partitions).or_else(|| another(core, &shape)) {
                None => {
                    core.set_shape(shape);
                    levels::look_for_loss(core, &shape);
                }
                Some(why) => look_again(core, &why),
            },
            Err(error @ (LogError::Mismatch { .. } | LogError::Corrupt { .. })) => look_again(core, &error.to_string()),
            // Whoever reads and writes tells of it.
            Err(error) => tracing::debug!("looking at the log of remote segment metadata: {error}"),
        }
    }
}

/// Tries until the log is usable, and tells what it looks like; nothing if the manager was closed.
async fn ensure(core: &Arc<Core>) -> Option<LogShape> {
    let mut quiet = Quiet::patient(PATIENCE);
    let mut pause = core.options.retry_pause;
    loop {
        let ensured = tokio::select! {
            () = core.closed() => return None,
            ensured = core.log.ensure() => ensured,
        };
        let error = match ensured {
            Ok(shape) => match unfit(core, shape.partitions) {
                None => {
                    quiet.succeeded(DOING);
                    return Some(shape);
                }
                Some(why) => LogError::Mismatch { what: "open".to_owned(), log: "the metadata log".to_owned(), why },
            },
            Err(error) => error,
        };
        if core.is_closed() {
            return None;
        }
        core.instruments.log_failures.increment();
        quiet.failed(DOING, &error);
        *core.startup_failure.lock() = Some(error.to_string());
        core.sleep(pause).await;
        pause = (pause * 2).min(RETRY_PAUSE_MAX);
    }
}

fn unfit(core: &Core, partitions: i32) -> Option<String> {
    let before = core.directory.read().partitions();
    match before {
        _ if partitions <= 0 => Some(format!("it says that it has {partitions} partitions")),
        Some(before) if before != partitions => {
            Some(format!("it has {partitions} partitions and had {before}; records would go to wrong ones"))
        }
        _ => None,
    }
}
