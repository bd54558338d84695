//! Indexes: all of a segment in one request.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use foyer_memory::{Cache, CacheBuilder};

use super::super::StorageError;
use super::super::layout::Place;
use super::super::layout::compact::{Footer, FooterError};
use super::super::metrics::StorageMetrics;
use super::super::settings::FetchSettings;
use super::super::store::ObjectStore;
use super::super::tasks::Tasks;
use super::super::transform::DataKey;
use super::flight::{Flight, Flights};
use super::footer::read_tail;
use super::leaves::Leaves;
use super::target::{AivenBody, Body, Target};
use crate::model::{IndexType, KafkaUuid};

/// All indexes of a segment.
pub(super) enum Tail {
    /// As stored; each is checked when it is asked for.
    Compact { footer: Box<Footer>, bytes: Bytes, data_key: Option<DataKey> },
    /// Taken out and decrypted.
    Aiven(Vec<(IndexType, Bytes)>),
}

impl Tail {
    fn bytes(&self) -> usize {
        match self {
            Self::Compact { bytes, .. } => bytes.len(),
            Self::Aiven(indexes) => indexes.iter().map(|(_, bytes)| bytes.len()).sum(),
        }
    }

    fn index(&self, index: IndexType) -> Result<Option<Bytes>, FooterError> {
        match self {
            Self::Compact { footer, bytes, data_key } => footer.plain_index(bytes, index, data_key.as_ref()),
            Self::Aiven(indexes) => Ok(indexes.iter().find(|(of, _)| *of == index).map(|(_, bytes)| bytes.clone())),
        }
    }
}

/// The index cache of a manager. As in the block cache, what is asked for is fetched to its end and kept.
pub(super) struct Indexes {
    cache: Cache<KafkaUuid, Arc<Tail>>,
    flights: Flights<KafkaUuid, Arc<Tail>>,
    store: Arc<dyn ObjectStore>,
    runtime: tokio::runtime::Handle,
    settings: FetchSettings,
    metrics: StorageMetrics,
    tasks: Tasks,
}

