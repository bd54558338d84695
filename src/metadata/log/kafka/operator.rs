//! The topic in the hands of an operator: asks about brokers and settings, changes settings, writes single records.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::native::{Admin, AdminError, Code, Producer, Resource, RespErr};
use super::reader::KafkaReader;
use super::settings::Settings;
use super::translate::JavaSettings;
use super::{TOPIC, faults, topic};
use crate::metadata::log::{LogError, LogShape, ReadOnlyLog};
use crate::model::{BrokerId, KafkaUuid};

/// How long a report is waited for at a time.
const POLL: Duration = Duration::from_millis(50);

/// The topic as it is found; it is never created. Calls block, each up to the timeout that it was opened with.
///
/// Clients are made from the settings that Kafka's own tools take. Nothing is written and no producer is made before
/// [`TopicOperator::append`] or [`TopicOperator::alter`] is called.
pub struct TopicOperator {
    settings: Settings,
    admin: Admin,
    timeout: Duration,
}

/// A broker that the cluster speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownBroker {
    pub id: BrokerId,
    /// `None` if it doesn't run: replicas are placed on it.
    pub address: Option<String>,
}

/// A topic, as far as the login may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundTopic {
    Missing,
    Is(KafkaUuid),
    /// Brokers have no ids, or the login may not see it.
    Hidden,
}

impl TopicOperator {
    /// Makes the client that asks. Waits for no broker.
    ///
    /// # Errors
    /// [`LogError::Config`] with the client's own name of the setting.
    pub fn open(client: &JavaSettings, timeout: Duration) -> Result<Self, LogError> {
        let settings = Settings::of_operator(client, timeout)?;
        let admin = Admin::new(&settings.admin)?;
        Ok(Self { settings, admin, timeout })
    }

