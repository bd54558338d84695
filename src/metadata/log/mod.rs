//! Where metadata records live.
//!
//! In: keys and values as bytes. Out: offsets, and records in log order. Never: what a record means.
//!
//! One behaviour suite (`suite`, tests only) runs against every implementation of [`MetadataLog`].

pub mod embedded;
pub mod kafka;
#[cfg(test)]
pub(crate) mod suite;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::config::ConfigError;
use crate::model::{KafkaUuid, LeaderEpoch};

/// What a usable log looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogShape {
    /// Number of metadata partitions; decides where a user partition's records go, so it must never change.
    pub partitions: i32,
    /// Tells the log from another one that took its name. `None` if nobody says it.
    pub id: Option<KafkaUuid>,
    pub cleanup: Cleanup,
    /// How long a compacted log shows a tombstone to those who read it from its start: whoever knows the log from an
    /// earlier time has missed some. `None` if nobody says it, or if there is no such bound.
    pub delete_retention: Option<Duration>,
    /// Whether it was created by this very object, whenever that was.
    pub is_new: bool,
    /// Whether nobody but this program has ever written to it.
    pub is_ours_alone: bool,
    /// Whether it is known to be set, itself and not by a default, to keep all that counts: somebody made it on purpose.
    pub is_kept: bool,
}

impl LogShape {
    /// A log of which nothing is known but its number of partitions.
    #[must_use]
    pub const fn of(partitions: i32) -> Self {
        let (id, cleanup, delete_retention) = (None, Cleanup::Unknown, None);
        Self { partitions, id, cleanup, delete_retention, is_new: false, is_ours_alone: false, is_kept: false }
    }
}

/// What becomes of old records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanup {
    /// Nobody says it.
    Unknown,
    /// They go by their age, if at all.
    Delete,
    /// They go when a later one has their key, and at any time if they have none.
    Compact,
    CompactAndDelete,
}

impl Cleanup {
    /// Whether records without a key are dropped.
    #[must_use]
    pub fn is_compacted(self) -> bool {
        matches!(self, Self::Compact | Self::CompactAndDelete)
    }

    /// As a topic's `cleanup.policy` says it.
    #[must_use]
    pub fn of_policy(policy: &str) -> Self {
        let has = |name| policy.split(',').any(|part| part.trim() == name);
        match (has("compact"), has("delete")) {
            (true, true) => Self::CompactAndDelete,
            (true, false) => Self::Compact,
            (false, true) => Self::Delete,
            (false, false) => Self::Unknown,
        }
    }
}

/// A log of keyed records in numbered partitions, as `__remote_log_metadata` is one.
#[async_trait]
pub trait MetadataLog: Send + Sync + 'static {
    /// Makes the log usable, creating it if it is missing. Called again and again until it succeeds, and now and then
    /// after that. A log that was usable once and is gone is [`LogError::Mismatch`]: it is never created again by this
    /// object, and not written to. So is another one in its place, unless that [`LogShape::is_kept`]: then it is told by
    /// its [`LogShape::id`], and written to from then on.
    async fn ensure(&self) -> Result<LogShape, LogError>;

    /// Appends one record and resolves to its offset once it is durable.
    ///
    /// Thousands may be in flight. Records of one partition land in the order of the calls; the order is decided when
    /// the method is called, not when its future is polled first.
    async fn append(&self, partition: i32, key: Option<Bytes>, value: Option<Bytes>) -> Result<i64, LogError>;

    /// The reader of a manager. There is one for each manager, and one thread calls it.
    ///
    /// # Errors
    /// [`LogError`] if the log cannot be opened for reading now; it may be asked again.
    fn reader(&self) -> Result<Box<dyn LogReader>, LogError>;

    /// The leader epoch of a user partition, as told by the broker that we run in, and only if it leads it.
    ///
    /// [`LogError::Unsupported`] from a log without brokers: there the host tells the epoch.
    async fn leader_epoch(&self, topic: &str, partition: i32) -> Result<LeaderEpoch, LogError>;

    /// As [`MetadataLog::leader_epoch`] of each of many partitions, a topic's name and a number, in their order. They are
    /// asked for together where that is cheaper; one without an answer takes none from the others.
    async fn leader_epochs(&self, partitions: &[(Arc<str>, i32)]) -> Vec<Result<LeaderEpoch, LogError>> {
        let mut answers = Vec::with_capacity(partitions.len());
        for (topic, partition) in partitions {
            answers.push(self.leader_epoch(topic, *partition).await);
        }
        answers
    }

    /// Settings by name, as brokers have them now, defaults included.
    ///
    /// [`LogError::Unsupported`] from a log without brokers, which is what an implementation says that has no other.
    async fn settings(&self, of: &SettingsOf) -> Result<BTreeMap<String, String>, LogError> {
        Err(LogError::Unsupported { what: format!("ask for the settings of {of}"), log: "this log".to_owned() })
    }

    /// Which of these topics there are, and where the log is led. Names are distinct.
    ///
    /// [`LogError::Unsupported`] from a log without brokers, which is what an implementation says that has no other.
    async fn presence(&self, topics: &[Arc<str>]) -> Result<Presence, LogError> {
        let _ = topics;
        Err(LogError::Unsupported { what: "ask which topics there are".to_owned(), log: "this log".to_owned() })
    }

    /// Why a partition of the log may show neither records nor its end, for whoever has to mend it. `None` if nobody knows.
    async fn why_silent(&self, partition: i32) -> Option<String> {
        let _ = partition;
        None
    }

    /// Ends all work; what is in flight fails with [`LogError::Closed`]. Takes a bounded time.
    async fn close(&self);
}

