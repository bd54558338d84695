//! How segments are written, and the keys that they are encrypted with.

use std::time::Duration;

use super::super::transform::KeyPairFiles;
use super::size;
use super::store::{StoreKind, StoreSettings};
use crate::config::{Config, ConfigError, storage as keys};

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct UploadSettings {
    pub(in super::super) part_size: u64,
    pub(in super::super) parts_in_flight: usize,
    pub(in super::super) memory: u64,
    pub(in super::super) timeout: Duration,
    pub(in super::super) no_progress: Duration,
    pub(in super::super) cleanup: Duration,
    /// How long a request that was given up may take to be done all the same.
    pub(in super::super) grace: Duration,
    pub(in super::super) bytes_per_second: Option<u64>,
}

impl UploadSettings {
    pub(super) fn parse(config: &Config, store: &StoreSettings) -> Result<Self, ConfigError> {
        Ok(Self {
            part_size: part_size(store, config)?,
            parts_in_flight: size(config.unsigned(&keys::PARTS_IN_FLIGHT)?),
            memory: config.unsigned(&keys::UPLOAD_MEMORY)?,
            timeout: config.millis(&keys::UPLOAD_TIMEOUT)?,
            no_progress: config.millis(&keys::UPLOAD_NO_PROGRESS)?,
            cleanup: config.millis(&keys::CLEANUP_TIMEOUT)?,
            grace: config.millis(&keys::S3_ATTEMPT_TIMEOUT)?,
            bytes_per_second: config.integer(&keys::UPLOAD_RATE)?.and_then(|rate| u64::try_from(rate).ok()),
        })
    }
}

/// What is read, checked and handed to a folder at a time. The bytes are still in the processor's cache when they are
/// written: with parts of 8 MiB a copy takes more than twice the CPU time.
const FOLDER_PART_SIZE: u64 = 1 << 20;

fn part_size(store: &StoreSettings, config: &Config) -> Result<u64, ConfigError> {
    match store.kind {
        StoreKind::Filesystem { .. } => Ok(FOLDER_PART_SIZE),
        StoreKind::S3(_) | StoreKind::Service(_) | StoreKind::Memory => config.unsigned(&keys::S3_PART_SIZE),
        StoreKind::Gcs(_) => Ok(config.unsigned(&keys::GCS_CHUNK_SIZE)?.max(keys::PART_MIN)),
        StoreKind::Azure(_) => config.unsigned(&keys::AZURE_BLOCK_SIZE),
    }
}

/// The two files of a key pair.
pub(super) const KEY_FILES: [&str; 2] = ["public", "private"];

pub(super) fn key_pair_ids(config: &Config) -> impl Iterator<Item = &str> {
    let ids = config.text(&keys::KEY_PAIRS).unwrap_or_default();
    ids.split(',').map(str::trim).filter(|id| !id.is_empty())
}

pub(super) fn key_file(id: &str, which: &str) -> String {
    format!("{}{id}.{which}.key.file", keys::KEY_PAIR_PREFIX)
}

/// Files of the key pairs. Needed for reading, whether encryption is on or not.
pub(super) fn key_pairs(config: &Config) -> Vec<KeyPairFiles> {
    let file = |id: &str, which: &str| {
        let path = config.raw(&key_file(id, which))?.trim();
        (!path.is_empty()).then(|| path.into())
    };
    let [public, private] = KEY_FILES;
    let pairs = key_pair_ids(config);
    pairs.map(|id| KeyPairFiles { id: id.to_owned(), public: file(id, public), private: file(id, private) }).collect()
}
