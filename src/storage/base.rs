//! What every part of a manager works with.

use std::sync::Arc;

use super::metrics::StorageMetrics;
use super::store::ObjectStore;
use super::tasks::Tasks;

/// Store, runtime, meters and the tasks that a close waits for. Clones share all of it.
#[derive(Clone)]
pub(super) struct Base {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) runtime: tokio::runtime::Handle,
    pub(super) metrics: StorageMetrics,
    pub(super) tasks: Tasks,
}
