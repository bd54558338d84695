//! What a request brings, in legs: whoever waits for the first bytes doesn't wait for the last ones.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::JoinSet;

use super::super::StorageError;
use super::super::blocking::blocking;
use super::blocks::{Blocks, Key};
use super::flight::{Flight, Flights};
use super::target::Target;

/// Bytes of a leg, or one block if that has more.
const LEG: u64 = 256 << 10;

/// A block in memory.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) data: Bytes,
    /// It was read ahead, and nobody has wanted it yet.
    is_unread: AtomicBool,
}

impl Kept {
    pub(super) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    /// Whether this is the first time that somebody wants it.
    pub(super) fn read(&self) -> bool {
        self.is_unread() && self.is_unread.swap(false, Ordering::Relaxed)
    }
}

/// Blocks that one leg brought.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) blocks: Range<u64>,
    pub(super) data: Vec<Arc<Kept>>,
}

impl Run {
    fn new(blocks: Range<u64>, data: Vec<Bytes>, is_ahead: bool) -> Self {
        let keep = |data| Arc::new(Kept { data, is_unread: AtomicBool::new(is_ahead) });
        Self { blocks, data: data.into_iter().map(keep).collect() }
    }

    pub(super) fn block(&self, number: u64) -> Option<&Arc<Kept>> {
        let at = number.checked_sub(self.blocks.start)?;
        self.data.get(usize::try_from(at).ok()?)
    }
}

/// Blocks in a row that come together. Clones wait for the same ones.
#[derive(Clone)]
pub(super) struct Leg {
    pub(super) blocks: Range<u64>,
    pub(super) flight: Flight<Arc<Run>>,
}

/// A leg on its way, and the end that lands it. Dropped before that, it tells those who wait that it was cancelled.
pub(super) struct Coming {
    pub(super) leg: Leg,
    land: Option<oneshot::Sender<Result<Arc<Run>, StorageError>>>,
    target: Arc<Target>,
    is_ahead: bool,
    cache: Arc<Blocks>,
}

impl Coming {
    /// The legs of one request for `run`, none of which can be joined yet.
    pub(super) fn all(cache: &Arc<Blocks>, target: &Arc<Target>, run: Range<u64>, is_ahead: bool) -> VecDeque<Self> {
        let blocks_in_leg = (LEG / target.block_bytes().max(1)).max(1);
        let mut legs = VecDeque::new();
        let mut start = run.start;
        while start < run.end {
            let blocks = start..start.saturating_add(blocks_in_leg).min(run.end);
            start = blocks.end;
            let (land, flight) = Flights::<Key, Arc<Run>>::start(target.key.as_str());
            let (target, cache) = (Arc::clone(target), Arc::clone(cache));
            legs.push_back(Self { leg: Leg { blocks, flight }, land: Some(land), target, is_ahead, cache });
        }
        legs
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + use<> {
        let segment = self.target.segment.id.uuid;
        self.leg.blocks.clone().map(move |block| (segment, block))
    }

    /// Keeps what it brought, and tells all who wait once nobody can join it any more: whoever is told of a failure and asks
    /// again must not get the same one.
    fn land(mut self, brought: Result<Vec<Bytes>, StorageError>) {
        let brought = brought.map(|data| Arc::new(Run::new(self.leg.blocks.clone(), data, self.is_ahead)));
        if let Ok(run) = &brought {
            self.cache.keep(self.keys(), run, &self.leg.flight);
        }
        let land = self.land.take();
        drop(self);
        if let Some(land) = land {
            let _ = land.send(brought);
        }
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.cache.flights.forget(self.keys(), &self.leg.flight);
    }
}

/// A block that has come: opened already, or as it is stored.
enum Come {
    Opened(Bytes),
    Stored(Bytes),
}

/// Gets what a request brings, in order, and lands its legs one after the other.
pub(super) struct Landing {
    target: Arc<Target>,
    cache: Arc<Blocks>,
    coming: VecDeque<Coming>,
    /// Blocks of the first leg that have come, and stored bytes of the one behind them.
    come: Vec<Come>,
    stored: Vec<u8>,
    /// Legs that are being opened, or fail in a while.
    opening: JoinSet<()>,
    /// Room for what has not landed yet.
    pub(super) room: Option<OwnedSemaphorePermit>,
    end: u64,
}

impl Landing {
    pub(super) fn new(
        cache: &Arc<Blocks>,
        target: &Arc<Target>,
        coming: VecDeque<Coming>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let end = coming.back().map_or(0, |last| last.leg.blocks.end);
        let (target, cache) = (Arc::clone(target), Arc::clone(cache));
        Self { target, cache, coming, come: Vec::new(), stored: Vec::new(), opening: JoinSet::new(), room, end }
    }

