//! The manager over an embedded log, and over one that a test makes misbehave.

mod assignment;
mod checkpoints;
mod closing;
mod delay;
mod kafka;
mod levels;
mod life;
mod replaced;
mod rereading;
mod robustness;
mod said;
mod scripted;
mod startup;
mod stress;
mod upkeep;
mod writes;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;
use crate::model::SegmentState::{self, CopyFinished, CopyStarted, DeleteFinished, DeleteStarted};
use crate::model::{BrokerId, KafkaUuid, SegmentEpochs, SegmentId};
use scripted::ScriptedLog;

/// How long a test waits for what must happen. Long, so that a busy machine fails nothing.
const PATIENCE: Duration = Duration::from_secs(60);

fn partition(number: u8) -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([number; 16]), &format!("topic-{number}"), 0)
}

fn assigned(number: u8, epoch: Option<i32>) -> AssignedPartition {
    AssignedPartition { partition: partition(number), leader_epoch: epoch.map(LeaderEpoch) }
}

fn id(topic: u8, number: u32) -> SegmentId {
    let mut uuid = [topic; 16];
    uuid[..4].copy_from_slice(&number.to_be_bytes());
    SegmentId { partition: partition(topic), uuid: KafkaUuid(uuid) }
}

/// The `number`th segment of ten offsets.
fn segment(topic: u8, number: u32) -> SegmentMetadata {
    let start = i64::from(number) * 10;
    SegmentMetadata {
        id: id(topic, number),
        start_offset: Offset(start),
        end_offset: Offset(start + 9),
        max_timestamp_ms: 5,
        broker_id: BrokerId(1),
        event_timestamp_ms: 6,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(start))]).expect("epochs"),
        size_bytes: 100,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: false,
    }
}

fn to(topic: u8, number: u32, state: SegmentState) -> SegmentUpdate {
    SegmentUpdate { id: id(topic, number), broker_id: BrokerId(1), event_timestamp_ms: 7, custom_metadata: None, state }
}

fn env() -> MetadataEnv {
    MetadataEnv { runtime: tokio::runtime::Handle::current(), broker_id: BrokerId(1), log_dir: None, cluster_id: None }
}

fn config(pairs: &[(&str, &str)]) -> Config {
    let mut config = Config::new();
    config.set("remote.log.metadata.initialization.retry.interval.ms", "5");
    for (key, value) in pairs {
        config.set(key, value);
    }
    config
}

fn embedded(folder: &Path) -> MetadataManager {
    let path = folder.to_str().expect("text");
    let config = config(&[
        ("undercroft.metadata.log", "embedded"),
        ("undercroft.metadata.embedded.path", path),
        ("undercroft.metadata.embedded.partitions", "3"),
    ]);
    MetadataManager::open(&config, env()).expect("opens")
}

fn over(log: &Arc<ScriptedLog>, pairs: &[(&str, &str)]) -> MetadataManager {
    MetadataManager::open_with_log(&config(pairs), env(), scripted::handle(log)).expect("opens")
}

/// A manager that leads topic 1 in epoch 0 and is ready.
async fn leading(log: &Arc<ScriptedLog>) -> MetadataManager {
    let manager = over(log, &[]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    manager
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Awaits a write that must come to an end.
async fn end(pending: Result<Pending, MetadataError>) -> Result<(), MetadataError> {
    match pending {
        Ok(pending) => tokio::time::timeout(PATIENCE, pending).await.expect("comes to an end"),
        Err(error) => Err(error),
    }
}

async fn add(manager: &MetadataManager, topic: u8, number: u32) -> Result<(), MetadataError> {
    end(manager.add(segment(topic, number), Duration::ZERO)).await
}

async fn update(manager: &MetadataManager, topic: u8, number: u32, state: SegmentState) -> Result<(), MetadataError> {
    end(manager.update(to(topic, number, state), Duration::ZERO)).await
}

fn metric(manager: &MetadataManager, name: &str) -> f64 {
    let metrics = manager.metrics();
    let index = metrics.infos().position(|info| info.name == name).unwrap_or_else(|| panic!("no metric {name}"));
    metrics.read().nth(index).expect("as many values as names")
}

fn found(manager: &MetadataManager, topic: u8, offset: i64) -> Option<SegmentId> {
    let found = manager.find(&partition(topic), LeaderEpoch(0), Offset(offset));
    found.expect("answers").map(|found| found.id)
}
