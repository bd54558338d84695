//! How blocks come into memory: from the disk, from the store, and within what bounds.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::{join_all, try_join_all};
use tokio::sync::OwnedSemaphorePermit;

use super::super::StorageError;
use super::super::cache::ChunkKey;
use super::blocks::{Blocks, Run};
use super::pieces::Pieces;
use super::target::Target;

const KIB: u64 = 1024;

/// Requests under way, with those that somebody waits for, from which on nothing more is read ahead.
const REQUESTS_MAX: usize = 24;

impl Blocks {
    /// What is read ahead brings its room along.
    pub(super) async fn load(
        &self,
        target: &Arc<Target>,
        run: Range<u64>,
        ahead: Option<OwnedSemaphorePermit>,
    ) -> Result<Arc<Run>, StorageError> {
        let is_ahead = ahead.is_some();
        let _room = match ahead {
            Some(room) => room,
            None => self.room_for(target, target.memory_bytes(&run)).await?,
        };
        let mut data = self.read_disk(target, run.clone()).await;
        let missing = gaps(&data).into_iter().map(|gap| run.start + gap.start..run.start + gap.end);
        let brought = try_join_all(missing.map(|blocks| self.read_store(target, blocks))).await?;
        let mut brought = brought.into_iter().flatten();
        for block in data.iter_mut().filter(|block| block.is_none()) {
            *block = brought.next();
        }
        Ok(Arc::new(Run::new(run, data.into_iter().flatten().collect(), is_ahead)))
    }

    /// What of `blocks` is on disk and right.
    async fn read_disk(&self, target: &Arc<Target>, blocks: Range<u64>) -> Vec<Option<Bytes>> {
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
    async fn read_store(&self, target: &Arc<Target>, run: Range<u64>) -> Result<Vec<Bytes>, StorageError> {
        let range = target.stored_range(run.clone());
        let bytes = i64::try_from(range.end - range.start).unwrap_or(i64::MAX);
        self.pace.wait_for(range.end - range.start).await;
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

    /// Room for what nobody waits for yet: never of the half that is kept for what somebody waits for.
    pub(super) fn spare_room(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let kib = self.kib(bytes);
        let is_spare = self.room.available_permits() >= self.room_kib as usize / 2 + kib as usize;
        if !is_spare || self.requests.load(Ordering::Relaxed) >= REQUESTS_MAX {
            return None;
        }
        Arc::clone(&self.room).try_acquire_many_owned(kib).ok()
    }

    async fn room_for(&self, target: &Target, bytes: u64) -> Result<OwnedSemaphorePermit, StorageError> {
        let room = Arc::clone(&self.room).acquire_many_owned(self.kib(bytes));
        // Fails only if the semaphore were closed, which nobody does.
        match tokio::time::timeout(self.settings.patience, room).await {
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

    fn kib(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX).min(self.room_kib)
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
