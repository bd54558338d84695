//! Copies of segments into the store.
//!
//! In: a segment and its files. Out: one complete object (in Aiven's layout three) and where its parts are, or an error
//! and no object. Never: an
//! object that lacks anything; more memory than the settings allow.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long copies take")]

mod aiven;
mod buffers;
mod forge;
mod heads;
mod indexes;
mod parts;
mod plan;
mod sealed;
mod source;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::oneshot;

use self::buffers::{Buffers, Memory};
use self::forge::Forge;
use self::indexes::Indexes;
use self::plan::PartPlan;
use self::sealed::Job;
use self::source::Source;
use super::base::Base;
use super::cleanup::{Cleaner, Left};
use super::joint::{Copying, Joint};
use super::layout::aiven::Names;
use super::layout::compact::{BlockSize, Transforms, build_tail, data_length};
use super::layout::{ObjectKey, Place};
use super::metrics::StorageMetrics;
use super::pace::Pace;
use super::settings::{LayoutChoice, TransformSettings, UploadSettings};
use super::store::ObjectStore;
use super::tasks::Tasks;
use super::transform::KeyRing;
use super::{SegmentFiles, StorageError};
use crate::model::{CopyEnd, SegmentMetadata};

/// Buffers that a copy can't do without: one on the wire, one waiting behind it, one being read.
const BUFFERS_MIN: usize = 3;
/// Room for a footer that has no table, whatever names stand in it.
const FOOTER_BYTES: u64 = 16 << 10;
/// How long a failed copy keeps its caller waiting while it cleans up.
const CLEANUP_WAIT: Duration = Duration::from_secs(3);

/// From when on a step is worth a line.
const SLOW: Duration = Duration::from_secs(1);

/// What a copy is doing.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Reading files, compressing, encrypting.
    Read,
    /// Handing something to the store, or waiting for room to do so.
    Send,
}

/// Who waits for a copy.
pub(super) struct Caller {
    /// Something comes once the caller has the answer, an error when it went away.
    pub(super) is_told: oneshot::Receiver<()>,
    pub(super) answer: oneshot::Sender<Result<Option<Bytes>, StorageError>>,
}

/// Copies segments of one manager.
pub(super) struct Uploader {
    store: Arc<dyn ObjectStore>,
    settings: UploadSettings,
    transform: TransformSettings,
    key_ring: KeyRing,
    forge: Arc<Forge>,
    memory: Memory,
    pace: Pace,
    metrics: StorageMetrics,
    cleaner: Cleaner,
    joint: Arc<Joint>,
    tasks: Tasks,
}

impl Uploader {
    pub(super) fn new(
        base: Base,
        settings: UploadSettings,
        transform: TransformSettings,
        key_ring: KeyRing,
        cleaner: Cleaner,
        joint: Arc<Joint>,
    ) -> Self {
        let Base { store, metrics, tasks, .. } = base;
        let part = settings.part_size + BlockSize::default().stored_bytes();
        let memory = settings.memory.max(part.saturating_mul(BUFFERS_MIN as u64));
        Self {
            store,
            memory: Memory::new(memory, metrics.upload_bytes_held.clone()),
            pace: Pace::new(settings.bytes_per_second),
            settings,
            forge: Arc::new(Forge::new(transform.level, transform.threads)),
            transform,
            key_ring,
            metrics,
            cleaner,
            joint,
            tasks,
        }
    }

    /// Copies a segment and answers through `answer`. Cancelled when the caller's end of `caller` is dropped or the manager
    /// closes; the caller says through it that it has the answer.
    ///
    /// Returns when the store is clean, or as clean as it could be made in time; a failure is answered before that if
    /// cleaning up takes long.
    pub(super) async fn copy(
        &self,
        segment: &SegmentMetadata,
        files: &SegmentFiles,
        key: &ObjectKey,
        prefix: &str,
        caller: Caller,
        copying: Copying,
    ) {
        let Caller { mut is_told, answer } = caller;
        let (started, mut left) = (Instant::now(), Left::default());
        self.metrics.copies_running.add(1);
        let sent = tokio::select! {
            sent = tokio::time::timeout(self.settings.timeout, self.send(segment, files, key, prefix, &mut left)) => {
                sent.unwrap_or_else(|_| Err(self.timeout(key, started, "`upload.timeout.ms`")))
            }
            _ = &mut is_told => Err(cancelled_copy(key)),
            () = self.tasks.closing() => Err(cancelled_copy(key)),
        };
        self.joint.copy_met(&sent);
        // Last of all: from here on nobody but the metadata side's own log can tell that it must not live.
        let outcome = sent.and_then(|place| {
            let is_condemned = self.joint.is_condemned(&segment.id);
            if is_condemned { Err(StorageError::Condemned { object: key.to_string().into() }) } else { Ok(place) }
        });
        self.metrics.copies_running.add(-1);
        self.metrics.copied(segment, started.elapsed(), &outcome);
        let (error, answer) = match outcome {
            Ok(place) => {
                copying.ended(CopyEnd::Done);
                if answer.send(Ok(place)).is_ok() && self.is_taken(is_told).await {
                    return;
                }
                // Nobody will ever say that this segment is finished.
                (cancelled_copy(key), None)
            }
            Err(error) => (error, Some(answer)),
        };
        copying.ended(CopyEnd::Failed { is_removed: false });
        // The broker deletes at once what it is told has failed.
        let unanswered = {
            let removal = self.cleaner.remove(key, &mut left);
            tokio::pin!(removal);
            match tokio::time::timeout(CLEANUP_WAIT, &mut removal).await {
                Ok(()) => answer,
                Err(_) => {
                    let _ = answer.map(|answer| answer.send(Err(error.clone())));
                    removal.await;
                    None
                }
            }
        };
        if left.is_over(&error) {
            copying.removed();
        }
        let _ = unanswered.map(|answer| answer.send(Err(error.clone())));
        if self.cleaner.remove_late(key, left, &error).await {
            copying.removed();
        }
    }

