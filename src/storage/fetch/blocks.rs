//! Blocks in memory, and the requests that bring them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use bytes::Bytes;
use foyer::{Cache, CacheBuilder, Event, EventListener};
use futures_util::future::{join_all, try_join_all};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::super::StorageError;
use super::super::cache::{ChunkKey, DiskCache};
use super::super::metrics::{Evictions, StorageMetrics};
use super::super::settings::FetchSettings;
use super::super::store::ObjectStore;
use super::super::tasks::Tasks;
use super::flight::{Flight, Flights};
use super::pieces::Pieces;
use super::target::Target;
use crate::metrics::Counter;
use crate::model::KafkaUuid;

type Key = (KafkaUuid, u64);

const KIB: u64 = 1024;

/// Requests under way, with those that somebody waits for, from which on nothing more is read ahead.
const REQUESTS_MAX: usize = 24;

/// A block in memory.
#[derive(Debug)]
pub(super) struct Kept {
    data: Bytes,
    /// It was read ahead, and nobody has wanted it yet.
    is_unread: AtomicBool,
}

impl Kept {
    fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }
}

/// Blocks that one request brought.
#[derive(Debug)]
pub(super) struct Run {
    blocks: Range<u64>,
    data: Vec<Arc<Kept>>,
}

impl Run {
    pub(super) fn block(&self, number: u64) -> Option<&Arc<Kept>> {
        let at = number.checked_sub(self.blocks.start)?;
        self.data.get(usize::try_from(at).ok()?)
    }
}

/// Where a block is.
pub(super) enum Found {
    Here(Arc<Kept>),
    /// On its way, perhaps because somebody else asked for it.
    Coming(Flight<Arc<Run>>),
}

/// The block cache of a manager.
///
/// What is asked for is fetched to its end and kept, also if whoever asked has gone: a reader that comes back for the
/// same bytes finds them, or the request under way.
pub(super) struct Blocks {
    cache: Cache<Key, Arc<Kept>>,
    flights: Flights<Key, Arc<Run>>,
    /// KiB that may still be asked for.
    room: Semaphore,
    room_kib: u32,
    requests: AtomicUsize,
    disk: Option<Arc<DiskCache>>,
    store: Arc<dyn ObjectStore>,
    runtime: tokio::runtime::Handle,
    settings: FetchSettings,
    metrics: StorageMetrics,
    tasks: Tasks,
}

