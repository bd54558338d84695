//! What all parts of a manager share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::{Semaphore, watch};

use crate::config::Config;
use crate::metadata::MetadataError;
use crate::metadata::log::{LogShape, MetadataLog};
use crate::metadata::plan::Standing;
use crate::metrics::Registry;
use crate::model::{LeaderEpoch, TopicIdPartition};
use crate::wire::metadata_partition;

use super::delay::{Delay, now_ms};
use super::directory::{Assignment, Bound, Directory, MetaPartition, SharedState};
use super::env::{MetadataEnv, Options};
use super::inquiry::Inquiry;
use super::instruments::Instruments;
use super::leadership;
use super::quiet::Quiet;
use super::upkeep::Upkeep;
use super::waiters::Waiters;

const QUESTIONS_MAX: usize = 16;

pub(super) struct Core {
    pub(super) options: Options,
    pub(super) env: MetadataEnv,
    pub(super) log: Arc<dyn MetadataLog>,
    pub(super) registry: Arc<Registry>,
    pub(super) instruments: Instruments,
    pub(super) directory: RwLock<Directory>,
    pub(super) waiters: Mutex<Waiters>,
    pub(super) delay: Delay,
    pub(super) inquiry: Inquiry,
    pub(super) upkeep: Upkeep,
    /// Limits the questions for epochs and settings that are asked at one time.
    pub(super) questions: Semaphore,
    /// Whether the log may no longer be the right one; looked at again.
    is_in_doubt: AtomicBool,
    /// What the log looked like when it was looked at last.
    shape: RwLock<Option<LogShape>>,
    /// How often another log took the place of the one that was read, and how often the reader has begun with it.
    replaced: AtomicU64,
    taken_up: AtomicU64,
    /// Whether somebody was told what a log cleaner will take away.
    pub(super) is_loss_said: Mutex<bool>,
    /// Why the log could not be reached yet, or is in doubt.
    pub(super) startup_failure: Mutex<Option<String>>,
    /// Why the log is not read at the moment.
    pub(super) reading_failure: Mutex<Option<String>>,
    pub(super) epoch_questions: leadership::Questions,
    /// What was said of questions for epochs that fail.
    pub(super) epochs_quiet: Mutex<Quiet>,
    opened: Instant,
    is_ready_said: AtomicBool,
    is_started: watch::Sender<bool>,
    is_closed: AtomicBool,
    closing: watch::Sender<bool>,
    pub(super) bell: Bell,
}

/// Wakes the reader's thread, wherever it waits.
#[derive(Default)]
pub(super) struct Bell {
    is_rung: Mutex<bool>,
    rung: Condvar,
    waker: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
}

impl Bell {
    pub(super) fn ring(&self) {
        *self.is_rung.lock() = true;
        self.rung.notify_all();
        let waker = self.waker.lock().clone();
        if let Some(wake) = waker {
            wake();
        }
    }

    /// Whether it was rung since it was asked last.
    pub(super) fn take(&self) -> bool {
        std::mem::take(&mut *self.is_rung.lock())
    }

    /// Waits until it is rung (without taking that) or `patience` is over.
    pub(super) fn wait(&self, patience: Duration) {
        let mut is_rung = self.is_rung.lock();
        if !*is_rung {
            self.rung.wait_for(&mut is_rung, patience);
        }
    }

    pub(super) fn set_waker(&self, waker: Option<Arc<dyn Fn() + Send + Sync>>) {
        *self.waker.lock() = waker;
    }
}

