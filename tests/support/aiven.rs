//! Objects that Aiven's plugin wrote, and what a broker knows of their segment.
#![allow(clippy::expect_used, reason = "test support: a failure of the set-up is a failed test")]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, TopicIdPartition,
};
use undercroft::wire::CustomMetadata;

/// Name of their segment between prefix and suffix.
pub const MAIN: &str = "topic1-lZ6vvmajTWKDBUTV6SQAtQ/42/00000000000000000023-adh9f8BMS4anaUnD8KWfWg";
/// Of its objects.
pub const SUFFIXES: [&str; 3] = ["log", "indexes", "rsm-manifest"];

/// A file of the examples.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiven").join(name)
}

/// The segment as the broker wrote it.
pub fn plain() -> Vec<u8> {
    fs::read(data("segment.bin")).expect("there")
}

/// The segment as the metadata topic has it.
pub fn segment(size: usize, custom_metadata: Option<Bytes>) -> SegmentMetadata {
    let id = |text: &str| text.parse::<KafkaUuid>().expect("an id");
    SegmentMetadata {
        id: SegmentId {
            partition: TopicIdPartition::new(id("lZ6vvmajTWKDBUTV6SQAtQ"), "topic1", 42),
            uuid: id("adh9f8BMS4anaUnD8KWfWg"),
        },
        start_offset: Offset(23),
        end_offset: Offset(1000),
        max_timestamp_ms: 0,
        broker_id: BrokerId(1),
        event_timestamp_ms: 0,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(23))]).expect("one"),
        size_bytes: i32::try_from(size).expect("small"),
        custom_metadata,
        state: SegmentState::CopyFinished,
        is_txn_index_empty: true,
    }
}

/// Custom metadata as the plugin writes it.
pub fn says(prefix: Option<&str>, key: Option<&str>) -> Option<Bytes> {
    CustomMetadata {
        remote_size_bytes: Some(3212),
        object_prefix: prefix.map(str::to_owned),
        object_key: key.map(str::to_owned),
        ..CustomMetadata::default()
    }
    .encode()
}
