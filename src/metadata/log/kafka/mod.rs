//! The topic `__remote_log_metadata`, through librdkafka.
//!
//! In: keys and values as bytes. Out: offsets, records in log order, leader epochs of user partitions. Never: what a
//! record means. Settings are those of the stock manager; what its Java clients would get is translated
//! (`translate`, `security`, `jaas`), and refused where it cannot be.
//!
//! Three clients: one asks and one writes (made when the log is opened), one reads (made for the reader). Nothing is
//! written before the topic was found and has the right number of partitions. `native` holds all that is unsafe.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long it waits for brokers")]

mod described;
mod epoch;
mod faults;
mod jaas;
mod native;
mod operator;
mod presence;
mod read_only;
mod reader;
mod security;
mod settings;
mod shell;
mod topic;
mod translate;
mod writer;

pub use operator::{FoundTopic, KnownBroker, TopicOperator};
pub use read_only::open_read_only;
pub use shell::KafkaLog;
pub use topic::COMPACTED;
pub use translate::{JavaSettings, Property, Role, Translated, translate};

/// The topic's name, the same in every cluster.
pub const TOPIC: &str = "__remote_log_metadata";

/// Prefixes of keys that are handed to the clients; what stands behind them is not in the table of keys.
pub const CLIENT_PREFIXES: &[&str] =
    &[settings::COMMON_PREFIX, settings::ADMIN_PREFIX, settings::PRODUCER_PREFIX, settings::CONSUMER_PREFIX];