/// What a broker knows of topics, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Presence {
    /// One for each topic that was asked for, in their order.
    pub topics: Vec<TopicPresence>,
    /// Partitions of the log that the broker leads in which we run: each is led by one broker at a time, or by none.
    pub led_here: Vec<i32>,
}

/// Whether there is a topic of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicPresence {
    Known(KafkaUuid),
    /// A broker that answered knows none.
    Missing,
    /// It cannot be told: rights are missing, or brokers know no ids.
    Unknown,
}

/// Who has settings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SettingsOf {
    Topic(Arc<str>),
    /// The broker that we run in.
    OwnBroker,
}

impl fmt::Display for SettingsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Topic(name) => write!(f, "topic {name}"),
            Self::OwnBroker => f.write_str("this broker"),
        }
    }
}

/// Reads some partitions of a log, each from its own offset on, for ever.
pub trait LogReader: Send {
    /// Starts to read `partition` at `from_offset` (or the first offset behind it that there is). A partition that is
    /// assigned must be unassigned first. Each assignment is followed by a new [`LogEvent::End`] that a question to the
    /// log after this call found, also if nothing is new: that is how a manager learns that it has seen everything.
    ///
    /// # Errors
    /// [`LogError`] if the partition does not exist or the log is closed.
    fn assign(&mut self, partition: i32, from_offset: i64) -> Result<(), LogError>;

    /// Stops to read `partition`. Nothing more of it is handed out.
    ///
    /// # Errors
    /// [`LogError`] if the log is closed.
    fn unassign(&mut self, partition: i32) -> Result<(), LogError>;

    /// Waits up to `timeout` for events and hands each to `sink`, those of one partition in log order.
    ///
    /// # Errors
    /// [`LogError::Closed`] once the log is closed. Troubles that pass come as [`LogEvent::Trouble`].
    fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(LogEvent<'_>)) -> Result<(), LogError>;

    /// Ends a waiting [`LogReader::poll`] early, from any thread.
    fn waker(&self) -> Arc<dyn Fn() + Send + Sync>;
}

/// A log that somebody looks into who is no manager: nothing is created, locked, mended or written.
pub struct ReadOnlyLog {
    /// What and where, for messages.
    pub name: String,
    pub shape: LogShape,
    pub reader: Box<dyn LogReader>,
    /// Settings that were left out, in sentences.
    pub warnings: Vec<String>,
}

/// What a reader meets.
#[derive(Debug)]
pub enum LogEvent<'a> {
    Record {
        partition: i32,
        offset: i64,
        timestamp_ms: i64,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
    },
    /// The end was really reached: the next record will have this offset or a higher one.
    End {
        partition: i32,
        next_offset: i64,
    },
    /// Something is wrong for now, with one partition or with all; reading goes on by itself.
    Trouble {
        partition: Option<i32>,
        error: LogError,
    },
}

/// Why the log could not do what it was asked for. The variants differ in what the caller should do next.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// Nobody answered: try again later.
    #[error("{what}: {log} cannot be reached ({why}); check that it runs and that its address is right")]
    Unreachable { what: String, log: String, why: String },
    /// Somebody answered: not with as few brokers as there are. More may be starting, or the setting is wrong.
    #[error("{what}: {log} needs more brokers than there are ({why})")]
    TooFewBrokers { what: String, log: String, why: String },
    /// Somebody answered and said no: mend login or rights.
    #[error("{what}: {log} refused it ({why}); check login and access rights")]
    Refused { what: String, log: String, why: String },
    /// The log is not the one that it must be: a person has to look.
    #[error("{what}: {log} does not fit ({why})")]
    Mismatch { what: String, log: String, why: String },
    /// Bytes are there and wrong.
    #[error("{what}: {log} is damaged ({why})")]
    Corrupt { what: String, log: String, why: String },
    /// Accepted, but not done in time; it may still be done.
    #[error("{what}: no answer from {log} in {waited_ms} ms")]
    Timeout { what: String, log: String, waited_ms: u64 },
    #[error("{what}: the metadata log is closed")]
    Closed { what: String },
    #[error("{what}: not possible with {log}")]
    Unsupported { what: String, log: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A defect of ours or of a library: report it.
    #[error("{what}: {why}")]
    Internal { what: String, why: String },
}

impl LogError {
    /// Whether the same call may succeed later without anybody's help.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::TooFewBrokers { .. } | Self::Timeout { .. } => true,
            Self::Refused { .. }
            | Self::Mismatch { .. }
            | Self::Corrupt { .. }
            | Self::Closed { .. }
            | Self::Unsupported { .. }
            | Self::Config(_)
            | Self::Internal { .. } => false,
        }
    }
}
