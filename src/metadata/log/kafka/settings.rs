//! What a configuration says about the topic and its clients.

use std::time::Duration;

use super::native::Handle;
use super::translate::{JavaSettings, Property, Role, translate};
use crate::config::{Config, ConfigError, metadata as keys};
use crate::model::BrokerId;

pub(super) const COMMON_PREFIX: &str = "remote.log.metadata.common.client.";
pub(super) const ADMIN_PREFIX: &str = "remote.log.metadata.admin.";
pub(super) const PRODUCER_PREFIX: &str = "remote.log.metadata.producer.";
pub(super) const CONSUMER_PREFIX: &str = "remote.log.metadata.consumer.";

/// Checked settings, in librdkafka's words.
#[derive(Debug)]
pub(super) struct Settings {
    pub partitions: i32,
    pub replication_factor: i32,
    pub retention_ms: i64,
    pub min_isr: i32,
    pub admin: Vec<Property>,
    pub producer: Vec<Property>,
    pub consumer: Vec<Property>,
    /// How long a record may be on its way.
    pub delivery_timeout: Duration,
    /// Addresses, for messages.
    pub servers: String,
    /// What was left out, in sentences.
    pub warnings: Vec<String>,
}

impl Settings {
    pub fn read(config: &Config, broker_id: BrokerId) -> Result<Self, ConfigError> {
        let number = |key| config.integer(key).map(|value| value.unwrap_or_default());
        let small = |key| number(key).map(|value| i32::try_from(value).unwrap_or(i32::MAX));
        let retention_ms = number(&keys::TOPIC_RETENTION_MS)?;
        if retention_ms == 0 {
            return Err(ConfigError::BadValue {
                key: keys::TOPIC_RETENTION_MS.name.to_owned(),
                value: "0".to_owned(),
                why: "records would be lost".to_owned(),
                range: "-1 or at least 1".to_owned(),
            });
        }
        let mut warnings = Vec::new();
        let mut client = |role| properties(config, role, broker_id, &mut warnings);
        let (admin, producer, consumer) = (client(Role::Admin)?, client(Role::Producer)?, client(Role::Consumer)?);
        warnings.sort_unstable();
        warnings.dedup();
        let delivery_ms = value(&producer, "message.timeout.ms").and_then(|ms| ms.parse().ok()).unwrap_or(120_000);
        Ok(Self {
            partitions: small(&keys::TOPIC_PARTITIONS)?,
            replication_factor: small(&keys::TOPIC_REPLICATION_FACTOR)?,
            retention_ms,
            min_isr: small(&keys::TOPIC_MIN_ISR)?,
            servers: value(&admin, "bootstrap.servers").unwrap_or_default().to_owned(),
            admin,
            producer,
            consumer,
            delivery_timeout: Duration::from_millis(delivery_ms),
            warnings,
        })
    }
}

impl Settings {
    /// Settings of somebody who only reads, from those of a Java client. The number of partitions is not known yet.
    pub fn read_only(java: &JavaSettings) -> Result<Self, ConfigError> {
        let mut warnings = Vec::new();
        let mut client = |role| complete(role, java, "undercroft-metadata".to_owned(), &mut warnings);
        let (admin, consumer) = (client(Role::Admin)?, client(Role::Consumer)?);
        warnings.sort_unstable();
        warnings.dedup();
        Ok(Self {
            partitions: 0,
            replication_factor: 0,
            retention_ms: -1,
            min_isr: 0,
            servers: value(&admin, "bootstrap.servers").unwrap_or_default().to_owned(),
            admin,
            producer: Vec::new(),
            consumer,
            delivery_timeout: Duration::ZERO,
            warnings,
        })
    }
}

fn value<'a>(properties: &'a [Property], name: &str) -> Option<&'a str> {
    properties.iter().rev().find(|property| property.name == name).map(|property| property.value.as_str())
}

