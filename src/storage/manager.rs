//! The manager: what the C ABI and the command line call.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long calls take")]

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::base::Base;
use super::cleanup::Cleaner;
use super::deletion::Deleter;
use super::fetch::{Fetcher, Located, NextSegment, read_footer};
use super::joint::Joint;
use super::layout::ObjectKey;
use super::layout::compact::Footer;
use super::metrics::StorageMetrics;
use super::objects::Objects;
use super::settings::Settings;
use super::store::{DriverStore, ObjectStore};
use super::tasks::{Running, Tasks};
use super::transform::KeyRing;
use super::upload::{Caller, Uploader};
use super::{SegmentFiles, SegmentReader, StorageError};
use crate::config::storage::KEY_PAIR;
use crate::config::{Config, ConfigError, storage as keys};
use crate::metrics::Registry;
use crate::model::{IndexType, SegmentLedger, SegmentMetadata, SegmentObjects};

/// How long a close lets a check run to its end.
const CHECK_END: Duration = Duration::from_secs(2);

/// What a manager needs of its surroundings.
#[derive(Debug, Clone)]
pub struct StorageEnv {
    /// Where background work runs. The manager never starts or stops a runtime; the runtime must have its clock and its
    /// network switched on and outlive the manager.
    pub runtime: tokio::runtime::Handle,
}

/// Copies segments to a store, reads them back and deletes them. Clones share everything.
#[derive(Clone)]
pub struct StorageManager {
    inner: Arc<Inner>,
}

pub(super) struct Inner {
    runtime: tokio::runtime::Handle,
    store: Arc<dyn ObjectStore>,
    key_prefix: Arc<str>,
    uploader: Uploader,
    fetcher: Fetcher,
    deleter: Deleter,
    cleaner: Cleaner,
    pub(super) joint: Arc<Joint>,
    metrics: StorageMetrics,
    registry: Arc<Registry>,
    pub(super) tasks: Tasks,
}

impl std::fmt::Debug for StorageManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StorageManager").field("store", &self.inner.store.name()).finish_non_exhaustive()
    }
}

/// What a configuration is made into before anything is done with it.
pub(super) struct Opened {
    pub(super) settings: Settings,
    pub(super) key_ring: KeyRing,
    /// What an operator should hear once.
    pub(super) warnings: Vec<String>,
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) metrics: StorageMetrics,
    pub(super) registry: Registry,
}

impl Opened {
    pub(super) fn new(config: &Config, env: &StorageEnv) -> Result<Self, StorageError> {
        let mut settings = Settings::parse(config)?;
        let (key_ring, unusable) = KeyRing::load(&settings.key_pairs);
        let mut warnings = std::mem::take(&mut settings.warnings);
        warnings.extend(unusable);
        let mut registry = Registry::new();
        let metrics = StorageMetrics::new(&mut registry).with_topics(config.boolean(&keys::METRICS_OF_TOPICS)?);
        let store = DriverStore::open(settings.store.clone(), env.runtime.id(), metrics.store.clone())?;
        Ok(Self { settings, key_ring, warnings, store: Arc::new(store), metrics, registry })
    }

    /// The same for whoever writes: the active key pair must work, else the first copy would find out.
    pub(super) fn to_write(config: &Config, env: &StorageEnv) -> Result<Self, StorageError> {
        let opened = Self::new(config, env)?;
        if let Some(id) = &opened.settings.transform.key_pair {
            opened.key_ring.check(id).map_err(|error| ConfigError::bad_value(&KEY_PAIR, id, &error.to_string()))?;
        }
        Ok(opened)
    }
}

impl StorageManager {
    /// Checks `config` and sets everything up, without waiting for the store: a background check logs one warning if the
    /// store can't be used.
    ///
    /// # Errors
    /// [`StorageError::Config`] only: nothing about the store is known yet.
    pub fn open(config: &Config, env: StorageEnv) -> Result<Self, StorageError> {
        let Opened { settings, key_ring, warnings, store, metrics, registry } = Opened::to_write(config, &env)?;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        let manager = Self::with_store(settings, key_ring, store, env.runtime, metrics, registry);
        manager.check_in_background();
        Ok(manager)
    }

