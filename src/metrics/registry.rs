//! The metrics of one manager, in a fixed order.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use super::family::Shelf;
use super::{Counter, Family, FamilyInfo, Gauge, Timer};

/// How a value moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
}

/// What one value is. The name is lower case with hyphens and carries its unit, as Kafka's metric names do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricInfo {
    /// Room that counts it: `storage` or `metadata`.
    pub group: &'static str,
    pub name: String,
    pub kind: Kind,
    pub text: Cow<'static, str>,
}

#[derive(Debug)]
enum Source {
    Counter(Counter),
    Gauge(Gauge),
    TimerTotal(Timer),
    TimerMax(Timer),
}

/// One value of [`Registry::read`], in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    pub info: MetricInfo,
    /// Name and value of the label of a family's member.
    pub label: Option<(&'static str, String)>,
    /// See [`FamilyInfo::mbean`].
    pub mbean: Option<&'static str>,
}

/// What is done before values are read.
struct Hook(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// All metrics of one manager. Rooms register while they are built; afterwards only the members of families change.
#[derive(Debug, Default)]
pub struct Registry {
    entries: Vec<(MetricInfo, Source)>,
    families: Vec<FamilyInfo>,
    shelf: Arc<Mutex<Shelf>>,
    hooks: Vec<Hook>,
}

impl Registry {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn counter(&mut self, group: &'static str, name: &'static str, text: &'static str) -> Counter {
        let counter = Counter::default();
        self.push(group, name.to_owned(), Kind::Counter, text.into(), Source::Counter(counter.clone()));
        counter
    }

    pub fn gauge(&mut self, group: &'static str, name: &'static str, text: &'static str) -> Gauge {
        let gauge = Gauge::default();
        self.push(group, name.to_owned(), Kind::Gauge, text.into(), Source::Gauge(gauge.clone()));
        gauge
    }

    /// Registers three values: `name-total` (how often), `name-time-us-total` and `name-time-us-max`. `text` says what is
    /// timed; what each value is of it is put behind.
    pub fn timer(&mut self, group: &'static str, name: &'static str, text: &'static str) -> Timer {
        let timer = Timer::default();
        let what = text.trim_end_matches('.');
        let counted = (Kind::Counter, "-total", "how often", Source::Counter(timer.count.clone()));
        let total =
            (Kind::Counter, "-time-us-total", "microseconds of all together", Source::TimerTotal(timer.clone()));
        let longest =
            (Kind::Gauge, "-time-us-max", "microseconds of the longest so far", Source::TimerMax(timer.clone()));
        for (kind, end, of_it, source) in [counted, total, longest] {
            self.push(group, format!("{name}{end}"), kind, format!("{what}: {of_it}.").into(), source);
        }
        timer
    }

    /// Registers a metric that exists once for each value of `label`. It has no members yet.
    pub fn family(
        &mut self,
        group: &'static str,
        name: &'static str,
        label: &'static str,
        kind: Kind,
        text: &'static str,
    ) -> Family {
        self.push_family(group, name, label, kind, text, None)
    }

    /// Like [`Registry::family`], for a metric that is known in Kafka under a JMX name of its own, such as
    /// `kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogCount`; the label is put behind it.
    pub fn family_of_kafka(
        &mut self,
        group: &'static str,
        name: &'static str,
        label: &'static str,
        kind: Kind,
        text: &'static str,
        mbean: &'static str,
    ) -> Family {
        self.push_family(group, name, label, kind, text, Some(mbean))
    }

    /// Has `hook` called before each read, to set what only moves when it is looked at, such as an age. It must not wait.
    pub fn before_read(&mut self, hook: impl Fn() + Send + Sync + 'static) {
        self.hooks.push(Hook(Box::new(hook)));
    }

    /// What there always is, in the order of [`Registry::read`].
    pub fn infos(&self) -> impl Iterator<Item = &MetricInfo> {
        self.entries.iter().map(|(info, _)| info)
    }

    /// The families, whatever members they have.
    pub fn families(&self) -> impl Iterator<Item = &FamilyInfo> {
        self.families.iter()
    }

    /// All that there is now, in the order of [`Registry::read`], and the generation that this order belongs to.
    #[must_use]
    pub fn describe(&self) -> (Vec<Description>, u64) {
        let own = self.infos().map(|info| Description { info: info.clone(), label: None, mbean: None });
        let mut all: Vec<_> = own.collect();
        let shelf = self.shelf.lock();
        for (family, members) in self.families.iter().zip(&shelf.members) {
            all.extend(members.keys().map(|value| Description {
                info: family.info.clone(),
                label: Some((family.label, value.clone())),
                mbean: family.mbean,
            }));
        }
        (all, shelf.generation)
    }

    /// Another number than before once a member of a family has come or gone.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shelf.lock().generation
    }

    /// Values as of now: those of [`Registry::infos`], then the members of each family, by the value of their label.
    pub fn read(&self) -> impl Iterator<Item = f64> {
        self.read_with_generation().0.into_iter()
    }

    /// [`Registry::read`], and the generation that its order belongs to.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "JMX and Prometheus carry doubles")]
    pub fn read_with_generation(&self) -> (Vec<f64>, u64) {
        self.hooks.iter().for_each(|Hook(hook)| hook());
        let own = self.entries.iter().map(|(_, source)| match source {
            Source::Counter(counter) => counter.get() as f64,
            Source::Gauge(gauge) => gauge.get() as f64,
            Source::TimerTotal(timer) => timer.total_us.get() as f64,
            Source::TimerMax(timer) => timer.max_us.load(Ordering::Relaxed) as f64,
        });
        let mut values: Vec<_> = own.collect();
        let shelf = self.shelf.lock();
        values.extend(shelf.members.iter().flat_map(|members| members.values()).map(|gauge| gauge.get() as f64));
        (values, shelf.generation)
    }

    fn push(&mut self, group: &'static str, name: String, kind: Kind, text: Cow<'static, str>, source: Source) {
        self.expect_new(group, &name);
        self.entries.push((MetricInfo { group, name, kind, text }, source));
    }

    fn push_family(
        &mut self,
        group: &'static str,
        name: &'static str,
        label: &'static str,
        kind: Kind,
        text: &'static str,
        mbean: Option<&'static str>,
    ) -> Family {
        self.expect_new(group, name);
        let info = MetricInfo { group, name: name.to_owned(), kind, text: text.into() };
        self.families.push(FamilyInfo { info, label, mbean });
        Family::new(&self.shelf)
    }

    fn expect_new(&self, group: &str, name: &str) {
        let mut infos = self.infos().chain(self.families().map(|family| &family.info));
        let is_new = infos.all(|info| (info.group, info.name.as_str()) != (group, name));
        debug_assert!(is_new, "{group} {name} is registered twice: a reader could not tell the two apart");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn values_stand_in_the_order_of_their_names() {
        let mut registry = Registry::new();
        let copies = registry.counter("storage", "copies-total", "Copies.");
        let fetch = registry.timer("storage", "fetch", "Fetches.");
        let open = registry.gauge("metadata", "open", "Open partitions.");
        let names: Vec<_> = registry.infos().map(|info| format!("{} {}", info.group, info.name)).collect();
        assert_eq!(
            names,
            [
                "storage copies-total",
                "storage fetch-total",
                "storage fetch-time-us-total",
                "storage fetch-time-us-max",
                "metadata open",
            ]
        );
        let texts: Vec<_> = registry.infos().skip(1).take(3).map(|info| info.text.as_ref()).collect();
        assert_eq!(
            texts,
            [
                "Fetches: how often.",
                "Fetches: microseconds of all together.",
                "Fetches: microseconds of the longest so far.",
            ]
        );
        assert_eq!(registry.read().collect::<Vec<_>>(), [0.0; 5], "all are there before anything happened");

        copies.clone().add(2);
        copies.increment();
        fetch.record(Duration::from_micros(30));
        fetch.record(Duration::from_micros(10));
        open.set(4);
        open.add(-5);
        assert_eq!(registry.read().collect::<Vec<_>>(), [3.0, 2.0, 40.0, 30.0, -1.0]);
        assert_eq!((fetch.count(), open.get(), copies.get()), (2, -1, 3));
    }

    #[test]
    fn a_member_of_a_family_comes_behind_all_else_and_with_a_new_generation() {
        let mut registry = Registry::new();
        let of_topic = registry.family("metadata", "dangling", "topic", Kind::Gauge, "Dangling.");
        let of_store = registry.family_of_kafka("metadata", "late", "topic", Kind::Gauge, "Late.", "kafka:name=Late");
        registry.gauge("metadata", "open", "Open.").set(7);
        assert_eq!(registry.describe().0.len(), 1, "a family begins without members");
        let generation = registry.generation();
        of_store.with("a").set(1);
        of_topic.with("b").set(2);
        of_topic.with("a").set(3);
        of_topic.with("a").add(1);
        let (described, later) = registry.describe();
        assert_ne!(generation, later);
        let named: Vec<_> = described
            .iter()
            .map(|it| (it.info.name.as_str(), it.label.as_ref().map(|(_, value)| value.as_str()), it.mbean))
            .collect();
        assert_eq!(
            named,
            [
                ("open", None, None),
                ("dangling", Some("a"), None),
                ("dangling", Some("b"), None),
                ("late", Some("a"), Some("kafka:name=Late")),
            ]
        );
        assert_eq!(registry.read_with_generation(), (vec![7.0, 4.0, 2.0, 1.0], later));

        of_topic.retain(|topic| topic == "b");
        assert_eq!(registry.read().collect::<Vec<_>>(), [7.0, 2.0, 1.0]);
        let gone = registry.generation();
        assert_ne!(gone, later);
        of_topic.retain(|topic| topic == "b");
        assert_eq!(registry.generation(), gone, "nothing changed");
    }

    #[test]
    fn a_time_beyond_all_bounds_is_counted_as_the_longest() {
        let mut registry = Registry::new();
        registry.timer("storage", "fetch", "Fetches.").record(Duration::MAX);
        let values: Vec<_> = registry.read().collect();
        assert!(values[2] > 1e19, "{values:?}");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "registered twice")]
    fn a_name_is_registered_once() {
        let mut registry = Registry::new();
        registry.counter("storage", "copies-total", "Copies.");
        registry.gauge("storage", "copies-total", "Copies.");
    }
}
