//! What is done to segments on their way into the store.

use std::sync::Arc;

use super::super::layout::compact::BlockSize;
use super::size;
use crate::config::{Config, ConfigError, storage as keys};

/// How new segments lie in their objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum LayoutChoice {
    Compact,
    Aiven,
}

/// What custom metadata of Aiven's layout says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) struct Fields {
    pub(in super::super) size: bool,
    pub(in super::super) prefix: bool,
    pub(in super::super) key: bool,
}

#[derive(Debug, Clone)]
pub(in super::super) struct TransformSettings {
    pub(in super::super) layout: LayoutChoice,
    /// Chunks of Aiven's layout.
    pub(in super::super) chunk_bytes: u32,
    pub(in super::super) fields: Fields,
    /// Blocks of the compact layout, of a segment that is transformed.
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

/// What Aiven's documentation suggests: its readers make a request for each chunk.
const AIVEN_CHUNK: u32 = 4 << 20;

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
        let layout = match config.choice(&keys::LAYOUT)? {
            "aiven" => LayoutChoice::Aiven,
            _ => LayoutChoice::Compact,
        };
        let fields = fields(config)?;
        let wanted = config.unsigned(&keys::CHUNK_SIZE)?;
        let is_compact = layout == LayoutChoice::Compact;
        let exponent = wanted.max(1).ilog2().clamp(*EXPONENTS.start(), *EXPONENTS.end());
        let block_size = u8::try_from(exponent).ok().and_then(BlockSize::from_exponent).unwrap_or_default();
        let is_set = config.raw(keys::CHUNK_SIZE.name).is_some();
        if is_compact && is_set && !is_compressed && !is_encrypted {
            notes.push(format!(
                "`{}` has no effect: segments that are neither compressed nor encrypted are read by exact ranges",
                keys::CHUNK_SIZE.name
            ));
        } else if is_compact && is_set && block_size.bytes() != wanted {
            let (name, used) = (keys::CHUNK_SIZE.name, block_size.bytes());
            notes
                .push(format!("`{name}` {wanted} is taken as {used}: it must be a power of two from 4096 to 16777216"));
        }
        if is_compact && fields != Fields::default() {
            notes.push(format!("`{}` has no effect: the compact layout chooses its own fields", keys::FIELDS.name));
        }
        let threads = match size(config.unsigned(&keys::TRANSFORM_THREADS)?) {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
            threads => threads,
        };
        let settings = Self {
            layout,
            chunk_bytes: if is_set { u32::try_from(wanted).unwrap_or(u32::MAX) } else { AIVEN_CHUNK },
            fields,
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

fn fields(config: &Config) -> Result<Fields, ConfigError> {
    let (list, mut fields) = (config.text(&keys::FIELDS).unwrap_or_default(), Fields::default());
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "REMOTE_SIZE" => fields.size = true,
            "OBJECT_PREFIX" => fields.prefix = true,
            "OBJECT_KEY" => fields.key = true,
            other => {
                let why = format!("`{other}` is none of REMOTE_SIZE, OBJECT_PREFIX and OBJECT_KEY");
                return Err(ConfigError::bad_value(&keys::FIELDS, list, &why));
            }
        }
    }
    Ok(fields)
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
