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

    /// Lets a flight be joined under these keys while what is handed back lasts.
    pub(super) fn joinable<'a, I>(&'a self, keys: I, own: &'a Flight<V>) -> Joinable<'a, K, V, I>
    where
        I: Iterator<Item = K> + Clone,
    {
        Joinable { flights: self, keys, own }
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

/// A flight that others may join; no longer when it is dropped.
pub(super) struct Joinable<'a, K, V, I>
where
    K: Hash + Eq,
    V: Clone + Send + Sync + 'static,
    I: Iterator<Item = K> + Clone,
{
    flights: &'a Flights<K, V>,
    keys: I,
    own: &'a Flight<V>,
}

impl<K, V, I> Joinable<'_, K, V, I>
where
    K: Hash + Eq,
    V: Clone + Send + Sync + 'static,
    I: Iterator<Item = K> + Clone,
{
    /// Tells all who wait what the flight brought, once nobody can join it any more: whoever is told of a failure and asks
    /// again must not get the same one.
    pub(super) fn land(self, land: oneshot::Sender<Result<V, StorageError>>, brought: Result<V, StorageError>) {
        drop(self);
        let _ = land.send(brought);
    }
}

impl<K, V, I> Drop for Joinable<'_, K, V, I>
where
    K: Hash + Eq,
    V: Clone + Send + Sync + 'static,
    I: Iterator<Item = K> + Clone,
{
    fn drop(&mut self) {
        self.flights.forget(self.keys.clone(), self.own);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake, Waker};

    use super::*;

    struct Waiter {
        flights: Flights<u8, u8>,
        found_none: AtomicBool,
    }

    impl Wake for Waiter {
        fn wake(self: Arc<Self>) {
            let is_empty = self.flights.0.try_lock().is_some_and(|flights| flights.is_empty());
            self.found_none.store(is_empty, Ordering::Relaxed);
        }
    }

    #[test]
    fn whoever_is_told_of_a_failure_and_asks_again_joins_nothing() {
        let waiter = Arc::new(Waiter { flights: Flights::new(), found_none: AtomicBool::new(false) });
        let (land, flight) = Flights::<u8, u8>::start("an object");
        waiter.flights.0.lock().insert(1, flight.clone());
        let waker = Waker::from(Arc::clone(&waiter));
        let mut waiting = flight.clone();
        assert!(waiting.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
        let joinable = waiter.flights.joinable(std::iter::once(1), &flight);
        joinable.land(land, Err(StorageError::Closed { action: "get" }));
        assert!(waiter.found_none.load(Ordering::Relaxed), "told while it could still be joined");
        assert!(waiting.now_or_never().is_some_and(|told| told.is_err()));
    }
}
