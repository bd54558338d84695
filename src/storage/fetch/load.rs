//! How blocks come into memory: from the disk, from the store, and within what bounds.

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::sync::OwnedSemaphorePermit;

use super::super::StorageError;
use super::super::cache::ChunkKey;
use super::blocks::Blocks;
use super::legs::Landing;
use super::target::Target;

const KIB: u64 = 1024;

/// Blocks of one request that are read from the disk at once, of those that all reads share.
const DISK_READS: usize = 4;

/// Requests under way, with those that somebody waits for, from which on nothing more is read ahead.
const REQUESTS_MAX: usize = 32;

impl Blocks {
    /// What is read ahead brought its room along.
    pub(super) async fn load(&self, target: &Arc<Target>, landing: &mut Landing) -> Result<(), StorageError> {
        if landing.room.is_none() {
            landing.room = Some(self.room_for(target, target.memory_bytes(&landing.rest())).await?);
        }
        self.read_disk(target, landing).await;
        self.read_store(target, landing).await
    }

    /// What is on disk and right, up to the first that isn't.
    async fn read_disk(&self, target: &Arc<Target>, landing: &mut Landing) {
        let Some(disk) = &self.disk else { return };
        let read = |block| async move {
            let key = chunk_key(target, block);
            if !disk.may_have(&key) {
                return None;
            }
            // Its own bytes only: those of the disk come in pages.
            let stored = Bytes::copy_from_slice(&disk.get(&key).await?);
            let opened = if target.is_transformed() {
                let owned = Arc::clone(target);
                tokio::task::spawn_blocking(move || owned.open_block(block, stored)).await.ok()?
            } else {
                target.open_block(block, stored)
            };
            opened.inspect_err(|_| disk.discard(&key)).ok()
        };
        let mut blocks = pin!(stream::iter(landing.rest()).map(read).buffered(DISK_READS));
        while let Some(Some(block)) = blocks.next().await {
            landing.opened(block);
        }
    }

    /// The rest, by one request.
    async fn read_store(&self, target: &Target, landing: &mut Landing) -> Result<(), StorageError> {
        let run = landing.rest();
        if run.is_empty() {
            return Ok(());
        }
        let range = target.stored_range(run.clone());
        let bytes = i64::try_from(range.end - range.start).unwrap_or(i64::MAX);
        self.pace.wait_for(range.end - range.start).await;
        let started = Instant::now();
        self.metrics.fetch_bytes_in_flight.add(bytes);
        let got = self.store.read(&target.key, range, &mut |piece| landing.piece(piece)).await;
        self.metrics.fetch_bytes_in_flight.add(-bytes);
        self.metrics.fetch_requests.record(started.elapsed());
        let error = match got {
            Ok(()) => return Ok(()),
            Err(error) => self.at_block(error, target, &run).await,
        };
        if landing.rest().is_empty() {
            // All that was asked for has come and was handed out; nobody waits who could be told.
            tracing::warn!(object = %target.key, %error, "a read ended with more than was asked for, or failed at its very end");
            return Ok(());
        }
        Err(error)
    }

    /// A block from its stored bytes, which go to the disk if they were right.
    pub(super) fn opened(&self, target: &Target, block: u64, stored: Bytes) -> Result<Bytes, StorageError> {
        let opened = target.open_block(block, stored.clone()).map_err(|why| StorageError::Corrupt {
            action: "get",
            object: target.key.to_string().into(),
            store: self.store.name().to_owned().into(),
            place: format!("chunk {block}").into(),
            why: why.into(),
        })?;
        if let Some(disk) = &self.disk {
            disk.put(chunk_key(target, block), stored);
        }
        Ok(opened)
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

    pub(super) fn kib(&self, bytes: u64) -> u32 {
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

pub(super) fn chunk_key(target: &Target, chunk: u64) -> ChunkKey {
    ChunkKey { segment: target.segment.id.uuid, chunk, object_length: target.object_length() }
}
