//! Tail: indexes, footer and trailer.

use bytes::Bytes;

use super::super::super::transform::{AES_OVERHEAD, DataKey};
use super::super::Chunks;
use super::super::crc::{crc32c_at, crc32c_of};
use super::sealed::{decode_table, encode_table, open_index};
use super::{BlockSize, Transforms, WrappedKey, data_length};
use crate::model::{IndexType, KafkaUuid, SegmentMetadata};

/// Bytes of the trailer, with which every object ends.
pub const TRAILER_LENGTH: usize = 16;

const VERSION: u8 = 1;
const MAGIC: [u8; 7] = *b"UCSEG\r\n";
const CHECKSUM_CRC32C: u8 = 1;
const SECTION_TOPIC: u8 = 1;
const SECTION_WRITER: u8 = 2;
const SECTION_TABLE: u8 = 3;
const SECTION_KEY: u8 = 4;
const WRITER: &str = concat!("undercroft ", env!("CARGO_PKG_VERSION"));

/// What an object says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footer {
    pub topic_id: KafkaUuid,
    pub segment_id: KafkaUuid,
    pub partition: i32,
    pub start_offset: i64,
    pub end_offset: i64,
    pub segment_size: u64,
    pub block_size: BlockSize,
    /// Also the position of the tail.
    pub data_length: u64,
    pub transforms: Transforms,
    /// Where blocks lie, if anything was done to them.
    pub blocks: Option<Chunks>,
    /// If they are encrypted.
    pub data_key: Option<WrappedKey>,
    /// In ascending order of their types.
    pub indexes: Vec<IndexEntry>,
    pub topic: Option<String>,
    /// Program and version that wrote the object.
    pub writer: Option<String>,
}

/// Where an index lies in the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    pub index: IndexType,
    pub position: u64,
    /// As stored.
    pub length: u32,
    /// As the broker wrote it.
    pub plain_length: u32,
    /// Of the stored bytes.
    pub crc: u32,
}

/// The last bytes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    pub footer_length: u32,
    crc: u32,
}

/// Why a tail can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FooterError {
    /// Written by something newer, or with a transform that this version doesn't know.
    #[error("{0} is newer than this version of Undercroft")]
    Unsupported(String),
    #[error("{0}")]
    Corrupt(String),
}

fn corrupt(why: impl Into<String>) -> FooterError {
    FooterError::Corrupt(why.into())
}

/// What a tail says of the data before it.
pub(in super::super::super) struct Written<'a> {
    pub(in super::super::super) block_size: BlockSize,
    pub(in super::super::super) transforms: Transforms,
    pub(in super::super::super) data_length: u64,
    /// Stored length of each block; said of compressed ones only.
    pub(in super::super::super) lengths: &'a [u32],
    pub(in super::super::super) data_key: Option<&'a WrappedKey>,
}

/// The tail of a segment's object: the indexes as given (their buffers are shared, not copied), footer and trailer.
///
/// `indexes` are in ascending order of their types. Also hands back the tail's length.
///
/// # Errors
/// [`FooterError::Corrupt`] if an index or the tail is 4 GiB long or longer.
pub fn build_tail(
    segment: &SegmentMetadata,
    block_size: BlockSize,
    indexes: &[(IndexType, Bytes)],
) -> Result<(Vec<Bytes>, u32), FooterError> {
    let segment_size = u64::try_from(segment.size_bytes).unwrap_or(0);
    let (transforms, data_length) = (Transforms::default(), data_length(segment_size, block_size));
    let written = Written { block_size, transforms, data_length, lengths: &[], data_key: None };
    build_sealed_tail(segment, &written, indexes)
}

