//! A manager over a store in memory that is as slow as it is told to be, and a broker's way of reading from it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use super::super::super::cache::DiskPatience;
use super::super::super::layout::ObjectKey;
use super::super::super::metrics::StorageMetrics;
use super::super::super::settings::Settings;
use super::super::super::store::{DriverStore, ObjectStore, OpenUpload, Pages, StoreMeters, Take, Upload};
use super::super::super::transform::KeyRing;
use super::super::super::{SegmentFiles, StorageError, StorageManager};
use crate::config::Config;
use crate::metrics::Registry;
use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, TopicIdPartition,
};

/// What a broker takes at once.
pub(super) const READ: usize = 1 << 20;
/// How far before its end a broker's next read begins: a batch that wasn't whole.
pub(super) const REST: usize = 7000;

pub(super) struct SlowStore {
    inner: DriverStore,
    latency_ms: AtomicU64,
    bytes_per_ms: AtomicU64,
    pub(super) gets: Mutex<Vec<(String, Range<u64>)>>,
    under_way: AtomicU64,
    pub(super) most_under_way: AtomicU64,
    /// Requests for keys that have this in their names are never answered.
    pub(super) stalled: Mutex<Option<&'static str>>,
    /// Answers stop for ever when so many bytes of a request have come.
    pub(super) stalls_after: AtomicU64,
}

impl SlowStore {
    pub(super) fn slow_down(&self, latency: Duration, mib_per_second: u64) {
        self.latency_ms.store(latency.as_millis() as u64, Ordering::Relaxed);
        self.bytes_per_ms.store(mib_per_second * (1 << 20) / 1000, Ordering::Relaxed);
    }

    pub(super) fn bytes_asked(&self) -> u64 {
        self.gets.lock().iter().map(|(_, range)| range.end - range.start).sum()
    }
}

#[async_trait]
impl ObjectStore for SlowStore {
    fn name(&self) -> &str {
        self.inner.name()
    }

    async fn put(&self, key: &ObjectKey, body: Vec<Bytes>) -> Result<(), StorageError> {
        self.inner.put(key, body).await
    }

    async fn upload(&self, key: &ObjectKey, in_flight: usize) -> Result<Box<dyn Upload>, StorageError> {
        self.inner.upload(key, in_flight).await
    }

    async fn read(&self, key: &ObjectKey, range: Range<u64>, take: Take<'_>) -> Result<(), StorageError> {
        self.gets.lock().push((key.to_string(), range.clone()));
        let body = (range.end - range.start) / self.bytes_per_ms.load(Ordering::Relaxed).max(1);
        if self.stalled.lock().is_some_and(|part| key.as_str().contains(part)) {
            std::future::pending::<()>().await;
        }
        let under_way = self.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_under_way.fetch_max(under_way, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(self.latency_ms.load(Ordering::Relaxed) + body)).await;
        let bytes_max = self.stalls_after.load(Ordering::Relaxed);
        if bytes_max < range.end - range.start {
            self.inner.read(key, range.start..range.start + bytes_max, take).await?;
            std::future::pending::<()>().await;
        }
        let read = self.inner.read(key, range, take).await;
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        read
    }

    async fn get_whole(&self, key: &ObjectKey, bytes_max: u64) -> Result<Vec<Bytes>, StorageError> {
        self.inner.get_whole(key, bytes_max).await
    }

    async fn size(&self, key: &ObjectKey) -> Result<u64, StorageError> {
        self.inner.size(key).await
    }

    async fn list(&self, prefix: &str) -> Result<Box<dyn Pages>, StorageError> {
        self.inner.list(prefix).await
    }

    async fn delete(&self, keys: &[ObjectKey]) -> Result<(), StorageError> {
        self.inner.delete(keys).await
    }

    async fn list_uploads(&self, prefix: &str) -> Result<Vec<OpenUpload>, StorageError> {
        self.inner.list_uploads(prefix).await
    }

    async fn abort_upload(&self, key: &ObjectKey, id: &str) -> Result<(), StorageError> {
        self.inner.abort_upload(key, id).await
    }

    async fn check(&self, key: &ObjectKey) -> Result<(), StorageError> {
        self.inner.check(key).await
    }
}

pub(super) struct Ground {
    pub(super) storage: StorageManager,
    pub(super) store: Arc<SlowStore>,
    pub(super) metrics: StorageMetrics,
    folder: tempfile::TempDir,
}

