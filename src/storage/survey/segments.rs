//! The segments of a listing, one after the other, in bounded memory.

use std::collections::VecDeque;

use super::super::StorageError;
use super::super::store::{ObjectStore, Pages};
use super::gather::Gatherer;
use super::repeats::Repeats;
use super::{Found, Scope};

/// What is left of a listing.
pub struct Segments {
    pages: Box<dyn Pages>,
    store: String,
    scope: Scope,
    gatherer: Gatherer,
    repeats: Repeats,
    ready: VecDeque<Found>,
    is_at_end: bool,
}

impl std::fmt::Debug for Segments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segments").field("store", &self.store).field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Segments {
    pub(super) async fn begin(store: &dyn ObjectStore, scope: Scope) -> Result<Self, StorageError> {
        Ok(Self {
            pages: store.list(&scope.listed()).await?,
            store: store.name().to_owned(),
            gatherer: Gatherer::new(&scope.prefix),
            scope,
            repeats: Repeats::default(),
            ready: VecDeque::new(),
            is_at_end: false,
        })
    }

    /// The next segment or foreign object; `None` at the end. After an error there is nothing more.
    ///
    /// # Errors
    /// What the store says; `Corrupt` if the listing turns out to have no end.
    pub async fn next(&mut self) -> Result<Option<Found>, StorageError> {
        loop {
            if let Some(found) = self.ready.pop_front() {
                return Ok(Some(found));
            }
            if self.is_at_end {
                return Ok(None);
            }
            // Until it has come well.
            self.is_at_end = true;
            let page = self.pages.next().await?;
            if page.is_empty() {
                let rest = self.gatherer.rest();
                self.keep(rest);
                continue;
            }
            for listed in page {
                let key = listed.key.as_str();
                if self.repeats.is_repeated(key) {
                    return Err(StorageError::Corrupt {
                        action: "list",
                        object: self.scope.listed().into(),
                        store: self.store.as_str().into(),
                        place: "the listing".into(),
                        why: format!("it has no end: the store lists {key} again and again").into(),
                    });
                }
                let found = self.gatherer.add(key, listed.size);
                self.keep(found);
            }
            self.is_at_end = false;
        }
    }

    fn keep(&mut self, found: Vec<Found>) {
        let scope = &self.scope;
        self.ready.extend(found.into_iter().filter(|found| match (found, &scope.topic) {
            (_, None) => true,
            (Found::Segment(segment), Some(topic)) => segment.name.topic == *topic,
            // Of which topic it is, nobody knows.
            (Found::Foreign { .. }, Some(_)) => false,
        }));
    }
}
