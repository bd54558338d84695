//! (public surface; bodies follow)
use std::sync::Arc;

use bytes::Bytes;

use super::{SegmentFiles, SegmentReader, StorageError};
use crate::config::Config;
use crate::metrics::Registry;
use crate::model::{IndexType, SegmentMetadata};

/// What a manager needs of its surroundings.
#[derive(Debug, Clone)]
pub struct StorageEnv {
    /// Where background work runs. The manager never starts or stops a runtime.
    pub runtime: tokio::runtime::Handle,
}

/// Copies segments to a store, reads them back and deletes them. Clones share everything.
#[derive(Clone)]
pub struct StorageManager {
    registry: Arc<Registry>,
}

impl StorageManager {
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "documented with the body")]
    pub fn open(_config: &Config, _env: StorageEnv) -> Result<Self, StorageError> {
        Ok(Self { registry: Arc::default() })
    }
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "documented with the body")]
    pub async fn copy(&self, _segment: &SegmentMetadata, _files: &SegmentFiles) -> Result<Option<Bytes>, StorageError> {
        Err(StorageError::Closed { action: "copy" })
    }
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "documented with the body")]
    pub fn fetch(
        &self,
        _segment: &SegmentMetadata,
        _start: u64,
        _end: Option<u64>,
    ) -> Result<SegmentReader, StorageError> {
        Err(StorageError::Closed { action: "fetch" })
    }
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "documented with the body")]
    pub async fn fetch_index(&self, _segment: &SegmentMetadata, _index: IndexType) -> Result<Bytes, StorageError> {
        Err(StorageError::Closed { action: "fetch" })
    }
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "documented with the body")]
    pub async fn delete(&self, _segments: &[SegmentMetadata]) -> Result<(), StorageError> {
        Err(StorageError::Closed { action: "delete" })
    }
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "documented with the body")]
    pub async fn check(&self) -> Result<(), StorageError> {
        Err(StorageError::Closed { action: "check" })
    }
    #[allow(missing_docs, reason = "documented with the body")]
    pub fn metrics(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }
    #[allow(missing_docs, reason = "documented with the body")]
    pub async fn close(&self) {}
}
