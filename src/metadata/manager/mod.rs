//! The metadata manager.
#![allow(clippy::disallowed_methods, reason = "shell: reads the clock and owns threads")]

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::metrics::Registry;
use crate::model::{BrokerId, LeaderEpoch, Offset, PartitionDelete, SegmentMetadata, SegmentUpdate, TopicIdPartition};

use super::MetadataError;
use super::log::MetadataLog;

/// Resolves when this manager's own reader has applied the record. Dropping it does not take the record back.
pub type Pending = Pin<Box<dyn Future<Output = Result<(), MetadataError>> + Send>>;

/// A partition that a host leads or follows.
#[derive(Debug, Clone)]
pub struct AssignedPartition {
    pub partition: TopicIdPartition,
    /// Epoch of the leadership if the host knows it; otherwise the log's broker is asked.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// What a manager is given by its process.
#[derive(Debug, Clone)]
pub struct MetadataEnv {
    pub runtime: tokio::runtime::Handle,
    pub broker_id: BrokerId,
    pub log_dir: Option<PathBuf>,
    pub cluster_id: Option<String>,
}

impl MetadataEnv {
    /// Takes what a broker passes as configuration: `broker.id` (or `node.id`), `log.dir`, `cluster.id`.
    pub fn from_config(_config: &Config, runtime: tokio::runtime::Handle) -> Result<Self, MetadataError> {
        Ok(Self { runtime, broker_id: BrokerId(-1), log_dir: None, cluster_id: None })
    }
}

/// Clones are the same manager.
#[derive(Clone)]
pub struct MetadataManager {}

fn unbuilt<T>() -> Result<T, MetadataError> {
    Err(MetadataError::Internal { what: "not built yet".to_owned() })
}

impl MetadataManager {
    pub fn open(_config: &Config, _env: MetadataEnv) -> Result<Self, MetadataError> {
        Ok(Self {})
    }
    pub fn open_with_log(
        _config: &Config,
        _env: MetadataEnv,
        _log: Arc<dyn MetadataLog>,
    ) -> Result<Self, MetadataError> {
        Ok(Self {})
    }
    pub fn lead_and_follow(
        &self,
        _leaders: &[AssignedPartition],
        _followers: &[AssignedPartition],
    ) -> Result<(), MetadataError> {
        unbuilt()
    }
    pub fn stop(&self, _partitions: &[TopicIdPartition]) -> Result<(), MetadataError> {
        unbuilt()
    }
    pub fn is_ready(&self, _partition: &TopicIdPartition) -> bool {
        false
    }
    pub fn add(&self, _segment: SegmentMetadata, _admission: Duration) -> Result<Pending, MetadataError> {
        unbuilt()
    }
    pub fn update(&self, _update: SegmentUpdate, _admission: Duration) -> Result<Pending, MetadataError> {
        unbuilt()
    }
    pub fn put_partition_delete(&self, _: PartitionDelete, _admission: Duration) -> Result<Pending, MetadataError> {
        unbuilt()
    }
    pub fn find(
        &self,
        _p: &TopicIdPartition,
        _epoch: LeaderEpoch,
        _offset: Offset,
    ) -> Result<Option<SegmentMetadata>, MetadataError> {
        unbuilt()
    }
    pub fn next_with_transaction_index(
        &self,
        _p: &TopicIdPartition,
        _epoch: LeaderEpoch,
        _offset: Offset,
    ) -> Result<Option<SegmentMetadata>, MetadataError> {
        unbuilt()
    }
    pub fn highest_offset(&self, _p: &TopicIdPartition, _epoch: LeaderEpoch) -> Result<Option<Offset>, MetadataError> {
        unbuilt()
    }
    pub fn list(
        &self,
        _p: &TopicIdPartition,
        _epoch: Option<LeaderEpoch>,
    ) -> Result<Vec<SegmentMetadata>, MetadataError> {
        unbuilt()
    }
    pub fn size_bytes(&self, _p: &TopicIdPartition, _epoch: LeaderEpoch) -> Result<u64, MetadataError> {
        unbuilt()
    }
    pub fn metrics(&self) -> Arc<Registry> {
        Arc::new(Registry::new())
    }
    pub fn close(&self) {}
}