impl Ground {
    pub(super) fn new(pairs: &[(&str, &str)]) -> Self {
        let settings = settings(pairs);
        let runtime = tokio::runtime::Handle::current();
        let inner = DriverStore::open(settings.store, runtime.id(), StoreMeters::default()).expect("a store");
        let store = Arc::new(SlowStore {
            inner,
            latency_ms: AtomicU64::new(0),
            bytes_per_ms: AtomicU64::new(u64::MAX),
            gets: Mutex::default(),
            under_way: AtomicU64::new(0),
            most_under_way: AtomicU64::new(0),
            stalled: Mutex::default(),
            stalls_after: AtomicU64::new(u64::MAX),
        });
        Self::over(store, pairs)
    }

    /// Another manager over the same store.
    pub(super) fn again(&self, pairs: &[(&str, &str)]) -> Self {
        Self::over(Arc::clone(&self.store), pairs)
    }

    fn over(store: Arc<SlowStore>, pairs: &[(&str, &str)]) -> Self {
        let (settings, mut registry) = (settings(pairs), Registry::new());
        let metrics = StorageMetrics::new(&mut registry);
        let (key_ring, _) = KeyRing::load(&settings.key_pairs);
        let (of, runtime) = (Arc::clone(&store) as Arc<dyn ObjectStore>, tokio::runtime::Handle::current());
        let storage = StorageManager::with_store(settings, key_ring, of, runtime, metrics.clone(), registry);
        Self { storage, store, metrics, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Waits until the disk cache can be asked.
    pub(super) async fn disk_is_open(&self) {
        let disk = self.storage.disk().expect("a disk cache");
        assert!(disk.opened().await, "it can't be opened");
    }

    /// Copies the `number`th segment of a partition.
    pub(super) async fn segment(&self, number: u8, bytes: usize) -> SegmentMetadata {
        let log = self.folder.path().join(format!("{number}.log"));
        let index = self.folder.path().join("index");
        std::fs::write(&log, (0..bytes).map(|at| byte(number, at)).collect::<Vec<_>>()).expect("a segment");
        std::fs::write(&index, [1_u8; 64]).expect("an index");
        let files = SegmentFiles {
            log,
            offset_index: index.clone(),
            time_index: index.clone(),
            transaction_index: None,
            producer_snapshot: index,
            leader_epochs: Bytes::from_static(b"0\n1\n0 0\n"),
        };
        let mut segment = SegmentMetadata {
            id: SegmentId {
                partition: TopicIdPartition::new(KafkaUuid([7; 16]), "topic", 0),
                uuid: KafkaUuid([number + 1; 16]),
            },
            start_offset: Offset(i64::from(number) * 1000),
            end_offset: Offset(i64::from(number) * 1000 + 999),
            max_timestamp_ms: 1,
            broker_id: BrokerId(1),
            event_timestamp_ms: 1,
            epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(i64::from(number) * 1000))]).expect("epochs"),
            size_bytes: i32::try_from(bytes).expect("small"),
            custom_metadata: None,
            state: SegmentState::CopyStarted,
            is_txn_index_empty: true,
        };
        segment.custom_metadata = self.storage.copy(&segment, &files).await.expect("a copy");
        segment
    }

    /// One read of a broker; every byte is checked.
    pub(super) async fn read(&self, segment: &SegmentMetadata, position: usize, bytes: usize) -> usize {
        let size = usize::try_from(segment.size_bytes).expect("small");
        let mut reader = self.storage.fetch(segment, position as u64, None).expect("a reader");
        let (mut at, end) = (position, (position + bytes).min(size));
        while at < end {
            let got = reader.read().await.expect("bytes");
            assert!(!got.is_empty(), "an early end at {at}");
            let number = segment.id.uuid.0[0] - 1;
            assert_eq!(got[0], byte(number, at), "at {at}");
            assert_eq!(got[got.len() - 1], byte(number, at + got.len() - 1), "at {at} and {}", got.len());
            at += got.len();
        }
        end
    }

    /// A consumer from the start to the end.
    pub(super) async fn consume(&self, segment: &SegmentMetadata) {
        let size = usize::try_from(segment.size_bytes).expect("small");
        let mut position = 0;
        loop {
            let end = self.read(segment, position, READ).await;
            if end == size {
                return;
            }
            position = end - REST;
        }
    }
}

fn settings(pairs: &[(&str, &str)]) -> Settings {
    let mut config = Config::new();
    config.set("storage.backend.class", "memory");
    pairs.iter().for_each(|(key, value)| config.set(key, value));
    let mut settings = Settings::parse(&config).expect("settings");
    if let Some(disk) = &mut settings.disk {
        // What is tested is not how quick the disk is, which other tests use, too.
        disk.patience = DiskPatience { read: Duration::from_secs(30), close: Duration::from_secs(30) };
    }
    settings
}

pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(test)
}

pub(super) fn byte(number: u8, at: usize) -> u8 {
    ((at / 4096 * 31 + at * 7) as u8) ^ number
}