/// Defaults of ours, then what the user set, then what must not be otherwise.
fn properties(
    config: &Config,
    role: Role,
    broker_id: BrokerId,
    warnings: &mut Vec<String>,
) -> Result<Vec<Property>, ConfigError> {
    let (prefix, name) = match role {
        Role::Admin => (ADMIN_PREFIX, "admin"),
        Role::Producer => (PRODUCER_PREFIX, "producer"),
        Role::Consumer => (CONSUMER_PREFIX, "consumer"),
    };
    let mut java = JavaSettings::new(COMMON_PREFIX);
    for prefix in [COMMON_PREFIX, prefix] {
        for (name, value) in config.with_prefix(prefix) {
            java.set(prefix, name, value);
        }
    }
    // The stock manager's client ids: quotas and logs of a cluster may know them.
    let id = format!("__remote_log_metadata_client_{broker_id}_{name}");
    complete(role, &java, id, warnings)
}

/// As [`properties`], from the settings of one client.
fn complete(
    role: Role,
    java: &JavaSettings,
    client_id: String,
    warnings: &mut Vec<String>,
) -> Result<Vec<Property>, ConfigError> {
    let (defaults, fixed) = match role {
        Role::Admin => (ADMIN_DEFAULTS, ADMIN_FIXED),
        Role::Producer => (PRODUCER_DEFAULTS, PRODUCER_FIXED),
        Role::Consumer => (CONSUMER_DEFAULTS, CONSUMER_FIXED),
    };
    let translated = translate(role, java)?;
    warnings.extend(translated.warnings);
    let ours = |&(name, value): &(&str, &str)| Property {
        name: name.to_owned(),
        value: value.to_owned(),
        from: "a default of Undercroft".to_owned(),
    };
    let id = Property { name: "client.id".to_owned(), value: client_id, from: "a default of Undercroft".to_owned() };
    let mut all: Vec<Property> = DEFAULTS.iter().chain(defaults).map(ours).collect();
    all.push(id);
    all.extend(translated.properties);
    all.extend(FIXED.iter().chain(fixed).map(ours));
    Handle::check(&all)?;
    Ok(all)
}

/// A broker that comes back is to be found at once; librdkafka's own limit is 10 s.
const DEFAULTS: &[(&str, &str)] = &[
    ("reconnect.backoff.ms", "50"),
    ("reconnect.backoff.max.ms", "1000"),
    ("socket.connection.setup.timeout.ms", "10000"),
    ("socket.nagle.disable", "true"),
    ("topic.metadata.refresh.fast.interval.ms", "50"),
];
const FIXED: &[(&str, &str)] = &[("log.connection.close", "false"), ("allow.auto.create.topics", "false")];

const ADMIN_DEFAULTS: &[(&str, &str)] = &[];
const ADMIN_FIXED: &[(&str, &str)] = &[];

/// A batch is what was queued while others were on their way.
const PRODUCER_DEFAULTS: &[(&str, &str)] = &[("message.timeout.ms", "120000"), ("linger.ms", "0")];
const PRODUCER_FIXED: &[(&str, &str)] = &[("enable.idempotence", "true"), ("acks", "all")];

/// Small waits for the steady state: a fetch that waits is answered as soon as a record comes, but a partition that is
/// assigned meanwhile has to wait for it, and is told its end by the next one. Fetches of a few megabytes, and not more
/// queued than that: larger ones are not faster, and all of a topic would lie in memory when it is read for the first time.
const CONSUMER_DEFAULTS: &[(&str, &str)] = &[
    ("check.crcs", "true"),
    ("isolation.level", "read_uncommitted"),
    ("fetch.wait.max.ms", "20"),
    ("fetch.error.backoff.ms", "100"),
    ("fetch.queue.backoff.ms", "5"),
    ("fetch.message.max.bytes", "1048576"),
    ("fetch.max.bytes", "4194304"),
    ("queued.min.messages", "50000"),
    ("queued.max.messages.kbytes", "16384"),
    ("topic.metadata.propagation.max.ms", "5000"),
];
const CONSUMER_FIXED: &[(&str, &str)] = &[
    ("enable.partition.eof", "true"),
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("auto.offset.reset", "earliest"),
];
