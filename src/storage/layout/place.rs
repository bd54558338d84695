//! Custom metadata: what a copy says about where its bytes are.

use bytes::Bytes;

use super::compact::{BlockSize, Transforms};
use super::crc::crc32c;
use crate::wire::{CustomMetadata, TaggedFields};

/// What Kafka accepts by default (`remote.log.metadata.custom.metadata.max.bytes`).
pub const CUSTOM_METADATA_BYTES_MAX: usize = 128;

const TAG_PLACE: u32 = 100;
const PLACE_LENGTH: usize = 20;
const LAYOUT_COMPACT: u8 = 1;
const VERSION: u8 = 1;

/// Where the parts of a segment's object are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub transforms: Transforms,
    pub block_size: BlockSize,
    /// Bytes of data as stored; also the position of the tail.
    pub data_length: u64,
    pub tail_length: u32,
    /// `key.prefix` of the copy, if it fitted.
    pub prefix: Option<String>,
    prefix_crc: u32,
}

/// Why custom metadata says nothing that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// Nothing is wrong with it, but this version can't read what it announces.
    #[error("its custom metadata says {0}")]
    Unsupported(String),
    /// It isn't what any version writes.
    #[error("its custom metadata is malformed: {0}")]
    Malformed(&'static str),
}

impl Place {
    #[must_use]
    pub fn new(block_size: BlockSize, data_length: u64, tail_length: u32, prefix: &str) -> Self {
        let prefix_crc = crc32c(prefix.as_bytes());
        let transforms = Transforms::default();
        Self { transforms, block_size, data_length, tail_length, prefix: Some(prefix.to_owned()), prefix_crc }
    }

    /// The same of data that was transformed.
    #[must_use]
    pub fn with_transforms(mut self, transforms: Transforms) -> Self {
        self.transforms = transforms;
        self
    }

    /// Size of the object.
    #[must_use]
    pub fn object_length(&self) -> u64 {
        self.data_length.saturating_add(u64::from(self.tail_length))
    }

    /// The prefix under which the object lies, given the one configured now; `None` if it lies under one that nobody
    /// remembers.
    #[must_use]
    pub fn prefix_or<'a>(&'a self, current: &'a str) -> Option<&'a str> {
        match &self.prefix {
            Some(prefix) => Some(prefix),
            None if crc32c(current.as_bytes()) == self.prefix_crc => Some(current),
            None => None,
        }
    }

