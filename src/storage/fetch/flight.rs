//! One request for however many ask.

use std::collections::HashMap;
use std::hash::Hash;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::super::StorageError;

/// A request under way. Clones wait for the same answer; nobody has to.
pub(super) type Flight<V> = Shared<BoxFuture<'static, Result<V, StorageError>>>;

/// Requests under way, by what they will bring.
pub(super) struct Flights<K, V>(pub(super) Mutex<HashMap<K, Flight<V>>>);

impl<K: Hash + Eq, V: Clone + Send + Sync + 'static> Flights<K, V> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// A flight and the end that lands it. If that end is dropped, those who wait are told that it was cancelled.
    pub(super) fn start(object: &str) -> (oneshot::Sender<Result<V, StorageError>>, Flight<V>) {
        let (land, landed) = oneshot::channel();
        let object = object.to_owned();
        let flight = landed
            .map(|answer| answer.unwrap_or(Err(StorageError::Cancelled { action: "get", object: object.into() })))
            .boxed()
            .shared();
        (land, flight)
    }

    /// Forgets flights under these keys: what they brought is in a cache, or was nothing. Others that have taken their
    /// places since stay.
    pub(super) fn forget(&self, keys: impl Iterator<Item = K>, own: &Flight<V>) {
        let mut flights = self.0.lock();
        for key in keys {
            if Self::is_joined(&flights, &key, own) {
                flights.remove(&key);
            }
        }
    }

    /// Whether a flight is still the one that others join. One whose segment was deleted isn't, and brings what nobody
    /// may have any more.
    pub(super) fn is_joined(flights: &HashMap<K, Flight<V>>, key: &K, own: &Flight<V>) -> bool {
        flights.get(key).is_some_and(|flight| flight.ptr_eq(own))
    }
}
