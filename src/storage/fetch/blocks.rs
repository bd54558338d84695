//! Blocks in memory, and the requests that bring them.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
use super::legs::{Coming, Kept, Landing, Leg, Run};
use super::load::chunk_key;
use super::target::Target;
use crate::metrics::Counter;
use crate::model::KafkaUuid;

pub(super) type Key = (KafkaUuid, u64);

/// Blocks of so many bytes are worth a request each.
const LARGE: u64 = 1 << 20;

/// Where a block is.
pub(super) enum Found {
    Here(Arc<Kept>),
    /// On its way, perhaps because somebody else asked for it; with what comes behind it, if it was asked for now.
    Coming(Vec<Leg>),
}

/// The block cache of a manager.
///
/// What is asked for is fetched to its end and kept, also if whoever asked has gone: a reader that comes back for the
/// same bytes finds them, or the request under way.
pub(super) struct Blocks {
    cache: Cache<Key, Arc<Kept>>,
    pub(super) flights: Flights<Key, Arc<Run>>,
    /// KiB that may still be asked for.
    pub(super) room: Arc<Semaphore>,
    pub(super) room_kib: u32,
    pub(super) requests: AtomicUsize,
    /// Legs that may be decrypted and decompressed at once: more would only keep others from the threads that files are
    /// read with.
    pub(super) openers: Arc<Semaphore>,
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
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            openers: Arc::new(Semaphore::new(processors)),
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
        // Large ones come, and are opened, side by side.
        let is_large = target.block_bytes() >= LARGE;
        let parts = if is_large {
            blocks.clone().map(|block| block..block + 1).collect()
        } else {
            self.parts(target, blocks.clone())
        };
        let mut flights = self.flights.0.lock();
        if let Some(flight) = flights.get(&(segment, first)) {
            self.metrics.block_joins.increment();
            return Found::Coming(vec![Leg { blocks: first..first + 1, flight: flight.clone() }]);
        }
        // A flight may have landed between the two looks.
        if let Some(entry) = self.cache.get(&(segment, first)) {
            self.metrics.block_hits.increment();
            return Found::Here(Arc::clone(entry.value()));
        }
        let missing = blocks.skip(1).take_while(|block| self.is_missing(&flights, (segment, *block))).count() as u64;
        let run = first..first + 1 + missing;
        self.metrics.block_misses.add(run.end - run.start);
        let parts = within(&parts, &run);
        let requests: Vec<_> = parts.map(|part| self.expect(&mut flights, target, part, false)).collect();
        drop(flights);
        let legs = requests.iter().flat_map(|request| &request.coming).map(|one| one.leg.clone()).collect();
        requests.into_iter().for_each(|request| self.launch(target, request, None));
        Found::Coming(legs)
    }

    /// The bytes of a block, now that somebody wants them.
    pub(super) fn bytes(&self, kept: &Kept) -> Bytes {
        if kept.read() {
            self.metrics.ahead_used.add(kept.data.len() as u64);
        }
        kept.data.clone()
    }

    /// Asks for what of `blocks` is neither in memory nor on its way, before somebody wants it. False if there is no room for
    /// all of that beside what others wait for.
    pub(super) fn read_ahead(self: &Arc<Self>, target: &Arc<Target>, blocks: Range<u64>) -> bool {
        let segment = target.segment.id.uuid;
        let parts = self.parts(target, blocks.clone());
        let mut next = blocks.start;
        while next < blocks.end {
            let mut flights = self.flights.0.lock();
            let missing = (next..blocks.end).take_while(|block| self.is_missing(&flights, (segment, *block))).count();
            let run = next..next + missing as u64;
            next = run.end + 1;
            let mut requests = Vec::new();
            let is_refused = within(&parts, &run).any(|part| {
                let Some(room) = self.spare_room(target.memory_bytes(&part)) else { return true };
                let bytes = target.stored_range(part.clone());
                self.metrics.ahead_asked.add(bytes.end - bytes.start);
                requests.push((self.expect(&mut flights, target, part, true), room));
                false
            });
            drop(flights);
            // Lands in the cache, whoever waits for it.
            requests.into_iter().for_each(|(request, room)| self.launch(target, request, Some(room)));
            if is_refused {
                return false;
            }
        }
        true
    }

    fn is_missing(&self, flights: &HashMap<Key, Flight<Arc<Run>>>, key: Key) -> bool {
        !(self.cache.contains(&key) || flights.contains_key(&key))
    }

    /// Blocks in a row, parted where those that may be on disk end or begin.
    fn parts(&self, target: &Target, run: Range<u64>) -> Vec<Range<u64>> {
        let Some(disk) = &self.disk else { return vec![run] };
        let blocks: Vec<(u64, bool)> = run.map(|block| (block, disk.may_have(&chunk_key(target, block)))).collect();
        let parts = blocks.chunk_by(|(_, one), (_, next)| one == next);
        parts.filter_map(|part| Some(part.first()?.0..part.last()?.0 + 1)).collect()
    }

    /// Lets a request be joined that is about to be launched.
    fn expect(
        self: &Arc<Self>,
        flights: &mut HashMap<Key, Flight<Arc<Run>>>,
        target: &Arc<Target>,
        run: Range<u64>,
        is_ahead: bool,
    ) -> Request {
        let coming = Coming::all(self, target, run, is_ahead);
        for one in &coming {
            flights.extend(one.keys().map(|key| (key, one.leg.flight.clone())));
        }
        Request { coming, _counted: Counted::new(self) }
    }

    /// Not under the lock of the flights: a runtime that has ended drops what is coming at once, which takes that lock.
    fn launch(self: &Arc<Self>, target: &Arc<Target>, request: Request, ahead: Option<OwnedSemaphorePermit>) {
        let (blocks, target) = (Arc::clone(self), Arc::clone(target));
        self.runtime.spawn(async move {
            let Request { coming, _counted } = request;
            let mut landing = Landing::new(&blocks, &target, coming, ahead);
            if let Err(error) = blocks.fly(&target, &mut landing).await {
                landing.fail(&error);
            }
        });
    }

    /// Keeps what a leg brought, if it is still the one that others join.
    pub(super) fn keep(&self, keys: impl Iterator<Item = Key>, run: &Run, own: &Flight<Arc<Run>>) {
        let flights = self.flights.0.lock();
        for (key, kept) in keys.zip(&run.data) {
            if Flights::is_joined(&flights, &key, own) {
                self.cache.insert(key, Arc::clone(kept));
            }
        }
        drop(flights);
        self.metrics.block_bytes.set(i64::try_from(self.cache.usage()).unwrap_or(i64::MAX));
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

    async fn fly(&self, target: &Arc<Target>, landing: &mut Landing) -> Result<(), StorageError> {
        let Some(_running) = self.tasks.begin() else { return Err(StorageError::Closed { action: "get" }) };
        let load = async {
            let loaded = self.load(target, landing).await;
            if loaded.is_err() {
                // Whoever asks again meanwhile joins this flight and fails with it.
                tokio::time::sleep(self.settings.failure_delay).await;
            }
            landing.landed().await;
            loaded
        };
        tokio::select! {
            loaded = load => loaded,
            () = self.tasks.closing() => {
                Err(StorageError::Cancelled { action: "get", object: target.key.to_string().into() })
            }
        }
    }
}

/// What of `parts` lies in `run`.
fn within(parts: &[Range<u64>], run: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let cut = |part: &Range<u64>| part.start.max(run.start)..part.end.min(run.end);
    parts.iter().map(cut).filter(|part| !part.is_empty())
}

/// A request that can be joined and is about to be launched.
struct Request {
    coming: VecDeque<Coming>,
    _counted: Counted,
}

/// Counts a request from when it is decided until its task has ended: what is read ahead next must see it.
struct Counted(Arc<Blocks>);

impl Counted {
    fn new(blocks: &Arc<Blocks>) -> Self {
        blocks.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(blocks))
    }
}

impl Drop for Counted {
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
