//! A limit of bytes per second that all copies share.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Hands out times at which bytes may be sent, one after the other, so that copies take turns.
#[derive(Debug, Clone)]
pub(in super::super) struct Pace {
    bytes_per_second: Option<u64>,
    free_at: Arc<Mutex<Option<Instant>>>,
}

impl Pace {
    pub(in super::super) fn new(bytes_per_second: Option<u64>) -> Self {
        Self { bytes_per_second, free_at: Arc::default() }
    }

    /// Waits until `bytes` more may be sent.
    pub(in super::super) async fn wait_for(&self, bytes: u64) {
        let Some(rate) = self.bytes_per_second else { return };
        let start = {
            let now = Instant::now();
            let mut free_at = self.free_at.lock();
            let start = free_at.unwrap_or(now).max(now);
            *free_at = Some(start + Duration::from_secs_f64(bytes as f64 / rate as f64));
            start
        };
        tokio::time::sleep_until(start).await;
    }
}
