//! Makes the log usable, for as long as it takes.

use std::sync::Arc;
use std::time::Duration;

use crate::metadata::log::LogError;

use super::core::Core;
use super::quiet::Quiet;

const PAUSE_MAX: Duration = Duration::from_secs(5);

pub(super) fn spawn(core: &Arc<Core>) {
    core.env.runtime.spawn(run(Arc::clone(core)));
}

async fn run(core: Arc<Core>) {
    let doing = "opening the log of remote segment metadata";
    let mut quiet = Quiet::default();
    let mut pause = core.options.retry_interval.min(PAUSE_MAX);
    loop {
        let ensured = tokio::select! {
            () = core.closed() => return,
            ensured = core.log.ensure() => ensured,
        };
        let error = match ensured {
            Ok(shape) if shape.partitions > 0 => {
                quiet.succeeded(doing);
                core.start(shape.partitions);
                return;
            }
            Ok(shape) => LogError::Internal {
                what: "open the metadata log".to_owned(),
                why: format!("it says that it has {} partitions", shape.partitions),
            },
            Err(error) => error,
        };
        if core.is_closed() {
            return;
        }
        core.instruments.log_failures.increment();
        quiet.failed(doing, &error);
        *core.startup_failure.lock() = Some(error.to_string());
        core.sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}
