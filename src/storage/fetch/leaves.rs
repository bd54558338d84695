//! What leaves a cache of segments to make room for others.

use std::sync::Arc;

use foyer::{Event, EventListener};

use super::super::metrics::Evictions;
use crate::model::KafkaUuid;

/// Counts it, with its bytes.
pub(super) struct Leaves<V> {
    evictions: Evictions,
    bytes_of: fn(&V) -> usize,
}

impl<V> Leaves<V> {
    pub(super) fn counted(evictions: &Evictions, bytes_of: fn(&V) -> usize) -> Arc<Self> {
        Arc::new(Self { evictions: evictions.clone(), bytes_of })
    }
}

impl<V: Send + Sync + 'static> EventListener for Leaves<V> {
    type Key = KafkaUuid;
    type Value = Arc<V>;

    fn on_leave(&self, reason: Event, _: &KafkaUuid, value: &Arc<V>) {
        if reason == Event::Evict {
            self.evictions.count((self.bytes_of)(value));
        }
    }
}
