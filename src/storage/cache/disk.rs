//! The disk tier: chunks in foyer's block engine, alone, without a memory tier of its own.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use foyer::{Code, Load};
use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinHandle;

use super::engine::Running;
use super::folder::Folder;
use crate::metrics::Counter;
use crate::model::KafkaUuid;

/// Goes up with everything that changes what is in the files.
const FORMAT: &str = "undercroft chunk cache 2, foyer 0.22";
/// Files of a cache, so many that throwing away the oldest loses little and so few that they may all be open.
const FILES: u64 = 64;
const FILE_MIN: u64 = 16 << 20;
const FILE_MAX: u64 = 1 << 30;
/// Files that the engine needs at least: one is written, one is free, the others hold something.
const FILES_MIN: u64 = 4;
/// Of the two buffers that chunks wait in to be written. More than that comes at once only if the disk is slower than the
/// store; it is then not kept.
pub(super) const BUFFER: usize = 16 << 20;
/// Reads of the disk at once. Each holds a thread, also one that nobody waits for any longer.
pub(super) const READS_AT_ONCE: usize = 16;
/// How long a disk that didn't answer is let alone.
const REST: Duration = Duration::from_secs(60);
/// How long after it was handed over a chunk must be there.
const WRITTEN_AFTER: Duration = Duration::from_secs(10);
/// How long the end of an engine that has written all it will takes on a disk that answers.
const ENDED_AFTER: Duration = Duration::from_millis(500);

/// What the engine writes at a time. It fills up an entry with whatever its memory had in it before, which may be bytes that
/// must not come to a disk in the clear: so entries fill up pages by themselves.
const PAGE: usize = 4096;
/// Bytes of an entry beside a chunk: the engine's header, the key, the length of the value, and that of the chunk.
const BESIDE: usize = 36 + 32 + 8 + 4;

/// A chunk as an entry's value: its length, its bytes and zeros up to the end of a page.
fn padded(stored: &[u8]) -> Option<Bytes> {
    let length = u32::try_from(stored.len()).ok()?;
    let zeros = (BESIDE + stored.len()).next_multiple_of(PAGE) - BESIDE - stored.len();
    let mut value = Vec::with_capacity(4 + stored.len() + zeros);
    value.extend(length.to_le_bytes());
    value.extend(stored);
    value.resize(4 + stored.len() + zeros, 0);
    Some(Bytes::from(value))
}

/// The chunk in a value.
fn unpadded(value: &Bytes) -> Option<Bytes> {
    let length = u32::from_le_bytes(*value.first_chunk::<4>()?);
    let end = usize::try_from(length).ok()?.checked_add(4)?;
    (end <= value.len()).then(|| value.slice(4..end))
}

/// Where, how much, and how long is waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct DiskSettings {
    pub(in super::super) path: PathBuf,
    pub(in super::super) bytes: u64,
    pub(in super::super) patience: DiskPatience,
}

/// How long the disk is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct DiskPatience {
    /// A read: the store is asked then. A good disk needs a few milliseconds.
    pub(in super::super) read: Duration,
    /// What is being written when the cache closes.
    pub(in super::super) close: Duration,
}

impl Default for DiskPatience {
    fn default() -> Self {
        Self { read: Duration::from_secs(1), close: Duration::from_secs(2) }
    }
}

impl DiskSettings {
    fn file_bytes(&self) -> u64 {
        let bytes = (self.bytes / FILES).clamp(FILE_MIN, FILE_MAX);
        bytes - bytes % 4096
    }

    fn files(&self) -> u64 {
        (self.bytes / self.file_bytes()).max(FILES_MIN)
    }
}

/// A chunk that the engine's writer dies of.
#[cfg(test)]
pub(super) const POISON: u64 = u64::MAX;

/// A chunk of an object. The object's length tells two layouts of one segment apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in super::super) struct ChunkKey {
    pub(in super::super) segment: KafkaUuid,
    pub(in super::super) chunk: u64,
    pub(in super::super) object_length: u64,
}

impl Code for ChunkKey {
    fn encode(&self, writer: &mut impl Write) -> foyer::Result<()> {
        #[cfg(test)]
        assert_ne!(self.chunk, POISON, "the engine's writer ends as it does when a write fails");
        let numbers = [self.chunk.to_le_bytes(), self.object_length.to_le_bytes()].concat();
        writer.write_all(&[&self.segment.0[..], &numbers].concat()).map_err(foyer::Error::io_error)
    }

