//! Indexes: all of a segment in one request.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use foyer_memory::{Cache, CacheBuilder};

use super::super::StorageError;
use super::super::layout::compact::{Footer, FooterError};
use super::super::metrics::StorageMetrics;
use super::super::settings::FetchSettings;
use super::super::store::ObjectStore;
use super::super::tasks::Tasks;
use super::flight::{Flight, Flights};
use super::target::Target;
use crate::model::{IndexType, KafkaUuid};

/// Indexes and footer of a segment.
struct Tail {
    footer: Footer,
    bytes: Bytes,
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
            .with_weighter(|_: &KafkaUuid, tail: &Arc<Tail>| tail.bytes.len())
            .build();
        Self { cache, flights: Flights::new(), store, runtime, settings, metrics, tasks }
    }

    /// An index of a segment. Only the transaction index can be "not found" while its object is there.
    pub(super) async fn get(self: &Arc<Self>, target: Target, index: IndexType) -> Result<Bytes, StorageError> {
        self.metrics.index_fetches.increment();
        let target = Arc::new(target);
        let tail = match self.cached(&target.segment.id.uuid) {
            Some(tail) => tail,
            None => self.flight(&target).await?,
        };
        let found =
            tail.footer.index(&tail.bytes, index).map_err(|error| self.corrupt(&target, index.name(), &error))?;
        match found {
            Some(bytes) => Ok(bytes),
            None if index == IndexType::Transaction => Err(StorageError::NotFound {
                action: "get",
                object: format!("{} of {}", index.name(), target.key).into(),
                store: self.store.name().to_owned().into(),
            }),
            None => {
                let why = FooterError::Corrupt("the footer does not list it".to_owned());
                Err(self.corrupt(&target, index.name(), &why))
            }
        }
    }

    fn cached(&self, segment: &KafkaUuid) -> Option<Arc<Tail>> {
        let tail = self.cache.get(segment).map(|entry| Arc::clone(entry.value()));
        if tail.is_some() {
            self.metrics.index_hits.increment();
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
        self.metrics.index_misses.increment();
        flights.insert(segment, flight.clone());
        drop(flights);
        let (indexes, target, own) = (Arc::clone(self), Arc::clone(target), flight.clone());
        self.runtime.spawn(async move {
            let _forget = Forget(&indexes, segment, &own);
            let _ = land.send(indexes.fly(&target, &own).await);
        });
        flight
    }

    /// Drops what is known of a deleted segment, and what is on its way.
    pub(super) fn forget(&self, segment: &KafkaUuid) {
        let mut flights = self.flights.0.lock();
        flights.remove(segment);
        self.cache.remove(segment);
    }

    async fn fly(&self, target: &Target, own: &Flight<Arc<Tail>>) -> Result<Arc<Tail>, StorageError> {
        let Some(_running) = self.tasks.begin() else { return Err(StorageError::Closed { action: "get" }) };
        let load = async {
            let loaded = self.load(target).await;
            match &loaded {
                Ok(tail) => {
                    let flights = self.flights.0.lock();
                    if Flights::is_joined(&flights, &target.segment.id.uuid, own) {
                        self.cache.insert(target.segment.id.uuid, Arc::clone(tail));
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

    async fn load(&self, target: &Target) -> Result<Arc<Tail>, StorageError> {
        let place = &target.place;
        let length = usize::try_from(place.tail_length).unwrap_or(0);
        let pieces = self.store.get(&target.key, place.data_length..place.object_length()).await?;
        let mut bytes = BytesMut::with_capacity(length);
        for piece in &pieces {
            bytes.extend_from_slice(piece);
        }
        let bytes = bytes.freeze();
        let footer = Footer::decode(&bytes, place.object_length())
            .map_err(|error| self.corrupt(target, "the footer", &error))?;
        let segment = &target.segment;
        let is_ours = footer.segment_id == segment.id.uuid
            && footer.topic_id == segment.id.partition.topic_id
            && footer.partition == segment.id.partition.partition
            && footer.start_offset == segment.start_offset.0
            && footer.segment_size == target.size
            && footer.data_length == place.data_length;
        if !is_ours {
            let why = FooterError::Corrupt(format!(
                "it belongs to segment {} of {}-{} from offset {}",
                footer.segment_id, footer.topic_id, footer.partition, footer.start_offset
            ));
            return Err(self.corrupt(target, "the footer", &why));
        }
        Ok(Arc::new(Tail { footer, bytes }))
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

struct Forget<'a>(&'a Indexes, KafkaUuid, &'a Flight<Arc<Tail>>);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.flights.forget(std::iter::once(self.1), self.2);
    }
}
