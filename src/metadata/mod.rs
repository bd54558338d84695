//! Which remote segment holds which offsets: the semantics of Kafka's RemoteLogMetadataManager.
//!
//! In: what a host says of segments, and the records of a log that all brokers write to. Out: answers to "which segment
//! has this offset of this epoch". Never: the bytes of a segment.
//!
//! `partition` and `plan` are pure: what is known and what should be written. `log` is where records live. `manager`
//! joins them: a thread that reads, calls that write and wait for what was read. `survey` looks at a whole log, for people;
//! `migration` takes the topic from one level to the next.

mod error;
pub mod log;
mod manager;
pub mod migration;
pub mod partition;
pub mod plan;
mod quiet;
pub mod survey;

pub use error::MetadataError;
pub use manager::{AssignedPartition, MetadataEnv, MetadataManager, Pending, open_prefixes};
