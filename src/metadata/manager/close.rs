//! From the start of a manager's thread to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded};
use parking_lot::Mutex;

use crate::metadata::MetadataError;

use super::core::Core;
use super::reader;

const LOG_CLOSE_MAX: Duration = Duration::from_secs(12);
const THREAD_END_MAX: Duration = Duration::from_secs(8);

/// Owns the reader's thread.
pub(super) struct Lifetime {
    pub(super) core: Arc<Core>,
    thread: Mutex<Option<(JoinHandle<()>, Receiver<()>)>>,
}

impl Lifetime {
    /// Starts the reader's thread.
    pub(super) fn begin(core: Arc<Core>) -> Result<Self, MetadataError> {
        let (ending, ended) = bounded(1);
        let thread_core = Arc::clone(&core);
        // So that a test sees what its own manager says.
        #[cfg(test)]
        let said_to = tracing::dispatcher::get_default(Clone::clone);
        let thread = std::thread::Builder::new().name("undercroft-read".to_owned()).spawn(move || {
            // Dropped when the thread ends, however it does.
            let _ending = ending;
            #[cfg(test)]
            let _said = tracing::dispatcher::set_default(&said_to);
            if catch_unwind(AssertUnwindSafe(|| reader::run(&thread_core))).is_err() {
                reader_died(&thread_core);
            }
        });
        match thread {
            Ok(thread) => Ok(Self { core, thread: Mutex::new(Some((thread, ended))) }),
            Err(error) => {
                core.begin_close();
                Err(MetadataError::Internal { what: format!("no thread for the metadata reader: {error}") })
            }
        }
    }

    /// Closes and waits for the end. A second caller waits with the first.
    pub(super) fn close(&self) {
        let mut thread = self.thread.lock();
        self.core.begin_close();
        let Some((thread, ended)) = thread.take() else { return };
        let begin = Instant::now();
        let assignments = self.core.directory.write().clear();
        for assignment in assignments {
            assignment.leadership.wake();
        }
        self.core.count_partitions();
        let (closing, closed) = bounded::<()>(1);
        let log = Arc::clone(&self.core.log);
        self.core.env.runtime.spawn(async move {
            let _closing = closing;
            log.close().await;
        });
        // Both channels carry nothing: that they are closed is the news.
        if closed.recv_timeout(LOG_CLOSE_MAX).is_err_and(|error| error.is_timeout()) {
            tracing::warn!("the metadata log did not close within {LOG_CLOSE_MAX:?}");
        }
        if ended.recv_timeout(THREAD_END_MAX).is_err_and(|error| error.is_timeout()) {
            tracing::warn!("the metadata reader did not end within {THREAD_END_MAX:?}; it is left behind");
        } else if thread.join().is_err() {
            tracing::error!("the metadata reader ended in a panic");
        }
        tracing::info!("remote segment metadata is closed, after {} ms", begin.elapsed().as_millis());
    }
}

/// A defect of ours ended the reader: nothing that it knew may be taken for the truth any longer.
fn reader_died(core: &Core) {
    let why = "the reader ended in a panic, which is a defect of this plugin; restart it and report this";
    tracing::error!("{why}");
    *core.reading_failure.lock() = Some(why.to_owned());
    for meta in core.directory.read().meta.values() {
        meta.set_trouble(why.to_owned(), true);
    }
    core.count_partitions();
}

impl Drop for Lifetime {
    fn drop(&mut self) {
        if self.core.begin_close() {
            let log = Arc::clone(&self.core.log);
            self.core.env.runtime.spawn(async move { log.close().await });
        }
    }
}
