//! Metrics that exist once for each value of a label, such as a topic, and come and go with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Gauge, MetricInfo};

/// One metric for each value of a label. Cheap to clone: clones are the same family.
///
/// ```
/// # use undercroft::metrics::{Kind, Registry};
/// let mut registry = Registry::new();
/// let open = registry.family("metadata", "open-segments", "topic", Kind::Gauge, "Open segments");
/// open.with("orders").set(3);
/// assert!(registry.prometheus().contains("undercroft_metadata_open_segments{topic=\"orders\"} 3"));
/// open.retain(|topic| topic != "orders");
/// assert!(!registry.prometheus().contains("orders"));
/// ```
#[derive(Debug, Clone)]
pub struct Family {
    shelf: Arc<Mutex<Shelf>>,
    index: usize,
}

/// What a family is, beside its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyInfo {
    pub info: MetricInfo,
    /// What the members are told apart by, such as `topic`.
    pub label: &'static str,
    /// The JMX name that Kafka gives to such a metric, without the label; `None` if it is ours alone.
    pub mbean: Option<&'static str>,
}

/// The members of all families of one registry, under one lock: a reader sees names and values of the same moment.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) members: Vec<BTreeMap<String, Gauge>>,
    /// Grows with every member that comes or goes.
    pub(super) generation: u64,
}

impl Family {
    pub(super) fn new(shelf: &Arc<Mutex<Shelf>>) -> Self {
        let mut locked = shelf.lock();
        locked.members.push(BTreeMap::new());
        Self { shelf: Arc::clone(shelf), index: locked.members.len() - 1 }
    }

    /// The metric of this value, made with 0 if it isn't there. Hold on to it only while the value stays: behind a
    /// [`Family::retain`] that dropped it, nobody reads it any more.
    #[must_use]
    pub fn with(&self, value: &str) -> Gauge {
        let mut shelf = self.shelf.lock();
        let Shelf { members, generation } = &mut *shelf;
        let Some(members) = members.get_mut(self.index) else { return Gauge::default() };
        if let Some(gauge) = members.get(value) {
            return gauge.clone();
        }
        *generation += 1;
        members.entry(value.to_owned()).or_default().clone()
    }

    /// Drops the metrics of all other values.
    pub fn retain(&self, mut is_kept: impl FnMut(&str) -> bool) {
        let mut shelf = self.shelf.lock();
        let Shelf { members, generation } = &mut *shelf;
        let Some(members) = members.get_mut(self.index) else { return };
        let before = members.len();
        members.retain(|value, _| is_kept(value));
        *generation += u64::from(members.len() != before);
    }
}
