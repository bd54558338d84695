//! What runs in the background, so that closing can stop it and wait for it.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts running work and tells it when the manager closes.
#[derive(Debug, Clone)]
pub(super) struct Tasks {
    closing: Arc<watch::Sender<bool>>,
    running: Arc<watch::Sender<usize>>,
}

/// Held by work while it runs.
#[derive(Debug)]
pub(super) struct Running(Arc<watch::Sender<usize>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Tasks {
    pub(super) fn new() -> Self {
        Self { closing: Arc::new(watch::Sender::new(false)), running: Arc::new(watch::Sender::new(0)) }
    }

    /// Lets work begin, unless the manager has been closed.
    pub(super) fn begin(&self) -> Option<Running> {
        let mut admitted = None;
        // Under the same lock as the count, so that no work begins behind a close that saw none.
        self.running.send_modify(|count| {
            if !*self.closing.borrow() {
                *count += 1;
                admitted = Some(Running(Arc::clone(&self.running)));
            }
        });
        admitted
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.closing.borrow()
    }

    /// Resolves when the manager closes.
    pub(super) async fn closing(&self) {
        // An error would mean that the sender is gone, and we hold it.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Admits no more work, tells what runs to stop and waits until it has.
    pub(super) async fn close(&self) {
        self.closing.send_replace(true);
        let _ = self.running.subscribe().wait_for(|count| *count == 0).await;
    }
}