    /// Custom metadata, at most `CUSTOM_METADATA_BYTES_MAX` bytes: a prefix that doesn't fit is left out.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut place = Vec::with_capacity(PLACE_LENGTH);
        place.extend([LAYOUT_COMPACT, VERSION, self.transforms.bits(), self.block_size.exponent()]);
        place.extend(self.data_length.to_be_bytes());
        place.extend(self.tail_length.to_be_bytes());
        place.extend(self.prefix_crc.to_be_bytes());
        let mut other = TaggedFields::new();
        other.set(TAG_PLACE, place);
        let mut metadata = CustomMetadata {
            remote_size_bytes: Some(self.object_length()),
            object_prefix: self.prefix.clone(),
            object_key: None,
            other,
        };
        let bytes = metadata.encode().unwrap_or_default();
        if bytes.len() <= CUSTOM_METADATA_BYTES_MAX {
            return bytes;
        }
        metadata.object_prefix = None;
        metadata.encode().unwrap_or_default()
    }

    /// Reads custom metadata of a segment of `segment_size` bytes.
    ///
    /// # Errors
    /// [`PlaceError::Unsupported`] if it belongs to another layout, a newer version or a transform; otherwise
    /// [`PlaceError::Malformed`], also if the numbers don't fit `segment_size`.
    pub fn decode(bytes: &[u8], segment_size: u64) -> Result<Self, PlaceError> {
        let metadata =
            CustomMetadata::decode(bytes).map_err(|_| PlaceError::Malformed("no section of tagged fields"))?;
        let Some(place) = metadata.other.get(TAG_PLACE) else {
            return Err(PlaceError::Unsupported("nothing about a place (tag 100): another layout wrote it".to_owned()));
        };
        let decoded = Self::decode_place(place, metadata.object_prefix)?;
        if !decoded.transforms.fit(segment_size, decoded.block_size, decoded.data_length) {
            return Err(PlaceError::Malformed("its data length doesn't follow from the segment's size"));
        }
        match metadata.remote_size_bytes {
            Some(length) if length != decoded.object_length() => {
                Err(PlaceError::Malformed("its object size isn't the sum of the parts"))
            }
            _ => Ok(decoded),
        }
    }

    fn decode_place(place: &[u8], prefix: Option<String>) -> Result<Self, PlaceError> {
        match place {
            [LAYOUT_COMPACT, VERSION, ..] => {}
            [layout, version, ..] => {
                return Err(PlaceError::Unsupported(format!("layout {layout} version {version}")));
            }
            _ => return Err(PlaceError::Malformed("its place is cut off")),
        }
        let &[_, _, transforms, exponent, d0, d1, d2, d3, d4, d5, d6, d7, t0, t1, t2, t3, p0, p1, p2, p3] = place
        else {
            return Err(PlaceError::Malformed("its place doesn't have 20 bytes"));
        };
        let transforms = Transforms::from_bits(transforms)
            .ok_or_else(|| PlaceError::Unsupported(format!("transforms {transforms:#04x}")))?;
        Ok(Self {
            transforms,
            block_size: BlockSize::from_exponent(exponent).ok_or(PlaceError::Malformed("its block size"))?,
            data_length: u64::from_be_bytes([d0, d1, d2, d3, d4, d5, d6, d7]),
            tail_length: u32::from_be_bytes([t0, t1, t2, t3]),
            prefix,
            prefix_crc: u32::from_be_bytes([p0, p1, p2, p3]),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::compact::data_length;
    use super::*;

    /// The largest that Kafka has.
    const SEGMENT_SIZE: u64 = i32::MAX as u64;

    fn place(prefix: &str) -> Place {
        let size = BlockSize::default();
        Place::new(size, data_length(SEGMENT_SIZE, size), 40_000_000, prefix)
    }

    #[test]
    fn a_prefix_that_fits_survives_and_a_longer_one_is_left_out() {
        for length in 0..400 {
            let prefix = "p".repeat(length);
            let bytes = place(&prefix).encode();
            assert!(bytes.len() <= CUSTOM_METADATA_BYTES_MAX, "{length}: {} bytes", bytes.len());
            let decoded = Place::decode(&bytes, SEGMENT_SIZE).expect("ours");
            assert_eq!(decoded.prefix.is_some(), length <= 95, "{length}");
            assert_eq!(decoded.prefix_or(&prefix), Some(prefix.as_str()));
            if decoded.prefix.is_none() {
                assert_eq!(decoded.prefix_or("other/"), None);
            }
        }
    }

    #[test]
    fn aivens_bytes_are_another_layout_and_not_corrupt() {
        // Source: vectors of Aiven's own tests.
        for bytes in [&[0x02, 0x00, 0x02, 0xc8, 0x01, 0x02, 0x04, 0x04, 0x66, 0x6f, 0x6f][..], &[0x00]] {
            assert!(matches!(Place::decode(bytes, 100), Err(PlaceError::Unsupported(_))), "{bytes:?}");
        }
    }

    #[test]
    fn other_versions_and_transforms_are_unsupported() {
        let bytes = place("").encode();
        let at = bytes.len() - PLACE_LENGTH;
        for (offset, value) in [(0, 2), (1, 2), (2, 4), (2, 0x81)] {
            let mut other = bytes.to_vec();
            other[at + offset] = value;
            assert!(matches!(Place::decode(&other, SEGMENT_SIZE), Err(PlaceError::Unsupported(_))), "byte {offset}");
        }
    }

    #[test]
    fn cut_or_of_another_size_it_is_malformed() {
        let bytes = place("prefix/").encode();
        for cut in 0..bytes.len() {
            assert!(Place::decode(&bytes[..cut], SEGMENT_SIZE).is_err(), "{cut}");
        }
        assert!(matches!(Place::decode(&bytes, SEGMENT_SIZE - 1), Err(PlaceError::Malformed(_))));
    }

    proptest! {
        /// Any bytes are decoded or refused, and nothing else.
        #[test]
        fn decoding_never_panics(bytes: Vec<u8>, size: u64) {
            let _ = Place::decode(&bytes, size);
        }
    }
}
