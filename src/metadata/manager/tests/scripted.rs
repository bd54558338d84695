//! A log in memory that fails, waits and reorders as a test tells it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::*;
use crate::metadata::log::{LogError, LogEvent, LogReader, LogShape, Presence, SettingsOf, TopicPresence};

type Stored = (i64, Option<Bytes>, Option<Bytes>);
/// Settings by name, or why there are none.
pub(super) type Told = Result<Vec<(&'static str, String)>, LogError>;

pub(super) struct ScriptedLog {
    /// What `ensure` finds.
    pub(super) shape: Mutex<LogShape>,
    records: Mutex<Vec<Vec<Stored>>>,
    changed: Condvar,
    pub(super) is_closed: AtomicBool,
    /// Answers of `ensure` before it succeeds.
    pub(super) ensure_failures: Mutex<VecDeque<LogError>>,
    pub(super) ensures: AtomicUsize,
    /// Whether the next `ensure` panics.
    pub(super) is_ensure_panic_due: AtomicBool,
    /// Answers of `append` before it succeeds; nothing is stored for them.
    pub(super) append_failures: Mutex<VecDeque<LogError>>,
    /// While true, appends are stored and readable but do not resolve.
    pub(super) are_appends_held: watch::Sender<bool>,
    /// While true, readers see neither records nor ends.
    pub(super) is_reading_held: AtomicBool,
    shown: Mutex<Option<usize>>,
    /// What is said of a partition that shows nothing.
    pub(super) why_silent: Mutex<Option<String>>,
    /// Told by the next polls.
    pub(super) troubles: Mutex<VecDeque<(Option<i32>, LogError)>>,
    /// Results of the next polls.
    pub(super) poll_failures: Mutex<VecDeque<LogError>>,
    pub(super) reader_failures: Mutex<VecDeque<LogError>>,
    /// Whether the next poll reads everything again from the start, as a consumer does that met a missing topic.
    pub(super) is_start_due: AtomicBool,
    /// Whether the next poll panics.
    pub(super) is_panic_due: AtomicBool,
    /// Answers about epochs; the last one is given for ever.
    pub(super) epochs: Mutex<VecDeque<Result<i32, LogError>>>,
    pub(super) epoch_questions: AtomicUsize,
    /// Of one or more of the questions together.
    pub(super) epoch_requests: AtomicUsize,
    /// Answers about settings; the last one is given for ever.
    pub(super) topic_settings: Mutex<VecDeque<Told>>,
    pub(super) broker_settings: Mutex<VecDeque<Told>>,
    pub(super) settings_questions: AtomicUsize,
    /// What is said of every topic, and which partitions are led here.
    pub(super) presence: Mutex<Option<(TopicPresence, Vec<i32>)>>,
    /// Every assignment of a reader.
    pub(super) assigns: Mutex<Vec<(i32, i64)>>,
    pub(super) unassigns: Mutex<Vec<i32>>,
}

pub(super) fn unreachable() -> LogError {
    LogError::Unreachable { what: "try".to_owned(), log: "scripted log".to_owned(), why: "told so".to_owned() }
}

pub(super) fn mismatch() -> LogError {
    LogError::Mismatch { what: "try".to_owned(), log: "scripted log".to_owned(), why: "told so".to_owned() }
}

impl ScriptedLog {
    pub(super) fn new(partitions: i32) -> Arc<Self> {
        Arc::new(Self {
            shape: Mutex::new(LogShape::of(partitions)),
            records: Mutex::new(vec![Vec::new(); usize::try_from(partitions).expect("small")]),
            changed: Condvar::new(),
            is_closed: AtomicBool::new(false),
            ensure_failures: Mutex::default(),
            ensures: AtomicUsize::new(0),
            is_ensure_panic_due: AtomicBool::new(false),
            append_failures: Mutex::default(),
            are_appends_held: watch::Sender::new(false),
            is_reading_held: AtomicBool::new(false),
            shown: Mutex::default(),
            why_silent: Mutex::default(),
            troubles: Mutex::default(),
            poll_failures: Mutex::default(),
            reader_failures: Mutex::default(),
            is_start_due: AtomicBool::new(false),
            is_panic_due: AtomicBool::new(false),
            epochs: Mutex::default(),
            epoch_questions: AtomicUsize::new(0),
            epoch_requests: AtomicUsize::new(0),
            topic_settings: Mutex::default(),
            broker_settings: Mutex::default(),
            settings_questions: AtomicUsize::new(0),
            presence: Mutex::default(),
            assigns: Mutex::default(),
            unassigns: Mutex::default(),
        })
    }

    /// Somebody else writes a record.
    pub(super) fn store(&self, partition: i32, key: Option<Bytes>, value: Option<Bytes>) -> i64 {
        let mut records = self.records.lock();
        let records = &mut records[usize::try_from(partition).expect("small")];
        let offset = records.last().map_or(0, |(offset, ..)| offset + 1);
        records.push((offset, key, value));
        self.changed.notify_all();
        offset
    }

    /// A log cleaner drops records; the last one stays, as it is in the segment that is written to.
    pub(super) fn clean(&self, partition: usize, offsets: &[i64]) {
        self.records.lock()[partition].retain(|(offset, ..)| !offsets.contains(offset));
    }

    /// Somebody deletes the topic and makes it anew.
    pub(super) fn lose_everything(&self) {
        self.records.lock().iter_mut().for_each(Vec::clear);
        self.changed.notify_all();
    }

    /// Readers meet only the first `count` records of a partition, as behind a leader that has just taken over.
    pub(super) fn show_only(&self, count: Option<usize>) {
        *self.shown.lock() = count;
        self.changed.notify_all();
    }

    /// Keys of all records of a partition.
    pub(super) fn keys(&self, partition: usize) -> Vec<String> {
        let text = |key: &Option<Bytes>| String::from_utf8(key.clone().unwrap_or_default().to_vec()).expect("text");
        self.records.lock()[partition].iter().map(|(_, key, _)| text(key)).collect()
    }

    /// Whether the last record of each key is a tombstone.
    pub(super) fn has_no_values(&self, partition: usize) -> bool {
        let records = self.records.lock();
        let last: BTreeMap<_, _> = records[partition].iter().map(|(_, key, value)| (key, value.is_some())).collect();
        !last.is_empty() && last.values().all(|has_value| !has_value)
    }

    pub(super) fn hold_reading(&self, is_held: bool) {
        self.is_reading_held.store(is_held, Ordering::SeqCst);
        self.changed.notify_all();
    }

    fn check(&self) -> Result<(), LogError> {
        match self.is_closed.load(Ordering::SeqCst) {
            true => Err(LogError::Closed { what: "try".to_owned() }),
            false => Ok(()),
        }
    }
}

/// What the trait wants is `&self`; what a reader needs is the whole log.
pub(super) struct Handle(Arc<ScriptedLog>);

pub(super) fn handle(log: &Arc<ScriptedLog>) -> Arc<dyn MetadataLog> {
    Arc::new(Handle(Arc::clone(log)))
}

#[async_trait]
impl MetadataLog for Handle {
    async fn ensure(&self) -> Result<LogShape, LogError> {
        self.0.ensures.fetch_add(1, Ordering::SeqCst);
        assert!(!self.0.is_ensure_panic_due.swap(false, Ordering::SeqCst), "told to panic");
        match self.0.ensure_failures.lock().pop_front() {
            Some(error) => Err(error),
            None => Ok(*self.0.shape.lock()),
        }
    }

    async fn append(&self, partition: i32, key: Option<Bytes>, value: Option<Bytes>) -> Result<i64, LogError> {
        self.0.check()?;
        if let Some(error) = self.0.append_failures.lock().pop_front() {
            return Err(error);
        }
        let offset = self.0.store(partition, key, value);
        let _ = self.0.are_appends_held.subscribe().wait_for(|is_held| !is_held).await;
        Ok(offset)
    }

    fn reader(&self) -> Result<Box<dyn LogReader>, LogError> {
        self.0.check()?;
        match self.0.reader_failures.lock().pop_front() {
            Some(error) => Err(error),
            None => Ok(Box::new(Reader { log: Arc::clone(&self.0), cursors: Vec::new(), is_woken: Arc::default() })),
        }
    }

    async fn leader_epochs(&self, partitions: &[(Arc<str>, i32)]) -> Vec<Result<LeaderEpoch, LogError>> {
        self.0.epoch_requests.fetch_add(1, Ordering::SeqCst);
        let mut answers = Vec::new();
        for (topic, partition) in partitions {
            answers.push(self.leader_epoch(topic, *partition).await);
        }
        answers
    }

    async fn leader_epoch(&self, _topic: &str, _partition: i32) -> Result<LeaderEpoch, LogError> {
        self.0.epoch_questions.fetch_add(1, Ordering::SeqCst);
        let mut epochs = self.0.epochs.lock();
        match epochs.pop_front() {
            Some(Ok(epoch)) => {
                if epochs.is_empty() {
                    epochs.push_back(Ok(epoch));
                }
                Ok(LeaderEpoch(epoch))
            }
            Some(Err(error)) => Err(error),
            None => Err(LogError::Unsupported { what: "ask".to_owned(), log: "scripted log".to_owned() }),
        }
    }

    async fn settings(&self, of: &SettingsOf) -> Result<BTreeMap<String, String>, LogError> {
        self.0.settings_questions.fetch_add(1, Ordering::SeqCst);
        let mut answers = match of {
            SettingsOf::Topic(_) => self.0.topic_settings.lock(),
            SettingsOf::OwnBroker => self.0.broker_settings.lock(),
        };
        match answers.pop_front() {
            Some(Ok(settings)) => {
                if answers.is_empty() {
                    answers.push_back(Ok(settings.clone()));
                }
                Ok(settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            }
            Some(Err(error)) => Err(error),
            None => Err(LogError::Unsupported { what: "ask".to_owned(), log: "scripted log".to_owned() }),
        }
    }

    async fn presence(&self, topics: &[Arc<str>]) -> Result<Presence, LogError> {
        match self.0.presence.lock().clone() {
            Some((presence, led_here)) => Ok(Presence { topics: vec![presence; topics.len()], led_here }),
            None => Err(LogError::Unsupported { what: "ask".to_owned(), log: "scripted log".to_owned() }),
        }
    }

    async fn why_silent(&self, _partition: i32) -> Option<String> {
        self.0.why_silent.lock().clone()
    }

    async fn close(&self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
        self.0.changed.notify_all();
    }
}

struct Reader {
    log: Arc<ScriptedLog>,
    /// Partition, next offset, end that was told.
    cursors: Vec<(i32, i64, Option<i64>)>,
    is_woken: Arc<AtomicBool>,
}

impl LogReader for Reader {
    fn assign(&mut self, partition: i32, from_offset: i64) -> Result<(), LogError> {
        assert!(self.cursors.iter().all(|cursor| cursor.0 != partition), "assigned twice");
        self.log.assigns.lock().push((partition, from_offset));
        self.cursors.push((partition, from_offset, None));
        Ok(())
    }

    fn unassign(&mut self, partition: i32) -> Result<(), LogError> {
        self.log.unassigns.lock().push(partition);
        self.cursors.retain(|cursor| cursor.0 != partition);
        Ok(())
    }

    fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(LogEvent<'_>)) -> Result<(), LogError> {
        let deadline = Instant::now() + timeout;
        loop {
            self.log.check()?;
            assert!(!self.log.is_panic_due.load(Ordering::SeqCst), "told to panic");
            if let Some(error) = self.log.poll_failures.lock().pop_front() {
                return Err(error);
            }
            if let Some((partition, error)) = self.log.troubles.lock().pop_front() {
                sink(LogEvent::Trouble { partition, error });
                return Ok(());
            }
            if self.log.is_start_due.swap(false, Ordering::SeqCst) {
                self.cursors.iter_mut().for_each(|(_, next, told)| (*next, *told) = (0, None));
            }
            let mut records = self.log.records.lock();
            let mut is_anything_told = false;
            if !self.log.is_reading_held.load(Ordering::SeqCst) {
                for (partition, next, told) in &mut self.cursors {
                    let mut stored = records[usize::try_from(*partition).expect("small")].clone();
                    stored.truncate(self.log.shown.lock().unwrap_or(usize::MAX));
                    let from = *next;
                    for (offset, key, value) in stored.iter().filter(|(offset, ..)| *offset >= from) {
                        let (key, value) = (key.as_deref(), value.as_deref());
                        sink(LogEvent::Record { partition: *partition, offset: *offset, timestamp_ms: 0, key, value });
                        (*next, is_anything_told) = (offset + 1, true);
                    }
                    let end = stored.last().map_or(0, |(offset, ..)| offset + 1);
                    if *told != Some(end) {
                        (*told, is_anything_told) = (Some(end), true);
                        sink(LogEvent::End { partition: *partition, next_offset: end });
                    }
                }
            }
            if is_anything_told || self.is_woken.swap(false, Ordering::SeqCst) {
                return Ok(());
            }
            // Short, because a test may set troubles without a word.
            let nap = deadline.min(Instant::now() + Duration::from_millis(20));
            self.log.changed.wait_until(&mut records, nap);
            if Instant::now() >= deadline {
                return Ok(());
            }
        }
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let (log, is_woken) = (Arc::clone(&self.log), Arc::clone(&self.is_woken));
        Arc::new(move || {
            is_woken.store(true, Ordering::SeqCst);
            log.changed.notify_all();
        })
    }
}
