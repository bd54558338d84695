//! Finding the topic, or creating it; compacted, unless told otherwise, or as the stock manager does.

use std::collections::BTreeMap;
use std::time::Duration;

use super::TOPIC;
use super::faults;
use super::native::{Admin, Code, NewTopic, Resource, RespErr, Setting};
use super::settings::Settings;
use crate::metadata::log::{Cleanup, LogError, LogShape};

const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
const FIND: &str = "find the topic";
const CREATE_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a topic that was just created is looked for; brokers learn of it one after the other.
const LOOKS_AFTER_CREATION: usize = 20;

/// How long the questions beside the shape may take, whose answers can be done without.
const FACTS_TIMEOUT: Duration = Duration::from_secs(3);

/// The topic's shape. Creates it only when a broker said that there is none (no answer is no answer), and never again
/// once it was found: whoever read it would go on with what a topic of the same name doesn't have. Another topic of its
/// name is given only if somebody made it on purpose, as one that a broker makes by itself loses records.
pub(super) fn ensure(
    admin: &Admin,
    settings: &Settings,
    known: Option<&LogShape>,
    stop: &dyn Fn() -> bool,
) -> Result<LogShape, LogError> {
    match (look(admin, settings, DESCRIBE_TIMEOUT, stop)?, known) {
        (Some(found), _) => judge(found, known, settings.partitions).map_err(|why| mismatch(settings, why)),
        (None, Some(known)) => Err(mismatch(settings, gone(known))),
        (None, None) => {
            create(admin, settings, stop)?;
            for _ in 0..LOOKS_AFTER_CREATION {
                if let Some(shape) = look(admin, settings, DESCRIBE_TIMEOUT, stop)? {
                    let shape = judge(shape, None, settings.partitions).map_err(|why| mismatch(settings, why))?;
                    return Ok(LogShape { is_new: true, ..shape });
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            let code = Code::of(RespErr::RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
            Err(faults::error(FIND, &settings.servers, code, "created, but brokers don't know it yet", 0))
        }
    }
}

/// What was found, if it may be read and written by who knew `known`.
fn judge(found: LogShape, known: Option<&LogShape>, partitions: i32) -> Result<LogShape, String> {
    let Some(known) = known else {
        return match found.partitions {
            same if same == partitions => Ok(found),
            other => Err(format!(
                "it has {other} partitions, remote.log.metadata.topic.num.partitions says {partitions}; set the key to \
                 the number that the topic was created with, the same on every broker"
            )),
        };
    };
    let remedy = || {
        format!(
            "Delete it, create it with {partitions} partitions and cleanup.policy=compact, and import the last export at \
             once; brokers go on with it without a restart"
        )
    };
    match (found.id, known.id) {
        (Some(id), Some(before)) if id != before => {
            let another = || {
                format!(
                    "it was deleted and another topic has its name: that one has the id {id}, this broker read the one \
                     with {before}"
                )
            };
            if found.partitions != partitions {
                let other = found.partitions;
                return Err(format!(
                    "{}. It has {other} partitions; nothing is written to it. {}",
                    another(),
                    remedy()
                ));
            }
            if !found.is_kept {
                return Err(format!(
                    "{}. It is not set to keep its records, as one that a broker creates by itself; nothing is written to \
                     it. {}",
                    another(),
                    remedy()
                ));
            }
            Ok(LogShape { is_new: false, ..found })
        }
        _ if found.partitions != partitions => Err(format!(
            "it has {} partitions now and had {partitions}; records would go to wrong ones, so nothing is written, and \
             partitions can't be taken away again. Export what it has (`undercroft metadata export`). {}",
            found.partitions,
            remedy()
        )),
        _ => {
            // Questions that could be done without this time: how long a tombstone is shown is not forgotten for that.
            let told = if found.cleanup == Cleanup::Unknown { known } else { &found };
            let (cleanup, delete_retention) = (told.cleanup, told.delete_retention);
            Ok(LogShape { id: found.id.or(known.id), is_new: known.is_new, cleanup, delete_retention, ..found })
        }
    }
}

fn gone(known: &LogShape) -> String {
    let id = known.id.map(|id| format!(" (id {id})")).unwrap_or_default();
    format!(
        "the topic{id} that this broker read is gone; it is not created again by a broker that knows what it held, and \
         nothing is written. Create it with {} partitions and cleanup.policy=compact, and import the last export at once; \
         brokers go on with it without a restart",
        known.partitions
    )
}

fn mismatch(settings: &Settings, why: String) -> LogError {
    LogError::Mismatch { what: FIND.to_owned(), log: format!("topic {TOPIC} at {}", settings.servers), why }
}

/// The shape of the topic as it is, if there is one. Creates nothing.
pub(super) fn look(
    admin: &Admin,
    settings: &Settings,
    timeout: Duration,
    stop: &dyn Fn() -> bool,
) -> Result<Option<LogShape>, LogError> {
    match admin.describe(TOPIC, timeout, stop) {
        Ok(found) if found.leaders.is_empty() => Ok(None),
        Ok(found) => {
            let partitions = i32::try_from(found.leaders.len()).unwrap_or(i32::MAX);
            Ok(Some(facts(admin, partitions, timeout.min(FACTS_TIMEOUT), stop)))
        }
        Err(failed) if failed.code.is(RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) => Ok(None),
        Err(failed) => Err(question(admin, settings, FIND, &failed)),
    }
}

/// Why a partition may show nothing, as far as brokers tell.
pub(super) fn why_silent(admin: &Admin, partition: i32, stop: &dyn Fn() -> bool) -> String {
    let leaders = match admin.describe(TOPIC, DESCRIBE_TIMEOUT, stop) {
        Ok(found) => found.leaders,
        Err(failed) => return format!("no broker tells who leads it: {}", failed.reason),
    };
    match usize::try_from(partition).ok().and_then(|index| leaders.get(index)) {
        Some(-1) => "no broker that is up has it, so nobody leads it".to_owned(),
        Some(leader) => format!("broker {leader} leads it and does not answer"),
        None => format!("the topic has {} partitions", leaders.len()),
    }
}

/// What else can be had of a topic that there is: whoever may read it need not be allowed to see its settings.
fn facts(admin: &Admin, partitions: i32, timeout: Duration, stop: &dyn Fn() -> bool) -> LogShape {
    let mut shape = LogShape::of(partitions);
    match admin.topic_id(TOPIC, timeout, stop) {
        Ok(id) => shape.id = id,
        Err(failed) => tracing::debug!(target: "undercroft::kafka", "id of {TOPIC}: {}", failed.reason),
    }
    match admin.described(&Resource::Topic(TOPIC), timeout, stop) {
        Ok(settings) => {
            let text = |name: &str| settings.get(name).map(|setting| setting.value.as_str());
            shape.cleanup = text("cleanup.policy").map_or(Cleanup::Unknown, Cleanup::of_policy);
            let retention = text("delete.retention.ms").and_then(|text| text.parse().ok());
            shape.delete_retention = retention.filter(|_| shape.cleanup.is_compacted()).map(Duration::from_millis);
            shape.is_kept = is_kept(&settings);
        }
        Err(failed) => tracing::debug!(target: "undercroft::kafka", "settings of {TOPIC}: {}", failed.reason),
    }
    shape
}

/// Whether the topic's own settings keep all that counts. A broker's defaults don't say that somebody meant it so.
fn is_kept(settings: &BTreeMap<String, Setting>) -> bool {
    let own = |name: &str| settings.get(name).filter(|setting| setting.is_own).map(|setting| setting.value.as_str());
    let is_compacted = own("cleanup.policy").is_some_and(|policy| Cleanup::of_policy(policy) == Cleanup::Compact);
    let has_size_limit = settings.get("retention.bytes").is_some_and(|setting| setting.value != "-1");
    is_compacted || own("retention.ms") == Some("-1") && !has_size_limit
}

/// Settings of a topic that is created. At level 2 they let the cleaner come also where little is written: what is two
/// hours old, and was not in the segment that is written to, is cleaned within the lag.
fn configs(settings: &Settings, min_isr: i32) -> Vec<(&'static str, String)> {
    let mut configs = vec![
        ("retention.ms", settings.retention_ms.to_string()),
        ("remote.storage.enable", "false".to_owned()),
        ("min.insync.replicas", min_isr.to_string()),
    ];
    if settings.is_created_compacted {
        configs.extend(COMPACTED.iter().map(|&(name, value)| (name, value.to_owned())));
    } else {
        configs.push(("cleanup.policy", "delete".to_owned()));
    }
    configs
}

/// Settings of a topic at level 2, whoever brings it there.
pub const COMPACTED: &[(&str, &str)] = &[
    ("cleanup.policy", "compact"),
    ("min.cleanable.dirty.ratio", "0.1"),
    // Whoever was away for longer than half of it reads everything anew.
    ("delete.retention.ms", "86400000"),
    // The segment that is written to is not cleaned.
    ("segment.ms", "3600000"),
    ("max.compaction.lag.ms", "21600000"),
];

fn create(admin: &Admin, settings: &Settings, stop: &dyn Fn() -> bool) -> Result<(), LogError> {
    let min_isr = settings.min_isr.min(settings.replication_factor);
    if min_isr < settings.min_isr {
        tracing::info!(
            target: "undercroft::kafka",
            "topic {TOPIC} is created with min.insync.replicas {min_isr} instead of {}, because it has {} replicas",
            settings.min_isr, settings.replication_factor
        );
    }
    let configs = configs(settings, min_isr);
    let (partitions, replication_factor) = (settings.partitions, settings.replication_factor);
    let topic = NewTopic { name: TOPIC, partitions, replication_factor, configs: &configs };
    match admin.create(&topic, CREATE_TIMEOUT, stop) {
        Ok(()) => {
            let cleanup = if settings.is_created_compacted { "compacted" } else { "not compacted" };
            tracing::info!(
                target: "undercroft::kafka",
                "created topic {TOPIC}: {partitions} partitions, {replication_factor} replicas, {cleanup}"
            );
            Ok(())
        }
        // Another broker was faster.
        Err(failed) if failed.code.is(RespErr::RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) => Ok(()),
        Err(failed) if failed.code.is(RespErr::RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR) => {
            Err(too_few_brokers(settings, &failed.reason))
        }
        Err(failed) => Err(question(admin, settings, "create the topic", &failed)),
    }
}

fn too_few_brokers(settings: &Settings, said: &str) -> LogError {
    let replicas = settings.replication_factor;
    LogError::TooFewBrokers {
        what: "create the topic".to_owned(),
        log: format!("topic {TOPIC} at {}", settings.servers),
        why: format!(
            "{said}; its {replicas} replicas need as many brokers: start more, or set \
             rlmm.config.remote.log.metadata.topic.replication.factor to no more than there are"
        ),
    }
}

fn question(admin: &Admin, settings: &Settings, what: &str, failed: &super::native::AdminError) -> LogError {
    faults::question(what, &settings.servers, failed, &admin.beside())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::model::BrokerId;

    #[test]
    fn a_topic_is_created_compacted_unless_the_operator_begins_at_level_0() {
        let mut config = Config::new();
        config.set("remote.log.metadata.common.client.bootstrap.servers", "a:1");
        let policy = |config: &Config| {
            let configs = configs(&Settings::read(config, BrokerId(1)).unwrap(), 1);
            let value = |of| configs.iter().find(|(name, _)| *name == of).map(|(_, value)| value.clone());
            (value("cleanup.policy").unwrap(), value("max.compaction.lag.ms").is_some(), value("retention.ms").unwrap())
        };
        assert_eq!(policy(&config), ("compact".to_owned(), true, "-1".to_owned()));
        config.set("undercroft.metadata.topic.create.level", "0");
        assert_eq!(policy(&config), ("delete".to_owned(), false, "-1".to_owned()));
    }

    #[test]
    fn a_topic_of_the_same_name_with_another_id_is_taken_for_the_log_only_if_somebody_made_it_for_that() {
        let of =
            |partitions, id: u8| LogShape { id: Some(crate::model::KafkaUuid([id; 16])), ..LogShape::of(partitions) };
        let judge = |found, known| judge(found, Some(&known), 5);
        let why = judge(of(5, 2), of(5, 1)).unwrap_err();
        assert!(why.contains("AQEBAQEBAQEBAQEBAQEBAQ") && why.contains("AgICAgICAgICAgICAgICAg"), "{why}");
        assert!(why.contains("not set to keep") && why.contains("create it with 5 partitions"), "{why}");
        let why = judge(LogShape { is_kept: true, ..of(1, 2) }, of(5, 1)).unwrap_err();
        assert!(why.contains("It has 1 partitions"), "{why}");
        let fit = LogShape { is_kept: true, ..of(5, 2) };
        assert_eq!(judge(fit, LogShape { is_new: true, ..of(5, 1) }), Ok(fit), "nobody here made it");
        assert_eq!(judge(of(5, 1), of(5, 1)), Ok(of(5, 1)));
        assert_eq!(judge(LogShape::of(5), of(5, 1)), Ok(of(5, 1)), "nobody could tell the id just now");
        assert_eq!(judge(of(5, 1), LogShape::of(5)), Ok(of(5, 1)));
    }

    #[test]
    fn partitions_that_were_added_are_told_with_what_helps_and_with_other_words_than_a_wrong_key() {
        let why = judge(LogShape::of(7), Some(&LogShape::of(5)), 5).unwrap_err();
        assert!(why.contains("has 7 partitions now and had 5") && why.contains("undercroft metadata export"), "{why}");
        let why = judge(LogShape::of(7), None, 5).unwrap_err();
        assert!(why.contains("remote.log.metadata.topic.num.partitions says 5"), "{why}");
    }

    #[test]
    fn records_are_kept_by_what_the_topic_itself_is_set_to_and_by_no_default() {
        let kept = |settings: &[(&str, &str, bool)]| {
            let setting = |&(name, value, is_own): &(&str, &str, bool)| {
                (name.to_owned(), Setting { value: value.to_owned(), is_own })
            };
            is_kept(&settings.iter().map(setting).collect())
        };
        assert!(kept(&[("cleanup.policy", "compact", true)]));
        assert!(!kept(&[("cleanup.policy", "compact", false)]), "every topic of this cluster is so");
        assert!(!kept(&[("cleanup.policy", "compact,delete", true), ("retention.ms", "604800000", false)]));
        assert!(kept(&[("cleanup.policy", "delete", true), ("retention.ms", "-1", true)]));
        assert!(!kept(&[("cleanup.policy", "delete", false), ("retention.ms", "-1", false)]));
        assert!(!kept(&[("retention.ms", "-1", true), ("retention.bytes", "1000000", false)]));
        assert!(kept(&[("retention.ms", "-1", true), ("retention.bytes", "-1", false)]));
    }

    #[test]
    fn settings_that_nobody_tells_for_a_moment_are_as_they_were() {
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3600));
        let known = LogShape { cleanup: Cleanup::Compact, delete_retention: hours(1), ..LogShape::of(5) };
        assert_eq!(judge(LogShape::of(5), Some(&known), 5), Ok(known));
        let changed = LogShape { delete_retention: hours(24), ..known };
        assert_eq!(judge(changed, Some(&known), 5), Ok(changed));
        let deletes = LogShape { cleanup: Cleanup::Delete, ..LogShape::of(5) };
        assert_eq!(judge(deletes, Some(&known), 5), Ok(deletes));
    }

    #[test]
    fn too_few_brokers_are_told_with_the_key_that_helps() {
        let mut config = Config::new();
        config.set("remote.log.metadata.common.client.bootstrap.servers", "a:1");
        let settings = Settings::read(&config, BrokerId(1)).unwrap();
        let error = too_few_brokers(&settings, "only 1 broker(s) are registered");
        let text = error.to_string();
        assert!(matches!(error, LogError::TooFewBrokers { .. }) && error.is_retriable());
        assert!(text.contains("its 3 replicas") && text.contains("only 1 broker(s)"), "{text}");
        assert!(text.contains("rlmm.config.remote.log.metadata.topic.replication.factor"), "{text}");
        assert!(!text.contains("address"), "{text}");
    }
}
