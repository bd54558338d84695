//! The door of a manager: calls go in while it is open; a close stops new ones, ends those inside and waits for them.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;

use super::error::Failure;
use super::runtime::Lease;
use super::signal::Signal;

/// Time-out of a host that sets no bound.
pub const UNBOUNDED: u32 = u32::MAX;

/// See the module.
pub struct Gate {
    /// The manager, for messages.
    name: &'static str,
    closing: Arc<Signal>,
    inside: Mutex<Inside>,
    left: Condvar,
}

struct Inside {
    calls: usize,
    /// Taken by the close, when the last call has left.
    lease: Option<Arc<Lease>>,
}

/// One call inside of the manager; the runtime lives at least as long.
pub struct Call<'a> {
    gate: &'a Gate,
    lease: Option<Arc<Lease>>,
    handle: Handle,
}

impl Gate {
    pub fn new(name: &'static str, lease: Arc<Lease>) -> Self {
        let inside = Mutex::new(Inside { calls: 0, lease: Some(lease) });
        Self { name, closing: Arc::default(), inside, left: Condvar::new() }
    }

    /// Lets a call in, or says that the manager is closed.
    pub fn enter(&self) -> Result<Call<'_>, Failure> {
        let mut inside = self.inside.lock();
        match &inside.lease {
            Some(lease) if !self.closing.is_fired() => {
                let lease = Arc::clone(lease);
                inside.calls += 1;
                Ok(Call { gate: self, handle: lease.handle().clone(), lease: Some(lease) })
            }
            _ => Err(self.closed()),
        }
    }

    /// What a call answers that met the close.
    pub fn closed(&self) -> Failure {
        Failure::closed(format!("{} is closed", self.name))
    }

    /// Closes it: `shut` is told the runtime and the time left, and answers whether the manager has ended. Then waits
    /// for the calls inside. A second close does nothing.
    ///
    /// UC_ERR_TIMEOUT if something still goes on; it then ends in the background, and the last one turns off the light.
    pub fn close(&self, timeout_ms: u32, shut: impl FnOnce(&Handle, Option<Duration>) -> bool) -> Result<(), Failure> {
        let lease = {
            let inside = self.inside.lock();
            if !self.closing.fire() {
                return Ok(());
            }
            inside.lease.clone()
        };
        let Some(lease) = lease else { return Ok(()) };
        let deadline = deadline(timeout_ms);
        let has_ended = shut(lease.handle(), left(deadline));
        let mut inside = self.inside.lock();
        while inside.calls > 0 {
            let timed_out = match deadline {
                Some(deadline) => self.left.wait_until(&mut inside, deadline).timed_out(),
                None => {
                    self.left.wait(&mut inside);
                    false
                }
            };
            if timed_out {
                break;
            }
        }
        let is_empty = inside.calls == 0;
        let ours = inside.lease.take();
        drop(inside);
        drop(ours);
        drop(lease);
        if has_ended && is_empty { Ok(()) } else { Err(Failure::timeout(&format!("close {}", self.name), timeout_ms)) }
    }
}

impl Call<'_> {
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Fires when the manager is closed.
    pub fn closing(&self) -> Arc<Signal> {
        Arc::clone(&self.gate.closing)
    }

    /// Runs `future` on this thread until it is done, the manager is closed, or `timeout_ms` is over; dropped then, which
    /// is how the rooms cancel.
    pub fn wait<T, E: Into<Failure>>(
        &self,
        what: &str,
        timeout_ms: u32,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Failure> {
        self.handle.block_on(async {
            tokio::select! {
                biased;
                outcome = future => outcome.map_err(Into::into),
                () = self.gate.closing.wait() => Err(self.gate.closed()),
                () = timer(timeout_ms) => Err(Failure::timeout(what, timeout_ms)),
            }
        })
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // Before the close is told, so that the close's own share is the last one.
        drop(self.lease.take());
        self.gate.inside.lock().calls -= 1;
        self.gate.left.notify_all();
    }
}

/// Resolves after `timeout_ms`; never if that is [`UNBOUNDED`].
pub async fn timer(timeout_ms: u32) {
    if timeout_ms == UNBOUNDED {
        std::future::pending().await
    } else {
        tokio::time::sleep(Duration::from_millis(u64::from(timeout_ms))).await;
    }
}

/// When a host's patience ends; `None` if it sets no bound.
pub fn deadline(timeout_ms: u32) -> Option<Instant> {
    (timeout_ms != UNBOUNDED).then(|| Instant::now() + Duration::from_millis(u64::from(timeout_ms)))
}

fn left(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
}