    /// Blocks that have not come yet.
    pub(super) fn rest(&self) -> Range<u64> {
        let first = self.coming.front().map_or(self.end, |leg| leg.leg.blocks.start);
        first + self.come.len() as u64..self.end
    }

    /// The next block, from somewhere else than the store.
    pub(super) fn opened(&mut self, block: Bytes) {
        self.came(Come::Opened(block));
    }

    /// The next bytes of the store.
    pub(super) fn piece(&mut self, mut piece: Bytes) {
        while !piece.is_empty() {
            let block = self.rest().start;
            let length = usize::try_from(self.target.stored_length(block)).unwrap_or(0);
            if length == 0 {
                // More than was asked for, which a store refuses to hand out.
                return;
            }
            self.stored.reserve_exact(length - self.stored.len());
            let count = piece.len().min(length - self.stored.len());
            self.stored.extend_from_slice(&piece.split_to(count));
            if self.stored.len() == length {
                let stored = Bytes::from(std::mem::take(&mut self.stored));
                self.came(Come::Stored(stored));
            }
        }
    }

    fn came(&mut self, block: Come) {
        self.come.push(block);
        let is_whole = |leg: &Coming| leg.leg.blocks.end - leg.leg.blocks.start <= self.come.len() as u64;
        if !self.coming.front().is_some_and(is_whole) {
            return;
        }
        let come = std::mem::take(&mut self.come);
        let Some(leg) = self.coming.pop_front() else { return };
        let kib = self.cache.kib(self.target.memory_bytes(&leg.leg.blocks));
        let room = self.room.as_mut().and_then(|room| room.split(kib as usize));
        if self.target.is_transformed() {
            let (target, cache) = (Arc::clone(&self.target), Arc::clone(&self.cache));
            self.opening.spawn(async move {
                let opened = open_aside(&cache, &target, leg.leg.blocks.clone(), come).await;
                drop(room);
                cache.land_or_wait(leg, opened).await;
            });
            return;
        }
        match open(&self.cache, &self.target, leg.leg.blocks.clone(), come) {
            Ok(opened) => leg.land(Ok(opened)),
            failed => {
                let cache = Arc::clone(&self.cache);
                self.opening.spawn(async move { cache.land_or_wait(leg, failed).await });
            }
        }
    }

    /// Waits until all that has come is opened.
    pub(super) async fn landed(&mut self) {
        while self.opening.join_next().await.is_some() {}
    }

    /// Tells all who still wait why nothing more comes.
    pub(super) fn fail(mut self, error: &StorageError) {
        for leg in self.coming.drain(..) {
            leg.land(Err(error.clone()));
        }
    }
}

/// Opens blocks on a thread that may be held up with it.
async fn open_aside(
    cache: &Arc<Blocks>,
    target: &Arc<Target>,
    blocks: Range<u64>,
    come: Vec<Come>,
) -> Result<Vec<Bytes>, StorageError> {
    // Fails only if the semaphore were closed, which nobody does.
    let _turn = Arc::clone(&cache.openers).acquire_owned().await;
    let (own, of) = (Arc::clone(cache), Arc::clone(target));
    blocking("get", target.key.as_str(), move || open(&own, &of, blocks, come)).await
}

fn open(cache: &Blocks, target: &Target, blocks: Range<u64>, come: Vec<Come>) -> Result<Vec<Bytes>, StorageError> {
    let open = |(block, come)| match come {
        Come::Opened(bytes) => Ok(bytes),
        Come::Stored(stored) => cache.opened(target, block, stored),
    };
    blocks.zip(come).map(open).collect()
}

impl Blocks {
    /// Lands a leg; one that failed after a while only, as whoever asks again meanwhile joins it and fails with it.
    async fn land_or_wait(&self, leg: Coming, brought: Result<Vec<Bytes>, StorageError>) {
        if brought.is_err() {
            tokio::time::sleep(self.settings.failure_delay).await;
        }
        leg.land(brought);
    }
}