    /// What and where, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        format!("topic {TOPIC} at {}", self.settings.servers)
    }

    /// Settings of the clients that were left out, in sentences.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.settings.warnings
    }

    /// The topic's shape, if there is one.
    ///
    /// # Errors
    /// [`LogError`] if no broker answers or the login may not know.
    pub fn shape(&self) -> Result<Option<LogShape>, LogError> {
        topic::look(&self.admin, &self.settings, self.timeout, &|| false)
    }

    /// What topic of this name the cluster has.
    ///
    /// # Errors
    /// [`LogError`] if no broker answers.
    pub fn find(&self, name: &str) -> Result<FoundTopic, LogError> {
        match self.admin.topic_id(name, self.timeout, &|| false) {
            Ok(Some(id)) => Ok(FoundTopic::Is(id)),
            Ok(None) => Ok(FoundTopic::Hidden),
            Err(failed) if failed.code.is(RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) => Ok(FoundTopic::Missing),
            Err(failed) => match self.fault(&format!("look for topic {name}"), &failed) {
                LogError::Refused { .. } => Ok(FoundTopic::Hidden),
                error => Err(error),
            },
        }
    }

    /// A reader of all that is in the topic, which has `shape`.
    ///
    /// # Errors
    /// [`LogError`] if no client can be made.
    pub fn read(&self, shape: LogShape) -> Result<ReadOnlyLog, LogError> {
        let settings = Settings { partitions: shape.partitions, ..self.settings.clone() };
        let reader = KafkaReader::new(Arc::new(settings), Arc::new(AtomicBool::new(false)), Arc::default())?;
        Ok(ReadOnlyLog { name: self.name(), shape, reader: Box::new(reader), warnings: Vec::new() })
    }

    /// All brokers, by id: those that run, and those that replicas of any visible topic are placed on.
    ///
    /// # Errors
    /// [`LogError`] if no broker answers.
    pub fn brokers(&self) -> Result<Vec<KnownBroker>, LogError> {
        let mut known =
            self.admin.known_brokers(self.timeout).map_err(|failed| self.fault("ask for all brokers", &failed))?;
        let broker = |id| KnownBroker { id: BrokerId(id), address: known.running.remove(&id) };
        Ok(known.all.into_iter().map(broker).collect())
    }

    /// What a running broker is set to, defaults included.
    ///
    /// # Errors
    /// [`LogError::Refused`] without the right DescribeConfigs on the cluster.
    pub fn broker_settings(&self, broker: BrokerId) -> Result<BTreeMap<String, String>, LogError> {
        let what = format!("ask for the settings of broker {broker}");
        self.described(&Resource::Broker(&broker.to_string()), &what)
    }

    /// What the topic is set to, defaults included.
    ///
    /// # Errors
    /// [`LogError::Refused`] without the right DescribeConfigs on the topic.
    pub fn settings(&self) -> Result<BTreeMap<String, String>, LogError> {
        self.described(&Resource::Topic(TOPIC), "ask for the topic's settings")
    }

    fn described(&self, of: &Resource<'_>, what: &str) -> Result<BTreeMap<String, String>, LogError> {
        self.admin.settings(of, self.timeout, &|| false).map_err(|failed| self.fault(what, &failed))
    }

    /// Sets some of the topic's settings, all of them or none.
    ///
    /// # Errors
    /// [`LogError::Refused`] without the right AlterConfigs on the topic.
    pub fn alter(&self, settings: &[(&str, String)]) -> Result<(), LogError> {
        let names: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.admin
            .alter_topic(TOPIC, settings, self.timeout, &|| false)
            .map_err(|failed| self.fault(&format!("set {}", names.join(", ")), &failed))
    }

    /// Appends records, each to its partition, in this order, and waits until all are durable; gives their offsets.
    ///
    /// # Errors
    /// The first record's error; those behind it may have been written all the same.
    pub fn append(&self, records: Vec<(i32, Option<Bytes>, Option<Bytes>)>) -> Result<Vec<i64>, LogError> {
        let producer = Producer::new(&self.settings.producer, TOPIC)?;
        let start = Instant::now();
        let mut under_way = Vec::with_capacity(records.len());
        for (partition, key, value) in records {
            let (mut report, receiver) = oneshot::channel();
            while let Err((code, back)) = producer.send(partition, key.as_deref(), value.as_deref(), report) {
                if !code.is(RespErr::RD_KAFKA_RESP_ERR__QUEUE_FULL) {
                    return Err(self.append_fault(&producer, partition, code, start));
                }
                report = back;
                producer.handle().poll(POLL);
            }
            under_way.push((partition, receiver));
        }
        let mut offsets = Vec::with_capacity(under_way.len());
        for (partition, mut receiver) in under_way {
            let told = loop {
                match receiver.try_recv() {
                    Ok(told) => break told,
                    // librdkafka reports on every record when its time is over.
                    Err(TryRecvError::Empty) => producer.handle().poll(POLL),
                    Err(TryRecvError::Closed) => break Err(Code::of(RespErr::RD_KAFKA_RESP_ERR__DESTROY)),
                }
            };
            offsets.push(told.map_err(|code| self.append_fault(&producer, partition, code, start))?);
        }
        Ok(offsets)
    }

    /// A client that may not write fails as a whole, and says why beside the records.
    fn append_fault(&self, producer: &Producer, partition: i32, code: Code, start: Instant) -> LogError {
        let (what, servers) = (format!("append to partition {partition}"), &self.settings.servers);
        let waited_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let beside = producer.handle().take_errors();
        let refused = beside.iter().find(|(code, why)| faults::is_refusal(*code, why)).cloned();
        match refused.or_else(|| producer.handle().fatal()) {
            Some((code, why)) => faults::error(&what, servers, code, &why, waited_ms),
            None => faults::append(&what, servers, code, waited_ms),
        }
    }

    fn fault(&self, what: &str, failed: &AdminError) -> LogError {
        faults::question(what, &self.settings.servers, failed, &self.admin.beside())
    }
}
