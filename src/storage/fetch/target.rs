//! A segment that can be read: which objects it has and how its bytes come out of them.

use std::ops::Range;

use bytes::Bytes;

use super::super::StorageError;
use super::super::layout::aiven::{Manifest, Names};
use super::super::layout::compact::{Footer, block_count, open_block, stored_length_of, stored_range, verify_block};
use super::super::layout::{Chunks, Lead, ObjectKey, Place, PlaceError};
use super::super::transform::{DataKey, decompress};
use crate::model::{IndexType, SegmentMetadata};

/// Bytes that are read at a time of a segment that Aiven's plugin stored as it is.
const PLAIN_BLOCK: u32 = 1 << 16;

/// What a read needs to know of a segment.
#[derive(Debug, Clone)]
pub(in super::super) struct Target {
    pub(in super::super) segment: SegmentMetadata,
    /// The object that has the segment's bytes.
    pub(in super::super) key: ObjectKey,
    pub(in super::super) size: u64,
    pub(super) body: Body,
}

/// How a segment lies in its objects.
#[derive(Debug, Clone)]
pub(super) enum Body {
    /// As it is, with checksums.
    Compact(Place),
    /// In the compact layout, compressed or encrypted; the footer read.
    Sealed(Box<SealedBody>),
    Aiven(Box<AivenBody>),
}

#[derive(Debug, Clone)]
pub(super) struct SealedBody {
    pub(super) place: Place,
    blocks: Chunks,
    pub(super) data_key: Option<DataKey>,
}

/// A segment of Aiven's plugin, its manifest read.
#[derive(Debug, Clone)]
pub(super) struct AivenBody {
    manifest: Manifest,
    /// What is read at once: chunks, or blocks of our own if nothing was done to the bytes.
    blocks: Chunks,
    data_key: Option<DataKey>,
    pub(super) indexes: ObjectKey,
}

/// What is known of a segment before the store is asked.
#[derive(Debug, Clone)]
pub(in super::super) enum Located {
    At(Target),
    /// Its manifest has to be found first, or its footer.
    Sought(Sought),
}

/// A segment whose objects are named, but not what is in them.
#[derive(Debug, Clone)]
pub(in super::super) struct Sought {
    pub(super) segment: SegmentMetadata,
    pub(super) size: u64,
    /// Where its manifest may be, likeliest first.
    pub(super) names: Vec<Names>,
    /// Where an object of the compact layout may be, and under which prefix, if its metadata got lost.
    pub(super) compact: Option<(ObjectKey, String)>,
    /// The object of the compact layout whose footer says how its blocks were transformed.
    pub(super) sealed: Option<(ObjectKey, Place)>,
}

impl Located {
    /// Reads what the segment's metadata says.
    pub(in super::super) fn of(segment: &SegmentMetadata, prefix: &str, store: &str) -> Result<Self, StorageError> {
        let action = "find";
        let size = u64::try_from(segment.size_bytes).map_err(|_| StorageError::InvalidArgument {
            what: format!("{}: a size of {} bytes", segment.id, segment.size_bytes).into(),
        })?;
        let lead = lead_of(segment, prefix, action, store)?;
        if let Lead::Compact(place) = lead {
            let key = key_of(segment, &place, prefix, action, store)?;
            let segment = segment.clone();
            return Ok(match place.transforms.is_none() {
                true => Self::At(Target { segment, key, size, body: Body::Compact(place) }),
                false => {
                    Self::Sought(Sought { segment, size, names: Vec::new(), compact: None, sealed: Some((key, place)) })
                }
            });
        }
        let compact = (lead == Lead::Nothing).then(|| (ObjectKey::of_segment(prefix, segment), prefix.to_owned()));
        let names = lead.aiven_names(prefix, segment);
        Ok(Self::Sought(Sought { segment: segment.clone(), size, names, compact, sealed: None }))
    }

    pub(super) fn segment(&self) -> &SegmentMetadata {
        match self {
            Self::At(target) => &target.segment,
            Self::Sought(sought) => &sought.segment,
        }
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::At(target) => target.size,
            Self::Sought(sought) => sought.size,
        }
    }
}

impl Sought {
    /// The name for messages.
    pub(super) fn object(&self) -> ObjectKey {
        match (&self.sealed, self.names.first()) {
            (Some((key, _)), _) => key.clone(),
            (None, Some(names)) => names.manifest(),
            (None, None) => ObjectKey::of_segment("", &self.segment),
        }
    }

