//! Work that a thread of the runtime must not be held up with.

use super::StorageError;

/// Does `work` for `object` on a thread that may be held up with it. If that thread ends before the work, `action` failed.
pub(super) async fn blocking<T: Send + 'static>(
    action: &'static str,
    object: &str,
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| StorageError::Internal {
        action,
        object: object.to_owned().into(),
        why: format!("the thread that works on it ended: {error}").into(),
        source: None,
    })?
}
