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
pub struct Gate(Arc<Shared>);

struct Shared {
    /// The manager, for messages.
    name: &'static str,
    closing: Arc<Signal>,
    inside: Mutex<Inside>,
    left: Condvar,
}

struct Inside {
    visits: usize,
    /// Taken by the close, when the last visit has ended.
    lease: Option<Arc<Lease>>,
}

/// Somebody is inside of the manager: a call, or work that a call left behind.
pub struct Visit(Arc<Shared>);

/// A call inside of the manager; the runtime lives at least as long.
pub struct Call {
    handle: Handle,
    // Dropped in this order: the close's own share of the runtime is to be the last one.
    _lease: Arc<Lease>,
    visit: Visit,
}

impl Gate {
    pub fn new(name: &'static str, lease: Arc<Lease>) -> Self {
        let inside = Mutex::new(Inside { visits: 0, lease: Some(lease) });
        Self(Arc::new(Shared { name, closing: Arc::default(), inside, left: Condvar::new() }))
    }

    /// Lets a call in, or says that the manager is closed.
    pub fn enter(&self) -> Result<Call, Failure> {
        let mut inside = self.0.inside.lock();
        match &inside.lease {
            Some(lease) if !self.0.closing.is_fired() => {
                let lease = Arc::clone(lease);
                inside.visits += 1;
                Ok(Call { handle: lease.handle().clone(), _lease: lease, visit: Visit(Arc::clone(&self.0)) })
            }
            _ => Err(self.0.closed()),
        }
    }

    /// Lets a call that looks at what is in memory and leaves nothing behind go by: a close need not wait for it, and it
    /// needs no runtime.
    pub fn pass(&self) -> Result<(), Failure> {
        if self.0.closing.is_fired() { Err(self.0.closed()) } else { Ok(()) }
    }

    /// Closes it: `shut` is told the runtime and the time left, and answers whether the manager has ended. Then waits
    /// for those inside. A second close does nothing.
    ///
    /// UC_ERR_TIMEOUT if something still goes on; it then ends in the background, and the last one turns off the light.
    pub fn close(&self, timeout_ms: u32, shut: impl FnOnce(&Handle, Option<Duration>) -> bool) -> Result<(), Failure> {
        let shared = &*self.0;
        let lease = {
            let inside = shared.inside.lock();
            if !shared.closing.fire() {
                return Ok(());
            }
            inside.lease.clone()
        };
        let Some(lease) = lease else { return Ok(()) };
        let deadline = deadline(timeout_ms);
        let has_ended = shut(lease.handle(), left(deadline));
        let is_empty = shared.wait_until_empty(deadline);
        let ours = shared.inside.lock().lease.take();
        drop(ours);
        drop(lease);
        if has_ended && is_empty {
            Ok(())
        } else {
            Err(Failure::timeout(&format!("close {}", shared.name), timeout_ms))
        }
    }
}

impl Shared {
    /// What a call answers that met the close.
    fn closed(&self) -> Failure {
        Failure::closed(format!("{} is closed", self.name))
    }

    fn wait_until_empty(&self, deadline: Option<Instant>) -> bool {
        let mut inside = self.inside.lock();
        while inside.visits > 0 {
            match deadline {
                Some(deadline) if self.left.wait_until(&mut inside, deadline).timed_out() => break,
                Some(_) => {}
                None => self.left.wait(&mut inside),
            }
        }
        inside.visits == 0
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.inside.lock().visits -= 1;
        self.0.left.notify_all();
    }
}

impl Call {
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Fires when the manager is closed.
    pub fn closing(&self) -> Arc<Signal> {
        Arc::clone(&self.visit.0.closing)
    }

    /// For work that goes on when the call has returned; the close waits for it, too.
    pub fn leave_behind(&self) -> Visit {
        self.visit.0.inside.lock().visits += 1;
        Visit(Arc::clone(&self.visit.0))
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
                () = self.visit.0.closing.wait() => Err(self.visit.0.closed()),
                () = timer(timeout_ms) => Err(Failure::timeout(what, timeout_ms)),
            }
        })
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