impl Indexes {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        runtime: tokio::runtime::Handle,
        settings: FetchSettings,
        metrics: StorageMetrics,
        tasks: Tasks,
    ) -> Self {
        let cache = CacheBuilder::new(settings.index_cache)
            .with_shards(1)
            .with_weighter(|_: &KafkaUuid, tail: &Arc<Tail>| tail.bytes())
            .with_event_listener(Leaves::counted(&metrics.indexes.evictions, Tail::bytes))
            .build();
        Self { cache, flights: Flights::new(), store, runtime, settings, metrics, tasks }
    }

    /// An index of a segment. Only the transaction index can be "not found" while its object is there.
    pub(super) async fn get(self: &Arc<Self>, target: Arc<Target>, index: IndexType) -> Result<Bytes, StorageError> {
        self.metrics.index_fetches.increment();
        if let Some(tail) = self.cached(&target.segment.id.uuid) {
            // Kept for the sake of another index; this one may have come damaged.
            match self.taken(&target, &tail, index) {
                Err(StorageError::Corrupt { .. }) => self.drop_damaged(&target, &tail),
                taken => return taken,
            }
        }
        let tail = self.flight(&target).await.map_err(|error| self.not_without(&target, index, error))?;
        let taken = self.taken(&target, &tail, index);
        if matches!(taken, Err(StorageError::Corrupt { .. })) {
            self.drop_damaged(&target, &tail);
        }
        taken
    }

    /// Nobody finds these bytes again, unless somebody has better ones already.
    fn drop_damaged(&self, target: &Target, tail: &Arc<Tail>) {
        let segment = &target.segment.id.uuid;
        // Under the lock, so that nothing that lands comes in between.
        let flights = self.flights.0.lock();
        if self.cache.get(segment).is_some_and(|entry| Arc::ptr_eq(entry.value(), tail)) {
            self.cache.remove(segment);
            self.show_size();
        }
        drop(flights);
    }

    /// An index out of all that have come.
    pub(super) fn taken(&self, target: &Target, tail: &Tail, index: IndexType) -> Result<Bytes, StorageError> {
        let found = tail.index(index).map_err(|error| self.corrupt(target, index.name(), &error))?;
        match found {
            Some(bytes) => Ok(bytes),
            None if index == IndexType::Transaction => Err(StorageError::NotFound {
                action: "get",
                object: format!("{} of {}", index.name(), target.key).into(),
                store: self.store.name().to_owned().into(),
            }),
            None => {
                let why = FooterError::Corrupt("the footer does not list it".to_owned());
                Err(self.corrupt(target, index.name(), &why))
            }
        }
    }

    fn cached(&self, segment: &KafkaUuid) -> Option<Arc<Tail>> {
        let tail = self.cache.get(segment).map(|entry| Arc::clone(entry.value()));
        if tail.is_some() {
            self.metrics.indexes.hits.increment();
        }
        tail
    }

    fn flight(self: &Arc<Self>, target: &Arc<Target>) -> Flight<Arc<Tail>> {
        let segment = target.segment.id.uuid;
        let mut flights = self.flights.0.lock();
        if let Some(flight) = flights.get(&segment) {
            return flight.clone();
        }
        let (land, flight) = Flights::<KafkaUuid, Arc<Tail>>::start(target.key.as_str());
        if let Some(tail) = self.cached(&segment) {
            let _ = land.send(Ok(tail));
            return flight;
        }
        self.metrics.indexes.misses.increment();
        flights.insert(segment, flight.clone());
        drop(flights);
        let (indexes, target, own) = (Arc::clone(self), Arc::clone(target), flight.clone());
        self.runtime.spawn(async move {
            let joinable = indexes.flights.joinable(std::iter::once(segment), &own);
            let brought = indexes.fly(&target, &own).await;
            joinable.land(land, brought);
        });
        flight
    }

    /// Drops what is known of a deleted segment, and what is on its way.
    pub(super) fn forget(&self, segment: &KafkaUuid) {
        let mut flights = self.flights.0.lock();
        flights.remove(segment);
        self.cache.remove(segment);
        self.show_size();
    }

    fn show_size(&self) {
        let metrics = &self.metrics.indexes;
        metrics.entries.set(i64::try_from(self.cache.entries()).unwrap_or(i64::MAX));
        metrics.weight.set(i64::try_from(self.cache.usage()).unwrap_or(i64::MAX));
    }

    async fn fly(&self, target: &Target, own: &Flight<Arc<Tail>>) -> Result<Arc<Tail>, StorageError> {
        let Some(_running) = self.tasks.begin() else { return Err(StorageError::Closed { action: "get" }) };
        let load = async {
            let started = Instant::now();
            let loaded = self.load(target).await;
            self.metrics.indexes.loaded(started.elapsed(), loaded.is_ok());
            match &loaded {
                Ok(tail) => {
                    let flights = self.flights.0.lock();
                    if Flights::is_joined(&flights, &target.segment.id.uuid, own) {
                        self.cache.insert(target.segment.id.uuid, Arc::clone(tail));
                        self.show_size();
                    }
                }
                Err(_) => tokio::time::sleep(self.settings.failure_delay).await,
            }
            loaded
        };
        tokio::select! {
            loaded = load => loaded,
            () = self.tasks.closing() => {
                Err(StorageError::Cancelled { action: "get", object: target.key.to_string().into() })
            }
        }
    }

    /// Asks the store, past the cache.
    pub(super) async fn load(&self, target: &Target) -> Result<Arc<Tail>, StorageError> {
        match &target.body {
            Body::Compact(place) => self.load_compact(target, place, None).await,
            Body::Sealed(sealed) => self.load_compact(target, &sealed.place, sealed.data_key.clone()).await,
            Body::Aiven(aiven) => self.load_aiven(aiven).await,
        }
    }

    async fn load_aiven(&self, aiven: &AivenBody) -> Result<Arc<Tail>, StorageError> {
        let stored = joined(&self.store.get(&aiven.indexes, 0..aiven.indexes_length()).await?);
        let opened = aiven.open_indexes(&stored).map_err(|(index, why)| StorageError::Corrupt {
            action: "get",
            object: aiven.indexes.to_string().into(),
            store: self.store.name().to_owned().into(),
            place: index.name().to_owned().into(),
            why: why.into(),
        })?;
        Ok(Arc::new(Tail::Aiven(opened)))
    }

    async fn load_compact(
        &self,
        target: &Target,
        place: &Place,
        data_key: Option<DataKey>,
    ) -> Result<Arc<Tail>, StorageError> {
        let (footer, bytes) = read_tail(self.store.as_ref(), &target.key, &target.segment, place).await?;
        Ok(Arc::new(Tail::Compact { footer: Box::new(footer), bytes, data_key }))
    }

    /// Keeps what somebody else got.
    pub(super) fn keep(&self, segment: KafkaUuid, footer: Footer, bytes: Bytes, data_key: Option<DataKey>) {
        self.cache.insert(segment, Arc::new(Tail::Compact { footer: Box::new(footer), bytes, data_key }));
    }

    /// "Not found" is how a segment says that it has no transaction index; an object that is missing while its manifest is
    /// there must not say so.
    fn not_without(&self, target: &Target, index: IndexType, error: StorageError) -> StorageError {
        match (&target.body, error) {
            (Body::Aiven(aiven), StorageError::NotFound { action, object, store })
                if index == IndexType::Transaction =>
            {
                let why = format!("{} is not there, but the segment's manifest is", aiven.indexes).into();
                StorageError::Corrupt { action, object, store, place: index.name().to_owned().into(), why }
            }
            (_, error) => error,
        }
    }

    fn corrupt(&self, target: &Target, place: &str, error: &FooterError) -> StorageError {
        let object = target.key.to_string();
        match error {
            FooterError::Unsupported(_) => StorageError::Unsupported {
                action: "get",
                object: object.into(),
                why: format!("{place}: {error}").into(),
            },
            FooterError::Corrupt(why) => StorageError::Corrupt {
                action: "get",
                object: object.into(),
                store: self.store.name().to_owned().into(),
                place: place.to_owned().into(),
                why: why.clone().into(),
            },
        }
    }
}

fn joined(pieces: &[Bytes]) -> Bytes {
    Bytes::from(pieces.concat())
}
