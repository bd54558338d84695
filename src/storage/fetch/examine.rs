//! Segments read whole, past every cache: is each byte what was written?

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::super::StorageError;
use super::super::blocking::blocking;
use super::super::layout::ObjectKey;
use super::super::layout::aiven::{Manifest, Names};
use super::super::layout::compact::Footer;
use super::super::metrics::StorageMetrics;
use super::super::pace::Pace;
use super::super::settings::FetchSettings;
use super::super::store::ObjectStore;
use super::super::tasks::Tasks;
use super::super::transform::KeyRing;
use super::finder::Finder;
use super::indexes::Indexes;
use super::target::{Sought, Target};
use crate::model::{IndexType, SegmentMetadata};

/// Bytes of an object that are read at once, if its chunks aren't longer.
const WINDOW: u64 = 4 << 20;
/// Faults of one object that are told one by one.
const FAULTS_MAX: usize = 16;

/// Reads segments for whoever wants to know whether they can be read.
pub(in super::super) struct Examiner {
    finder: Finder,
    indexes: Arc<Indexes>,
    store: Arc<dyn ObjectStore>,
    pace: Pace,
}

/// Chunks that aren't right: how many, and the first of them with what is wrong.
#[derive(Debug, Default)]
pub(in super::super) struct Faults {
    pub(in super::super) count: u64,
    pub(in super::super) first: Vec<(u64, String)>,
}

impl Examiner {
    pub(in super::super) fn new(
        store: Arc<dyn ObjectStore>,
        runtime: tokio::runtime::Handle,
        settings: FetchSettings,
        key_ring: KeyRing,
        metrics: StorageMetrics,
        pace: Pace,
    ) -> Self {
        let tasks = Tasks::new();
        let of = Arc::clone(&store);
        let indexes = Arc::new(Indexes::new(of, runtime.clone(), settings, metrics.clone(), tasks.clone()));
        let (of, known) = (Arc::clone(&store), Arc::clone(&indexes));
        let finder = Finder::new(of, runtime, settings, key_ring, known, metrics, tasks);
        Self { finder, indexes, store, pace }
    }

    /// A segment in one object of the compact layout: its footer again, and keys if it needs any.
    pub(in super::super) async fn compact(
        &self,
        segment: &SegmentMetadata,
        size: u64,
        key: &ObjectKey,
        prefix: &str,
    ) -> Result<Arc<Target>, StorageError> {
        let compact = Some((key.clone(), prefix.to_owned()));
        let sought = Sought { segment: segment.clone(), size, names: Vec::new(), compact, sealed: None };
        self.finder.examine(&sought).await.map(Arc::new)
    }

    /// Whether there is the key that a footer asks for, if it does.
    pub(in super::super) fn has_key(&self, key: &ObjectKey, footer: &Footer) -> Result<(), StorageError> {
        self.finder.data_key(key, footer).map(|_| ())
    }

    /// A segment of Aiven's layout whose manifest has been read: its contents are checked, its data key unwrapped.
    pub(in super::super) fn aiven(
        &self,
        segment: &SegmentMetadata,
        names: &Names,
        manifest: &[u8],
    ) -> Result<Arc<Target>, StorageError> {
        // A manifest that can't be read has no size, and says why right below.
        let size = Manifest::decode(manifest).map_or(0, |manifest| manifest.chunks.segment_size());
        let sought = Sought { segment: segment.clone(), size, names: vec![names.clone()], compact: None, sealed: None };
        self.finder.read_manifest(&sought, names, manifest).map(Arc::new)
    }

    /// Every index: its bytes must be there and right. The first that isn't is told.
    pub(in super::super) async fn indexes(&self, target: &Target) -> Result<(), StorageError> {
        let tail = self.indexes.load(target).await?;
        for index in IndexType::ALL {
            match self.indexes.taken(target, &tail, index) {
                Ok(_) => {}
                // So a segment says that it has none.
                Err(StorageError::NotFound { .. }) if index == IndexType::Transaction => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Every chunk, a few MiB at a time; `take` gets what each holds, in order, and nothing for one that isn't right, `read`
    /// how many bytes of the object have come.
    ///
    /// # Errors
    /// What the store says, and `Corrupt` if the object ends too early.
    pub(in super::super) async fn chunks(
        &self,
        target: &Arc<Target>,
        mut take: impl FnMut(u64, Option<&Bytes>) + Send,
        read: impl Fn(u64) + Send,
    ) -> Result<Faults, StorageError> {
        let mut faults = Faults::default();
        let (count, at_once) = (target.block_count(), (WINDOW / target.block_bytes().max(1)).max(1));
        let mut start = 0;
        while start < count {
            let window = start..start.saturating_add(at_once).min(count);
            let range = target.stored_range(window.clone());
            self.pace.wait_for(range.end - range.start).await;
            let stored = Bytes::from(self.store.get(&target.key, range.clone()).await?.concat());
            let mut next = window.start;
            while next < window.end {
                let at = usize::try_from(target.stored_range(next..next).start - range.start).unwrap_or(usize::MAX);
                let rest = stored.slice(at.min(stored.len())..);
                match opened(target, next..window.end, rest).await? {
                    Ok(blocks) => {
                        blocks.iter().zip(next..).for_each(|(block, number)| take(number, Some(block)));
                        next = window.end;
                    }
                    Err((block, why)) => {
                        // Those in front of it are opened once more, without it.
                        if block > next {
                            let rest = stored.slice(at.min(stored.len())..);
                            let good = opened(target, next..block, rest).await?.unwrap_or_default();
                            good.iter().zip(next..).for_each(|(block, number)| take(number, Some(block)));
                        }
                        take(block, None);
                        faults.count += 1;
                        if faults.first.len() < FAULTS_MAX {
                            faults.first.push((block, why));
                        }
                        next = block.max(next) + 1;
                    }
                }
            }
            read(range.end - range.start);
            start = window.end;
        }
        Ok(faults)
    }
}

async fn opened(
    target: &Arc<Target>,
    blocks: Range<u64>,
    stored: Bytes,
) -> Result<Result<Vec<Bytes>, (u64, String)>, StorageError> {
    if !target.is_transformed() {
        return Ok(target.open(blocks, stored));
    }
    let owned = Arc::clone(target);
    blocking("open", target.key.as_str(), move || Ok(owned.open(blocks, stored))).await
}
