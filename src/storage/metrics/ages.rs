//! How long the oldest copy has been going on.
#![allow(clippy::disallowed_methods, reason = "shell: reads the clock when the metric is read")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::metrics::{Gauge, Registry};

/// Copies under way, in the order of their starts.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct CopyAges(Arc<Mutex<(u64, BTreeMap<u64, Instant>)>>);

/// A copy under way, until it is dropped.
#[derive(Debug)]
pub(in super::super) struct CopyAge(CopyAges, u64);

impl CopyAges {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let ages = Self::default();
        let text = "Milliseconds that the oldest copy under way has been going on; 0 if there is none";
        let (gauge, of_hook): (Gauge, _) = (registry.gauge(super::GROUP, "oldest-copy-age-ms", text), ages.clone());
        registry.before_read(move || gauge.set(of_hook.oldest_ms()));
        ages
    }

    pub(in super::super) fn begin(&self) -> CopyAge {
        let mut copies = self.0.lock();
        copies.0 += 1;
        let number = copies.0;
        copies.1.insert(number, Instant::now());
        CopyAge(self.clone(), number)
    }

    fn oldest_ms(&self) -> i64 {
        let oldest = self.0.lock().1.values().next().copied();
        oldest.map_or(0, |since| i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX))
    }
}

impl Drop for CopyAge {
    fn drop(&mut self) {
        self.0.0.lock().1.remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_age_is_the_oldest_copys_and_nothing_behind_it() {
        let mut registry = Registry::new();
        let ages = CopyAges::new(&mut registry);
        let age = || registry.read().next().expect("one");
        assert_eq!(age(), 0.0);
        let first = ages.begin();
        std::thread::sleep(Duration::from_millis(30));
        let second = ages.begin();
        assert!(age() >= 30.0);
        drop(first);
        assert!(age() < 30.0);
        drop(second);
        assert_eq!(age(), 0.0);
    }
}
