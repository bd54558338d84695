//! The log itself: joins clients, threads and the runtime.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Semaphore;

use super::native::{Admin, RespErr};
use super::reader::{Current, KafkaReader};
use super::settings::Settings;
use super::writer::Writer;
use super::{TOPIC, described, epoch, faults, presence, topic};
use crate::config::Config;
use crate::metadata::log::{LogError, LogReader, LogShape, MetadataLog, Presence, SettingsOf};
use crate::model::{BrokerId, LeaderEpoch};

/// Questions under way at the same time: each holds a thread that may block.
const QUESTIONS_MAX: u32 = 16;
/// How old a client that writes must be to be replaced because it knows another topic.
const WRITER_AGE_MIN: Duration = Duration::from_secs(2);
const EPOCHS: &str = "ask for leader epochs";

/// The topic `__remote_log_metadata` of the cluster that the broker belongs to.
pub struct KafkaLog {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Arc<Settings>,
    broker_id: BrokerId,
    admin: Mutex<Option<Arc<Admin>>>,
    questions: Arc<Semaphore>,
    writer: RwLock<Option<Arc<Writer>>>,
    /// Whether the topic was found to be the right one when it was last looked at, and the reader found it since.
    fits: Arc<AtomicBool>,
    /// Whether writes were given up since the topic was last found to be the right one.
    gave_up: AtomicBool,
    /// The topic as it was found last.
    known: Mutex<Option<LogShape>>,
    closed: Arc<AtomicBool>,
    readers: Mutex<Vec<Weak<Current>>>,
}

impl KafkaLog {
    /// Reads the settings and makes the clients that ask and write. Waits for no broker.
    ///
    /// # Errors
    /// [`LogError::Config`] for a setting that is missing, wrong or cannot be honoured.
    pub fn open(config: &Config, broker_id: BrokerId) -> Result<Self, LogError> {
        let settings = Settings::read(config, broker_id)?;
        for warning in &settings.warnings {
            tracing::warn!(target: "undercroft::kafka", "{warning}");
        }
        let admin = Admin::new(&settings.admin)?;
        // Long before the first record: an idempotent producer needs half a second until it may write.
        let writer = Writer::start(settings.producer.clone(), &settings.servers, settings.line_timeout)?;
        Ok(Self {
            inner: Arc::new(Inner {
                settings: Arc::new(settings),
                broker_id,
                admin: Mutex::new(Some(Arc::new(admin))),
                questions: Arc::new(Semaphore::new(QUESTIONS_MAX as usize)),
                writer: RwLock::new(Some(Arc::new(writer))),
                fits: Arc::default(),
                gave_up: AtomicBool::new(false),
                known: Mutex::default(),
                closed: Arc::default(),
                readers: Mutex::default(),
            }),
        })
    }
}

impl Inner {
    fn closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn ensure(&self, admin: &Admin) -> Result<LogShape, LogError> {
        // One question at a time, so that two first ones find one topic.
        let mut known = self.known.lock();
        match topic::ensure(admin, &self.settings, known.as_ref(), &|| self.closed()) {
            Ok(shape) => {
                if known.is_some_and(|known| known.id.is_some() && known.id != shape.id) {
                    self.give_up_writes();
                }
                *known = Some(shape);
                if self.gave_up.swap(false, Ordering::AcqRel)
                    && let Some(writer) = &*self.writer.read()
                {
                    writer.renew(Duration::ZERO);
                }
                self.fits.store(true, Ordering::Release);
                Ok(shape)
            }
            Err(error) => {
                if matches!(error, LogError::Mismatch { .. }) {
                    self.give_up_writes();
                }
                Err(error)
            }
        }
    }

    /// What waits for the topic to come back must not land in another one.
    fn give_up_writes(&self) {
        self.fits.store(false, Ordering::Release);
        self.gave_up.store(true, Ordering::Release);
        if let Some(writer) = &*self.writer.read() {
            writer.give_up();
        }
    }

    fn log(&self) -> String {
        format!("topic {TOPIC} at {}", self.settings.servers)
    }

    /// Asks on a thread that may block. A question whose asker went away ends by itself, in bounded time.
    async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        what: &str,
        question: impl FnOnce(&Self, &Admin) -> Result<T, LogError> + Send + 'static,
    ) -> Result<T, LogError> {
        let closed = || LogError::Closed { what: what.to_owned() };
        let permit = Arc::clone(&self.questions).acquire_owned().await.map_err(|_| closed())?;
        let admin = self.admin.lock().clone().filter(|_| !self.closed()).ok_or_else(closed)?;
        let inner = Arc::clone(self);
        let result = off_runtime(move || {
            let result = question(&inner, &admin);
            drop(admin);
            drop(permit);
            result
        })
        .await;
        if self.closed() { Err(closed()) } else { result? }
    }
}

/// Runs what blocks where it may; in place if there is no runtime around.
async fn off_runtime<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, LogError> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime
            .spawn_blocking(work)
            .await
            .map_err(|error| LogError::Internal { what: "ask a broker".to_owned(), why: error.to_string() }),
        Err(_) => Ok(work()),
    }
}

