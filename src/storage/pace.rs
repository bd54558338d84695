//! A limit of bytes per second that everything on one way shares.
#![allow(clippy::disallowed_methods, reason = "shell: waits until its bytes may go")]

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Hands out times at which bytes may go, one after the other. Who waits with a piece at a time takes turns with the others,
/// so all get the same share however many pieces they have. Clones share the limit.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    bytes_per_second: Option<u64>,
    free_at: Arc<Mutex<Option<Instant>>>,
}

impl Pace {
    /// `None` is no limit.
    pub(super) fn new(bytes_per_second: Option<u64>) -> Self {
        Self { bytes_per_second: bytes_per_second.filter(|rate| *rate > 0), free_at: Arc::default() }
    }

    /// Waits until `bytes` more may go.
    pub(super) async fn wait_for(&self, bytes: u64) {
        if let Some(start) = self.book(bytes, Instant::now()) {
            tokio::time::sleep_until(start).await;
        }
    }

    /// When `bytes` may go that are there `now`.
    fn book(&self, bytes: u64, now: Instant) -> Option<Instant> {
        let rate = self.bytes_per_second?;
        let mut free_at = self.free_at.lock();
        let start = free_at.unwrap_or(now).max(now);
        *free_at = Some(start + Duration::from_secs_f64(bytes as f64 / rate as f64));
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn bytes_go_at_the_rate_and_unused_time_is_not_saved_up() {
        let (pace, now) = (Pace::new(Some(1000)), Instant::now());
        assert_eq!(pace.book(500, now), Some(now));
        assert_eq!(pace.book(2000, now), Some(now + SECOND / 2));
        assert_eq!(pace.book(1, now), Some(now + SECOND * 5 / 2));
        let later = now + 10 * SECOND;
        assert_eq!(pace.book(1000, later), Some(later));
        assert_eq!(pace.clone().book(1, later), Some(later + SECOND), "clones share it");
        assert_eq!(Pace::new(None).book(u64::MAX, now), None);
    }

    /// However many parts somebody has to send, one who comes later waits for one of them only.
    #[test]
    fn who_comes_later_gets_its_turn() {
        let (pace, now) = (Pace::new(Some(8)), Instant::now());
        let (mut at, mut sent) = ([now; 3], [0; 3]);
        // Each asks for its next part when the one before may go.
        for _ in 0..30 {
            let next = (0..3).min_by_key(|copy| at[*copy]).expect("three");
            at[next] = pace.book(8, at[next]).expect("limited");
            sent[next] += 1;
        }
        assert!(sent.iter().all(|count| (9..=11).contains(count)), "{sent:?}");
    }
}
