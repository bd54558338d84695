//! A thing that happens once and wakes everyone who waits for it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Not fired at first; once fired it stays so.
#[derive(Debug, Default)]
pub struct Signal {
    is_fired: AtomicBool,
    waiting: Notify,
}

impl Signal {
    /// True for the call that fired it.
    pub fn fire(&self) -> bool {
        let is_first = !self.is_fired.swap(true, Ordering::SeqCst);
        self.waiting.notify_waiters();
        is_first
    }

    pub fn is_fired(&self) -> bool {
        self.is_fired.load(Ordering::SeqCst)
    }

    /// Resolves when it is fired, at once if it was.
    pub async fn wait(&self) {
        let woken = self.waiting.notified();
        let mut woken = std::pin::pin!(woken);
        // Registered before the flag is read, so that a firing in between is not missed.
        woken.as_mut().enable();
        if !self.is_fired() {
            woken.await;
        }
    }
}