    fn decode(reader: &mut impl Read) -> foyer::Result<Self> {
        let (mut segment, mut chunk, mut length) = ([0; 16], [0; 8], [0; 8]);
        reader.read_exact(&mut segment).map_err(foyer::Error::io_error)?;
        reader.read_exact(&mut chunk).map_err(foyer::Error::io_error)?;
        reader.read_exact(&mut length).map_err(foyer::Error::io_error)?;
        Ok(Self {
            segment: KafkaUuid(segment),
            chunk: u64::from_le_bytes(chunk),
            object_length: u64::from_le_bytes(length),
        })
    }

    fn estimated_size(&self) -> usize {
        32
    }
}

/// What the disk cache counts with.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct DiskMeters {
    pub(in super::super) hits: Counter,
    pub(in super::super) dropped: Counter,
    pub(in super::super) bytes_written: Counter,
}

/// Chunks on disk, once it has been opened.
pub(in super::super) struct DiskCache {
    open: Arc<OnceCell<Open>>,
    opening: Mutex<Option<JoinHandle<()>>>,
    runtime: tokio::runtime::Handle,
    meters: DiskMeters,
    reads: Arc<Semaphore>,
    patience: DiskPatience,
    rests_until: Mutex<Option<Instant>>,
}

struct Open {
    /// `None` once it was closed or switched off.
    running: Mutex<Option<Arc<Running>>>,
    settings: DiskSettings,
    /// One chunk is looked for at a time.
    is_watching: AtomicBool,
    has_warned: AtomicBool,
}

impl DiskCache {
    /// Opens it in the background. Until it is open it holds nothing.
    pub(in super::super) fn open(settings: DiskSettings, runtime: &tokio::runtime::Handle, meters: DiskMeters) -> Self {
        let open = Arc::new(OnceCell::new());
        let (cell, path, patience) = (Arc::clone(&open), settings.path.display().to_string(), settings.patience);
        let opening = runtime.spawn(async move {
            match Open::new(settings).await {
                Ok(opened) => drop(cell.set(opened)),
                Err(why) => tracing::warn!(
                    %path,
                    "chunks are kept in memory only: {why}; check `fetch.chunk.cache.path` and restart"
                ),
            }
        });
        Self {
            open,
            opening: Mutex::new(Some(opening)),
            runtime: runtime.clone(),
            meters,
            reads: Arc::new(Semaphore::new(READS_AT_ONCE)),
            patience,
            rests_until: Mutex::new(None),
        }
    }

    /// The engine, if there is one that lives. One that died is told of once and let go.
    fn running(&self) -> Option<Arc<Running>> {
        let open = self.open.get()?;
        let mut running = open.running.lock();
        if running.as_ref()?.is_alive() {
            return running.clone();
        }
        let dead = running.take()?;
        drop(running);
        tracing::warn!(
            path = %open.settings.path.display(),
            "a write to the disk cache failed, so it is switched off until the next start, and chunks are kept in memory only: \
             check whether the disk is full or broken, and `fetch.chunk.cache.disk.size`"
        );
        drop(dead.end(self.patience.close));
        None
    }

    /// Whether it may have a chunk. Asks no disk.
    pub(in super::super) fn may_have(&self, key: &ChunkKey) -> bool {
        let rests = self.rests_until.lock().is_some_and(|until| Instant::now() < until);
        !rests && self.running().is_some_and(|running| running.engine.storage().may_contains(key))
    }

    /// A chunk as it was stored. Its bytes are those that were handed over, or nothing comes; also if the disk takes long.
    pub(in super::super) async fn get(&self, key: &ChunkKey) -> Option<Bytes> {
        let (open, running) = (self.open.get()?, self.running()?);
        let (reads, key) = (Arc::clone(&self.reads), *key);
        let read = self.runtime.spawn(async move {
            let _read = reads.acquire_owned().await;
            running.engine.storage().load(&key).await
        });
        let Ok(read) = tokio::time::timeout(self.patience.read, read).await else {
            self.rest(open);
            return None;
        };
        let stored = match read.ok()? {
            Ok(Load::Entry { value, .. }) => value,
            Ok(Load::Piece { piece, .. }) => piece.value().clone(),
            Ok(Load::Miss | Load::Throttled) => return None,
            Err(error) => {
                tracing::debug!(%error, "a chunk can't be read from the disk cache");
                self.discard(&key);
                return None;
            }
        };
        let stored = unpadded(&stored)?;
        self.meters.hits.increment();
        Some(stored)
    }

