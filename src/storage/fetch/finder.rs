//! Finds out how a segment lies in its objects, where its metadata alone doesn't tell: by its manifest, or by its footer.
//! What comes with a footer, all indexes, is kept for whoever asks for them.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use foyer_memory::{Cache, CacheBuilder};

use super::super::StorageError;
use super::super::layout::aiven::{Envelope, MANIFEST_BYTES_MAX, Manifest, ManifestError, Names};
use super::super::layout::compact::Footer;
use super::super::layout::{ObjectKey, Place};
use super::super::metrics::StorageMetrics;
use super::super::settings::FetchSettings;
use super::super::store::ObjectStore;
use super::super::tasks::Tasks;
use super::super::transform::{DataKey, KeyRing, KeyRingError};
use super::flight::{Flight, Flights};
use super::footer::{read_footer, read_tail};
use super::indexes::Indexes;
use super::leaves::Leaves;
use super::target::{Located, Sought, Target};
use crate::model::KafkaUuid;

/// What came with a footer.
struct Tail {
    footer: Footer,
    bytes: Bytes,
    data_key: Option<DataKey>,
}

/// What counts as one manifest in the cache; a longer one counts as several.
const ENTRY_BYTES: usize = 8192;

/// The manifest cache of a manager. As in the block cache, what is asked for is fetched to its end and kept.
pub(super) struct Finder {
    cache: Cache<KafkaUuid, Arc<Target>>,
    flights: Flights<KafkaUuid, Arc<Target>>,
    key_ring: KeyRing,
    indexes: Arc<Indexes>,
    store: Arc<dyn ObjectStore>,
    runtime: tokio::runtime::Handle,
    settings: FetchSettings,
    metrics: StorageMetrics,
    tasks: Tasks,
}

impl Finder {
    pub(super) fn new(
        store: Arc<dyn ObjectStore>,
        runtime: tokio::runtime::Handle,
        settings: FetchSettings,
        key_ring: KeyRing,
        indexes: Arc<Indexes>,
        metrics: StorageMetrics,
        tasks: Tasks,
    ) -> Self {
        let cache = CacheBuilder::new(settings.manifest_cache)
            .with_shards(1)
            .with_weighter(|_: &KafkaUuid, target: &Arc<Target>| 1 + target.extra_bytes() / ENTRY_BYTES)
            .with_event_listener(Leaves::counted(&metrics.manifests.evictions, Target::extra_bytes))
            .build();
        Self { cache, flights: Flights::new(), key_ring, indexes, store, runtime, settings, metrics, tasks }
    }

    /// The segment as it can be read. May be dropped at any time and called again.
    pub(super) async fn find(self: &Arc<Self>, located: &Located) -> Result<Arc<Target>, StorageError> {
        match located {
            Located::At(target) => Ok(Arc::new(target.clone())),
            Located::Sought(sought) => match self.known(&sought.segment.id.uuid) {
                Some(target) => {
                    self.metrics.manifests.hits.increment();
                    Ok(target)
                }
                None => self.flight(sought).await,
            },
        }
    }

    /// What is in memory.
    pub(super) fn known(&self, segment: &KafkaUuid) -> Option<Arc<Target>> {
        self.cache.get(segment).map(|entry| Arc::clone(entry.value()))
    }

    /// Drops what is known of a deleted segment, and what is on its way.
    pub(super) fn forget(&self, segment: &KafkaUuid) {
        let mut flights = self.flights.0.lock();
        flights.remove(segment);
        self.cache.remove(segment);
        self.show_size();
    }

    fn show_size(&self) {
        let metrics = &self.metrics.manifests;
        metrics.entries.set(i64::try_from(self.cache.entries()).unwrap_or(i64::MAX));
        metrics.weight.set(i64::try_from(self.cache.usage()).unwrap_or(i64::MAX));
    }

    fn flight(self: &Arc<Self>, sought: &Sought) -> Flight<Arc<Target>> {
        let segment = sought.segment.id.uuid;
        let mut flights = self.flights.0.lock();
        if let Some(flight) = flights.get(&segment) {
            return flight.clone();
        }
        let (land, flight) = Flights::<KafkaUuid, Arc<Target>>::start(sought.object().as_str());
        // A flight may have landed between the two looks.
        if let Some(target) = self.known(&segment) {
            let _ = land.send(Ok(target));
            return flight;
        }
        self.metrics.manifests.misses.increment();
        flights.insert(segment, flight.clone());
        drop(flights);
        let (finder, sought, own) = (Arc::clone(self), sought.clone(), flight.clone());
        self.runtime.spawn(async move {
            let joinable = finder.flights.joinable(std::iter::once(segment), &own);
            let found = finder.fly(&sought, &own).await;
            joinable.land(land, found);
        });
        flight
    }

