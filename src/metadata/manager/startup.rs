//! Makes the log usable, for as long as it takes, and looks at it again when it no longer seems to be the right one.

use std::sync::Arc;
use std::time::Duration;

use crate::metadata::log::{LogError, LogShape};

use super::core::Core;
use super::env::RETRY_PAUSE_MAX;
use super::quiet::Quiet;

const DOING: &str = "opening the log of remote segment metadata";
/// A broker opens its own listener after this manager, and other brokers start beside it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the log, in the background.
pub(super) fn spawn(core: &Arc<Core>) {
    let core = Arc::clone(core);
    core.env.runtime.clone().spawn(async move {
        if let Some(shape) = ensure(&core).await {
            core.start(shape);
        }
    });
}

/// Something said that the log is not as it must be: nothing is written and nothing answered until it was looked at.
pub(super) fn look_again(core: &Arc<Core>, why: &str) {
    if !core.begin_doubt(why) {
        return;
    }
    let core = Arc::clone(core);
    core.env.runtime.clone().spawn(async move {
        if let Some(shape) = ensure(&core).await {
            core.set_shape(shape);
            core.end_doubt();
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