    /// Once it is open, or will never be.
    #[cfg(test)]
    pub(in super::super) async fn opened(&self) -> bool {
        let opening = self.opening.lock().take();
        if let Some(opening) = opening {
            let _ = opening.await;
        }
        self.open.get().is_some()
    }

    /// As if the disk took its time over as many reads as there may be: until what comes back is dropped.
    #[cfg(test)]
    pub(super) async fn stall(&self) -> tokio::sync::OwnedSemaphorePermit {
        let all = u32::try_from(READS_AT_ONCE).expect("few");
        Arc::clone(&self.reads).acquire_many_owned(all).await.expect("never closed")
    }

    /// Asks the disk for nothing for a while.
    fn rest(&self, open: &Open) {
        let now = Instant::now();
        let was_resting = self.rests_until.lock().replace(now + REST).is_some_and(|until| now < until);
        if !was_resting {
            tracing::warn!(
                path = %open.settings.path.display(),
                "the disk cache did not answer within {} ms: for {} s what it has comes from the store",
                self.patience.read.as_millis(),
                REST.as_secs()
            );
        }
    }

    /// Keeps a chunk, if the disk is quick enough and the chunk not too large to wait for it.
    pub(in super::super) fn put(&self, key: ChunkKey, stored: Bytes) {
        let Some(open) = self.open.get().filter(|_| stored.len() < BUFFER) else { return };
        let (Some(running), Some(value)) = (self.running(), padded(&stored)) else { return };
        self.meters.bytes_written.add(stored.len() as u64);
        drop(running.engine.storage_writer(key).force().insert(value));
        self.watch(open, key);
    }

    /// A chunk turned out to be wrong.
    pub(in super::super) fn discard(&self, key: &ChunkKey) {
        if let Some(running) = self.running() {
            self.meters.dropped.increment();
            running.engine.storage().delete(key);
        }
    }

    /// Waits for what is being written, but not for long, and gives the folder back.
    pub(in super::super) async fn close(&self) {
        let opening = self.opening.lock().take();
        if let Some(opening) = opening {
            opening.abort();
            let _ = opening.await;
        }
        let running = self.open.get().and_then(|open| open.running.lock().take());
        if let Some(running) = running {
            // It has its time for what it was given, and some for what the disk has still to answer.
            let _ = tokio::time::timeout(self.patience.close + ENDED_AFTER, running.end(self.patience.close)).await;
        }
    }

    /// The engine tells nobody when a write fails. So one chunk now and then is looked for after a while.
    fn watch(&self, open: &Open, key: ChunkKey) {
        if open.has_warned.load(Ordering::Relaxed) || open.is_watching.swap(true, Ordering::Relaxed) {
            return;
        }
        let cell = Arc::clone(&self.open);
        self.runtime.spawn(async move {
            tokio::time::sleep(WRITTEN_AFTER).await;
            let Some(open) = cell.get() else { return };
            let running = open.running.lock().clone();
            // One that was closed, or died, is told of elsewhere.
            let is_missing = running.is_some_and(|it| it.is_alive() && !it.engine.storage().may_contains(&key));
            open.is_watching.store(false, Ordering::Relaxed);
            if is_missing && !open.has_warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    path = %open.settings.path.display(),
                    "chunks don't arrive in the disk cache: the disk is full, fails, or is slower than the store; reading \
                     goes on without what is missing"
                );
            }
        });
    }
}

impl Open {
    async fn new(settings: DiskSettings) -> Result<Self, String> {
        let format = format!("{FORMAT}, files of {} bytes", settings.file_bytes());
        let (path, files) = (settings.path.clone(), settings.files());
        let taken = tokio::task::spawn_blocking(move || Folder::take(&path, &format, files)).await;
        let folder = taken.unwrap_or_else(|error| Err(error.to_string()))?;
        if folder.is_emptied {
            tracing::warn!(
                path = %folder.path.display(),
                "the disk cache was made by another version or for another size, so it starts empty"
            );
        }
        let running = Running::open(folder, files, settings.file_bytes()).await?;
        Ok(Self { running: Mutex::new(Some(running)), settings, is_watching: false.into(), has_warned: false.into() })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(running) = self.running.lock().take() {
            drop(running.end(Duration::ZERO));
        }
    }
}
