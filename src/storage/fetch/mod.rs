//! Reads of segments and their indexes.
//!
//! In: a segment and a range. Out: bytes whose checksums were right, or an error; never an empty result in place of one.
//! Never: data that nobody asked for, but for one window ahead of a reader that goes on and on.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long the store takes")]

mod blocks;
mod flight;
mod indexes;
mod reader;
mod target;
mod window;

use std::sync::Arc;

use bytes::Bytes;

use self::blocks::Blocks;
use self::indexes::Indexes;
pub use self::reader::SegmentReader;
pub(super) use self::target::{Target, key_of};
use super::StorageError;
use super::layout::Place;
use super::layout::compact::block_count;
use super::metrics::StorageMetrics;
use super::settings::FetchSettings;
use super::store::ObjectStore;
use super::tasks::Tasks;
use crate::model::{IndexType, SegmentMetadata};

/// Reads for one manager.
pub(super) struct Fetcher {
    blocks: Arc<Blocks>,
    indexes: Arc<Indexes>,
    settings: FetchSettings,
    metrics: StorageMetrics,
    tasks: Tasks,
}

impl Fetcher {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        runtime: tokio::runtime::Handle,
        settings: FetchSettings,
        metrics: StorageMetrics,
        tasks: Tasks,
    ) -> Self {
        let blocks = Blocks::new(Arc::clone(&store), runtime.clone(), settings, metrics.clone(), tasks.clone());
        let indexes = Indexes::new(store, runtime, settings, metrics.clone(), tasks.clone());
        Self { blocks: Arc::new(blocks), indexes: Arc::new(indexes), settings, metrics, tasks }
    }

    /// A reader of `[start, end_inclusive]`, which has asked for nothing yet.
    pub(super) fn reader(
        &self,
        target: Target,
        start: u64,
        end_inclusive: Option<u64>,
    ) -> Result<SegmentReader, StorageError> {
        let size = target.size;
        let end = end_inclusive.map_or(size, |end| end.saturating_add(1).min(size));
        if start > size || end_inclusive.is_some_and(|end| end < start) {
            return Err(StorageError::InvalidArgument {
                what: format!(
                    "fetch {}: bytes {start} to {} of a segment of {size} bytes",
                    target.key,
                    end_inclusive.map_or_else(|| "the end".to_owned(), |end| end.to_string())
                )
                .into(),
            });
        }
        self.metrics.fetches.increment();
        Ok(SegmentReader::new(self, Arc::new(target), start, end.max(start)))
    }

    pub(super) async fn index(&self, target: Target, index: IndexType) -> Result<Bytes, StorageError> {
        self.indexes.get(target, index).await
    }

    /// Drops what is in memory of a segment that was deleted.
    pub(super) fn forget(&self, segment: &SegmentMetadata) {
        self.indexes.forget(&segment.id.uuid);
        // What has no place was never read.
        let size = u64::try_from(segment.size_bytes).unwrap_or(0);
        let place = segment.custom_metadata.as_ref().and_then(|bytes| Place::decode(bytes, size).ok());
        let count = place.map_or(0, |place| block_count(size, place.block_size));
        self.blocks.forget(segment.id.uuid, count);
    }
}
