//! How segments are read, and what is kept of them.

use std::time::Duration;

use super::super::cache::{DiskPatience, DiskSettings};
use super::super::fetch::AheadSettings;
use super::size;
use crate::config::{Config, ConfigError, Key, storage as keys};

/// First requests of reads that are kept whatever the cache's size: a broker throws away what took it longer than 500 ms
/// and asks again, so without these a slow store would get nobody anywhere. Some more than a broker has readers (10).
const WINDOWS_KEPT: usize = 16;
/// Chunks in memory where `fetch.chunk.cache.size` says how many are on disk.
const CHUNK_CACHE_BESIDE_DISK: usize = 64 << 20;
/// All indexes of most segments: a broker asks for them one by one.
const INDEX_CACHE_MIN: usize = 1 << 20;
/// A broker reads a segment and its indexes in many calls, each of which needs the manifest.
const MANIFEST_CACHE_MIN: usize = 64;
/// A consumer that hasn't asked for so long has gone, or is too slow to need anything beforehand.
const READER_IDLE: Duration = Duration::from_secs(15);
/// Readers that are remembered, some 200 bytes each.
const STREAMS_MAX: usize = 1024;
/// What a request may be longer than its window.
const MAX_BLOCK: u64 = 1 << 25;

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct FetchSettings {
    pub(in super::super) chunk_cache: usize,
    pub(in super::super) index_cache: usize,
    /// Manifests.
    pub(in super::super) manifest_cache: usize,
    /// Bytes under way for all reads together.
    pub(in super::super) memory: u64,
    /// How long a read waits for its share of that.
    pub(in super::super) patience: Duration,
    pub(in super::super) window_min: u64,
    pub(in super::super) window_max: u64,
    pub(in super::super) failure_delay: Duration,
    pub(in super::super) bytes_per_second: Option<u64>,
    pub(in super::super) ahead: AheadSettings,
}

impl FetchSettings {
    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let window_min = config.unsigned(&keys::WINDOW_MIN)?;
        let window_max = config.unsigned(&keys::WINDOW_MAX)?.max(window_min);
        let chunk_cache = match is_of_disk(config)? {
            // There it is the size on disk.
            true => CHUNK_CACHE_BESIDE_DISK,
            false => bound(config, &keys::CHUNK_CACHE_SIZE)?,
        };
        let chunk_cache = chunk_cache.max(size(window_min) * WINDOWS_KEPT);
        let memory = config.unsigned(&keys::FETCH_MEMORY)?.max(window_max + MAX_BLOCK);
        let bytes_per_second = config.integer(&keys::FETCH_RATE)?.and_then(|rate| u64::try_from(rate).ok());
        // Whoever waits for bytes waits behind what was asked for before: of that no more than goes in a second.
        let ahead_max = bytes_per_second.unwrap_or(u64::MAX);
        Ok(Self {
            chunk_cache,
            index_cache: bound(config, &keys::INDEX_CACHE_SIZE)?.max(INDEX_CACHE_MIN),
            manifest_cache: bound(config, &keys::MANIFEST_CACHE_SIZE)?.max(MANIFEST_CACHE_MIN),
            memory,
            patience: config.millis(&keys::S3_CALL_TIMEOUT)?,
            window_min,
            window_max,
            failure_delay: config.millis(&keys::FAILURE_DELAY)?,
            bytes_per_second,
            ahead: AheadSettings {
                bytes_max: read_ahead(config)?,
                budget: (memory.min(chunk_cache as u64) / 2).min(ahead_max),
                request_max: window_max,
                first_request: window_min,
                idle: READER_IDLE,
                streams_max: STREAMS_MAX,
            },
        })
    }
}

/// Where chunks are kept on disk, and how much.
pub(super) fn disk(config: &Config) -> Result<Option<DiskSettings>, ConfigError> {
    let is_of_disk = is_of_disk(config)?;
    let Some(path) = config.text(&keys::CHUNK_CACHE_PATH).filter(|path| !path.is_empty()) else {
        return match is_of_disk {
            true => Err(ConfigError::Missing {
                key: keys::CHUNK_CACHE_PATH.name.to_owned(),
                why: "the chunk cache that `fetch.chunk.cache.class` names is on disk".to_owned(),
            }),
            false => Ok(None),
        };
    };
    let is_ours = config.raw(keys::CHUNK_CACHE_DISK_SIZE.name).is_some();
    let by_aiven = if is_of_disk && !is_ours { config.integer(&keys::CHUNK_CACHE_SIZE)? } else { None };
    let bytes = match by_aiven.and_then(|bytes| u64::try_from(bytes).ok()) {
        Some(bytes) => bytes,
        None => config.unsigned(&keys::CHUNK_CACHE_DISK_SIZE)?,
    };
    Ok((bytes > 0).then(|| DiskSettings { path: path.into(), bytes, patience: DiskPatience::default() }))
}

/// Whether the class is that of Aiven's cache on disk.
fn is_of_disk(config: &Config) -> Result<bool, ConfigError> {
    const PACKAGE: &str = "io.aiven.kafka.tieredstorage.fetch.cache.";
    let class = config.text(&keys::CHUNK_CACHE_CLASS).unwrap_or_default();
    match class.strip_prefix(PACKAGE).unwrap_or(class) {
        "DiskChunkCache" => Ok(true),
        "MemoryChunkCache" | "" => Ok(false),
        _ => Err(ConfigError::BadValue {
            key: keys::CHUNK_CACHE_CLASS.name.to_owned(),
            value: class.to_owned(),
            why: "no such cache".to_owned(),
            range: format!("`{PACKAGE}DiskChunkCache`, `{PACKAGE}MemoryChunkCache`, or nothing"),
        }),
    }
}

/// By our name for it, or else by that of Aiven's plugin.
fn read_ahead(config: &Config) -> Result<u64, ConfigError> {
    let is_set = |key: &'static Key| config.raw(key.name).is_some();
    let by_aiven = !is_set(&keys::READ_AHEAD_MAX) && is_set(&keys::PREFETCH_MAX);
    config.unsigned(if by_aiven { &keys::PREFETCH_MAX } else { &keys::READ_AHEAD_MAX })
}

/// A size of a cache, where -1 means no bound.
fn bound(config: &Config, key: &'static Key) -> Result<usize, ConfigError> {
    let number = config.integer(key)?.unwrap_or(-1);
    Ok(u64::try_from(number).map_or(usize::MAX / 4, size))
}
