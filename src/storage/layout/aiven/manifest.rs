//! The manifest, version 1: a JSON document that says how a segment was cut, transformed and indexed.

use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::super::transform::{AES_OVERHEAD, compressed_length_max, decompress_at_most};
use super::Chunks;
use super::json::{Fields, corrupt};
use super::lengths::decode_lengths;
use crate::model::IndexType;

/// Longer than any manifest that could be read: the table of chunks in it is at most `TABLE_BYTES_MAX` long.
pub const MANIFEST_BYTES_MAX: u64 = 16 << 20;
/// The most that Aiven's own reader takes.
pub(in super::super::super) const TABLE_BYTES_MAX: usize = 10 << 20;

/// In the order of their bytes in the `.indexes` object.
pub(super) const INDEXES: [(&str, IndexType); 5] = [
    ("offset", IndexType::Offset),
    ("timestamp", IndexType::Timestamp),
    ("producerSnapshot", IndexType::ProducerSnapshot),
    ("leaderEpoch", IndexType::LeaderEpoch),
    ("transaction", IndexType::Transaction),
];

/// What a manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub chunks: Chunks,
    /// One behind the other, from the start of the `.indexes` object.
    pub indexes: Vec<IndexPlace>,
    /// Each chunk is a zstd frame (indexes never are).
    pub is_compressed: bool,
    /// Each chunk and each index that isn't empty is encrypted.
    pub encryption: Option<Envelope>,
}

/// Where an index lies in the `.indexes` object, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPlace {
    pub index: IndexType,
    pub range: Range<u64>,
}

