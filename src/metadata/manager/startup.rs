//! Makes the log usable, for as long as it takes, and looks at it again when it no longer seems to be the right one.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::metadata::log::{LogError, LogShape};

use super::core::Core;
use super::env::RETRY_PAUSE_MAX;
use super::levels;
use super::quiet::Quiet;

const DOING: &str = "opening the log of remote segment metadata";
/// A broker opens its own listener after this manager, and other brokers start beside it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A defect that does not pass is not to fill the log of the broker.
const PANIC_PAUSE_MAX: Duration = Duration::from_secs(300);

/// Opens the log, in the background, and looks at it again now and then as long as the manager lives.
pub(super) fn spawn(core: &Arc<Core>) {
    supervise(core, |core| async move {
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
    supervise(core, |core| async move {
        if let Some(shape) = ensure(&core).await {
            core.set_shape(shape);
            core.end_doubt();
            // Whoever had trouble has it until the end is met again, and perhaps nobody writes.
            for meta in core.directory.read().meta.values() {
                meta.ask();
            }
            core.bell.ring();
        }
    });
}

/// Somebody may delete the log, make another one of its name, or change its settings, and nobody else tells of it.
async fn watch(core: &Arc<Core>) {
    loop {
        core.sleep(core.options.decide / 2).await;
        let looked = tokio::select! {
            () = core.closed() => return,
            looked = core.log.ensure() => looked,
        };
        match looked {
            Ok(shape) => match unfit(core, shape.partitions) {
                None => core.set_shape(shape),
                Some(why) => look_again(core, &why),
            },
            Err(error @ (LogError::Mismatch { .. } | LogError::Corrupt { .. })) => look_again(core, &error.to_string()),
            // Whoever reads and writes tells of it.
            Err(error) => tracing::debug!("looking at the log of remote segment metadata: {error}"),
        }
    }
}

/// Runs a task to its end, and again if it panics: that is a defect, but no reason to give up for good without a word.
fn supervise<F>(core: &Arc<Core>, task: impl Fn(Arc<Core>) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (core, runtime) = (Arc::clone(core), core.env.runtime.clone());
    runtime.clone().spawn(async move {
        let mut pause = core.options.retry_pause;
        loop {
            match runtime.spawn(task(Arc::clone(&core))).await {
                // Cancelled: the runtime ends.
                Ok(()) => return,
                Err(error) if !error.is_panic() => return,
                Err(error) => {
                    let why = format!("{DOING} ended in a panic, which is a defect of this plugin: {error}");
                    tracing::error!("{why}; it is tried again. Please report this");
                    *core.startup_failure.lock() = Some(why);
                    core.instruments.log_failures.increment();
                }
            }
            core.sleep(pause).await;
            pause = (pause * 2).min(PANIC_PAUSE_MAX);
            if core.is_closed() {
                return;
            }
        }
    });
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
