//! Keys of the metadata side.

use super::{Key, Kind, Side};

const COUNT: Kind = Kind::Integer { min: 1, max: i32::MAX as i64 };
const MILLIS: Kind = Kind::Integer { min: 0, max: i64::MAX };
const ID: Kind = Kind::Integer { min: -1, max: i32::MAX as i64 };

/// Chooses the log.
pub static LOG: Key = Key {
    name: "undercroft.metadata.log",
    side: Side::Metadata,
    kind: Kind::Choice(&["kafka", "embedded"]),
    default: Some("kafka"),
    text: "Where metadata records live: `kafka`, in the topic `__remote_log_metadata`, or `embedded`, in a local file.",
};

/// How long a write waits for the manager's own reader.
pub static CONSUME_WAIT_MS: Key = Key {
    name: "remote.log.metadata.consume.wait.ms",
    side: Side::Metadata,
    kind: MILLIS,
    default: Some("120000"),
    text: "How long a write waits until this broker's own reader has met its record, in milliseconds.",
};

/// First pause between tries to reach the log.
pub static INITIALIZATION_RETRY_INTERVAL_MS: Key = Key {
    name: "remote.log.metadata.initialization.retry.interval.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: i64::MAX },
    default: Some("100"),
    text: "First pause between two tries to reach the log of metadata records, in milliseconds. It doubles with each \
           failure, up to 5 seconds. There is no last try.",
};

/// Accepted for the stock manager's sake.
pub static INITIALIZATION_RETRY_MAX_TIMEOUT_MS: Key = Key {
    name: "remote.log.metadata.initialization.retry.max.timeout.ms",
    side: Side::Metadata,
    kind: MILLIS,
    default: Some("120000"),
    text: "Accepted and not used: the log is tried again for ever, and a broker is never ended because of it.",
};

/// What a record of the future does.
pub static IGNORE_NEWER_RECORDS: Key = Key {
    name: "undercroft.metadata.ignore.newer.records",
    side: Side::Metadata,
    kind: Kind::Boolean,
    default: Some("false"),
    text: "Whether partitions stay usable when their log has a record of a version that this release does not know. \
           If `false` they report that they are not ready, because what the record says may matter.",
};

/// How often what was left behind is looked for.
pub static UPKEEP_INTERVAL_MS: Key = Key {
    name: "undercroft.metadata.upkeep.interval.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: i32::MAX as i64 },
    default: Some("30000"),
    text: "How often a broker looks for copies and deletions that came to no end, in the partitions that it leads, in \
           milliseconds. It does so too after each copy. A deletion that failed is tried again after this time, and after \
           twice as long with each further failure, up to an hour.",
};

/// How long something may still arrive.
pub static UPKEEP_GRACE_MS: Key = Key {
    name: "undercroft.metadata.upkeep.grace.ms",
    side: Side::Metadata,
    kind: MILLIS,
    default: Some("60000"),
    text: "How long after the end of a copy or a deletion something of it may still arrive, in milliseconds: after this \
           time the objects of an abandoned copy are looked for once more before it counts as deleted. Every five times \
           as long brokers are asked which topics there are; one that is missing twice in a row is cleaned up after.",
};

/// How old an attempt must be to be nobody's.
pub static COPY_LEASE_MS: Key = Key {
    name: "undercroft.metadata.copy.lease.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: i64::MAX },
    default: Some("7200000"),
    text: "Age in milliseconds at which another broker's copy that has not finished is taken for abandoned. Must be more \
           than a copy may take (`upload.timeout.ms`) and what clocks may differ.",
};

/// How fresh knowledge must be that a leader decides by.
pub static DECIDE_MS: Key = Key {
    name: "undercroft.metadata.decide.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1000, max: i32::MAX as i64 },
    default: Some("120000"),
    text: "A leader begins copies, claims what others left behind and empties keys only while its own reader has met the \
           end of the log within this many milliseconds. The end is looked for twice as often, also where nothing is \
           written.",
};

/// Z.
pub static TOMBSTONE_DELAY_MS: Key = Key {
    name: "undercroft.metadata.tombstone.delay.ms",
    side: Side::Metadata,
    kind: MILLIS,
    default: Some("600000"),
    text: "How long the records of a deleted segment stay before they are removed from the log, in milliseconds, at level \
           1 and 2. Nothing may be on its way to the log for longer than this less `undercroft.metadata.decide.ms`: a \
           longer `delivery.timeout.ms` of the metadata producer is cut. Less than four minutes is for tests: a broker \
           that was cut off may still write of the segment then.",
};

/// Folder of the checkpoints.
pub static CHECKPOINT_PATH: Key = Key {
    name: "undercroft.metadata.checkpoint.path",
    side: Side::Metadata,
    kind: Kind::Text,
    default: None,
    text: "Folder for the files `undercroft-metadata-<n>.checkpoint`, with which a restart reads only what is new in the \
           topic of metadata records. If it is not set they are in the broker's `log.dir`, where Kafka leaves files alone \
           whose names it doesn't know. `off` writes none. They may be deleted at any time. Must be a folder of its own \
           for each broker, and, as any other folder, not inside of `log.dirs`.",
};

/// Folder of the embedded log.
pub static EMBEDDED_PATH: Key = Key {
    name: "undercroft.metadata.embedded.path",
    side: Side::Metadata,
    kind: Kind::Text,
    default: None,
    text: "Folder of the embedded log. Must be set for `embedded`, and must not be inside of one of the broker's \
           `log.dirs`: Kafka doesn't start with a folder there that is no partition's. One manager at a time may use it.",
};