/// How a segment's data key is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Key pair that the data key is wrapped with.
    pub key_id: String,
    pub wrapped_key: Vec<u8>,
    /// Goes into every encryption of the segment.
    pub aad: Vec<u8>,
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// Why a manifest can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Of another version, or with something in it that version 1 doesn't have.
    #[error("the manifest has {0}, which this version of Undercroft doesn't know")]
    Unsupported(String),
    #[error("{0}")]
    Corrupt(String),
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError::Unsupported`] for another version or fields that version 1 doesn't have, else
    /// [`ManifestError::Corrupt`] with what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        let document: Value = serde_json::from_slice(bytes).map_err(|error| corrupt(format!("no JSON: {error}")))?;
        let fields = Fields::of("the manifest", &document)?;
        match fields.get("version")? {
            Value::String(version) if version == "1" => {}
            Value::Number(version) if version.as_i64() == Some(1) => {}
            Value::String(version) => {
                let version: String = version.escape_default().take(20).collect();
                return Err(ManifestError::Unsupported(format!("version {version}")));
            }
            Value::Number(version) => return Err(ManifestError::Unsupported(format!("version {version}"))),
            _ => return Err(corrupt("`version` of the manifest is neither text nor a number")),
        }
        fields.only(&[
            "version",
            "chunkIndex",
            "segmentIndexes",
            "compression",
            "encryption",
            // Says again, for people, what the caller knows; brokers of each release write it differently.
            "remoteLogSegmentMetadata",
        ])?;
        Ok(Self {
            is_compressed: fields.boolean("compression")?,
            chunks: chunks(fields.get("chunkIndex")?)?,
            indexes: indexes(fields.get("segmentIndexes")?)?,
            encryption: fields.optional("encryption").map(envelope).transpose()?,
        })
    }

    /// Whether chunks are stored as they are in the segment.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.is_compressed && self.encryption.is_none()
    }

    /// Checks it against the segment's size, and its chunks against what was done to them.
    ///
    /// # Errors
    /// [`ManifestError::Corrupt`] if the segment has another size, or a chunk a stored length that no transform of its bytes
    /// has: then the table points to where the chunk isn't.
    pub fn check(&self, segment_size: u64) -> Result<(), ManifestError> {
        if self.chunks.segment_size() != segment_size {
            let found = self.chunks.segment_size();
            return Err(corrupt(format!("it is about a segment of {found} bytes, and this one has {segment_size}")));
        }
        let overhead = if self.encryption.is_some() { AES_OVERHEAD } else { 0 };
        for chunk in self.chunks.of_every_length() {
            let (plain, stored) = (self.chunks.plain_length(chunk), self.chunks.stored_length(chunk));
            let is_possible = match self.is_compressed {
                true => stored > overhead && stored <= compressed_length_max(plain).saturating_add(overhead),
                false => stored == plain + overhead,
            };
            if !is_possible {
                return Err(corrupt(format!("chunk {chunk} of {plain} bytes can't have {stored} in the store")));
            }
        }
        let is_sealed = |place: &IndexPlace| match place.range.end - place.range.start {
            0 => true,
            length => length >= overhead,
        };
        match self.indexes.iter().find(|place| !is_sealed(place)) {
            Some(place) => Err(corrupt(format!("the {} is too short to be encrypted", place.index.name()))),
            None => Ok(()),
        }
    }

    /// Where an index lies, if the segment has it.
    #[must_use]
    pub fn index(&self, index: IndexType) -> Option<Range<u64>> {
        self.indexes.iter().find(|place| place.index == index).map(|place| place.range.clone())
    }

    /// Size of the `.indexes` object.
    #[must_use]
    pub fn indexes_length(&self) -> u64 {
        self.indexes.last().map_or(0, |place| place.range.end)
    }
}

fn chunks(value: &Value) -> Result<Chunks, ManifestError> {
    let fields = Fields::of("`chunkIndex`", value)?;
    let kind = fields.text("type")?;
    let sizes = || Ok((fields.int("originalChunkSize")?, fields.int("originalFileSize")?));
    match kind {
        "fixed" => {
            let last = "finalTransformedChunkSize";
            fields.only(&["type", "originalChunkSize", "originalFileSize", "transformedChunkSize", last])?;
            let (chunk_size, segment_size) = sizes()?;
            Chunks::fixed(chunk_size, segment_size, fields.int("transformedChunkSize")?, fields.int(last)?)
                .map_err(corrupt)
        }
        "variable" => {
            fields.only(&["type", "originalChunkSize", "originalFileSize", "transformedChunks"])?;
            let (chunk_size, segment_size) = sizes()?;
            let frame = base64("`transformedChunks`", fields.text("transformedChunks")?)?;
            let table = decompress_at_most(&frame, TABLE_BYTES_MAX);
            let table = table.map_err(|why| corrupt(format!("the table of chunks: {why}")))?;
            Chunks::variable(chunk_size, segment_size, &decode_lengths(&table)?).map_err(corrupt)
        }
        other => {
            let other: String = other.escape_default().take(20).collect();
            Err(ManifestError::Unsupported(format!("chunks of type `{other}`")))
        }
    }
}

fn indexes(value: &Value) -> Result<Vec<IndexPlace>, ManifestError> {
    let fields = Fields::of("`segmentIndexes`", value)?;
    fields.only(&INDEXES.map(|(name, _)| name))?;
    let (mut places, mut next) = (Vec::with_capacity(INDEXES.len()), 0);
    for (name, index) in INDEXES {
        let value = fields.get(name)?;
        if value.is_null() && index == IndexType::Transaction {
            continue;
        }
        let place = Fields::of(index.name(), value)?;
        place.only(&["position", "size"])?;
        let (position, size) = (u64::from(place.int("position")?), u64::from(place.int("size")?));
        if position != next {
            return Err(corrupt(format!("the {} begins at {position} instead of {next}", index.name())));
        }
        next = position + size;
        places.push(IndexPlace { index, range: position..next });
    }
    Ok(places)
}

fn envelope(value: &Value) -> Result<Envelope, ManifestError> {
    let fields = Fields::of("`encryption`", value)?;
    fields.only(&["dataKey", "aad"])?;
    let no_key = || corrupt("`dataKey` of `encryption` is no key id and key");
    let (key_id, wrapped) = fields.text("dataKey")?.split_once(':').ok_or_else(no_key)?;
    if key_id.trim().is_empty() || wrapped.contains(':') {
        return Err(no_key());
    }
    Ok(Envelope {
        key_id: key_id.to_owned(),
        wrapped_key: base64("`dataKey`", wrapped)?,
        aad: base64("`aad`", fields.text("aad")?)?,
    })
}

fn base64(what: &str, text: &str) -> Result<Vec<u8>, ManifestError> {
    STANDARD.decode(text).map_err(|error| corrupt(format!("the base64 of {what}: {error}")))
}
