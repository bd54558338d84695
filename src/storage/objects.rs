//! The storage side as the metadata side of the same process sees it.

use std::sync::{Arc, Weak};

use async_trait::async_trait;

use super::StorageError;
use super::manager::Inner;
use crate::model::{CopyEnd, ObjectsError, SegmentId, SegmentMetadata, SegmentObjects};

/// Does not keep the manager: once that is gone, nothing is copied and nothing can be removed.
pub(super) struct Objects(pub(super) Weak<Inner>);

impl Objects {
    fn manager(&self, action: &'static str) -> Result<Arc<Inner>, ObjectsError> {
        self.0.upgrade().ok_or_else(|| StorageError::Closed { action }.into())
    }
}

#[async_trait]
impl SegmentObjects for Objects {
    async fn delete_objects(&self, segment: &SegmentMetadata) -> Result<(), ObjectsError> {
        let manager = self.manager("delete")?;
        Ok(manager.delete_objects(segment).await?)
    }

    async fn has_objects(&self, segment: &SegmentMetadata) -> Result<bool, ObjectsError> {
        let manager = self.manager("look for")?;
        Ok(manager.has_objects(segment).await?)
    }

    fn is_copying(&self, segment: &SegmentId) -> bool {
        self.0.upgrade().is_some_and(|manager| manager.joint.is_copying(&segment.uuid))
    }

    fn copy_end(&self, segment: &SegmentId) -> Option<CopyEnd> {
        self.0.upgrade()?.joint.copy_end(&segment.uuid)
    }

    fn settled(&self, segment: &SegmentId) {
        if let Some(manager) = self.0.upgrade() {
            manager.joint.settled(&segment.uuid);
        }
    }

    fn outage(&self) -> Option<String> {
        // Whoever copies from now on, it isn't this one.
        let manager = self.0.upgrade().filter(|manager| !manager.tasks.is_closed())?;
        manager.joint.copy_outage()
    }
}

impl From<StorageError> for ObjectsError {
    fn from(error: StorageError) -> Self {
        let text = error.to_string();
        match error {
            StorageError::Unreachable { .. } | StorageError::Timeout { .. } => Self::Unreachable(text),
            StorageError::Refused { .. } | StorageError::Misconfigured { .. } => Self::Refused(text),
            _ => Self::Other(text),
        }
    }
}
