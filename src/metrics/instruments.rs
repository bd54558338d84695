//! What a room holds and counts with. Cheap to clone: clones count into the same number.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Clone, Default)]
pub struct Counter(Arc<AtomicU64>);

impl Counter {
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn increment(&self) {
        self.add(1);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that goes up and down.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<AtomicI64>);

impl Gauge {
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub fn add(&self, amount: i64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    /// Sets it to `value` if that is more.
    pub fn raise(&self, value: i64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often something was done, how long it took in all and at the most.
#[derive(Debug, Clone, Default)]
pub struct Timer {
    pub(super) count: Counter,
    pub(super) total_us: Counter,
    pub(super) max_us: Arc<AtomicU64>,
}

impl Timer {
    pub fn record(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.count.increment();
        self.total_us.add(us);
        self.max_us.fetch_max(us, Ordering::Relaxed);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.get()
    }
}
