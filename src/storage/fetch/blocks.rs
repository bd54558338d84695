//! Blocks in memory, and the requests that bring them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use foyer::{Event, EventListener};
use foyer_memory::{Cache, CacheBuilder};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::super::StorageError;
use super::super::metrics::{Evictions, StorageMetrics};
use super::super::settings::FetchSettings;
use super::super::store::ObjectStore;
use super::super::tasks::Tasks;
use super::flight::{Flight, Flights};
use super::pieces::Pieces;
use super::target::Target;
use crate::model::KafkaUuid;

type Key = (KafkaUuid, u64);

const KIB: u64 = 1024;

/// Blocks that one request brought.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) blocks: Range<u64>,
    data: Vec<Bytes>,
}

impl Run {
    pub(super) fn block(&self, number: u64) -> Option<&Bytes> {
        let at = number.checked_sub(self.blocks.start)?;
        self.data.get(usize::try_from(at).ok()?)
    }
}

/// Where a block is.
pub(super) enum Found {
    Here(Bytes),
    /// On its way, perhaps because somebody else asked for it.
    Coming(Flight<Arc<Run>>),
}

/// The block cache of a manager.
///
/// What is asked for is fetched to its end and kept, also if whoever asked has gone: a reader that comes back for the
/// same bytes finds them, or the request under way.
pub(super) struct Blocks {
    cache: Cache<Key, Bytes>,
    flights: Flights<Key, Arc<Run>>,
    /// KiB that may still be asked for.
    room: Semaphore,
    room_kib: u32,
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
    ) -> Self {
        let cache = CacheBuilder::new(settings.chunk_cache)
            .with_shards(4)
            .with_weighter(|_: &Key, data: &Bytes| data.len())
            .with_event_listener(Arc::new(Leaves(metrics.block_evictions.clone())))
            .build();
        let room_kib = u32::try_from(settings.memory / KIB).unwrap_or(u32::MAX).min(u32::MAX >> 3);
        let room = Semaphore::new(room_kib as usize);
        Self { cache, flights: Flights::new(), room, room_kib, store, runtime, settings, metrics, tasks }
    }

    /// Finds the first of `blocks`; if it is neither in memory nor on its way, asks for as many of them as aren't either.
    pub(super) fn find(self: &Arc<Self>, target: &Arc<Target>, blocks: Range<u64>) -> Found {
        let (segment, first) = (target.segment.id.uuid, blocks.start);
        if let Some(entry) = self.cache.get(&(segment, first)) {
            self.metrics.block_hits.increment();
            return Found::Here(entry.value().clone());
        }
        let mut flights = self.flights.0.lock();
        if let Some(flight) = flights.get(&(segment, first)) {
            self.metrics.block_joins.increment();
            return Found::Coming(flight.clone());
        }
        // A flight may have landed between the two looks.
        if let Some(entry) = self.cache.get(&(segment, first)) {
            self.metrics.block_hits.increment();
            return Found::Here(entry.value().clone());
        }
        let is_wanted = |block: &u64| {
            *block == first || !(self.cache.contains(&(segment, *block)) || flights.contains_key(&(segment, *block)))
        };
        let end = first + blocks.take_while(is_wanted).count() as u64;
        let run = first..end.max(first + 1);
        self.metrics.block_misses.add(run.end - run.start);
        let (land, flight) = Flights::<Key, Arc<Run>>::start(target.key.as_str());
        flights.extend(run.clone().map(|block| ((segment, block), flight.clone())));
        drop(flights);
        let (blocks, target, own) = (Arc::clone(self), Arc::clone(target), flight.clone());
        self.runtime.spawn(async move {
            let _forget = Forget { blocks: &blocks, segment, run: run.clone(), own: &own };
            let _ = land.send(blocks.fly(&target, run, &own).await);
        });
        Found::Coming(flight)
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
        own: &Flight<Arc<Run>>,
    ) -> Result<Arc<Run>, StorageError> {
        let Some(_running) = self.tasks.begin() else { return Err(StorageError::Closed { action: "get" }) };
        tokio::select! {
            run = self.load_or_wait(target, run, own) => run,
            () = self.tasks.closing() => {
                Err(StorageError::Cancelled { action: "get", object: target.key.to_string().into() })
            }
        }
    }

    async fn load_or_wait(
        &self,
        target: &Arc<Target>,
        run: Range<u64>,
        own: &Flight<Arc<Run>>,
    ) -> Result<Arc<Run>, StorageError> {
        let loaded = self.load(target, run).await;
        match &loaded {
            Ok(run) => {
                let flights = self.flights.0.lock();
                for (block, data) in run.blocks.clone().zip(&run.data) {
                    let key = (target.segment.id.uuid, block);
                    if Flights::is_joined(&flights, &key, own) {
                        self.cache.insert(key, data.clone());
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

    async fn load(&self, target: &Arc<Target>, run: Range<u64>) -> Result<Arc<Run>, StorageError> {
        let range = target.stored_range(run.clone());
        let _room = self.room_for(target, target.memory_bytes(&run)).await?;
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
        let opened = if target.is_transformed() {
            let (owned, run) = (Arc::clone(target), run.clone());
            let opened = tokio::task::spawn_blocking(move || owned.open(run, Pieces::new(got))).await;
            opened.map_err(|error| StorageError::Internal {
                action: "get",
                object: target.key.to_string().into(),
                why: error.to_string().into(),
                source: None,
            })?
        } else {
            target.open(run.clone(), Pieces::new(got))
        };
        let data = opened.map_err(|(block, why)| StorageError::Corrupt {
            action: "get",
            object: target.key.to_string().into(),
            store: self.store.name().to_owned().into(),
            place: format!("chunk {block}").into(),
            why: why.into(),
        })?;
        Ok(Arc::new(Run { blocks: run, data }))
    }

    /// Whether there is room for what nobody waits for yet.
    pub(super) fn has_room_to_read_ahead(&self) -> bool {
        self.room.available_permits() > self.room_kib as usize / 2
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

/// Counts what makes room for others.
struct Leaves(Evictions);

impl EventListener for Leaves {
    type Key = Key;
    type Value = Bytes;

    fn on_leave(&self, reason: Event, _: &Key, data: &Bytes) {
        if reason == Event::Evict {
            self.0.count(data.len());
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