    /// The segment, once its manifest was read and its data key unwrapped.
    pub(super) fn with_manifest(&self, names: &Names, manifest: Manifest, data_key: Option<DataKey>) -> Target {
        let blocks = match manifest.is_plain() {
            true => Chunks::plain(PLAIN_BLOCK, u32::try_from(self.size).unwrap_or(u32::MAX)),
            false => manifest.chunks.clone(),
        };
        let body = AivenBody { manifest, blocks, data_key, indexes: names.indexes() };
        Target { segment: self.segment.clone(), key: names.log(), size: self.size, body: Body::Aiven(Box::new(body)) }
    }

    /// The segment, once the footer of its object was read and its data key unwrapped.
    pub(super) fn with_footer(
        &self,
        key: &ObjectKey,
        place: Place,
        footer: &Footer,
        data_key: Option<DataKey>,
    ) -> Target {
        let body = match &footer.blocks {
            Some(blocks) => Body::Sealed(Box::new(SealedBody { place, blocks: blocks.clone(), data_key })),
            None => Body::Compact(place),
        };
        Target { segment: self.segment.clone(), key: key.clone(), size: self.size, body }
    }
}

impl Target {
    /// Bytes of the segment in a block. A block is what is read, checked and kept at once.
    pub(super) fn block_bytes(&self) -> u64 {
        match &self.body {
            Body::Compact(place) => place.block_size.bytes(),
            Body::Sealed(sealed) => sealed.blocks.chunk_size(),
            Body::Aiven(aiven) => aiven.blocks.chunk_size(),
        }
    }

    pub(super) fn block_count(&self) -> u64 {
        match &self.body {
            Body::Compact(place) => block_count(self.size, place.block_size),
            Body::Sealed(sealed) => sealed.blocks.count(),
            Body::Aiven(aiven) => aiven.blocks.count(),
        }
    }

    /// Where blocks lie in the object.
    pub(super) fn stored_range(&self, blocks: Range<u64>) -> Range<u64> {
        match &self.body {
            Body::Compact(place) => stored_range(blocks, self.size, place.block_size),
            Body::Sealed(sealed) => sealed.blocks.stored_range(blocks),
            Body::Aiven(aiven) => aiven.blocks.stored_range(blocks),
        }
    }

    /// Size that the object must have.
    pub(in super::super) fn object_length(&self) -> u64 {
        match &self.body {
            Body::Compact(place) => place.object_length(),
            Body::Sealed(sealed) => sealed.place.object_length(),
            Body::Aiven(aiven) => aiven.blocks.object_length(),
        }
    }

    /// The block that has byte `position` of the object.
    pub(super) fn block_at(&self, position: u64) -> u64 {
        match &self.body {
            Body::Compact(place) => position / place.block_size.stored_bytes(),
            Body::Sealed(sealed) => sealed.blocks.chunk_at(position),
            Body::Aiven(aiven) => aiven.blocks.chunk_at(position),
        }
    }

    /// Bytes that a read of blocks takes in memory until it is done.
    pub(super) fn memory_bytes(&self, blocks: &Range<u64>) -> u64 {
        let range = self.stored_range(blocks.clone());
        let stored = range.end - range.start;
        let plain = (blocks.end - blocks.start).saturating_mul(self.block_bytes());
        if self.is_transformed() { stored.saturating_add(plain) } else { stored }
    }

    /// Whether opening blocks is work that a thread of the runtime should not be held up with.
    pub(super) fn is_transformed(&self) -> bool {
        match &self.body {
            Body::Compact(_) => false,
            Body::Sealed(_) => true,
            Body::Aiven(aiven) => !aiven.manifest.is_plain(),
        }
    }

    /// Bytes that a block takes in the object; 0 if there is no such block.
    pub(super) fn stored_length(&self, block: u64) -> u64 {
        match &self.body {
            Body::Compact(place) => stored_length_of(block, self.size, place.block_size),
            Body::Sealed(sealed) => sealed.blocks.stored_length(block),
            Body::Aiven(aiven) => aiven.blocks.stored_length(block),
        }
    }

    /// The plain bytes of blocks from their stored ones, which follow each other. If one isn't right, its number and why.
    pub(super) fn open(&self, blocks: Range<u64>, mut stored: Bytes) -> Result<Vec<Bytes>, (u64, String)> {
        let mut opened = Vec::new();
        for block in blocks {
            let length = usize::try_from(self.stored_length(block)).unwrap_or(0).min(stored.len());
            opened.push(self.open_block(block, stored.split_to(length)).map_err(|why| (block, why))?);
        }
        Ok(opened)
    }