/// The same of data that may be compressed or encrypted; `indexes` are as they are to be stored.
pub(in super::super::super) fn build_sealed_tail(
    segment: &SegmentMetadata,
    written: &Written<'_>,
    indexes: &[(IndexType, Bytes)],
) -> Result<(Vec<Bytes>, u32), FooterError> {
    let segment_size = u64::try_from(segment.size_bytes).unwrap_or(0);
    let (id, transforms) = (&segment.id, written.transforms);
    let overhead = if transforms.is_encrypted { u32::try_from(AES_OVERHEAD).unwrap_or(0) } else { 0 };
    let algorithms = [u8::from(transforms.is_compressed), u8::from(transforms.is_encrypted)];
    let mut footer = vec![CHECKSUM_CRC32C, algorithms[0], algorithms[1], written.block_size.exponent()];
    footer.extend(id.partition.topic_id.0);
    footer.extend(id.uuid.0);
    footer.extend(id.partition.partition.to_be_bytes());
    footer.extend(segment.start_offset.0.to_be_bytes());
    footer.extend(segment.end_offset.0.to_be_bytes());
    footer.extend(segment_size.to_be_bytes());
    let mut position = written.data_length;
    footer.extend(position.to_be_bytes());
    footer.push(u8::try_from(indexes.len()).map_err(|_| corrupt("too many indexes"))?);
    for (index, bytes) in indexes {
        let length = u32::try_from(bytes.len()).map_err(|_| corrupt(format!("the {} is too long", index.name())))?;
        footer.push(*index as u8);
        footer.extend(position.to_be_bytes());
        footer.extend(length.to_be_bytes());
        footer.extend(length.saturating_sub(overhead).to_be_bytes());
        footer.extend(crc32c_at(&id.uuid, u32::from(*index as u8), bytes).to_be_bytes());
        position += u64::from(length);
    }
    let mut sections =
        vec![(SECTION_TOPIC, id.partition.topic.as_bytes().to_vec()), (SECTION_WRITER, WRITER.as_bytes().to_vec())];
    if transforms.is_compressed {
        sections.push((SECTION_TABLE, encode_table(written.lengths)));
    }
    if let Some(key) = written.data_key {
        let length = u16::try_from(key.key_id.len()).map_err(|_| corrupt("the id of the key pair is too long"))?;
        sections.push((SECTION_KEY, [&length.to_be_bytes(), key.key_id.as_bytes(), &key.wrapped].concat()));
    }
    footer.push(u8::try_from(sections.len()).map_err(|_| corrupt("too many sections"))?);
    for (tag, content) in sections {
        footer.push(tag);
        footer.extend(u32::try_from(content.len()).map_err(|_| corrupt("a section is too long"))?.to_be_bytes());
        footer.extend(content);
    }
    let mut end = [0; TRAILER_LENGTH - 4];
    end[..4].copy_from_slice(&u32::try_from(footer.len()).map_err(|_| corrupt("footer too long"))?.to_be_bytes());
    end[4] = VERSION;
    end[5..].copy_from_slice(&MAGIC);
    let crc = crc32c_of(&[&footer, &end]);
    footer.extend(crc.to_be_bytes());
    footer.extend(end);
    let length = position - written.data_length + footer.len() as u64;
    let length = u32::try_from(length).map_err(|_| corrupt("the indexes are too long"))?;
    let parts = indexes.iter().map(|(_, bytes)| bytes.clone()).chain([Bytes::from(footer)]);
    Ok((parts.filter(|part| !part.is_empty()).collect(), length))
}

impl Trailer {
    /// Reads the last [`TRAILER_LENGTH`] bytes of `bytes`.
    ///
    /// # Errors
    /// [`FooterError`] if these aren't the end of an object of this layout.
    pub fn decode(bytes: &[u8]) -> Result<Self, FooterError> {
        let Some((_, &[c0, c1, c2, c3, l0, l1, l2, l3, version, ref magic @ ..])) =
            bytes.split_last_chunk::<TRAILER_LENGTH>()
        else {
            return Err(corrupt(format!("{} bytes are no trailer", bytes.len())));
        };
        if *magic != MAGIC {
            return Err(corrupt("the object doesn't end as a segment of the compact layout does"));
        }
        if version != VERSION {
            return Err(FooterError::Unsupported(format!("footer version {version}")));
        }
        let (footer_length, crc) = (u32::from_be_bytes([l0, l1, l2, l3]), u32::from_be_bytes([c0, c1, c2, c3]));
        Ok(Self { footer_length, crc })
    }
}

