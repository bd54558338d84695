//! How segments are read, and what is kept of them.

use std::time::Duration;

use super::size;
use crate::config::{Config, ConfigError, Key, storage as keys};

/// First requests of reads that are kept whatever the cache's size: a broker throws away what took it longer than 500 ms
/// and asks again, so without these a slow store would get nobody anywhere. Some more than a broker has readers (10).
const WINDOWS_KEPT: usize = 16;
/// All indexes of most segments: a broker asks for them one by one.
const INDEX_CACHE_MIN: usize = 1 << 20;
/// A broker reads a segment and its indexes in many calls, each of which needs the manifest.
const MANIFEST_CACHE_MIN: usize = 64;
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
}

impl FetchSettings {
    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let window_min = config.unsigned(&keys::WINDOW_MIN)?;
        let window_max = config.unsigned(&keys::WINDOW_MAX)?.max(window_min);
        Ok(Self {
            chunk_cache: bound(config, &keys::CHUNK_CACHE_SIZE)?.max(size(window_min) * WINDOWS_KEPT),
            index_cache: bound(config, &keys::INDEX_CACHE_SIZE)?.max(INDEX_CACHE_MIN),
            manifest_cache: bound(config, &keys::MANIFEST_CACHE_SIZE)?.max(MANIFEST_CACHE_MIN),
            memory: config.unsigned(&keys::FETCH_MEMORY)?.max(window_max + MAX_BLOCK),
            patience: config.millis(&keys::S3_CALL_TIMEOUT)?,
            window_min,
            window_max,
            failure_delay: config.millis(&keys::FAILURE_DELAY)?,
        })
    }
}

/// A size of a cache, where -1 means no bound.
fn bound(config: &Config, key: &'static Key) -> Result<usize, ConfigError> {
    let number = config.integer(key)?.unwrap_or(-1);
    Ok(u64::try_from(number).map_or(usize::MAX / 4, size))
}
