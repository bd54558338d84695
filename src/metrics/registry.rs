//! The metrics of one manager, in a fixed order.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use super::{Counter, Gauge, Timer};

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

/// All metrics of one manager. Rooms register while they are built; afterwards it is only read.
#[derive(Debug, Default)]
pub struct Registry {
    entries: Vec<(MetricInfo, Source)>,
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

    /// What there is, in the order of [`Registry::read`].
    pub fn infos(&self) -> impl Iterator<Item = &MetricInfo> {
        self.entries.iter().map(|(info, _)| info)
    }

    /// Values as of now, in the order of [`Registry::infos`].
    #[allow(clippy::cast_precision_loss, reason = "JMX and Prometheus carry doubles")]
    pub fn read(&self) -> impl Iterator<Item = f64> {
        self.entries.iter().map(|(_, source)| match source {
            Source::Counter(counter) => counter.get() as f64,
            Source::Gauge(gauge) => gauge.get() as f64,
            Source::TimerTotal(timer) => timer.total_us.get() as f64,
            Source::TimerMax(timer) => timer.max_us.load(Ordering::Relaxed) as f64,
        })
    }

    fn push(&mut self, group: &'static str, name: String, kind: Kind, text: Cow<'static, str>, source: Source) {
        let is_new = self.infos().all(|info| (info.group, &info.name) != (group, &name));
        debug_assert!(is_new, "{group} {name} is registered twice: a reader could not tell the two apart");
        self.entries.push((MetricInfo { group, name, kind, text }, source));
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