impl Footer {
    /// Reads the footer at the end of `bytes`, which are the last bytes of an object of `object_length` bytes: at least
    /// its footer and trailer.
    ///
    /// # Errors
    /// [`FooterError::Corrupt`] with what is wrong; a version or transform of the future is `Unsupported`.
    pub fn decode(bytes: &[u8], object_length: u64) -> Result<Self, FooterError> {
        let trailer = Trailer::decode(bytes)?;
        let before = bytes.len() - TRAILER_LENGTH;
        let start = usize::try_from(trailer.footer_length).ok().and_then(|length| before.checked_sub(length));
        let start = start.ok_or_else(|| corrupt(format!("a footer of {} bytes is cut off", trailer.footer_length)))?;
        let (footer, end) = (&bytes[start..before], &bytes[before + 4..]);
        let found = crc32c_of(&[footer, end]);
        if found != trailer.crc {
            return Err(corrupt(format!("the footer has crc {found:08x}, its trailer says {:08x}", trailer.crc)));
        }
        let footer_position = object_length
            .checked_sub((TRAILER_LENGTH + footer.len()) as u64)
            .ok_or_else(|| corrupt("the footer is longer than the object"))?;
        Self::parse(footer, footer_position)
    }

    /// Where an index lies in a tail that begins at the data's end.
    #[must_use]
    pub fn entry(&self, index: IndexType) -> Option<&IndexEntry> {
        self.indexes.iter().find(|entry| entry.index == index)
    }

    /// Takes an index out of `tail`, which begins where the data ends, and checks it.
    ///
    /// `None` if the segment has no such index.
    ///
    /// # Errors
    /// [`FooterError::Corrupt`] if its checksum is wrong or it lies outside of `tail`.
    pub fn index(&self, tail: &Bytes, index: IndexType) -> Result<Option<Bytes>, FooterError> {
        let Some(entry) = self.entry(index) else { return Ok(None) };
        let start = entry.position.checked_sub(self.data_length).and_then(|at| usize::try_from(at).ok());
        let range = start.and_then(|start| Some(start..start.checked_add(usize::try_from(entry.length).ok()?)?));
        let bytes = range
            .filter(|range| range.end <= tail.len())
            .map(|range| tail.slice(range))
            .ok_or_else(|| corrupt("it lies outside of the object"))?;
        let found = crc32c_at(&self.segment_id, u32::from(index as u8), &bytes);
        if found != entry.crc {
            return Err(corrupt(format!("its bytes have crc {found:08x}, the footer says {:08x}", entry.crc)));
        }
        Ok(Some(bytes))
    }

    /// The same as the broker wrote it; `key` opens it if it is encrypted.
    pub(in super::super::super) fn plain_index(
        &self,
        tail: &Bytes,
        index: IndexType,
        key: Option<&DataKey>,
    ) -> Result<Option<Bytes>, FooterError> {
        let (Some(stored), Some(entry)) = (self.index(tail, index)?, self.entry(index)) else { return Ok(None) };
        if !self.transforms.is_encrypted {
            return Ok(Some(stored));
        }
        let key = key.ok_or_else(|| corrupt("it is encrypted, and its data key is not at hand"))?;
        let plain = open_index(key, &self.segment_id, index, entry.plain_length, &stored).map_err(corrupt)?;
        Ok(Some(Bytes::from(plain)))
    }

    fn parse(footer: &[u8], footer_position: u64) -> Result<Self, FooterError> {
        let mut cursor = Cursor(footer);
        let [checksum, compression, encryption, exponent] = cursor.array()?;
        for (what, id, is_known) in [
            ("checksum", checksum, checksum == CHECKSUM_CRC32C),
            ("compression", compression, compression <= 1),
            ("encryption", encryption, encryption <= 1),
        ] {
            if !is_known {
                return Err(FooterError::Unsupported(format!("{what} {id}")));
            }
        }
        let mut parsed = Self {
            block_size: BlockSize::from_exponent(exponent)
                .ok_or_else(|| corrupt(format!("block size 2^{exponent}")))?,
            topic_id: KafkaUuid(cursor.array()?),
            segment_id: KafkaUuid(cursor.array()?),
            partition: i32::from_be_bytes(cursor.array()?),
            start_offset: i64::from_be_bytes(cursor.array()?),
            end_offset: i64::from_be_bytes(cursor.array()?),
            segment_size: u64::from_be_bytes(cursor.array()?),
            data_length: u64::from_be_bytes(cursor.array()?),
            transforms: Transforms { is_compressed: compression == 1, is_encrypted: encryption == 1 },
            blocks: None,
            data_key: None,
            indexes: Vec::new(),
            topic: None,
            writer: None,
        };
        if !parsed.transforms.fit(parsed.segment_size, parsed.block_size, parsed.data_length) {
            return Err(corrupt("the data's length doesn't follow from the segment's size"));
        }
        parsed.parse_indexes(&mut cursor, footer_position)?;
        parsed.parse_sections(&mut cursor)?;
        if cursor.0.is_empty() { Ok(parsed) } else { Err(corrupt("bytes are left over behind the last section")) }
    }