    /// Whether the caller has taken the answer that was sent. At a close that counts as taken.
    async fn is_taken(&self, is_told: oneshot::Receiver<()>) -> bool {
        tokio::select! {
            told = is_told => told.is_ok(),
            () = self.tasks.closing() => true,
        }
    }

    async fn send(
        &self,
        segment: &SegmentMetadata,
        files: &SegmentFiles,
        key: &ObjectKey,
        prefix: &str,
        left: &mut Left,
    ) -> Result<Option<Bytes>, StorageError> {
        let block_size = BlockSize::default();
        let size = u64::try_from(segment.size_bytes).map_err(|_| StorageError::InvalidArgument {
            what: format!("copy {}: a size of {} bytes", segment.id, segment.size_bytes).into(),
        })?;
        let opened = Source::open(segment, &files.log, key.as_str(), block_size);
        let source = self.progress(key, Phase::Read, opened).await?;
        let indexes = self.progress(key, Phase::Read, Indexes::open(key.as_str(), files)).await?;
        let transforms = self.progress(key, Phase::Read, self.transforms(&source, &indexes)).await?;
        let job = Job { segment, size, source: &source, indexes: &indexes, key, prefix };
        match self.transform.layout {
            LayoutChoice::Aiven => return self.send_aiven(&job, transforms.is_compressed, left).await,
            LayoutChoice::Compact if !transforms.is_none() => {
                return self.send_sealed(&job, transforms, left).await.map(Some);
            }
            LayoutChoice::Compact => {}
        }
        // The tail can be built once there is memory for it, and how much that is follows from the plan.
        let most = indexes.bytes().saturating_add(FOOTER_BYTES);
        let plan = PartPlan::new(size, most, block_size, self.settings.part_size);
        let mut buffers = self.plain_buffers(&plan, size, block_size, indexes.bytes()).await;
        let indexes = self.progress(key, Phase::Read, indexes.read()).await?;
        let (tail, tail_length) = build_tail(segment, block_size, &indexes)
            .map_err(|error| StorageError::InvalidArgument { what: format!("copy {}: {error}", segment.id).into() })?;
        let copy = Copy { uploader: self, source, plan, tail, key };
        if plan.parts() == 1 {
            copy.put_at_once(&mut buffers, left).await?;
        } else {
            copy.put_in_parts(&mut buffers, left).await?;
        }
        Ok(Some(Place::new(block_size, data_length(size, block_size), tail_length, prefix).encode()))
    }

    /// Buffers for a segment that is stored as it is, beside the bytes of its indexes.
    async fn plain_buffers(&self, plan: &PartPlan, size: u64, block_size: BlockSize, indexes: u64) -> Buffers {
        let bytes = plan.buffer_bytes(size, block_size);
        if plan.parts() == 1 {
            return self.memory(bytes, indexes, 1, 1).await;
        }
        let parts = usize::try_from(plan.parts()).unwrap_or(usize::MAX);
        let most = self.settings.parts_in_flight.saturating_add(2).min(parts.saturating_add(1)).max(BUFFERS_MIN);
        self.memory(bytes, indexes, BUFFERS_MIN, most).await
    }

    /// The object that a copy of a segment begins with.
    pub(super) fn first_object(&self, prefix: &str, segment: &SegmentMetadata) -> ObjectKey {
        match self.transform.layout {
            LayoutChoice::Compact => ObjectKey::of_segment(prefix, segment),
            LayoutChoice::Aiven => Names::new(prefix, None, segment).log(),
        }
    }

