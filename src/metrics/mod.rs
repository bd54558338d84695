//! Numbers that an operator watches.
//!
//! In: counts and durations from the rooms. Out: names, kinds and texts (once), values (at any time), Prometheus text, the
//! reference `docs/METRICS.md`.
//! Never: threads, clocks, I/O. All metrics of a manager exist from its start with the value 0, but those of a family,
//! which come and go with the values of its label.

pub mod aiven;
mod family;
mod instruments;
mod prometheus;
mod reference;
mod registry;

pub use family::{Family, FamilyInfo};
pub use instruments::{Counter, Gauge, Timer};
pub use reference::markdown;
pub use registry::{Description, Kind, MetricInfo, Registry};
