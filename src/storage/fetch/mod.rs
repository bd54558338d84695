//! Reads of segments and their indexes.
//!
//! In: a segment and a range. Out: bytes whose checksums were right, or an error; never an empty result in place of one.
//! Never: data that nobody asked for, but for what is behind a reader that goes on and on.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long the store takes")]

mod ahead;
mod blocks;
mod examine;
mod finder;
mod flight;
mod footer;
mod indexes;
mod leaves;
mod legs;
mod load;
mod reader;
mod streams;
mod target;
#[cfg(test)]
mod tests;
mod window;

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use self::ahead::Ahead;
pub(super) use self::ahead::NextSegment;
use self::blocks::Blocks;
pub(super) use self::examine::{Examiner, Faults};
use self::finder::Finder;
pub(super) use self::footer::read_footer;
use self::indexes::Indexes;
pub use self::reader::SegmentReader;
pub(super) use self::streams::AheadSettings;
use self::streams::Streams;
pub(super) use self::target::{Located, Target, key_of, lead_of};
use super::StorageError;
use super::base::Base;
use super::cache::{DiskCache, DiskSettings};
use super::layout::Lead;
use super::layout::compact::block_count;
use super::metrics::StorageMetrics;
use super::settings::FetchSettings;
use super::tasks::Tasks;
use super::transform::KeyRing;
use crate::model::{IndexType, SegmentMetadata};

/// Reads for one manager.
pub(super) struct Fetcher {
    blocks: Arc<Blocks>,
    finder: Arc<Finder>,
    indexes: Arc<Indexes>,
    ahead: Arc<Ahead>,
    disk: Option<Arc<DiskCache>>,
    settings: FetchSettings,
    metrics: StorageMetrics,
    tasks: Tasks,
}

impl Fetcher {
    pub(super) fn new(
        base: Base,
        settings: FetchSettings,
        key_ring: KeyRing,
        disk: Option<DiskSettings>,
        next_segment: NextSegment,
    ) -> Self {
        let Base { store, runtime, metrics, tasks } = base;
        let disk = disk.map(|disk| Arc::new(DiskCache::open(disk, &runtime, metrics.disk.clone())));
        let streams = Arc::new(Mutex::new(Streams::new(settings.ahead)));
        let of_cache = Arc::clone(&streams);
        let thrown_away = move |segment| of_cache.lock().thrown_away(segment);
        let of = Arc::clone(&store);
        let blocks = Arc::new(Blocks::new(
            of,
            runtime.clone(),
            settings,
            metrics.clone(),
            tasks.clone(),
            disk.clone(),
            thrown_away,
        ));
        let of = Arc::clone(&store);
        let indexes = Arc::new(Indexes::new(of, runtime.clone(), settings, metrics.clone(), tasks.clone()));
        let (of, known) = (store, Arc::clone(&indexes));
        let finder = Finder::new(of, runtime.clone(), settings, key_ring, known, metrics.clone(), tasks.clone());
        let finder = Arc::new(finder);
        let (of_ahead, by_ahead) = (Arc::clone(&blocks), Arc::clone(&finder));
        let ahead = Arc::new(Ahead::new(streams, of_ahead, by_ahead, next_segment, runtime, tasks.clone()));
        Self { blocks, finder, indexes, ahead, disk, settings, metrics, tasks }
    }

    /// A reader of `[start, end_inclusive]`, which has asked for nothing yet.
    pub(super) fn reader(
        &self,
        located: Located,
        start: u64,
        end_inclusive: Option<u64>,
    ) -> Result<SegmentReader, StorageError> {
        let size = located.size();
        let end = end_inclusive.map_or(size, |end| end.saturating_add(1).min(size));
        if start > size || end_inclusive.is_some_and(|end| end < start) {
            return Err(StorageError::InvalidArgument {
                what: format!(
                    "fetch {}: bytes {start} to {} of a segment of {size} bytes",
                    located.segment().id,
                    end_inclusive.map_or_else(|| "the end".to_owned(), |end| end.to_string())
                )
                .into(),
            });
        }
        self.metrics.fetches.increment();
        Ok(SegmentReader::new(self, located, start, end.max(start)))
    }

    pub(super) async fn index(&self, located: &Located, index: IndexType) -> Result<Bytes, StorageError> {
        let target = self.finder.find(located).await?;
        self.indexes.get(target, index).await
    }

    /// Drops what is in memory of a segment that was deleted.
    pub(super) fn forget(&self, segment: &SegmentMetadata) {
        let (size, uuid) = (u64::try_from(segment.size_bytes).unwrap_or(0), segment.id.uuid);
        let count = match (self.finder.known(&uuid), Lead::of(segment)) {
            (Some(target), _) => target.block_count(),
            (None, Ok(Lead::Compact(place))) => block_count(size, place.block_size),
            // What was found and forgotten since goes from the cache by and by: nothing leads to it any more.
            (None, _) => 0,
        };
        self.finder.forget(&uuid);
        self.indexes.forget(&uuid);
        self.ahead.forget(uuid);
        self.blocks.forget(uuid, count);
    }

    #[cfg(test)]
    pub(super) fn disk(&self) -> Option<&DiskCache> {
        self.disk.as_deref()
    }

    /// Waits for what is being written to disk, but not for long.
    pub(super) async fn close(&self) {
        if let Some(disk) = &self.disk {
            disk.close().await;
        }
    }
}
