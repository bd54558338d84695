//! Removing what failed writes left in the store.
//!
//! A write whose answer never came may still be done: a server that has all bytes of a request finishes it after the
//! client has gone. So what such a write left is removed at once, and again when it must have arrived.

use std::sync::Arc;
use std::time::Duration;

use super::StorageError;
use super::layout::ObjectKey;
use super::store::{ObjectStore, Upload};
use super::tasks::Tasks;
use crate::metrics::Counter;

const PAUSE: Duration = Duration::from_millis(500);
/// How long a close leaves a late write to arrive, and how long it waits for what is removed then.
const GRACE_AT_CLOSE: Duration = Duration::from_secs(1);
const REMOVAL_AT_CLOSE: Duration = Duration::from_secs(2);

/// What a write may have left in the store.
#[derive(Default)]
pub(super) struct Left {
    pub(super) upload: Option<Box<dyn Upload>>,
    /// Or, in a folder, a file that was to become it.
    pub(super) object_may_exist: bool,
    /// Other objects of the segment that may exist.
    pub(super) beside: Vec<ObjectKey>,
    /// Why it could not be removed, when that was tried last.
    trouble: Option<String>,
    is_abort_refused: bool,
}

impl Left {
    /// An object under its name, perhaps.
    pub(super) fn object() -> Self {
        Self { object_may_exist: true, ..Self::default() }
    }

    fn is_nothing(&self) -> bool {
        self.upload.is_none() && !self.object_may_exist && self.beside.is_empty()
    }

    /// To be asked after [`Cleaner::remove`]: whether nothing is there and nothing will come.
    pub(super) fn is_over(&self, failed_with: &StorageError) -> bool {
        self.trouble.is_none() && !self.may_come_late(failed_with)
    }

    /// Whether something of it may arrive after it was removed.
    fn may_come_late(&self, failed_with: &StorageError) -> bool {
        match failed_with {
            // Nobody will do what we ask for, neither then nor now.
            StorageError::Refused { .. } | StorageError::Misconfigured { .. } => false,
            // Parts may be under way whatever went wrong on our side.
            other if is_definite(other) => self.upload.is_some(),
            _ => !self.is_nothing(),
        }
    }
}

/// Whether the store has spoken: nothing was done, and nothing will be until somebody changes something.
fn is_definite(error: &StorageError) -> bool {
    match error {
        StorageError::Unreachable { .. }
        | StorageError::Timeout { .. }
        | StorageError::Cancelled { .. }
        | StorageError::Condemned { .. }
        // Of a write: something stands there, but not what was sent.
        | StorageError::Corrupt { .. }
        | StorageError::Internal { .. } => false,
        StorageError::NotFound { .. }
        | StorageError::Refused { .. }
        | StorageError::Misconfigured { .. }
        | StorageError::Config(_)
        | StorageError::Source { .. }
        | StorageError::InvalidArgument { .. }
        | StorageError::Unsupported { .. }
        | StorageError::Closed { .. } => true,
    }
}

/// Removes what failed writes of one manager left.
#[derive(Clone)]
pub(super) struct Cleaner {
    store: Arc<dyn ObjectStore>,
    /// How long a removal is tried.
    patience: Duration,
    /// How long a write whose answer never came may take to arrive.
    grace: Duration,
    failed: Counter,
    tasks: Tasks,
}