#[async_trait]
impl MetadataLog for KafkaLog {
    async fn ensure(&self) -> Result<LogShape, LogError> {
        self.inner.ask("find the topic", Inner::ensure).await
    }

    /// Written by hand and not as `async fn`, whose body would run when it is polled first: the record has to be in
    /// the queue when this returns.
    fn append<'life, 'future>(
        &'life self,
        partition: i32,
        key: Option<Bytes>,
        value: Option<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<i64, LogError>> + Send + 'future>>
    where
        'life: 'future,
        Self: 'future,
    {
        let what = move || format!("append to partition {partition}");
        let inner = &self.inner;
        if inner.closed() {
            return Box::pin(std::future::ready(Err(LogError::Closed { what: what() })));
        }
        let writer = inner.writer.read().clone().filter(|_| inner.fits.load(Ordering::Acquire));
        let Some(writer) = writer else {
            let why = "it has not been found yet, or is not the right one".to_owned();
            let error = LogError::Unreachable { what: what(), log: inner.log(), why };
            return Box::pin(std::future::ready(Err(error)));
        };
        if !(0..inner.settings.partitions).contains(&partition) {
            let why = format!("it has {} partitions", inner.settings.partitions);
            let error = LogError::Mismatch { what: what(), log: inner.log(), why };
            return Box::pin(std::future::ready(Err(error)));
        }
        let start = Instant::now();
        let report = writer.send(partition, key, value);
        Box::pin(async move {
            let closed = || LogError::Closed { what: what() };
            report.await.map_err(|_| closed())?.map_err(|code| {
                // The partition is one that the topic has: the client must have met another topic of this name.
                if code.is(RespErr::RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION) {
                    writer.renew(WRITER_AGE_MIN);
                }
                let waited_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                if inner.closed() {
                    closed()
                } else {
                    faults::append(&what(), &inner.settings.servers, code, waited_ms)
                }
            })
        })
    }

    fn reader(&self) -> Result<Box<dyn LogReader>, LogError> {
        let mut readers = self.inner.readers.lock();
        if self.inner.closed() {
            return Err(LogError::Closed { what: "read".to_owned() });
        }
        let (settings, closed) = (Arc::clone(&self.inner.settings), Arc::clone(&self.inner.closed));
        let reader = KafkaReader::new(settings, closed, Arc::clone(&self.inner.fits))?;
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&reader.current()));
        Ok(Box::new(reader))
    }

    async fn leader_epoch(&self, topic: &str, partition: i32) -> Result<LeaderEpoch, LogError> {
        let answer = self.leader_epochs(&[(topic.into(), partition)]).await.pop();
        answer.unwrap_or_else(|| Err(LogError::Internal { what: EPOCHS.to_owned(), why: "no answer".to_owned() }))
    }

    async fn leader_epochs(&self, partitions: &[(Arc<str>, i32)]) -> Vec<Result<LeaderEpoch, LogError>> {
        let asked = partitions.to_vec();
        let question = move |inner: &Inner, admin: &Admin| {
            let servers = &inner.settings.servers;
            Ok(epoch::ask(admin, servers, inner.broker_id, &asked, &|| inner.closed()))
        };
        match self.inner.ask(EPOCHS, question).await {
            Ok(answers) => answers,
            Err(error) => partitions.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn settings(&self, of: &SettingsOf) -> Result<BTreeMap<String, String>, LogError> {
        let of = of.clone();
        let question = move |inner: &Inner, admin: &Admin| {
            described::ask(admin, &inner.settings.servers, inner.broker_id, &of, &|| inner.closed())
        };
        self.inner.ask("ask for settings", question).await
    }

    async fn presence(&self, topics: &[Arc<str>]) -> Result<Presence, LogError> {
        let topics = topics.to_vec();
        let question = move |inner: &Inner, admin: &Admin| {
            presence::ask(admin, &inner.settings.servers, inner.broker_id, &topics, &|| inner.closed())
        };
        self.inner.ask("ask which topics there are", question).await
    }

    async fn why_silent(&self, partition: i32) -> Option<String> {
        let question = move |inner: &Inner, admin: &Admin| Ok(topic::why_silent(admin, partition, &|| inner.closed()));
        self.inner.ask("ask for a partition's leader", question).await.ok()
    }

    /// Readers end by themselves when their owner drops them; they are woken and told.
    async fn close(&self) {
        let inner = &self.inner;
        inner.closed.store(true, Ordering::Release);
        for reader in inner.readers.lock().drain(..).filter_map(|reader| reader.upgrade()) {
            reader.wake();
        }
        // Questions look at `closed` every few milliseconds.
        let _all = inner.questions.acquire_many(QUESTIONS_MAX).await;
        inner.questions.close();
        let admin = inner.admin.lock().take();
        let writer = inner.writer.write().take();
        let _ = off_runtime(move || {
            if let Some(writer) = writer {
                writer.close();
            }
            drop(admin);
        })
        .await;
    }
}

#[cfg(test)]
mod tests;
