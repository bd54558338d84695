//! Deleting segments: many in one request, each with an outcome of its own, and what can't be done now handed over.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long deletes take")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::StorageError;
use super::fetch::{key_of, lead_of};
use super::joint::Joint;
use super::layout::aiven::Names;
use super::layout::{Lead, ObjectKey};
use super::store::ObjectStore;
use crate::model::SegmentMetadata;

/// Deletes that are tried one by one, at once.
const AT_ONCE: usize = 8;

/// Deletes the objects of segments of one manager.
#[derive(Clone)]
pub(super) struct Deleter {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) joint: Arc<Joint>,
    pub(super) key_prefix: Arc<str>,
    /// How long a caller waits before its delete is handed over, if somebody is there to take it.
    pub(super) patience: Duration,
}

impl Deleter {
    /// Deletes segments; each that could not be deleted is offered to the metadata side. The number of those that were
    /// deleted, and the first error of those that nobody took.
    pub(super) async fn delete(&self, segments: &[SegmentMetadata]) -> (usize, Result<(), StorageError>) {
        let mut failed: Vec<(&SegmentMetadata, StorageError)> = Vec::new();
        let mut found = Vec::new();
        for segment in segments {
            match self.keys(segment) {
                Ok(keys) => found.push((segment, keys)),
                Err(error) => failed.push((segment, error)),
            }
        }
        failed.extend(self.delete_found(&found).await);
        let is_done = |segment: &&&SegmentMetadata| failed.iter().all(|(other, _)| !std::ptr::eq(*other, **segment));
        let done: Vec<_> = found.iter().map(|(segment, _)| segment).filter(is_done).collect();
        for segment in &done {
            self.say_if_guessed(segment);
            self.joint.deleted(segment);
        }
        let deleted = done.len() - done.iter().filter(|segment| self.joint.take_over_late(segment)).count();
        failed.retain(|(segment, error)| !self.joint.take_over(segment, error));
        for (segment, error) in failed.iter().skip(1) {
            tracing::warn!(segment = %segment.id, "not deleted: {error}");
        }
        (deleted, failed.into_iter().next().map_or(Ok(()), |(_, error)| Err(error)))
    }

    async fn delete_found<'a>(
        &self,
        found: &[(&'a SegmentMetadata, Vec<ObjectKey>)],
    ) -> Vec<(&'a SegmentMetadata, StorageError)> {
        let Some(first) = found.iter().find_map(|(_, keys)| keys.first()) else { return Vec::new() };
        let all = |error: &StorageError| found.iter().map(|(segment, _)| (*segment, error.clone())).collect();
        if self.joint.is_joined()
            && let Some(why) = self.joint.delete_outage()
        {
            return all(&self.untried(first, why));
        }
        let keys: Vec<_> = found.iter().flat_map(|(_, keys)| keys.clone()).collect();
        match self.bounded(&keys).await {
            Ok(()) => Vec::new(),
            // One of them may be what is wrong.
            Err(error) if found.len() > 1 && !error.is_retriable() => {
                let alone = async |segment: &'a SegmentMetadata, keys: &[ObjectKey]| {
                    self.bounded(keys).await.err().map(|error| (segment, error))
                };
                let each: Vec<_> = found.iter().map(|(segment, keys)| alone(segment, keys).boxed()).collect();
                stream::iter(each).buffered(AT_ONCE).filter_map(std::future::ready).collect().await
            }
            Err(error) => all(&error),
        }
    }

    /// As long as the store may take; but if somebody takes over what isn't done, only for a moment.
    async fn bounded(&self, keys: &[ObjectKey]) -> Result<(), StorageError> {
        let deleted = if self.joint.is_joined() {
            let bounded = tokio::time::timeout(self.patience, self.store.delete(keys)).await;
            bounded.unwrap_or_else(|_| Err(self.not_in_time(keys)))
        } else {
            self.store.delete(keys).await
        };
        self.joint.delete_met(&deleted);
        deleted
    }

    /// Deletes everything that the store may have of a segment, for as long as the store may take.
    pub(super) async fn delete_all_of(&self, segment: &SegmentMetadata) -> Result<(), StorageError> {
        let deleted = self.store.delete(&self.names(segment)?).await;
        self.joint.delete_met(&deleted);
        if deleted.is_ok() {
            self.say_if_guessed(segment);
        }
        deleted
    }

    /// Objects of another name would stay for ever.
    fn say_if_guessed(&self, segment: &SegmentMetadata) {
        if let Err(error @ StorageError::Corrupt { .. }) =
            lead_of(segment, &self.key_prefix, "delete", self.store.name())
        {
            tracing::warn!(
                "{error}; what was deleted are its objects under the present `key.prefix` {:?}. If it was copied under \
                 another one, what has {} in its name stays in the store: remove it by hand",
                self.key_prefix,
                segment.id.uuid
            );
        }
    }

    /// Whether the store has anything of a segment.
    pub(super) async fn has_any_of(&self, segment: &SegmentMetadata) -> Result<bool, StorageError> {
        for key in self.names(segment)? {
            match self.store.size(&key).await {
                Ok(_) => return Ok(true),
                Err(StorageError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Names of objects that the segment may have: where its metadata says, and where a copy would begin now.
    fn names(&self, segment: &SegmentMetadata) -> Result<Vec<ObjectKey>, StorageError> {
        let (mut names, now) = (self.keys(segment)?, ObjectKey::of_segment(&self.key_prefix, segment));
        if !names.contains(&now) {
            names.push(now);
        }
        Ok(names)
    }

    /// Names of the segment's objects: of every layout that its metadata leaves possible. If that is damaged, which no time
    /// mends, the names that follow from the segment's id.
    fn keys(&self, segment: &SegmentMetadata) -> Result<Vec<ObjectKey>, StorageError> {
        let (prefix, store) = (&self.key_prefix, self.store.name());
        let lead = match lead_of(segment, prefix, "delete", store) {
            Err(StorageError::Corrupt { .. }) => Lead::Nothing,
            lead => lead?,
        };
        let mut keys = match &lead {
            Lead::Compact(place) => vec![key_of(segment, place, prefix, "delete", store)?],
            Lead::Nothing => vec![ObjectKey::of_segment(prefix, segment)],
            Lead::Aiven { .. } => Vec::new(),
        };
        keys.extend(lead.aiven_names(prefix, segment).iter().flat_map(Names::all));
        Ok(keys)
    }

    fn untried(&self, key: &ObjectKey, why: String) -> StorageError {
        StorageError::Unreachable {
            action: "delete",
            object: key.to_string().into(),
            store: self.store.name().into(),
            waited_ms: 0,
            attempts: 0,
            why: why.into(),
            remedy: "the store and the way to it",
            source: None,
        }
    }

    fn not_in_time(&self, keys: &[ObjectKey]) -> StorageError {
        StorageError::Timeout {
            action: "delete",
            object: keys.first().map(ToString::to_string).unwrap_or_default().into(),
            store: self.store.name().into(),
            waited_ms: u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX),
            limit: "`delete.handover.ms`",
        }
    }
}