    pub(super) fn with_store(
        settings: Settings,
        key_ring: KeyRing,
        store: Arc<dyn ObjectStore>,
        runtime: tokio::runtime::Handle,
        metrics: StorageMetrics,
        registry: Registry,
    ) -> Self {
        let tasks = Tasks::new();
        let (patience, grace) = (settings.upload.cleanup, settings.upload.grace);
        let failed = metrics.cleanups_failed.clone();
        let cleaner = Cleaner::new(Arc::clone(&store), patience, grace, failed, tasks.clone());
        let of = settings.outage;
        let joint = Arc::new(Joint::new(of.uploads, of.deletes, store.name(), metrics.joint.clone()));
        let (of_uploader, of_deleter) = (Arc::clone(&joint), Arc::clone(&joint));
        let base = Base {
            store: Arc::clone(&store),
            runtime: runtime.clone(),
            metrics: metrics.clone(),
            tasks: tasks.clone(),
        };
        let uploader = Uploader::new(
            base.clone(),
            settings.upload,
            settings.transform,
            key_ring.clone(),
            cleaner.clone(),
            of_uploader,
        );
        let key_prefix: Arc<str> = settings.key_prefix.as_str().into();
        let fetcher = Fetcher::new(
            base,
            settings.fetch,
            key_ring,
            settings.disk,
            next_segment(&joint, &key_prefix, store.name()),
        );
        let registry = Arc::new(registry);
        let deleter = Deleter {
            store: Arc::clone(&store),
            joint: of_deleter,
            key_prefix: Arc::clone(&key_prefix),
            patience: of.handover,
        };
        let inner =
            Inner { runtime, store, key_prefix, uploader, fetcher, deleter, cleaner, joint, metrics, registry, tasks };
        Self { inner: Arc::new(inner) }
    }

    #[cfg(test)]
    pub(super) fn disk(&self) -> Option<&super::cache::DiskCache> {
        self.inner.fetcher.disk()
    }

    fn check_in_background(&self) {
        let manager = self.clone();
        self.inner.runtime.spawn(async move {
            match manager.check().await {
                Ok(()) => tracing::info!(store = manager.inner.store.name(), "the store can be written and read"),
                Err(StorageError::Closed { .. } | StorageError::Cancelled { .. }) => {}
                Err(error) => tracing::warn!("the store can't be used: {error}"),
            }
        });
    }

    /// Copies a segment into its object, or objects, and hands back its custom metadata, if it has any, at most 128 bytes, to be
    /// kept with the segment.
    ///
    /// Nothing becomes visible before all of it is in the store. After an error or when the future is dropped, what was
    /// sent is removed in the background, within `upload.cleanup.timeout.ms`, and once more when a request that was given up
    /// must have been done if it ever is.
    ///
    /// # Errors
    /// `Source` if a file isn't there, can't be read, or isn't as long as the metadata says; `Timeout` after
    /// `upload.timeout.ms` or `upload.no.progress.timeout.ms`; what the store says; `Condemned` if the metadata side that
    /// it was joined with says at the end that the segment must not live; `Cancelled` and `Closed`.
    pub async fn copy(&self, segment: &SegmentMetadata, files: &SegmentFiles) -> Result<Option<Bytes>, StorageError> {
        let running = self.begin("copy")?;
        if let Some(why) = segment.why_impossible() {
            let (id, start, end) = (&segment.id, segment.start_offset, segment.end_offset);
            let what = format!("copy {id}, offsets {start} to {end}: {why}; both are those of the segment's records");
            return Err(StorageError::InvalidArgument { what: what.into() });
        }
        let copying = self.inner.joint.begin(segment.id.uuid);
        let age = self.inner.metrics.copy_ages.begin();
        let (manager, segment, files) = (self.clone(), segment.clone(), files.clone());
        let key = self.inner.uploader.first_object(&self.inner.key_prefix, &segment);
        let object = key.to_string();
        // Both ends are dropped with this future: that cancels the copy.
        let (tell, is_told) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        self.inner.runtime.spawn(async move {
            let (_running, _age) = (running, age);
            let (inner, caller) = (&manager.inner, Caller { is_told, answer });
            inner.uploader.copy(&segment, &files, &key, &inner.key_prefix, caller, copying).await;
        });
        let outcome = answered.await.unwrap_or(Err(StorageError::Cancelled { action: "copy", object: object.into() }));
        let _ = tell.send(());
        outcome
    }

