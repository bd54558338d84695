//! The one runtime of the process: there while a manager is open, gone with its threads when the last one is closed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};

use super::error::Failure;

/// Linux cuts names at 15 characters.
const WORKER_NAME: &str = "undercroft-rt";
const WORKERS_MAX: usize = 4;
/// Threads that local files are read and written with.
const FILE_THREADS_MAX: usize = 64;
/// How long the end of the last lease waits for the threads.
const JOIN_MAX: Duration = Duration::from_secs(5);

static CURRENT: Mutex<Weak<Lease>> = Mutex::new(Weak::new());

/// A share in the runtime. Whoever drops the last one waits, within bounds, until its threads have ended.
pub struct Lease {
    runtime: Option<Runtime>,
    handle: Handle,
}

/// A share in the runtime that is there, or in a new one.
pub fn lease() -> Result<Arc<Lease>, Failure> {
    let mut current = CURRENT.lock();
    if let Some(lease) = current.upgrade() {
        return Ok(lease);
    }
    let runtime = build().map_err(|e| Failure::internal(format!("cannot start the library's threads: {e}")))?;
    let lease = Arc::new(Lease { handle: runtime.handle().clone(), runtime: Some(runtime) });
    *current = Arc::downgrade(&lease);
    Ok(lease)
}

fn build() -> std::io::Result<Runtime> {
    let workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, WORKERS_MAX);
    Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(FILE_THREADS_MAX)
        .thread_name(WORKER_NAME)
        .enable_all()
        .build()
}

impl Lease {
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if Handle::try_current().is_ok() {
            // A runtime may not wait inside of another one; its threads end on their own.
            runtime.shutdown_background();
        } else {
            runtime.shutdown_timeout(JOIN_MAX);
        }
    }
}
