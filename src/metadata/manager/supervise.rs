//! Background tasks that end with the manager and not before.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::core::Core;

/// A defect that does not pass is not to fill the log of the broker.
const PANIC_PAUSE_MAX: Duration = Duration::from_secs(300);

/// Runs a task to its end, and again if it panics: that is a defect, but no reason to give up for good without a word.
/// `note` is told why, for whoever asks what is wrong.
pub(super) fn supervise<F>(
    core: &Arc<Core>,
    doing: &'static str,
    note: fn(&Core, String),
    task: impl Fn(Arc<Core>) -> F + Send + 'static,
) where
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
                    let why = format!("{doing} ended in a panic, which is a defect of this plugin: {error}");
                    tracing::error!("{why}; it is tried again. Please report this");
                    note(&core, why);
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