    /// What is to be done to a segment.
    async fn transforms(&self, source: &Source, indexes: &Indexes) -> Result<Transforms, StorageError> {
        let mut is_compressed = self.transform.is_compressed;
        if is_compressed && self.transform.is_heuristic {
            is_compressed = !source.is_compressed(&indexes.offset_entries().await?).await?;
        }
        Ok(Transforms { is_compressed, is_encrypted: self.transform.key_pair.is_some() })
    }

    /// Bounds a step that must get somewhere.
    async fn progress<T>(
        &self,
        key: &ObjectKey,
        phase: Phase,
        step: impl Future<Output = Result<T, StorageError>> + Send,
    ) -> Result<T, StorageError> {
        let started = Instant::now();
        let done = tokio::time::timeout(self.settings.no_progress, step)
            .await
            .unwrap_or_else(|_| Err(self.timeout(key, started, "`upload.no.progress.timeout.ms`")));
        let took = started.elapsed();
        match phase {
            Phase::Read => self.metrics.copy_reads.record(took),
            Phase::Send => self.metrics.copy_sends.record(took),
        }
        if took >= SLOW {
            tracing::debug!(object = %key, ?phase, took_ms = took.as_millis(), "a step of a copy took long");
        }
        done
    }

    /// Waits for buffers. Other copies have them, and have deadlines of their own.
    async fn memory(&self, bytes: u64, extra: u64, least: usize, most: usize) -> Buffers {
        let started = Instant::now();
        let buffers = self.memory.buffers(bytes, extra, least, most).await;
        self.metrics.copy_waits.record(started.elapsed());
        buffers
    }

    /// Waits until bytes may be sent. That is no lack of progress, however long it takes.
    async fn paced(&self, bytes: u64) {
        let started = Instant::now();
        self.pace.wait_for(bytes).await;
        self.metrics.copy_waits.record(started.elapsed());
    }

    fn timeout(&self, key: &ObjectKey, started: Instant, limit: &'static str) -> StorageError {
        StorageError::Timeout {
            action: "copy",
            object: key.to_string().into(),
            store: self.store.name().to_owned().into(),
            waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            limit,
        }
    }
}

fn cancelled_copy(key: &ObjectKey) -> StorageError {
    StorageError::Cancelled { action: "copy", object: key.to_string().into() }
}

/// One copy under way.
struct Copy<'a> {
    uploader: &'a Uploader,
    source: Source,
    plan: PartPlan,
    tail: Vec<Bytes>,
    key: &'a ObjectKey,
}

impl Copy<'_> {
    async fn put_at_once(&self, buffers: &mut Buffers, left: &mut Left) -> Result<(), StorageError> {
        let uploader = self.uploader;
        let read = self.source.read_blocks(self.plan.blocks(0), buffers.take().await);
        let buffer = uploader.progress(self.key, Phase::Read, read).await?;
        let mut body = vec![buffers.lend(buffer)];
        body.extend(self.tail.iter().cloned());
        uploader.progress(self.key, Phase::Read, self.source.check_unchanged()).await?;
        uploader.paced(length(&body)).await;
        left.object_may_exist = true;
        uploader.progress(self.key, Phase::Send, uploader.store.put(self.key, body)).await
    }

    async fn put_in_parts(&self, buffers: &mut Buffers, left: &mut Left) -> Result<(), StorageError> {
        let uploader = self.uploader;
        left.object_may_exist = true;
        let upload = uploader.store.upload(self.key, buffers.count() - 2).await?;
        let upload = left.upload.insert(upload);
        for part in 0..self.plan.parts() {
            let buffer = uploader.progress(self.key, Phase::Send, async { Ok(buffers.take().await) }).await?;
            let read = self.source.read_blocks(self.plan.blocks(part), buffer);
            let buffer = uploader.progress(self.key, Phase::Read, read).await?;
            let mut body = vec![buffers.lend(buffer)];
            if self.plan.is_last(part) {
                body.extend(self.tail.iter().cloned());
            }
            let bytes = length(&body);
            uploader.paced(bytes).await;
            uploader.progress(self.key, Phase::Send, upload.part(body)).await?;
            tracing::debug!(object = %self.key, part = part + 1, parts = self.plan.parts(), bytes, "part handed over");
        }
        uploader.progress(self.key, Phase::Read, self.source.check_unchanged()).await?;
        if let Some(upload) = &mut left.upload {
            uploader.progress(self.key, Phase::Send, upload.complete()).await?;
        }
        Ok(())
    }
}

fn length(body: &[Bytes]) -> u64 {
    body.iter().map(|part| part.len() as u64).sum()
}
