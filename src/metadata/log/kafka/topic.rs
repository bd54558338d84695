//! Finding the topic, or creating it as the stock manager does.

use std::time::Duration;

use super::TOPIC;
use super::faults;
use super::native::{Admin, Code, NewTopic, RespErr};
use super::settings::Settings;
use crate::metadata::log::{LogError, LogShape};

const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
const FIND: &str = "find the topic";
const CREATE_TIMEOUT: Duration = Duration::from_secs(15);
/// How often a topic that was just created is looked for; brokers learn of it one after the other.
const LOOKS_AFTER_CREATION: usize = 20;

/// The topic's shape. Creates it only when a broker said that there is none: no answer is no answer.
pub(super) fn ensure(admin: &Admin, settings: &Settings, stop: &dyn Fn() -> bool) -> Result<LogShape, LogError> {
    if let Some(shape) = find(admin, settings, stop)? {
        return Ok(shape);
    }
    create(admin, settings, stop)?;
    for _ in 0..LOOKS_AFTER_CREATION {
        if let Some(shape) = find(admin, settings, stop)? {
            return Ok(shape);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let code = Code::of(RespErr::RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
    Err(faults::error("find the topic", &settings.servers, code, "created, but brokers don't know it yet", 0))
}

fn find(admin: &Admin, settings: &Settings, stop: &dyn Fn() -> bool) -> Result<Option<LogShape>, LogError> {
    match look(admin, settings, DESCRIBE_TIMEOUT, stop)? {
        Some(shape) if shape.partitions != settings.partitions => Err(LogError::Mismatch {
            what: FIND.to_owned(),
            log: format!("topic {TOPIC} at {}", settings.servers),
            why: format!(
                "it has {} partitions, remote.log.metadata.topic.num.partitions says {}; set the key to the number \
                 that the topic was created with, the same on every broker",
                shape.partitions, settings.partitions
            ),
        }),
        found => Ok(found),
    }
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
        Ok(found) => Ok(Some(LogShape { partitions: i32::try_from(found.leaders.len()).unwrap_or(i32::MAX) })),
        Err(failed) if failed.code.is(RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) => Ok(None),
        Err(failed) => Err(question(admin, settings, FIND, &failed)),
    }
}

fn create(admin: &Admin, settings: &Settings, stop: &dyn Fn() -> bool) -> Result<(), LogError> {
    let min_isr = settings.min_isr.min(settings.replication_factor);
    if min_isr < settings.min_isr {
        tracing::info!(
            target: "undercroft::kafka",
            "topic {TOPIC} is created with min.insync.replicas {min_isr} instead of {}, because it has {} replicas",
            settings.min_isr, settings.replication_factor
        );
    }
    let configs = [
        ("cleanup.policy", "delete".to_owned()),
        ("retention.ms", settings.retention_ms.to_string()),
        ("remote.storage.enable", "false".to_owned()),
        ("min.insync.replicas", min_isr.to_string()),
    ];
    let (partitions, replication_factor) = (settings.partitions, settings.replication_factor);
    let topic = NewTopic { name: TOPIC, partitions, replication_factor, configs: &configs };
    match admin.create(&topic, CREATE_TIMEOUT, stop) {
        Ok(()) => {
            tracing::info!(
                target: "undercroft::kafka",
                "created topic {TOPIC}: {partitions} partitions, {replication_factor} replicas"
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