impl Blocks {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        runtime: tokio::runtime::Handle,
        settings: FetchSettings,
        metrics: StorageMetrics,
        tasks: Tasks,
        disk: Option<Arc<DiskCache>>,
        thrown_away: impl Fn(KafkaUuid) + Send + Sync + 'static,
    ) -> Self {
        let (wasted, evictions) = (metrics.ahead_wasted.clone(), metrics.block_evictions.clone());
        let leaving = Leaving { wasted, evictions, thrown_away };
        // One shard: each is a bound of its own, and a block may be as large as a quarter of the cache.
        let cache = CacheBuilder::new(settings.chunk_cache)
            .with_shards(1)
            .with_weighter(|_: &Key, kept: &Arc<Kept>| kept.data.len())
            .with_event_listener(Arc::new(leaving))
            .build();
        let room_kib = u32::try_from(settings.memory / KIB).unwrap_or(u32::MAX).min(u32::MAX >> 3);
        let room = Semaphore::new(room_kib as usize);
        let requests = AtomicUsize::new(0);
        Self {
            cache,
            flights: Flights::new(),
            room,
            room_kib,
            requests,
            disk,
            store,
            runtime,
            settings,
            metrics,
            tasks,
        }
    }

    /// Finds the first of `blocks`; if it is neither in memory nor on its way, asks for as many of them as aren't either.
    pub(super) fn find(self: &Arc<Self>, target: &Arc<Target>, blocks: Range<u64>) -> Found {
        let (segment, first) = (target.segment.id.uuid, blocks.start);
        if let Some(entry) = self.cache.get(&(segment, first)) {
            self.metrics.block_hits.increment();
            return Found::Here(Arc::clone(entry.value()));
        }
        let mut flights = self.flights.0.lock();
        if let Some(flight) = flights.get(&(segment, first)) {
            self.metrics.block_joins.increment();
            return Found::Coming(flight.clone());
        }
        // A flight may have landed between the two looks.
        if let Some(entry) = self.cache.get(&(segment, first)) {
            self.metrics.block_hits.increment();
            return Found::Here(Arc::clone(entry.value()));
        }
        let missing = blocks.skip(1).take_while(|block| self.is_missing(&flights, (segment, *block))).count() as u64;
        let run = first..first + 1 + missing;
        self.metrics.block_misses.add(run.end - run.start);
        Found::Coming(self.launch(&mut flights, target, run, false))
    }

    /// The bytes of a block, now that somebody wants them.
    pub(super) fn bytes(&self, kept: &Kept) -> Bytes {
        if kept.is_unread() && kept.is_unread.swap(false, Ordering::Relaxed) {
            self.metrics.ahead_used.add(kept.data.len() as u64);
        }
        kept.data.clone()
    }

    /// Asks for what of `blocks` is neither in memory nor on its way, before somebody wants it. False, and nothing is asked
    /// for, while there is no room beside what others wait for.
    pub(super) fn read_ahead(self: &Arc<Self>, target: &Arc<Target>, blocks: Range<u64>) -> bool {
        let is_full = self.room.available_permits() <= self.room_kib as usize / 2;
        if is_full || self.requests.load(Ordering::Relaxed) >= REQUESTS_MAX {
            return false;
        }
        let segment = target.segment.id.uuid;
        let mut flights = self.flights.0.lock();
        let mut next = blocks.start;
        while next < blocks.end {
            let missing = (next..blocks.end).take_while(|block| self.is_missing(&flights, (segment, *block))).count();
            let run = next..next + missing as u64;
            next = run.end + 1;
            if !run.is_empty() {
                let bytes = target.stored_range(run.clone());
                self.metrics.ahead_asked.add(bytes.end - bytes.start);
                // Lands in the cache, whoever waits for it.
                drop(self.launch(&mut flights, target, run, true));
            }
        }
        true
    }

    fn is_missing(&self, flights: &HashMap<Key, Flight<Arc<Run>>>, key: Key) -> bool {
        !(self.cache.contains(&key) || flights.contains_key(&key))
    }

    fn launch(
        self: &Arc<Self>,
        flights: &mut HashMap<Key, Flight<Arc<Run>>>,
        target: &Arc<Target>,
        run: Range<u64>,
        is_ahead: bool,
    ) -> Flight<Arc<Run>> {
        let segment = target.segment.id.uuid;
        let (land, flight) = Flights::<Key, Arc<Run>>::start(target.key.as_str());
        flights.extend(run.clone().map(|block| ((segment, block), flight.clone())));
        let (blocks, target, own) = (Arc::clone(self), Arc::clone(target), flight.clone());
        // Counted before it begins: what is read ahead next must see it.
        self.requests.fetch_add(1, Ordering::Relaxed);
        let request = Request(Arc::clone(self));
        self.runtime.spawn(async move {
            let _request = request;
            let _forget = Forget { blocks: &blocks, segment, run: run.clone(), own: &own };
            let _ = land.send(blocks.fly(&target, run, is_ahead, &own).await);
        });
        flight
    }

    /// Drops what is known of a deleted segment of `count` blocks, and what is on its way.
    pub(super) fn forget(&self, segment: KafkaUuid, count: u64) {
        let mut flights = self.flights.0.lock();
        flights.retain(|(flying, _), _| *flying != segment);
        // Under the lock, so that nothing that lands comes in between.
        for block in 0..count {
            if self.cache.usage() == 0 {
                break;
            }
            self.cache.remove(&(segment, block));
        }
        drop(flights);
        self.metrics.block_bytes.set(i64::try_from(self.cache.usage()).unwrap_or(i64::MAX));
    }

    async fn fly(
        &self,
        target: &Arc<Target>,
        run: Range<u64>,
        is_ahead: bool,
        own: &Flight<Arc<Run>>,
    ) -> Result<Arc<Run>, StorageError> {
        let Some(_running) = self.tasks.begin() else { return Err(StorageError::Closed { action: "get" }) };
        tokio::select! {
            run = self.load_or_wait(target, run, is_ahead, own) => run,
            () = self.tasks.closing() => {
                Err(StorageError::Cancelled { action: "get", object: target.key.to_string().into() })
            }
        }
    }

    async fn load_or_wait(
        &self,
        target: &Arc<Target>,
        run: Range<u64>,
        is_ahead: bool,
        own: &Flight<Arc<Run>>,
    ) -> Result<Arc<Run>, StorageError> {
        let loaded = self.load(target, run, is_ahead).await;
        match &loaded {
            Ok(run) => {
                let flights = self.flights.0.lock();
                for (block, kept) in run.blocks.clone().zip(&run.data) {
                    let key = (target.segment.id.uuid, block);
                    if Flights::is_joined(&flights, &key, own) {
                        self.cache.insert(key, Arc::clone(kept));
                    }
                }
                drop(flights);
                self.metrics.block_bytes.set(i64::try_from(self.cache.usage()).unwrap_or(i64::MAX));
            }
            // Whoever asks again meanwhile joins this flight and fails with it.
            Err(_) => tokio::time::sleep(self.settings.failure_delay).await,
        }
        loaded
    }

    async fn load(&self, target: &Arc<Target>, run: Range<u64>, is_ahead: bool) -> Result<Arc<Run>, StorageError> {
        let _room = self.room_for(target, target.memory_bytes(&run)).await?;
        let mut data = self.from_disk(target, run.clone()).await;
        let missing = gaps(&data).into_iter().map(|gap| run.start + gap.start..run.start + gap.end);
        let brought = try_join_all(missing.map(|blocks| self.from_store(target, blocks))).await?;
        let mut brought = brought.into_iter().flatten();
        for block in data.iter_mut().filter(|block| block.is_none()) {
            *block = brought.next();
        }
        let keep = |data| Arc::new(Kept { data, is_unread: AtomicBool::new(is_ahead) });
        Ok(Arc::new(Run { blocks: run, data: data.into_iter().flatten().map(keep).collect() }))
    }

    /// What of `blocks` is on disk and right.
    async fn from_disk(&self, target: &Arc<Target>, blocks: Range<u64>) -> Vec<Option<Bytes>> {
        let Some(disk) = &self.disk else { return blocks.map(|_| None).collect() };
        join_all(blocks.map(|block| async move {
            let key = chunk_key(target, block);
            if !disk.may_have(&key) {
                return None;
            }
            let stored = disk.get(&key).await?;
            let opened = self.opened(target, block..block + 1, vec![stored]).await.ok().and_then(|mut got| got.pop());
            if opened.is_none() {
                disk.discard(&key);
            }
            opened
        }))
        .await
    }

    /// Blocks, by one request.
    async fn from_store(&self, target: &Arc<Target>, run: Range<u64>) -> Result<Vec<Bytes>, StorageError> {
        let range = target.stored_range(run.clone());
        let bytes = i64::try_from(range.end - range.start).unwrap_or(i64::MAX);
        let started = Instant::now();
        self.metrics.fetch_bytes_in_flight.add(bytes);
        let got = self.store.get(&target.key, range).await;
        self.metrics.fetch_bytes_in_flight.add(-bytes);
        self.metrics.fetch_requests.record(started.elapsed());
        let got = match got {
            Ok(got) => got,
            Err(error) => return Err(self.at_block(error, target, &run).await),
        };
        let opened = self.opened(target, run.clone(), got.clone()).await?;
        if let Some(disk) = &self.disk {
            let mut stored = Pieces::new(got);
            for block in run {
                let range = target.stored_range(block..block + 1);
                let stored = stored.take(usize::try_from(range.end - range.start).unwrap_or(0));
                disk.put(chunk_key(target, block), Bytes::from(stored));
            }
        }
        Ok(opened)
    }

    async fn opened(
        &self,
        target: &Arc<Target>,
        run: Range<u64>,
        stored: Vec<Bytes>,
    ) -> Result<Vec<Bytes>, StorageError> {
        let opened = if target.is_transformed() {
            let owned = Arc::clone(target);
            let opened = tokio::task::spawn_blocking(move || owned.open(run, Pieces::new(stored))).await;
            opened.map_err(|error| StorageError::Internal {
                action: "get",
                object: target.key.to_string().into(),
                why: error.to_string().into(),
                source: None,
            })?
        } else {
            target.open(run, Pieces::new(stored))
        };
        opened.map_err(|(block, why)| StorageError::Corrupt {
            action: "get",
            object: target.key.to_string().into(),
            store: self.store.name().to_owned().into(),
            place: format!("chunk {block}").into(),
            why: why.into(),
        })
    }

    async fn room_for(&self, target: &Target, bytes: u64) -> Result<SemaphorePermit<'_>, StorageError> {
        let kib = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX).min(self.room_kib);
        // Fails only if the semaphore were closed, which nobody does.
        match tokio::time::timeout(self.settings.patience, self.room.acquire_many(kib)).await {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) | Err(_) => Err(StorageError::Timeout {
                action: "get",
                object: target.key.to_string().into(),
                store: self.store.name().to_owned().into(),
                waited_ms: u64::try_from(self.settings.patience.as_millis()).unwrap_or(u64::MAX),
                limit: "`storage.s3.api.call.timeout`, spent waiting for other reads (`fetch.memory.bytes.max`)",
            }),
        }
    }

    /// Says which chunk is the first that a truncated object lacks.
    async fn at_block(&self, error: StorageError, target: &Target, run: &Range<u64>) -> StorageError {
        let StorageError::Corrupt { action, object, store, place, why } = error else { return error };
        let (first, last) = (run.start, run.end.saturating_sub(1));
        let Ok(size) = self.store.size(&target.key).await else {
            let place = format!("{place}, in chunks {first} to {last},").into();
            return StorageError::Corrupt { action, object, store, place, why };
        };
        let place = format!("chunk {}", target.block_at(size).clamp(first, last)).into();
        let why = format!("{why} (the object has {size} bytes and must have {})", target.object_length()).into();
        StorageError::Corrupt { action, object, store, place, why }
    }
}

