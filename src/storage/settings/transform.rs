//! What is done to segments on their way into the store.

use std::sync::Arc;

use super::super::layout::compact::BlockSize;
use super::size;
use crate::config::{Config, ConfigError, storage as keys};

#[derive(Debug, Clone)]
pub(in super::super) struct TransformSettings {
    /// Blocks of a segment that is transformed.
    pub(in super::super) block_size: BlockSize,
    pub(in super::super) is_compressed: bool,
    pub(in super::super) level: i32,
    /// Whether segments whose batches are compressed stay as they are.
    pub(in super::super) is_heuristic: bool,
    /// The key pair that data keys are wrapped with, if segments are encrypted.
    pub(in super::super) key_pair: Option<Arc<str>>,
    /// Segments' pieces that are transformed at once, for all copies.
    pub(in super::super) threads: usize,
}

/// Exponents of block sizes that are written; larger and smaller ones are rounded to these.
const EXPONENTS: std::ops::RangeInclusive<u32> = 12..=24;

impl TransformSettings {
    /// Also hands back what an operator should hear.
    pub(super) fn parse(config: &Config) -> Result<(Self, Vec<String>), ConfigError> {
        let mut notes = Vec::new();
        let (is_compressed, is_encrypted) = (config.boolean(&keys::COMPRESSION)?, config.boolean(&keys::ENCRYPTION)?);
        let key_pair = match is_encrypted {
            true => Some(Arc::from(active_pair(config)?)),
            false => None,
        };
        let wanted = config.unsigned(&keys::CHUNK_SIZE)?;
        let exponent = wanted.max(1).ilog2().clamp(*EXPONENTS.start(), *EXPONENTS.end());
        let block_size = u8::try_from(exponent).ok().and_then(BlockSize::from_exponent).unwrap_or_default();
        let is_set = config.raw(keys::CHUNK_SIZE.name).is_some();
        if is_set && !is_compressed && !is_encrypted {
            notes.push(format!(
                "`{}` has no effect: segments that are neither compressed nor encrypted are read by exact ranges",
                keys::CHUNK_SIZE.name
            ));
        } else if is_set && block_size.bytes() != wanted {
            let (name, used) = (keys::CHUNK_SIZE.name, block_size.bytes());
            notes
                .push(format!("`{name}` {wanted} is taken as {used}: it must be a power of two from 4096 to 16777216"));
        }
        let threads = match size(config.unsigned(&keys::TRANSFORM_THREADS)?) {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
            threads => threads,
        };
        let settings = Self {
            block_size,
            is_compressed,
            level: i32::try_from(config.integer(&keys::COMPRESSION_LEVEL)?.unwrap_or(3)).unwrap_or(3),
            is_heuristic: config.boolean(&keys::COMPRESSION_HEURISTIC)?,
            key_pair,
            threads,
        };
        Ok((settings, notes))
    }
}

/// Id of the pair for new segments, which must be one of the listed.
fn active_pair(config: &Config) -> Result<&str, ConfigError> {
    let id = config.required(&keys::KEY_PAIR, "`encryption.enabled` needs a key pair to wrap data keys with")?.trim();
    let bad = |why: &str| Err(ConfigError::bad_value(&keys::KEY_PAIR, id, why));
    if !super::upload::key_pair_ids(config).any(|listed| listed == id) {
        return bad("it is not listed in `encryption.key.pairs`");
    }
    // Aiven's manifest has the id before a colon.
    if id.contains(':') || id.len() > 1000 {
        return bad("an id has no colon and at most 1000 bytes");
    }
    Ok(id)
}
