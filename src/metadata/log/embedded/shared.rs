//! What the writer of an embedded log and its readers both see.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::super::LogError;

/// A partition as far as it is on disk.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) name: String,
    pub(super) file: Arc<File>,
    /// Counts compactions: another file has other positions.
    pub(super) generation: u64,
    pub(super) len: u64,
    pub(super) next_offset: i64,
}

/// Views of all partitions, and a signal for everything that changes.
pub(super) struct Shared {
    views: Vec<Mutex<View>>,
    is_closed: AtomicBool,
    changes: Mutex<u64>,
    changed: Condvar,
}

impl Shared {
    pub(super) fn new(views: Vec<View>) -> Self {
        let views = views.into_iter().map(Mutex::new).collect();
        Self { views, is_closed: AtomicBool::new(false), changes: Mutex::new(0), changed: Condvar::new() }
    }

    pub(super) fn view(&self, partition: i32, what: &str) -> Result<View, LogError> {
        let view = usize::try_from(partition).ok().and_then(|index| self.views.get(index));
        view.map(|view| view.lock().clone()).ok_or_else(|| LogError::Internal {
            what: format!("{what} partition {partition}"),
            why: format!("the log has {} partitions", self.views.len()),
        })
    }

    pub(super) fn publish(&self, partition: usize, change: impl FnOnce(&mut View)) {
        if let Some(view) = self.views.get(partition) {
            change(&mut view.lock());
        }
        self.notify();
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.notify();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(super) fn check_open(&self, what: &str) -> Result<(), LogError> {
        if self.is_closed() { Err(LogError::Closed { what: what.to_owned() }) } else { Ok(()) }
    }

    pub(super) fn changes(&self) -> u64 {
        *self.changes.lock()
    }

    pub(super) fn notify(&self) {
        *self.changes.lock() += 1;
        self.changed.notify_all();
    }

    /// Waits until there is something newer than `seen` or `is_woken` is set (true), or the deadline passes (false).
    pub(super) fn wait_for_change(&self, seen: u64, deadline: Option<Instant>, is_woken: &AtomicBool) -> bool {
        let mut changes = self.changes.lock();
        while *changes == seen && !is_woken.load(Ordering::Acquire) {
            match deadline {
                Some(deadline) if self.changed.wait_until(&mut changes, deadline).timed_out() => return false,
                Some(_) => {}
                None => self.changed.wait(&mut changes),
            }
        }
        true
    }
}
