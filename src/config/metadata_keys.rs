//! Keys of the metadata side.

use super::{Key, Kind, Side};

/// Chooses the log.
pub static LOG: Key = Key {
    name: "undercroft.metadata.log",
    side: Side::Metadata,
    kind: Kind::Choice(&["kafka", "embedded"]),
    default: Some("kafka"),
    text: "Where metadata records live: `kafka`, in the topic `__remote_log_metadata`, or `embedded`, in a local file.",
};

/// All of them, in the order of the reference.
pub static ALL: &[&Key] = &[&LOG];

// The topic `__remote_log_metadata`: the stock manager's keys. Those of its clients stand behind prefixes and are not in
// the table.

/// The number of metadata partitions.
pub static TOPIC_PARTITIONS: Key = Key {
    name: "remote.log.metadata.topic.num.partitions",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: i32::MAX as i64 },
    default: Some("50"),
    text: "Partitions of the topic `__remote_log_metadata`. Must be the same on every broker and never change: it decides where a partition's records are. With another number than the topic's nothing is written.",
};

/// Replicas of a topic that is created.
pub static TOPIC_REPLICATION_FACTOR: Key = Key {
    name: "remote.log.metadata.topic.replication.factor",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: i16::MAX as i64 },
    default: Some("3"),
    text: "Replicas of the topic `__remote_log_metadata`. Used only when it is created.",
};

/// Retention of a topic that is created.
pub static TOPIC_RETENTION_MS: Key = Key {
    name: "remote.log.metadata.topic.retention.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: -1, max: i64::MAX },
    default: Some("-1"),
    text: "Retention of the topic `__remote_log_metadata` in milliseconds, -1 for ever (0 is refused). Used only when it is created. What is older than it is forgotten, so let it be longer than any tiered topic's retention.",
};

/// In-sync replicas that a write to a topic that is created needs.
pub static TOPIC_MIN_ISR: Key = Key {
    name: "remote.log.metadata.topic.min.isr",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: i16::MAX as i64 },
    default: Some("2"),
    text: "`min.insync.replicas` of the topic `__remote_log_metadata`. Used only when it is created, and then never more than its replicas.",
};

/// Accepted for the sake of the stock manager's files.
pub static INITIALIZATION_RETRY_MAX_TIMEOUT_MS: Key = Key {
    name: "remote.log.metadata.initialization.retry.max.timeout.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: 0, max: i64::MAX },
    default: Some("120000"),
    text: "Accepted and without effect: where the stock manager gives up (and ends the broker), this one goes on trying.",
};

/// The pause between attempts to start.
pub static INITIALIZATION_RETRY_INTERVAL_MS: Key = Key {
    name: "remote.log.metadata.initialization.retry.interval.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: 3_600_000 },
    default: Some("100"),
    text: "Milliseconds between the first attempts to find or create the topic; the pause grows while they fail.",
};

/// Keys of the log in Kafka.
pub static OF_KAFKA_LOG: &[&Key] = &[
    &TOPIC_PARTITIONS,
    &TOPIC_REPLICATION_FACTOR,
    &TOPIC_RETENTION_MS,
    &TOPIC_MIN_ISR,
    &INITIALIZATION_RETRY_MAX_TIMEOUT_MS,
    &INITIALIZATION_RETRY_INTERVAL_MS,
];