    fn parse_indexes(&mut self, cursor: &mut Cursor<'_>, footer_position: u64) -> Result<(), FooterError> {
        let mut next = self.data_length;
        let [count] = cursor.array()?;
        for _ in 0..count {
            let [number] = cursor.array()?;
            let index =
                IndexType::from_number(i32::from(number)).ok_or_else(|| corrupt(format!("index type {number}")))?;
            let position = u64::from_be_bytes(cursor.array()?);
            let length = u32::from_be_bytes(cursor.array()?);
            let plain_length = u32::from_be_bytes(cursor.array()?);
            let crc = u32::from_be_bytes(cursor.array()?);
            let sealed_by = if self.transforms.is_encrypted { AES_OVERHEAD } else { 0 };
            let is_sealed = u64::from(plain_length) + sealed_by == u64::from(length);
            let ascends = self.indexes.last().is_none_or(|last| (last.index as u8) < number);
            if position != next || !is_sealed || !ascends {
                return Err(corrupt(format!("the {} isn't where it must be", index.name())));
            }
            next = position.checked_add(u64::from(length)).ok_or_else(|| corrupt("a position overflows"))?;
            self.indexes.push(IndexEntry { index, position, length, plain_length, crc });
        }
        if next == footer_position {
            return Ok(());
        }
        Err(corrupt(format!("the indexes end at {next} and the footer begins at {footer_position}")))
    }

    fn parse_sections(&mut self, cursor: &mut Cursor<'_>) -> Result<(), FooterError> {
        let [count] = cursor.array()?;
        let (mut table, mut key) = (None, None);
        for _ in 0..count {
            let [tag] = cursor.array()?;
            let length = u32::from_be_bytes(cursor.array()?);
            let content = cursor.take(usize::try_from(length).map_err(|_| corrupt("a section is too long"))?)?;
            let text = || String::from_utf8_lossy(content).into_owned();
            match tag {
                SECTION_TOPIC => self.topic = Some(text()),
                SECTION_WRITER => self.writer = Some(text()),
                SECTION_TABLE => table = Some(content),
                SECTION_KEY => key = Some(content),
                _ => {}
            }
        }
        if table.is_some() != self.transforms.is_compressed {
            return Err(corrupt("a block table belongs to compressed blocks, and only to them"));
        }
        if key.is_some() != self.transforms.is_encrypted {
            return Err(corrupt("a data key belongs to encrypted blocks, and only to them"));
        }
        self.data_key = key.map(wrapped_key).transpose()?;
        self.blocks = match (self.transforms.is_none(), table) {
            (true, _) => None,
            (false, Some(table)) => Some(
                decode_table(table, self.size_of_transformed()?, self.block_size, self.transforms).map_err(corrupt)?,
            ),
            (false, None) => {
                Some(self.transforms.fixed(self.size_of_transformed()?, self.block_size).map_err(corrupt)?)
            }
        };
        match self.blocks.as_ref().map(Chunks::object_length) {
            Some(length) if length != self.data_length => {
                Err(corrupt(format!("the blocks end at {length} and the data at {}", self.data_length)))
            }
            _ => Ok(()),
        }
    }

    fn size_of_transformed(&self) -> Result<u32, FooterError> {
        u32::try_from(self.segment_size).map_err(|_| corrupt(format!("a segment of {} bytes", self.segment_size)))
    }
}

/// Reads the section of the data key.
fn wrapped_key(section: &[u8]) -> Result<WrappedKey, FooterError> {
    let cut = || corrupt("the data key is cut off");
    let (length, rest) = section.split_first_chunk::<2>().ok_or_else(cut)?;
    let (id, wrapped) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or_else(cut)?;
    match std::str::from_utf8(id) {
        Ok(id) if !id.is_empty() => Ok(WrappedKey { key_id: id.to_owned(), wrapped: wrapped.to_vec() }),
        _ => Err(corrupt("the data key's id is no text")),
    }
}

/// Bytes that are still to be read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], FooterError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| corrupt("the footer is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FooterError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(|| corrupt("the footer is cut off"))?;
        self.0 = rest;
        Ok(*taken)
    }
}
