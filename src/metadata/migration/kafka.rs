//! A real cluster.
#![allow(clippy::disallowed_methods, reason = "shell: asks for the time of day, and waits")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use crate::metadata::log::kafka::{FoundTopic, TopicOperator};
use crate::metadata::log::{LogError, LogShape};
use crate::metadata::survey::walk_to_end;
use crate::model::KafkaUuid;
use crate::wire::{LEVEL_KEY, LevelRecord, encode_level};

use super::cluster::Cluster;
use super::evidence::Evidence;
use super::found::{Found, FoundBroker, Runs};
use super::step::Change;

/// The cluster that an operator of the topic is connected to.
pub struct KafkaCluster {
    operator: TopicOperator,
    patience: Duration,
    /// As it was when it was met first: everything that was found is true of this one only.
    shape: LogShape,
}

impl KafkaCluster {
    /// Finds the topic. `patience` is how long nothing may come while it is read.
    ///
    /// # Errors
    /// [`LogError::Mismatch`] if there is none.
    pub fn open(operator: TopicOperator, patience: Duration) -> Result<Self, LogError> {
        let shape = operator.shape()?.ok_or_else(|| LogError::Mismatch {
            what: "find the topic".to_owned(),
            log: operator.name(),
            why: "there is no such topic; a broker with Undercroft creates it when tiered storage is first used, at level 2: \
                  then there is nothing to migrate"
                .to_owned(),
        })?;
        Ok(Self { operator, patience, shape })
    }

    fn check_shape(&self, what: &str) -> Result<(), LogError> {
        let now = self.operator.shape()?;
        // Settings may change, and do.
        let is_other = |now: &LogShape| now.id.zip(self.shape.id).is_some_and(|(now, known)| now != known);
        let is_same = |now: &LogShape| now.partitions == self.shape.partitions && !is_other(now);
        if now.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let why = match now {
            Some(now) if now.partitions != self.shape.partitions => format!(
                "it has {} partitions and had {} a moment ago: every record would be looked for elsewhere. Whoever changed \
                 that has to undo it, which needs a new topic and `undercroft metadata import`",
                now.partitions, self.shape.partitions
            ),
            Some(_) => "it is another topic than a moment ago; look at what there is now".to_owned(),
            None => "it is gone".to_owned(),
        };
        Err(LogError::Mismatch { what: what.to_owned(), log: self.operator.name(), why })
    }

    fn broker(&self, id: crate::model::BrokerId, is_running: bool) -> Result<FoundBroker, LogError> {
        let runs = match is_running {
            false => Runs::Down,
            true => match self.operator.broker_settings(id) {
                Ok(settings) => Runs::of_settings(&settings),
                // Without the right to ask nothing can be said of any broker: that is told at once.
                Err(error @ LogError::Refused { .. }) => return Err(needs(error, "DescribeConfigs on the cluster")),
                Err(error) => Runs::Unknown(error.to_string()),
            },
        };
        Ok(FoundBroker { id, runs })
    }

    /// Those that the cluster has no more, also if another one has their name.
    fn lost_topics(&self, topics: BTreeMap<KafkaUuid, Arc<str>>) -> Result<BTreeMap<KafkaUuid, Arc<str>>, LogError> {
        let mut lost = BTreeMap::new();
        for (id, name) in topics {
            let is_lost = match self.operator.find(&name)? {
                FoundTopic::Missing => true,
                FoundTopic::Is(found) => found != id,
                FoundTopic::Hidden => false,
            };
            if is_lost {
                lost.insert(id, name);
            }
        }
        Ok(lost)
    }
}

impl Cluster for KafkaCluster {
    fn look(&self) -> Result<Found, LogError> {
        self.check_shape("look at the topic")?;
        let known = self.operator.brokers()?;
        let brokers: Result<Vec<_>, _> =
            known.into_iter().map(|broker| self.broker(broker.id, broker.address.is_some())).collect();
        let brokers = brokers?;
        let settings = self.operator.settings().map_err(|error| needs(error, "DescribeConfigs on the topic"))?;
        let mut log = self.operator.read(self.shape)?;
        let mut evidence = Evidence::new(self.shape.partitions);
        walk_to_end(&mut log, self.patience, &|| false, &mut |place, key, value| evidence.take(place, key, value))?;
        let resting = evidence.resting();
        let topics = resting.iter().map(|resting| &resting.segment.partition);
        let lost_topics = self.lost_topics(topics.map(|of| (of.topic_id, Arc::clone(&of.topic))).collect())?;
        let (log, partitions) = (self.operator.name(), self.shape.partitions);
        Ok(Found { log, now_ms: now_ms(), partitions, settings, brokers, evidence, resting, lost_topics })
    }

    fn set(&self, changes: &[Change]) -> Result<(), LogError> {
        self.check_shape("set the topic's settings")?;
        let settings: Vec<_> = changes.iter().map(|change| (change.name, change.to.clone())).collect();
        self.operator.alter(&settings).map_err(|error| needs(error, "AlterConfigs on the topic"))
    }

    fn write_level(&self, level: i8, partitions: &[i32]) -> Result<(), LogError> {
        self.check_shape(&format!("write level {level}"))?;
        let value = encode_level(LevelRecord { level, timestamp_ms: now_ms() });
        let key = Bytes::from_static(LEVEL_KEY.as_bytes());
        let record = |&partition: &i32| (partition, Some(key.clone()), Some(value.clone()));
        let written = self.operator.append(partitions.iter().map(record).collect());
        written.map(drop).map_err(|error| needs(error, "Write on the topic"))
    }

    fn pause(&self, ms: u64) {
        std::thread::sleep(Duration::from_millis(ms));
    }
}

/// The error with the right that would have helped, if one is missing.
fn needs(error: LogError, right: &str) -> LogError {
    match error {
        LogError::Refused { what, log, why } => {
            LogError::Refused { what, log, why: format!("{why}: it takes the right {right}") }
        }
        other => other,
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
