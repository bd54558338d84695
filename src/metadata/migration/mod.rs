//! From one level of the metadata topic to the next.
//!
//! In: what brokers, the topic's settings and its records say. Out: whether a step may be taken, why not, and what it
//! consists of, each as a value with the text that an operator reads. Then `run` takes it, over a [`Cluster`].
//!
//! | level | records | topic |
//! |---|---|---|
//! | 0 | stock form, with keys from us, without from stock brokers | `delete`, kept for ever |
//! | 1 | ours: tombstones, DANGLING, tagged values; leaders write again with keys what has none | as before |
//! | 2 | the same | `compact` |
//!
//! Never: 0 to 2 in one step, or down. `import` is the way from a topic that was lost, or of another kind, to a new one.
//! Everything is pure but `run` and `kafka`.

mod cluster;
mod decide;
mod evidence;
mod found;
mod import;
mod kafka;
mod obstacle;
mod run;
mod step;
#[cfg(test)]
mod tests;
mod words;

pub use cluster::Cluster;
pub use decide::{Decision, Plan, Wish, to_1, to_2};
pub use evidence::{Evidence, LevelSeen, MetaEvidence, Resting, RestingFact, Unkeyed};
pub use found::{Found, FoundBroker, Runs};
pub use import::{ImportError, ImportLine, ImportPlan, plan_import};
pub use kafka::KafkaCluster;
pub use obstacle::Obstacle;
pub use run::{Ending, Events, Goal, Patience, pursue};
pub use step::{Change, Step};
pub use words::duration;