impl Core {
    pub(super) fn new(config: &Config, env: MetadataEnv, log: Arc<dyn MetadataLog>) -> Result<Self, MetadataError> {
        let mut registry = Registry::new();
        let instruments = Instruments::register(&mut registry);
        let options = Options::read(config)?;
        let upkeep = Upkeep::new(options.upkeep, &mut registry, now_ms());
        Ok(Self {
            options,
            env,
            log,
            registry: Arc::new(registry),
            instruments,
            directory: RwLock::default(),
            waiters: Mutex::default(),
            delay: Delay::new(config)?,
            inquiry: Inquiry::default(),
            upkeep,
            questions: Semaphore::new(QUESTIONS_MAX),
            is_in_doubt: AtomicBool::new(false),
            shape: RwLock::default(),
            replaced: AtomicU64::new(0),
            taken_up: AtomicU64::new(0),
            is_loss_said: Mutex::default(),
            startup_failure: Mutex::default(),
            reading_failure: Mutex::default(),
            epoch_questions: leadership::Questions::default(),
            epochs_quiet: Mutex::default(),
            opened: Instant::now(),
            is_ready_said: AtomicBool::new(false),
            is_started: watch::Sender::new(false),
            is_closed: AtomicBool::new(false),
            closing: watch::Sender::new(false),
            bell: Bell::default(),
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Tells everybody that it is over; tells whether that is news.
    pub(super) fn begin_close(&self) -> bool {
        let is_news = !self.is_closed.swap(true, Ordering::AcqRel);
        self.closing.send_replace(true);
        self.bell.ring();
        is_news
    }

    /// Resolves when the manager is closed.
    pub(super) async fn closed(&self) {
        // The sender lives as long as `self`.
        let _ = self.closing.subscribe().wait_for(|&is_closing| is_closing).await;
    }

    pub(super) async fn sleep(&self, pause: Duration) {
        tokio::select! {
            () = self.closed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }

    /// The log is usable and looks like this.
    pub(super) fn start(&self, shape: LogShape) {
        self.set_shape(shape);
        self.directory.write().set_shape(&shape);
        *self.startup_failure.lock() = None;
        self.is_started.send_replace(true);
        self.bell.ring();
    }

    /// What the log looked like when it was looked at last; nothing before it was reached.
    pub(super) fn shape(&self) -> Option<LogShape> {
        *self.shape.read()
    }

    pub(super) fn set_shape(&self, shape: LogShape) {
        *self.shape.write() = Some(shape);
    }

    /// Another log has taken the place of the one that was read: the reader is to begin anew, in doubt.
    pub(super) fn replace_log(&self, shape: LogShape) {
        self.set_shape(shape);
        self.replaced.fetch_add(1, Ordering::AcqRel);
        self.bell.ring();
    }

    /// Which log the reader has to begin with, if it has not.
    pub(super) fn log_to_take_up(&self) -> Option<u64> {
        let replaced = self.replaced.load(Ordering::Acquire);
        (self.taken_up.load(Ordering::Acquire) != replaced).then_some(replaced)
    }

    /// The reader has forgotten all of the logs before `log`.
    pub(super) fn take_up_log(&self, log: u64) {
        self.is_ready_said.store(false, Ordering::Release);
        self.taken_up.store(log, Ordering::Release);
        self.count_partitions();
    }

    /// Nothing is taken for the truth until [`Core::end_doubt`]. Tells whether that is news.
    pub(super) fn begin_doubt(&self, why: &str) -> bool {
        *self.startup_failure.lock() = Some(why.to_owned());
        !self.is_in_doubt.swap(true, Ordering::AcqRel)
    }

    pub(super) fn end_doubt(&self) {
        *self.startup_failure.lock() = None;
        self.is_in_doubt.store(false, Ordering::Release);
        self.count_partitions();
    }

    pub(super) fn is_doubted(&self) -> bool {
        self.is_in_doubt.load(Ordering::Acquire)
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> i64 {
        now_ms()
    }

    /// What this process may decide of a user partition whose records are in `meta`.
    pub(super) fn standing(&self, meta: &MetaPartition, leadership: Option<LeaderEpoch>) -> Standing {
        Standing {
            level: meta.level(),
            me: self.env.broker_id,
            leadership,
            is_current: meta.is_current(self.options.decide),
            now_ms: now_ms(),
        }
    }

    /// Epoch of the leadership of an assigned partition; see [`super::leadership::Leadership::now`].
    pub(super) fn leadership(&self, partition: &TopicIdPartition) -> Option<LeaderEpoch> {
        self.directory.read().assignment(partition)?.leadership.now()
    }

    /// State of a partition that is read here, whether it is assigned or not, as far as it is read.
    pub(super) fn known_state(&self, partition: &TopicIdPartition) -> Option<SharedState> {
        let directory = self.directory.read();
        let index = metadata_partition(&partition.topic_id, partition.partition, directory.partitions()?);
        let meta = directory.meta.get(&index)?;
        let states = meta.states.lock();
        states.get(partition).cloned()
    }

    /// Whether a partition answers and takes writes.
    pub(super) fn is_ready(&self, partition: &TopicIdPartition) -> bool {
        let is_off = self.is_closed() || self.is_in_doubt.load(Ordering::Acquire);
        !is_off && self.directory.read().is_ready(partition)
    }

    /// Resolves when the log is usable (true) or the manager closed (false).
    pub(super) async fn started(&self) -> bool {
        let mut is_started = self.is_started.subscribe();
        tokio::select! {
            () = self.closed() => false,
            started = is_started.wait_for(|&is_started| is_started) => started.is_ok(),
        }
    }

    pub(super) fn assignment_changed(&self) {
        self.count_partitions();
        self.bell.ring();
    }

    pub(super) fn count_partitions(&self) {
        let directory = self.directory.read();
        let is_in_doubt = self.is_in_doubt.load(Ordering::Acquire);
        let (mut assigned, mut ready) = (0, 0);
        for assignment in directory.assignments() {
            assigned += 1;
            ready += i64::from(!is_in_doubt && assignment.is_ready());
        }
        self.instruments.partitions_assigned.set(assigned);
        self.instruments.partitions_ready.set(ready);
        drop(directory);
        if ready > 0 && ready == assigned && !self.is_ready_said.swap(true, Ordering::AcqRel) {
            let (segments, ms) = (self.instruments.segments_live.get(), self.opened.elapsed().as_millis());
            tracing::info!("remote segment metadata is ready: {ready} partitions, {segments} segments, after {ms} ms");
        }
    }

    /// A partition was ready a moment before, and is read again from the start.
    pub(super) fn read_again(&self, partition: &TopicIdPartition) -> MetadataError {
        let why = "its records are read again from the start".to_owned();
        MetadataError::NotReady { partition: partition.clone(), why }
    }

    /// Does something with an assigned and ready partition, while the directory does not change.
    pub(super) fn with_ready<T>(
        &self,
        partition: &TopicIdPartition,
        use_it: impl FnOnce(&Arc<Assignment>, &Bound) -> T,
    ) -> Result<T, MetadataError> {
        let directory = self.directory.read();
        let assignment = directory.assignment(partition).ok_or_else(|| match self.is_closed() {
            // Closing takes the assignments away.
            true => MetadataError::Closed,
            false => MetadataError::NotAssigned { partition: partition.clone() },
        })?;
        let not_ready = |why: String| MetadataError::NotReady { partition: partition.clone(), why };
        let is_in_doubt = self.is_in_doubt.load(Ordering::Acquire);
        let Some(bound) = assignment.bound().filter(|_| !is_in_doubt) else {
            let failure = self.startup_failure.lock().clone();
            return Err(not_ready(failure.unwrap_or_else(|| "the metadata log is being opened".to_owned())));
        };
        match bound.why_not_ready() {
            None => Ok(use_it(assignment, bound)),
            Some(why) => Err(not_ready(match bound.meta.trouble().or_else(|| self.reading_failure.lock().clone()) {
                Some(trouble) => format!("{why}: {trouble}"),
                None => why.to_owned(),
            })),
        }
    }
}