    /// A reader of the bytes from `start` to `end_inclusive` of the segment, or to its end. Asks the store for nothing
    /// before it is read.
    ///
    /// A range that ends behind the segment is cut to it; one that starts exactly at its end is empty.
    ///
    /// # Errors
    /// `InvalidArgument` if the range starts behind the end or ends before its start; `Unsupported`, `Corrupt` or
    /// `Misconfigured` if the custom metadata doesn't lead to the object; `Closed`. Where the metadata leaves the layout
    /// open, the first read finds it, and reports what is wrong with it.
    pub fn fetch(
        &self,
        segment: &SegmentMetadata,
        start: u64,
        end_inclusive: Option<u64>,
    ) -> Result<SegmentReader, StorageError> {
        let found = self.locate("fetch", segment);
        let reader = found.and_then(|located| self.inner.fetcher.reader(located, start, end_inclusive));
        let size = u64::try_from(segment.size_bytes).unwrap_or(0);
        let end = end_inclusive.map_or(size, |end| end.saturating_add(1).min(size));
        self.inner.metrics.fetch_opened(segment, reader.as_ref().map(|_| end.saturating_sub(start)));
        reader
    }

    /// An index of the segment, as the broker wrote it. All indexes of a segment come with the first one asked for.
    ///
    /// # Errors
    /// `NotFound` for the transaction index of a segment that has none, and if the object isn't there; `Corrupt` if
    /// anything else is missing or wrong; what the store says, within `storage.s3.api.call.timeout`.
    pub async fn fetch_index(&self, segment: &SegmentMetadata, index: IndexType) -> Result<Bytes, StorageError> {
        let fetched = match self.locate("fetch index", segment) {
            Ok(located) => self.inner.fetcher.index(&located, index).await,
            Err(error) => Err(error),
        };
        fetched.inspect_err(|error| self.inner.metrics.failed(error))
    }

    /// Deletes the objects of segments, many in one request. One that isn't there counts as deleted; so the call may be
    /// repeated. Segments whose metadata doesn't say where they are, such as those whose copy never finished, are deleted
    /// under the current `key.prefix`, in every layout.
    ///
    /// What can't be deleted, or not within `delete.handover.ms`, counts as deleted too if a metadata side was joined and
    /// takes it over. One segment that can't be deleted keeps no other from it.
    ///
    /// # Errors
    /// What the store says of the first that nobody took over; others may be deleted. `Misconfigured` if the bucket or
    /// folder isn't there.
    pub async fn delete(&self, segments: &[SegmentMetadata]) -> Result<(), StorageError> {
        let (started, running) = (Instant::now(), self.begin("delete")?);
        let (deleter, owned) = (self.inner.deleter.clone(), segments.to_vec());
        let object = segments.first().map(|segment| segment.id.to_string()).unwrap_or_default();
        let work = async move { Ok(deleter.delete(&owned).await) };
        let (count, deleted) = match self.inner.run("delete", &object, running, work).await {
            Ok(outcome) => outcome,
            Err(error) => (0, Err(error)),
        };
        // After a failure, too: some may be gone.
        for segment in segments {
            self.inner.fetcher.forget(segment);
        }
        self.inner.metrics.deleted(segments, count, started.elapsed(), &deleted);
        deleted
    }

    /// This manager as a metadata side in the same process sees it. It does not keep the manager.
    #[must_use]
    pub fn objects(&self) -> Arc<dyn SegmentObjects> {
        Arc::new(Objects(Arc::downgrade(&self.inner)))
    }

    /// From now on asks `ledger` at the end of each copy, and offers it deletes that can't be done. It takes the place of
    /// one that was joined before; once it is gone, nobody is joined.
    pub fn join(&self, ledger: Weak<dyn SegmentLedger>) {
        self.inner.joint.join(ledger);
    }

    /// Ends a [`StorageManager::join`].
    pub fn part(&self) {
        self.inner.joint.part();
    }

