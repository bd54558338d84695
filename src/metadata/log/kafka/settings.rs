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
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub partitions: i32,
    pub replication_factor: i32,
    pub retention_ms: i64,
    pub min_isr: i32,
    /// How a topic is created that there is not.
    pub is_created_compacted: bool,
    pub admin: Vec<Property>,
    pub producer: Vec<Property>,
    pub consumer: Vec<Property>,
    /// How long a record may wait for a place in the producer's queue. Together with the time that it may spend there and
    /// on its way, it is less than [`keys::TOMBSTONE_DELAY_MS`] less [`keys::DECIDE_MS`].
    pub line_timeout: Duration,
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
        let (admin, mut producer, consumer) = (client(Role::Admin)?, client(Role::Producer)?, client(Role::Consumer)?);
        let budget = config.millis(&keys::TOMBSTONE_DELAY_MS)?.saturating_sub(config.millis(&keys::DECIDE_MS)?);
        let budget = budget.max(BUDGET_MIN);
        let line_timeout = bound(&mut producer, budget, &mut warnings);
        warnings.sort_unstable();
        warnings.dedup();
        Ok(Self {
            partitions: small(&keys::TOPIC_PARTITIONS)?,
            replication_factor: small(&keys::TOPIC_REPLICATION_FACTOR)?,
            retention_ms,
            min_isr: small(&keys::TOPIC_MIN_ISR)?,
            is_created_compacted: config.text(&keys::TOPIC_CREATE_LEVEL) == Some("2"),
            servers: value(&admin, "bootstrap.servers").unwrap_or_default().to_owned(),
            admin,
            producer,
            consumer,
            line_timeout,
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
            is_created_compacted: false,
            servers: value(&admin, "bootstrap.servers").unwrap_or_default().to_owned(),
            admin,
            producer: Vec::new(),
            consumer,
            line_timeout: Duration::ZERO,
            warnings,
        })
    }

    /// As [`Settings::read_only`], of somebody who may write too; a record has `timeout` to arrive.
    pub fn of_operator(java: &JavaSettings, timeout: Duration) -> Result<Self, ConfigError> {
        let mut settings = Self::read_only(java)?;
        // Whatever the file says: a command that gives up later than it was told to is no help.
        let mut java = java.clone();
        java.set("--", "delivery.timeout.ms", &timeout.as_millis().to_string());
        settings.producer = complete(Role::Producer, &java, "undercroft-metadata".to_owned(), &mut settings.warnings)?;
        settings.warnings.sort_unstable();
        settings.warnings.dedup();
        Ok(settings)
    }
}

fn value<'a>(properties: &'a [Property], name: &str) -> Option<&'a str> {
    properties.iter().rev().find(|property| property.name == name).map(|property| property.value.as_str())
}

/// Makes sure that no record is under way for `budget`; gives the part of it that may be spent in line.
fn bound(producer: &mut Vec<Property>, budget: Duration, warnings: &mut Vec<String>) -> Duration {
    const NAME: &str = "message.timeout.ms";
    let line = LINE_MAX.min(budget / 4);
    let most = u64::try_from((budget - line).as_millis()).unwrap_or(u64::MAX).saturating_sub(1_000).max(1);
    let wanted = producer.iter().rev().find(|property| property.name == NAME).cloned();
    // For librdkafka 0 is for ever.
    let is_fine = |wanted: &Property| wanted.value.parse().is_ok_and(|ms| (1..=most).contains(&ms));
    let Some(wanted) = wanted.filter(|wanted| !is_fine(wanted)) else { return line };
    warnings.push(format!(
        "{} = {} is cut to {most}: nothing may be on its way to the log for as long as undercroft.metadata.tombstone.delay.ms less \
         undercroft.metadata.decide.ms",
        wanted.from, wanted.value
    ));
    producer.push(Property { value: most.to_string(), ..wanted });
    line
}

/// With less nothing could be written at all.
const BUDGET_MIN: Duration = Duration::from_secs(30);
const LINE_MAX: Duration = Duration::from_secs(30);

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

/// A broker that comes back is to be found at once; librdkafka's own limit is 10 s. One that answers nothing, as it hangs,
/// is given up after about the time after which the cluster gives it up (a broker's session is 9 s).
const DEFAULTS: &[(&str, &str)] = &[
    ("socket.timeout.ms", "10000"),
    ("reconnect.backoff.ms", "50"),
    ("reconnect.backoff.max.ms", "1000"),
    ("socket.connection.setup.timeout.ms", "10000"),
    ("socket.nagle.disable", "true"),
    ("topic.metadata.refresh.fast.interval.ms", "50"),
];
const FIXED: &[(&str, &str)] = &[("log.connection.close", "false"), ("allow.auto.create.topics", "false")];

/// Its questions go to any broker, as librdkafka chooses: also to one that hangs, until its connection is given up. All of
/// them are small, and asked again.
const ADMIN_DEFAULTS: &[(&str, &str)] = &[("socket.timeout.ms", "5000")];
const ADMIN_FIXED: &[(&str, &str)] = &[];

/// Records written within a millisecond go in one batch: a third less CPU for 2,000 copies at once, and nobody who waits
/// for the log notices. Every broker and client that can have tiered storage reads zstd. Its lowest level: batches are of a few
/// records, and librdkafka makes a compressor for each, which at the usual level clears most of a megabyte first.
const PRODUCER_DEFAULTS: &[(&str, &str)] =
    &[("message.timeout.ms", "120000"), ("linger.ms", "1"), ("compression.type", "zstd"), ("compression.level", "1")];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_never_under_way_for_as_long_as_keys_are_left_alone() {
        let read = |delivery: &str, settle: &str| {
            let mut config = Config::new();
            config.set("remote.log.metadata.common.client.bootstrap.servers", "a:1");
            config.set("remote.log.metadata.producer.delivery.timeout.ms", delivery);
            config.set("undercroft.metadata.tombstone.delay.ms", settle);
            let settings = Settings::read(&config, BrokerId(1)).unwrap();
            let ms: u64 = value(&settings.producer, "message.timeout.ms").unwrap().parse().unwrap();
            (ms, settings.line_timeout.as_secs(), settings.warnings.len())
        };
        assert_eq!(read("120000", "600000"), (120_000, 30, 0));
        assert_eq!(read("600000", "600000"), (449_000, 30, 1));
        assert_eq!(read("0", "600000"), (449_000, 30, 1), "that is for ever");
        assert_eq!(read("120000", "160000"), (29_000, 10, 1));
        assert_eq!(read("120000", "0"), (21_500, 7, 1), "for tests");
    }
}
