//! The metrics of one manager, in a fixed order.

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
    pub text: &'static str,
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
        self.push(group, name.to_owned(), Kind::Counter, text, Source::Counter(counter.clone()));
        counter
    }

    pub fn gauge(&mut self, group: &'static str, name: &'static str, text: &'static str) -> Gauge {
        let gauge = Gauge::default();
        self.push(group, name.to_owned(), Kind::Gauge, text, Source::Gauge(gauge.clone()));
        gauge
    }

    /// Registers three values: `name-total` (how often), `name-time-us-total` and `name-time-us-max`.
    pub fn timer(&mut self, group: &'static str, name: &'static str, text: &'static str) -> Timer {
        let timer = Timer::default();
        self.push(group, format!("{name}-total"), Kind::Counter, text, Source::Counter(timer.count.clone()));
        self.push(group, format!("{name}-time-us-total"), Kind::Counter, text, Source::TimerTotal(timer.clone()));
        self.push(group, format!("{name}-time-us-max"), Kind::Gauge, text, Source::TimerMax(timer.clone()));
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

    fn push(&mut self, group: &'static str, name: String, kind: Kind, text: &'static str, source: Source) {
        self.entries.push((MetricInfo { group, name, kind, text }, source));
    }
}