    /// The plain bytes of one block from its stored ones, or why they aren't right.
    pub(super) fn open_block(&self, block: u64, stored: Bytes) -> Result<Bytes, String> {
        match &self.body {
            Body::Compact(_) => self.open_compact(block, stored),
            Body::Sealed(sealed) => self.open_sealed(sealed, block, &stored).map(Bytes::from),
            Body::Aiven(aiven) => aiven.open(block, stored),
        }
    }

    fn open_sealed(&self, sealed: &SealedBody, block: u64, stored: &[u8]) -> Result<Vec<u8>, String> {
        let number = u32::try_from(block).map_err(|_| "there is no such chunk")?;
        let length = u32::try_from(sealed.blocks.plain_length(block)).map_err(|_| "there is no such chunk")?;
        let (transforms, key) = (sealed.place.transforms, sealed.data_key.as_ref());
        open_block(transforms, key, &self.segment.id.uuid, number, length, stored)
    }

    fn open_compact(&self, block: u64, mut bytes: Bytes) -> Result<Bytes, String> {
        let number = u32::try_from(block).unwrap_or(u32::MAX);
        let length = verify_block(&self.segment.id.uuid, number, &bytes).map_err(|error| error.to_string())?;
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Bytes of memory of its own, beyond a few hundred.
    pub(super) fn extra_bytes(&self) -> usize {
        match &self.body {
            Body::Compact(_) => 0,
            Body::Sealed(sealed) => sealed.blocks.memory_bytes(),
            Body::Aiven(aiven) => aiven.blocks.memory_bytes() + aiven.manifest.chunks.memory_bytes(),
        }
    }
}

impl AivenBody {
    fn open(&self, block: u64, bytes: Bytes) -> Result<Bytes, String> {
        let length = usize::try_from(self.blocks.plain_length(block)).unwrap_or(0);
        let bytes = match &self.data_key {
            Some(key) => Bytes::from(key.open(&bytes)?),
            None => bytes,
        };
        let plain = if self.manifest.is_compressed { Bytes::from(decompress(&bytes, length)?) } else { bytes };
        match plain.len() {
            found if found == length => Ok(plain),
            found => Err(format!("it has {found} bytes instead of {length}")),
        }
    }

    /// Size of the object that has the indexes.
    pub(super) fn indexes_length(&self) -> u64 {
        self.manifest.indexes_length()
    }

    /// Takes every index out of the object that has them. If one isn't right, which and why.
    pub(super) fn open_indexes(&self, stored: &Bytes) -> Result<Vec<(IndexType, Bytes)>, (IndexType, String)> {
        let open = |range: Range<u64>| {
            let at = |position: u64| usize::try_from(position).ok().filter(|at| *at <= stored.len());
            let range = at(range.start).zip(at(range.end)).ok_or("it lies outside of the object")?;
            let bytes = stored.slice(range.0..range.1);
            match &self.data_key {
                Some(key) if !bytes.is_empty() => key.open(&bytes).map(Bytes::from),
                _ => Ok(bytes),
            }
        };
        let places = self.manifest.indexes.iter();
        places
            .map(|place| match open(place.range.clone()) {
                Ok(bytes) => Ok((place.index, bytes)),
                Err(why) => Err((place.index, why)),
            })
            .collect()
    }
}

/// What the segment's metadata says of where it is.
pub(in super::super) fn lead_of(
    segment: &SegmentMetadata,
    prefix: &str,
    action: &'static str,
    store: &str,
) -> Result<Lead, StorageError> {
    Lead::of(segment).map_err(|error| {
        let object = ObjectKey::of_segment(prefix, segment).to_string();
        match error {
            PlaceError::Unsupported(_) => {
                StorageError::Unsupported { action, object: object.into(), why: error.to_string().into() }
            }
            PlaceError::Malformed(_) => StorageError::Corrupt {
                action,
                object: object.into(),
                store: store.to_owned().into(),
                place: "what the metadata topic says of it".to_owned().into(),
                why: error.to_string().into(),
            },
        }
    })
}

/// The object of a segment that lies where `place` says.
pub(in super::super) fn key_of(
    segment: &SegmentMetadata,
    place: &Place,
    prefix: &str,
    action: &'static str,
    store: &str,
) -> Result<ObjectKey, StorageError> {
    match place.prefix_or(prefix) {
        Some(prefix) => Ok(ObjectKey::of_segment(prefix, segment)),
        None => Err(StorageError::Misconfigured {
            action,
            object: ObjectKey::of_segment("", segment).to_string().into(),
            store: store.to_owned().into(),
            why: "it was copied under another `key.prefix`, one too long to be kept with the segment".to_owned().into(),
            remedy: "`key.prefix`",
            source: None,
        }),
    }
}