impl Cleaner {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        patience: Duration,
        grace: Duration,
        failed: Counter,
        tasks: Tasks,
    ) -> Self {
        Self { store, patience, grace, failed, tasks }
    }

    /// Removes what is there now, for as long as the settings allow, or until the store says no for good.
    pub(super) async fn remove(&self, key: &ObjectKey, left: &mut Left) {
        if left.is_nothing() {
            return;
        }
        let work = async {
            loop {
                match self.remove_once(key, left).await {
                    Ok(()) => {
                        left.trouble = None;
                        return;
                    }
                    Err(error) => {
                        left.trouble = Some(error.to_string());
                        if is_definite(&error) {
                            return;
                        }
                    }
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        if tokio::time::timeout(self.patience, work).await.is_err() && left.trouble.is_none() {
            left.trouble = Some("the store does not answer".to_owned());
        }
    }

    /// To be called after [`Cleaner::remove`]: waits for what may come late, removes it, and logs what is left.
    /// Whether that is nothing.
    pub(super) async fn remove_late(&self, key: &ObjectKey, mut left: Left, failed_with: &StorageError) -> bool {
        if left.may_come_late(failed_with) {
            tokio::select! {
                () = tokio::time::sleep(self.grace) => self.remove(key, &mut left).await,
                () = self.tasks.closing() => {
                    tokio::time::sleep(self.grace.min(GRACE_AT_CLOSE)).await;
                    let removal = self.remove(key, &mut left);
                    if tokio::time::timeout(REMOVAL_AT_CLOSE, removal).await.is_err() {
                        left.trouble.get_or_insert_with(|| "the manager was closed".to_owned());
                    }
                }
            }
        }
        let Some(why) = &left.trouble else { return true };
        if is_definite(failed_with) && !left.is_abort_refused && left.beside.is_empty() {
            // Who may not write may often not delete either, and has nothing to delete.
            tracing::debug!(object = %key, %why, "nothing was written, and nothing could be removed");
            return true;
        }
        self.failed.increment();
        tracing::warn!(object = %key, store = self.store.name(), %why, "a failed write could not be removed from the store");
        false
    }

    /// Removes the object of a check that failed: in the background of everything, and at a close for a moment only.
    pub(super) async fn remove_probe(&self, key: &ObjectKey, failed_with: &StorageError) {
        let removal = async {
            let mut left = Left::object();
            self.remove(key, &mut left).await;
            let _ = self.remove_late(key, left, failed_with).await;
        };
        let closed = async {
            self.tasks.closing().await;
            tokio::time::sleep(GRACE_AT_CLOSE + REMOVAL_AT_CLOSE).await;
        };
        tokio::select! {
            () = removal => {}
            () = closed => {}
        }
    }

    async fn remove_once(&self, key: &ObjectKey, left: &mut Left) -> Result<(), StorageError> {
        let aborted = match &mut left.upload {
            Some(upload) => upload.abort().await,
            None => Ok(()),
        };
        left.is_abort_refused = aborted.is_err();
        // Uploads whose beginning was never answered are found by a delete only.
        let own = (left.object_may_exist || left.upload.is_some()).then_some(key);
        // What makes the segment be there is removed first.
        let mut deleted = Ok(());
        // One by one: what can't be removed keeps nothing else.
        for key in left.beside.iter().rev().chain(own) {
            deleted = deleted.and(self.store.delete(std::slice::from_ref(key)).await);
        }
        deleted?;
        aborted
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use bytes::Bytes;

    use super::super::store::canned::{Answer, serve, stores};
    use super::*;

    #[test]
    fn an_object_that_was_joined_wrongly_is_owed_until_it_is_removed() {
        let corrupt = StorageError::Corrupt {
            action: "complete",
            object: "o".into(),
            store: "s".into(),
            place: "the object".into(),
            why: "it has 5 bytes, and 6 were sent in 2 parts".into(),
        };
        assert!(!is_definite(&corrupt), "the store has done something");
        let mut left = Left::object();
        assert!(!left.is_over(&corrupt), "a request that was made again may still join parts");
        left.trouble = Some("unreachable".to_owned());
        assert!(!left.is_over(&corrupt));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_upload_that_never_began_keeps_nobody_from_ending_once_the_rest_can_be_removed() {
        let (refused, asked) = (2, Arc::new(AtomicU32::new(0)));
        let deletes = Arc::clone(&asked);
        let port = serve(move |head| match head {
            // Whatever this is, it names no upload.
            _ if head.starts_with("POST ") => Answer::new(200, &[], "<ok/>"),
            _ if head.starts_with("DELETE ") && deletes.fetch_add(1, Ordering::SeqCst) < refused => {
                Answer::new(503, &[], "<Error><Code>SlowDown</Code></Error>")
            }
            _ if head.starts_with("DELETE ") => Answer::new(204, &[], ""),
            _ => Answer::new(200, &[], "<ListMultipartUploadsResult></ListMultipartUploadsResult>"),
        });
        let [(_, store), ..] = stores(port);
        let (store, key): (Arc<dyn ObjectStore>, _) = (Arc::new(store), ObjectKey::new("a/1"));
        let mut upload = store.upload(&key, 2).await.expect("asks nothing yet");
        for is_begun in [true, false] {
            let sent = upload.part(vec![Bytes::from(vec![1; 5 << 20])]).await;
            assert_eq!(sent.is_ok(), is_begun, "{sent:?}");
        }
        let patience = Duration::from_secs(20);
        let cleaner = Cleaner::new(store, patience, Duration::ZERO, Counter::default(), Tasks::new());
        let mut left = Left { upload: Some(upload), object_may_exist: true, ..Left::default() };
        cleaner.remove(&key, &mut left).await;
        assert_eq!((left.trouble, asked.load(Ordering::SeqCst)), (None, refused + 1));
    }
}