fn chunk_key(target: &Target, chunk: u64) -> ChunkKey {
    ChunkKey { segment: target.segment.id.uuid, chunk, object_length: target.object_length() }
}

/// Where nothing is, as ranges.
fn gaps(data: &[Option<Bytes>]) -> Vec<Range<u64>> {
    let mut gaps: Vec<Range<u64>> = Vec::new();
    for (at, _) in (0_u64..).zip(data).filter(|(_, block)| block.is_none()) {
        match gaps.last_mut() {
            Some(gap) if gap.end == at => gap.end += 1,
            _ => gaps.push(at..at + 1),
        }
    }
    gaps
}

/// Counts a request until its task has ended.
struct Request(Arc<Blocks>);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Hears what leaves the cache.
struct Leaving<F> {
    wasted: Counter,
    evictions: Evictions,
    thrown_away: F,
}

impl<F: Fn(KafkaUuid) + Send + Sync + 'static> EventListener for Leaving<F> {
    type Key = Key;
    type Value = Arc<Kept>;

    fn on_leave(&self, reason: Event, (segment, _): &Key, kept: &Arc<Kept>) {
        if reason == Event::Evict {
            self.evictions.count(kept.data.len());
        }
        if kept.is_unread() {
            self.wasted.add(kept.data.len() as u64);
            if reason == Event::Evict {
                (self.thrown_away)(*segment);
            }
        }
    }
}

struct Forget<'a> {
    blocks: &'a Blocks,
    segment: KafkaUuid,
    run: Range<u64>,
    own: &'a Flight<Arc<Run>>,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.blocks.flights.forget(self.run.clone().map(|block| (self.segment, block)), self.own);
    }
}