    /// Writes, reads and deletes a small object, and so tells whether the store can be used, and if not, why.
    ///
    /// # Errors
    /// `Misconfigured`, `Refused`, `Unreachable` or `Timeout`, with cause and remedy.
    pub async fn check(&self) -> Result<(), StorageError> {
        let running = self.begin("check")?;
        let (store, tasks) = (Arc::clone(&self.inner.store), self.inner.tasks.clone());
        let key = ObjectKey::new(&format!("{}.undercroft-check-{}", self.inner.key_prefix, uuid::Uuid::new_v4()));
        let (object, cleaner, runtime) = (key.to_string(), self.inner.cleaner.clone(), self.inner.runtime.clone());
        let work = self.inner.runtime.spawn(async move {
            let check = store.check(&key);
            tokio::pin!(check);
            let cancelled = || StorageError::Cancelled { action: "check", object: key.to_string().into() };
            let (checked, left_by) = tokio::select! {
                checked = &mut check => (checked.clone(), checked.err()),
                // It removes its object itself, and is done in a moment.
                () = tasks.closing() => match tokio::time::timeout(CHECK_END, &mut check).await {
                    Ok(checked) => (Err(cancelled()), checked.err()),
                    Err(_) => (Err(cancelled()), Some(cancelled())),
                },
            };
            if let Some(error) = left_by {
                let key = key.clone();
                runtime.spawn(async move {
                    let _running = running;
                    cleaner.remove_probe(&key, &error).await;
                });
            }
            checked
        });
        work.await.unwrap_or_else(|error| {
            Err(StorageError::Internal {
                action: "check",
                object: object.into(),
                why: error.to_string().into(),
                source: None,
            })
        })
    }

    /// What an object of the compact layout says of itself, by its name in the store.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` if it doesn't end as such an object does; what the store says.
    pub async fn inspect(&self, key: &str) -> Result<Footer, StorageError> {
        let running = self.begin("inspect")?;
        let (store, of) = (Arc::clone(&self.inner.store), ObjectKey::new(key));
        let work = async move { read_footer(store.as_ref(), &of, "inspect").await.map(|(footer, _)| footer) };
        self.inner.run("inspect", key, running, work).await
    }

    /// The numbers of this manager.
    #[must_use]
    pub fn metrics(&self) -> Arc<Registry> {
        Arc::clone(&self.inner.registry)
    }

    /// Refuses new work, cancels what runs and waits until it has ended and cleaned up: at most
    /// `upload.cleanup.timeout.ms` and some 3 seconds. Readers answer `Closed` from now on. May be called again.
    pub async fn close(&self) {
        self.inner.tasks.close().await;
        self.inner.fetcher.close().await;
    }

    fn begin(&self, action: &'static str) -> Result<Running, StorageError> {
        self.inner.tasks.begin().ok_or_else(|| {
            let error = StorageError::Closed { action };
            self.inner.metrics.count_kind(&error);
            error
        })
    }

    fn locate(&self, action: &'static str, segment: &SegmentMetadata) -> Result<Located, StorageError> {
        if self.inner.tasks.is_closed() {
            return Err(StorageError::Closed { action });
        }
        Located::of(segment, &self.inner.key_prefix, self.inner.store.name())
    }
}

/// Asks the metadata side, if one was joined.
fn next_segment(joint: &Arc<Joint>, prefix: &Arc<str>, store: &str) -> NextSegment {
    let (joint, prefix, store) = (Arc::clone(joint), Arc::clone(prefix), store.to_owned());
    Box::new(move |segment| Located::of(&joint.next_segment(segment)?, &prefix, &store).ok())
}

impl Inner {
    pub(super) async fn delete_objects(&self, segment: &SegmentMetadata) -> Result<(), StorageError> {
        let running = self.tasks.begin().ok_or(StorageError::Closed { action: "delete" })?;
        let (deleter, owned) = (self.deleter.clone(), segment.clone());
        let work = async move { deleter.delete_all_of(&owned).await };
        let deleted = self.run("delete", &segment.id.to_string(), running, work).await;
        self.fetcher.forget(segment);
        deleted
    }

    pub(super) async fn has_objects(&self, segment: &SegmentMetadata) -> Result<bool, StorageError> {
        let running = self.tasks.begin().ok_or(StorageError::Closed { action: "look for" })?;
        let (deleter, owned) = (self.deleter.clone(), segment.clone());
        let work = async move { deleter.has_any_of(&owned).await };
        self.run("look for", &segment.id.to_string(), running, work).await
    }

    /// Does `work` on the runtime, to its end even if nobody waits for it any more, unless the manager closes.
    async fn run<T: Send + 'static>(
        &self,
        action: &'static str,
        object: &str,
        running: Running,
        work: impl Future<Output = Result<T, StorageError>> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (tasks, of) = (self.tasks.clone(), object.to_owned());
        let task = self.runtime.spawn(async move {
            let _running = running;
            tokio::select! {
                done = work => done,
                () = tasks.closing() => Err(StorageError::Cancelled { action, object: of.into() }),
            }
        });
        task.await.unwrap_or_else(|error| {
            Err(StorageError::Internal { action, object: object.into(), why: error.to_string().into(), source: None })
        })
    }
}