    async fn fly(&self, sought: &Sought, own: &Flight<Arc<Target>>) -> Result<Arc<Target>, StorageError> {
        let Some(_running) = self.tasks.begin() else { return Err(StorageError::Closed { action: "get" }) };
        let load = async {
            let started = Instant::now();
            let loaded = self.load(sought).await;
            self.metrics.manifests.loaded(started.elapsed(), loaded.is_ok());
            match loaded {
                Ok((target, tail)) => {
                    let (target, segment) = (Arc::new(target), sought.segment.id.uuid);
                    let flights = self.flights.0.lock();
                    if Flights::is_joined(&flights, &segment, own) {
                        self.cache.insert(segment, Arc::clone(&target));
                        self.show_size();
                        if let Some(Tail { footer, bytes, data_key }) = tail {
                            self.indexes.keep(segment, footer, bytes, data_key);
                        }
                    }
                    Ok(target)
                }
                Err(error) => {
                    tokio::time::sleep(self.settings.failure_delay).await;
                    Err(error)
                }
            }
        };
        tokio::select! {
            loaded = load => loaded,
            () = self.tasks.closing() => {
                Err(StorageError::Cancelled { action: "get", object: sought.object().to_string().into() })
            }
        }
    }

    /// Asks the store, past the cache.
    pub(super) async fn examine(&self, sought: &Sought) -> Result<Target, StorageError> {
        self.load(sought).await.map(|(target, _)| target)
    }

    async fn load(&self, sought: &Sought) -> Result<(Target, Option<Tail>), StorageError> {
        if let Some((key, place)) = &sought.sealed {
            let (footer, bytes) = read_tail(self.store.as_ref(), key, &sought.segment, place).await?;
            let data_key = self.data_key(key, &footer)?;
            let target = sought.with_footer(key, place.clone(), &footer, data_key.clone());
            return Ok((target, Some(Tail { footer, bytes, data_key })));
        }
        let mut missing = None;
        for names in &sought.names {
            match self.store.get_whole(&names.manifest(), MANIFEST_BYTES_MAX).await {
                Ok(pieces) => return Ok((self.read_manifest(sought, names, &pieces.concat())?, None)),
                // That of the likeliest name is the one to be told.
                Err(error @ StorageError::NotFound { .. }) => missing = missing.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        let missing = missing.unwrap_or_else(|| StorageError::NotFound {
            action: "get",
            object: sought.object().to_string().into(),
            store: self.store.name().to_owned().into(),
        });
        match &sought.compact {
            Some((key, prefix)) => match read_footer(self.store.as_ref(), key, "get").await {
                Ok((footer, size)) => {
                    if footer.segment_id != sought.segment.id.uuid || footer.segment_size != sought.size {
                        let why = "it is about another segment".to_owned();
                        return Err(self.corrupt(key.as_str(), "the footer", why));
                    }
                    let tail = u32::try_from(size.saturating_sub(footer.data_length)).unwrap_or(u32::MAX);
                    let place = Place::new(footer.block_size, footer.data_length, tail, prefix);
                    let data_key = self.data_key(key, &footer)?;
                    let place = place.with_transforms(footer.transforms);
                    Ok((sought.with_footer(key, place, &footer, data_key), None))
                }
                Err(StorageError::NotFound { .. }) => Err(missing),
                Err(error) => Err(error),
            },
            None => Err(missing),
        }
    }

    /// What a manifest that was read says of the segment that is sought.
    pub(super) fn read_manifest(&self, sought: &Sought, names: &Names, bytes: &[u8]) -> Result<Target, StorageError> {
        let key = names.manifest();
        let manifest = Manifest::decode(bytes).and_then(|manifest| manifest.check(sought.size).map(|()| manifest));
        let manifest = manifest.map_err(|error| match error {
            ManifestError::Unsupported(_) => StorageError::Unsupported {
                action: "get",
                object: key.to_string().into(),
                why: error.to_string().into(),
            },
            ManifestError::Corrupt(why) => self.corrupt(key.as_str(), "the manifest", why),
        })?;
        let unwrap = |envelope: &Envelope| {
            let unwrapped = self.key_ring.unwrap_key(&envelope.key_id, &envelope.wrapped_key);
            unwrapped.map(|data_key| DataKey::new(data_key, &envelope.aad))
        };
        let data_key = manifest.encryption.as_ref().map(unwrap).transpose();
        let data_key = data_key.map_err(|error| self.no_key(key.as_str(), error))?;
        Ok(sought.with_manifest(names, manifest, data_key))
    }

    /// The key that a footer has, unwrapped.
    pub(super) fn data_key(&self, key: &ObjectKey, footer: &Footer) -> Result<Option<DataKey>, StorageError> {
        let Some(wrapped) = &footer.data_key else { return Ok(None) };
        let unwrapped = self.key_ring.unwrap_key(&wrapped.key_id, &wrapped.wrapped);
        unwrapped.map(|data_key| Some(DataKey::new(data_key, &[]))).map_err(|error| self.no_key(key.as_str(), error))
    }

    fn no_key(&self, object: &str, error: KeyRingError) -> StorageError {
        StorageError::Misconfigured {
            action: "decrypt",
            object: object.into(),
            store: self.store.name().to_owned().into(),
            why: error.to_string().into(),
            remedy: "`encryption.key.pairs` and the key files of that id",
            source: Some(Arc::new(error)),
        }
    }

    fn corrupt(&self, object: &str, place: &str, why: String) -> StorageError {
        StorageError::Corrupt {
            action: "get",
            object: object.into(),
            store: self.store.name().to_owned().into(),
            place: place.into(),
            why: why.into(),
        }
    }
}
