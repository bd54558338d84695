//! Blocks in memory, and the requests that bring them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use foyer::{Cache, CacheBuilder, Event, EventListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::StorageError;
use super::super::cache::DiskCache;
use super::super::metrics::{Evictions, StorageMetrics};
use super::super::pace::Pace;
use super::super::settings::FetchSettings;
use super::super::store::ObjectStore;
use super::super::tasks::Tasks;
use super::flight::{Flight, Flights};
use super::target::Target;
use crate::metrics::Counter;
use crate::model::KafkaUuid;

type Key = (KafkaUuid, u64);

/// Blocks of so many bytes are worth a request each.
const LARGE: u64 = 1 << 20;

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
    pub(super) fn new(blocks: Range<u64>, data: Vec<Bytes>, is_ahead: bool) -> Self {
        let keep = |data| Arc::new(Kept { data, is_unread: AtomicBool::new(is_ahead) });
        Self { blocks, data: data.into_iter().map(keep).collect() }
    }

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
    pub(super) room: Arc<Semaphore>,
    pub(super) room_kib: u32,
    pub(super) requests: AtomicUsize,
    pub(super) disk: Option<Arc<DiskCache>>,
    pub(super) pace: Pace,
    pub(super) store: Arc<dyn ObjectStore>,
    runtime: tokio::runtime::Handle,
    pub(super) settings: FetchSettings,
    pub(super) metrics: StorageMetrics,
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
        let room_kib = u32::try_from(settings.memory / 1024).unwrap_or(u32::MAX).min(u32::MAX >> 3);
        let room = Arc::new(Semaphore::new(room_kib as usize));
        let requests = AtomicUsize::new(0);
        Self {
            cache,
            flights: Flights::new(),
            room,
            room_kib,
            requests,
            disk,
            pace: Pace::new(settings.bytes_per_second),
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
        if target.block_bytes() < LARGE {
            return Found::Coming(self.launch(&mut flights, target, run, None));
        }
        // Large ones come, and are opened, side by side.
        let flight = self.launch(&mut flights, target, first..first + 1, None);
        for block in first + 1..run.end {
            drop(self.launch(&mut flights, target, block..block + 1, None));
        }
        Found::Coming(flight)
    }

    /// The bytes of a block, now that somebody wants them.
    pub(super) fn bytes(&self, kept: &Kept) -> Bytes {
        if kept.is_unread() && kept.is_unread.swap(false, Ordering::Relaxed) {
            self.metrics.ahead_used.add(kept.data.len() as u64);
        }
        kept.data.clone()
    }

    /// Asks for what of `blocks` is neither in memory nor on its way, before somebody wants it. False if there is no room for
    /// all of that beside what others wait for.
    pub(super) fn read_ahead(self: &Arc<Self>, target: &Arc<Target>, blocks: Range<u64>) -> bool {
        let segment = target.segment.id.uuid;
        let mut flights = self.flights.0.lock();
        let mut next = blocks.start;
        while next < blocks.end {
            let missing = (next..blocks.end).take_while(|block| self.is_missing(&flights, (segment, *block))).count();
            let run = next..next + missing as u64;
            next = run.end + 1;
            if !run.is_empty() {
                let Some(room) = self.spare_room(target.memory_bytes(&run)) else { return false };
                let bytes = target.stored_range(run.clone());
                self.metrics.ahead_asked.add(bytes.end - bytes.start);
                // Lands in the cache, whoever waits for it.
                drop(self.launch(&mut flights, target, run, Some(room)));
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
        ahead: Option<OwnedSemaphorePermit>,
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
            let joinable = blocks.flights.joinable(run.clone().map(|block| (segment, block)), &own);
            let brought = blocks.fly(&target, run, ahead, &own).await;
            joinable.land(land, brought);
        });
        flight
    }

    /// Drops what is known of a deleted segment of `count` blocks, and what is on its way.
    pub(super) fn forget(&self, segment: KafkaUuid, count: u64) {
        let mut flights = self.flights.0.lock();
        flights.retain(|(flying, _), _| *flying != segment);
        // What lands from now on isn't kept, as nobody can have joined it.
        drop(flights);
        for block in 0..count {
            if self.cache.usage() == 0 {
                break;
            }
            self.cache.remove(&(segment, block));
        }
        self.metrics.block_bytes.set(i64::try_from(self.cache.usage()).unwrap_or(i64::MAX));
    }

    async fn fly(
        &self,
        target: &Arc<Target>,
        run: Range<u64>,
        ahead: Option<OwnedSemaphorePermit>,
        own: &Flight<Arc<Run>>,
    ) -> Result<Arc<Run>, StorageError> {
        let Some(_running) = self.tasks.begin() else { return Err(StorageError::Closed { action: "get" }) };
        tokio::select! {
            run = self.load_or_wait(target, run, ahead, own) => run,
            () = self.tasks.closing() => {
                Err(StorageError::Cancelled { action: "get", object: target.key.to_string().into() })
            }
        }
    }

    async fn load_or_wait(
        &self,
        target: &Arc<Target>,
        run: Range<u64>,
        ahead: Option<OwnedSemaphorePermit>,
        own: &Flight<Arc<Run>>,
    ) -> Result<Arc<Run>, StorageError> {
        let loaded = self.load(target, run, ahead).await;
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
