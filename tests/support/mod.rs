//! Segments to copy, and what tests of the storage side share.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "test support: a failure of the set-up is a failed test"
)]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use undercroft::config::Config;
use undercroft::model::{
    BrokerId, IndexType, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState,
    TopicIdPartition,
};
use undercroft::storage::{SegmentFiles, SegmentReader, StorageEnv, StorageError, StorageManager};

/// A closed segment on disk, with files whose every byte depends on its place.
pub struct Sample {
    pub folder: tempfile::TempDir,
    pub segment: SegmentMetadata,
    pub files: SegmentFiles,
    pub data: Vec<u8>,
}

static NEXT: AtomicU8 = AtomicU8::new(1);

impl Sample {
    pub fn new(size: usize) -> Self {
        Self::of_topic("orders", size)
    }

    pub fn of_topic(topic: &str, size: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data: Vec<u8> = (0..size).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            path
        };
        let files = SegmentFiles {
            log: write("00.log", &data),
            offset_index: write("00.index", &[1; 800]),
            time_index: write("00.timeindex", &[2; 1200]),
            transaction_index: None,
            producer_snapshot: write("00.snapshot", b"snapshot"),
            leader_epochs: Bytes::from_static(b"0\n1\n0 100\n"),
        };
        let segment = SegmentMetadata {
            id: SegmentId {
                partition: TopicIdPartition::new(KafkaUuid([7; 16]), topic, 3),
                uuid: KafkaUuid([NEXT.fetch_add(1, Ordering::Relaxed); 16]),
            },
            start_offset: Offset(100),
            end_offset: Offset(199),
            max_timestamp_ms: 0,
            broker_id: BrokerId(1),
            event_timestamp_ms: 0,
            epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(100))]).expect("one"),
            size_bytes: i32::try_from(size).expect("small"),
            custom_metadata: None,
            state: SegmentState::CopyStarted,
            is_txn_index_empty: true,
        };
        Self { folder, segment, files, data }
    }

    /// Copies it and keeps the custom metadata, as a broker does.
    pub async fn copy(&mut self, manager: &StorageManager) -> Result<(), StorageError> {
        self.segment.custom_metadata = manager.copy(&self.segment, &self.files).await?;
        Ok(())
    }
}

pub fn config(pairs: &[(&str, &str)]) -> Config {
    let mut config = Config::new();
    for (key, value) in pairs {
        config.set(key, value);
    }
    config
}

pub fn manager(pairs: &[(&str, &str)]) -> StorageManager {
    let env = StorageEnv { runtime: tokio::runtime::Handle::current() };
    StorageManager::open(&config(pairs), env).expect("opens")
}

pub fn folder_manager(root: &Path, more: &[(&str, &str)]) -> StorageManager {
    let root = root.to_str().expect("UTF-8");
    let own = [("storage.backend.class", "filesystem"), ("storage.root", root), ("fetch.failure.delay.ms", "0")];
    manager(&[&own[..], more].concat())
}

pub async fn drain(mut reader: SegmentReader) -> Result<Vec<u8>, StorageError> {
    let mut out = Vec::new();
    loop {
        let bytes = reader.read().await?;
        if bytes.is_empty() {
            return Ok(out);
        }
        out.extend_from_slice(&bytes);
    }
}

pub async fn read(
    manager: &StorageManager,
    segment: &SegmentMetadata,
    start: u64,
    end: Option<u64>,
) -> Result<Vec<u8>, StorageError> {
    drain(manager.fetch(segment, start, end)?).await
}

pub fn metric(manager: &StorageManager, name: &str) -> f64 {
    let registry = manager.metrics();
    let at = registry.infos().position(|info| info.name == name).unwrap_or_else(|| panic!("no metric {name}"));
    registry.read().nth(at).expect("as many values as names")
}

/// Every index, as it was written.
pub async fn assert_indexes(manager: &StorageManager, segment: &SegmentMetadata) {
    for (index, expected) in [
        (IndexType::Offset, &[1; 800][..]),
        (IndexType::Timestamp, &[2; 1200]),
        (IndexType::ProducerSnapshot, b"snapshot"),
        (IndexType::LeaderEpoch, b"0\n1\n0 100\n"),
    ] {
        assert_eq!(manager.fetch_index(segment, index).await.expect("there"), expected, "{}", index.name());
    }
    let error = manager.fetch_index(segment, IndexType::Transaction).await.expect_err("there is none");
    assert!(matches!(error, StorageError::NotFound { .. }), "{error:?}");
}

/// Every segment below a folder. Its manager's check at the start may be writing there, too.
pub fn objects_below(folder: &Path) -> Vec<std::path::PathBuf> {
    files_below(folder).into_iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "ucseg")).collect()
}

/// Where a copy of the segment would be.
pub fn object_below(folder: &Path, segment: &SegmentMetadata) -> std::path::PathBuf {
    let partition = &segment.id.partition;
    folder.join(format!(
        "{}-{}/{}/{:020}-{}.ucseg",
        partition.topic, partition.topic_id, partition.partition, segment.start_offset.0, segment.id.uuid
    ))
}

/// Every file below a folder.
pub fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("readable").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