/// Partitions of the embedded log.
pub static EMBEDDED_PARTITIONS: Key = Key {
    name: "undercroft.metadata.embedded.partitions",
    side: Side::Metadata,
    kind: Kind::Integer { min: 1, max: 1024 },
    default: Some("1"),
    text: "Number of files of the embedded log. It cannot be changed once the folder exists.",
};

/// When the embedded log is compacted.
pub static EMBEDDED_COMPACT_BYTES_MIN: Key = Key {
    name: "undercroft.metadata.embedded.compact.bytes.min",
    side: Side::Metadata,
    kind: COUNT,
    default: Some("16777216"),
    text: "A file of the embedded log is compacted when more than half of it, and at least this many bytes, are \
           records that later ones replace.",
};

/// Number of the broker, as Kafka passes it.
pub static BROKER_ID: Key = Key {
    name: "broker.id",
    side: Side::Metadata,
    kind: ID,
    default: None,
    text: "Number of the broker. Passed by the broker.",
};

/// Number of the broker, as Kafka 4.4 passes it beside the other.
pub static NODE_ID: Key = Key {
    name: "node.id",
    side: Side::Metadata,
    kind: ID,
    default: None,
    text: "Number of the broker, used if `broker.id` is not set. Passed by brokers from 4.4 on.",
};

/// The broker's first log folder.
pub static LOG_DIR: Key = Key {
    name: "log.dir",
    side: Side::Metadata,
    kind: Kind::Text,
    default: None,
    text: "The broker's first log folder. Passed by the broker.",
};

/// The cluster that a broker belongs to.
pub static CLUSTER_ID: Key = Key {
    name: "cluster.id",
    side: Side::Metadata,
    kind: Kind::Text,
    default: None,
    text: "Id of the cluster. Passed by the broker.",
};

/// In front of a topic's name and one of the two keys below: `undercroft.topic.<topic>.remote.copy.lag.ms`.
pub const TOPIC_PREFIX: &str = "undercroft.topic.";

/// Age at which a segment is copied.
pub static COPY_LAG_MS: Key = Key {
    name: "remote.copy.lag.ms",
    side: Side::Metadata,
    kind: Kind::Integer { min: -1, max: i64::MAX },
    default: Some("0"),
    text: "Delayed upload, on brokers before 4.4: a closed segment stays local only until its newest record is this many \
           milliseconds old, or `remote.copy.lag.bytes` says that it is time. 0 copies at once; -1, and any larger \
           value, is the topic's effective local retention (`local.retention.ms`). For one topic: \
           `undercroft.topic.<topic>.remote.copy.lag.ms`. Brokers from 4.4 on have it as a setting of topics, and this \
           key is not used there.",
};

/// Size of the log behind a segment at which it is copied.
pub static COPY_LAG_BYTES: Key = Key {
    name: "remote.copy.lag.bytes",
    side: Side::Metadata,
    kind: Kind::Integer { min: -1, max: i64::MAX },
    default: Some("-1"),
    text: "Delayed upload, on brokers before 4.4: a closed segment stays local only until this many bytes of newer local \
           log are behind it, or `remote.copy.lag.ms` says that it is time. 0 copies at once; -1, and any larger value, \
           is the topic's effective local retention (`local.retention.bytes`). No effect while `remote.copy.lag.ms` is 0, \
           its default. For one topic: `undercroft.topic.<topic>.remote.copy.lag.bytes`.",
};

/// Whether the broker delays uploads itself.
pub static BROKER_HAS_COPY_LAG: Key = Key {
    name: "undercroft.broker.has.copy.lag",
    side: Side::Metadata,
    kind: Kind::Boolean,
    default: Some("false"),
    text: "Whether the broker has `remote.copy.lag.ms` and `remote.copy.lag.bytes` itself; then those of the plugin are \
           not used. Passed by the plugin, which looks whether the broker knows the setting.",
};

/// All of them, in the order of the reference.
pub static ALL: &[&Key] = &[
    &LOG,
    &CONSUME_WAIT_MS,
    &INITIALIZATION_RETRY_INTERVAL_MS,
    &INITIALIZATION_RETRY_MAX_TIMEOUT_MS,
    &IGNORE_NEWER_RECORDS,
    &UPKEEP_INTERVAL_MS,
    &UPKEEP_GRACE_MS,
    &COPY_LEASE_MS,
    &DECIDE_MS,
    &CHECKPOINT_PATH,
    &TOMBSTONE_DELAY_MS,
    &EMBEDDED_PATH,
    &EMBEDDED_PARTITIONS,
    &EMBEDDED_COMPACT_BYTES_MIN,
    &COPY_LAG_MS,
    &COPY_LAG_BYTES,
    &BROKER_HAS_COPY_LAG,
    &BROKER_ID,
    &NODE_ID,
    &LOG_DIR,
    &CLUSTER_ID,
];

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

/// How a topic is created.
pub static TOPIC_CREATE_LEVEL: Key = Key {
    name: "undercroft.metadata.topic.create.level",
    side: Side::Metadata,
    kind: Kind::Choice(&["0", "2"]),
    default: Some("2"),
    text: "How the topic `__remote_log_metadata` is created if there is none: `2`, compacted, for brokers that all run Undercroft, or `0`, as the stock manager does, for a cluster in which stock brokers are to read it too. A topic that there is stays as it is.",
};

/// Keys of the log in Kafka.
pub static OF_KAFKA_LOG: &[&Key] =
    &[&TOPIC_PARTITIONS, &TOPIC_REPLICATION_FACTOR, &TOPIC_RETENTION_MS, &TOPIC_MIN_ISR, &TOPIC_CREATE_LEVEL];
