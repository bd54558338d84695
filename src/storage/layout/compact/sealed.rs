//! Blocks that are compressed or encrypted, and indexes that are encrypted.

use super::super::super::transform::{
    AES_OVERHEAD, Contexts, DATA_KEY_LENGTH, DataKey, NONCE_LENGTH, compressed_length_max, decompress, random,
    random_data_key,
};
use super::super::Chunks;
use super::super::crc::crc32c_of;
use super::{BlockSize, CRC_LENGTH, block_count, data_length};
use crate::model::{IndexType, KafkaUuid};

/// What is done to the blocks of a segment, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transforms {
    pub is_compressed: bool,
    /// Then the indexes are, too.
    pub is_encrypted: bool,
}

const COMPRESSED: u8 = 1;
const ENCRYPTED: u8 = 2;
const OF_BLOCK: u8 = 1;
const OF_INDEX: u8 = 2;

impl Transforms {
    /// Whether blocks are stored as they are, with a checksum.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    pub(in super::super) fn bits(self) -> u8 {
        u8::from(self.is_compressed) * COMPRESSED | u8::from(self.is_encrypted) * ENCRYPTED
    }

    pub(in super::super) fn from_bits(bits: u8) -> Option<Self> {
        let known = Self { is_compressed: bits & COMPRESSED != 0, is_encrypted: bits & ENCRYPTED != 0 };
        (known.bits() == bits).then_some(known)
    }

    /// Bytes that a block has in the object beside its content.
    #[must_use]
    pub fn overhead(self) -> u64 {
        if self.is_encrypted { AES_OVERHEAD } else { CRC_LENGTH }
    }

    /// The most that a block of `plain_length` bytes may take in the object.
    #[must_use]
    pub fn stored_length_max(self, plain_length: u64) -> u64 {
        let content = if self.is_compressed { compressed_length_max(plain_length) } else { plain_length };
        content.saturating_add(self.overhead())
    }

    /// Whether the blocks of a segment can take `length` bytes.
    #[must_use]
    pub fn fit(self, segment_size: u64, size: BlockSize, length: u64) -> bool {
        if self.is_none() {
            return length == data_length(segment_size, size);
        }
        let count = block_count(segment_size, size);
        let sealed = count.saturating_mul(self.overhead());
        if !self.is_compressed {
            return segment_size.checked_add(sealed) == Some(length);
        }
        length >= sealed.saturating_add(count) && length <= count.saturating_mul(self.stored_length_max(size.bytes()))
    }

    /// Where blocks lie that were encrypted only; compressed ones lie where a table says.
    pub(super) fn fixed(self, segment_size: u32, size: BlockSize) -> Result<Chunks, String> {
        let (bytes, overhead) = (u32_of(size.bytes())?, u32_of(self.overhead())?);
        let last = match segment_size % bytes {
            0 => bytes,
            rest => rest,
        };
        Chunks::fixed(bytes, segment_size, bytes + overhead, last + overhead)
    }
}

fn u32_of(number: u64) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("{number} is too much"))
}

/// A data key as an object has it.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// Key pair that it is wrapped with.
    pub key_id: String,
    pub wrapped: Vec<u8>,
}

impl std::fmt::Debug for WrappedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WrappedKey").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// The content of a table of stored lengths.
pub(super) fn encode_table(lengths: &[u32]) -> Vec<u8> {
    let most = lengths.iter().copied().max().unwrap_or(0);
    let width = (4 - most.leading_zeros() / 8).max(1) as usize;
    let mut table = Vec::with_capacity(1 + lengths.len() * width);
    table.push(u8::try_from(width).unwrap_or(4));
    for length in lengths {
        table.extend_from_slice(&length.to_be_bytes()[4 - width..]);
    }
    table
}

/// Where blocks lie, by a table of their lengths. Every length is one that the transforms of such a block may have.
pub(super) fn decode_table(
    table: &[u8],
    segment_size: u32,
    size: BlockSize,
    transforms: Transforms,
) -> Result<Chunks, String> {
    let (&width, lengths) = table.split_first().ok_or("the block table is cut off")?;
    let width = usize::from(width);
    if !(1..=4).contains(&width) {
        return Err(format!("the block table has lengths of {width} bytes"));
    }
    let count = block_count(u64::from(segment_size), size);
    if lengths.len() as u64 != count * width as u64 {
        return Err(format!("the block table has {} bytes for {count} blocks", lengths.len()));
    }
    let lengths: Vec<u32> = lengths
        .chunks_exact(width)
        .map(|length| length.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
        .collect();
    let chunks = Chunks::variable(u32_of(size.bytes())?, segment_size, &lengths)?;
    for (number, &length) in (0_u64..).zip(&lengths) {
        let (plain, length) = (chunks.plain_length(number), u64::from(length));
        if length <= transforms.overhead() || length > transforms.stored_length_max(plain) {
            return Err(format!("block {number} of {plain} bytes can't have {length} in the store"));
        }
    }
    Ok(chunks)
}

/// What a block is sealed with besides the key.
fn block_place(transforms: Transforms, segment: &KafkaUuid, number: u32, plain_length: u32) -> [u8; 26] {
    place([OF_BLOCK, u8::from(transforms.is_compressed)], segment, number, plain_length)
}

fn index_place(segment: &KafkaUuid, index: IndexType, plain_length: u32) -> [u8; 26] {
    place([OF_INDEX, 0], segment, u32::from(index as u8), plain_length)
}

fn place(of: [u8; 2], segment: &KafkaUuid, number: u32, plain_length: u32) -> [u8; 26] {
    let mut place = [0; 26];
    place[..2].copy_from_slice(&of);
    place[2..18].copy_from_slice(&segment.0);
    place[18..22].copy_from_slice(&number.to_be_bytes());
    place[22..].copy_from_slice(&plain_length.to_be_bytes());
    place
}

/// The checksum of a block that isn't encrypted.
fn crc(segment: &KafkaUuid, number: u32, plain_length: u32, content: &[u8]) -> u32 {
    crc32c_of(&[&segment.0, &number.to_be_bytes(), &plain_length.to_be_bytes(), content])
}

/// The `plain_length` bytes of a stored block, or why these bytes aren't that block.
pub(in super::super::super) fn open_block(
    transforms: Transforms,
    key: Option<&DataKey>,
    segment: &KafkaUuid,
    number: u32,
    plain_length: u32,
    stored: &[u8],
) -> Result<Vec<u8>, String> {
    let length = plain_length as usize;
    if transforms.is_encrypted {
        let key = key.ok_or("it is encrypted, and its data key is not at hand")?;
        let content = key.open_with(&block_place(transforms, segment, number, plain_length), stored)?;
        return if transforms.is_compressed { decompress(&content, length) } else { exactly(content, length) };
    }
    let (content, stored) = stored.split_last_chunk::<4>().ok_or("it is cut off")?;
    let (found, stored) = (crc(segment, number, plain_length, content), u32::from_be_bytes(*stored));
    if found != stored {
        return Err(format!("its bytes have crc {found:08x}, the stored crc is {stored:08x}"));
    }
    if transforms.is_compressed { decompress(content, length) } else { exactly(content.to_vec(), length) }
}

/// The plain bytes of a stored index.
pub(super) fn open_index(
    key: &DataKey,
    segment: &KafkaUuid,
    index: IndexType,
    plain_length: u32,
    stored: &[u8],
) -> Result<Vec<u8>, String> {
    let plain = key.open_with(&index_place(segment, index, plain_length), stored)?;
    exactly(plain, plain_length as usize)
}

fn exactly(bytes: Vec<u8>, length: usize) -> Result<Vec<u8>, String> {
    match bytes.len() {
        found if found == length => Ok(bytes),
        found => Err(format!("it has {found} bytes instead of {length}")),
    }
}

/// Transforms blocks and indexes of one copy of one segment.
pub(in super::super::super) struct Sealer {
    segment: KafkaUuid,
    transforms: Transforms,
    key: Option<DataKey>,
    /// What all nonces of the copy begin with.
    nonce: [u8; NONCE_LENGTH - 5],
}

impl Sealer {
    /// With a new data key, if anything is encrypted.
    pub(in super::super::super) fn new(segment: KafkaUuid, transforms: Transforms) -> Result<Self, String> {
        let key = transforms.is_encrypted.then(random_data_key).transpose()?;
        let nonce = if transforms.is_encrypted { random()? } else { [0; NONCE_LENGTH - 5] };
        Ok(Self { segment, transforms, key, nonce })
    }

    /// The data key, to be wrapped.
    pub(in super::super::super) fn data_key(&self) -> Option<&[u8; DATA_KEY_LENGTH]> {
        self.key.as_ref().map(DataKey::bytes)
    }

    pub(in super::super::super) fn transforms(&self) -> Transforms {
        self.transforms
    }

    /// Writes block `number` as it is stored to the beginning of `out`, which has room for
    /// [`Transforms::stored_length_max`]; its length. Each number once.
    pub(in super::super::super) fn seal_block(
        &self,
        contexts: &mut Contexts,
        number: u32,
        plain: &[u8],
        out: &mut [u8],
    ) -> Result<usize, String> {
        let plain_length = u32_of(plain.len() as u64)?;
        if let Some(key) = &self.key {
            let place = block_place(self.transforms, &self.segment, number, plain_length);
            let nonce = self.nonce_of(OF_BLOCK, number);
            return match self.transforms.is_compressed {
                true => contexts.compress_and_seal(key, &nonce, &place, plain, out),
                false => contexts.seal(key, &nonce, &place, plain, out),
            };
        }
        let length = match self.transforms.is_compressed {
            true => contexts.compress(plain, out)?,
            false => {
                out.get_mut(..plain.len()).ok_or("no room for a block")?.copy_from_slice(plain);
                plain.len()
            }
        };
        let crc = crc(&self.segment, number, plain_length, &out[..length]);
        let end = out.get_mut(length..length + 4).ok_or("no room for a block's checksum")?;
        end.copy_from_slice(&crc.to_be_bytes());
        Ok(length + 4)
    }

    /// An index as it is stored.
    pub(in super::super::super) fn seal_index(
        &self,
        contexts: &mut Contexts,
        index: IndexType,
        plain: &[u8],
    ) -> Result<Vec<u8>, String> {
        let Some(key) = &self.key else { return Ok(plain.to_vec()) };
        let place = index_place(&self.segment, index, u32_of(plain.len() as u64)?);
        let mut out = vec![0; plain.len() + usize::try_from(AES_OVERHEAD).unwrap_or(0)];
        let nonce = self.nonce_of(OF_INDEX, u32::from(index as u8));
        contexts.seal(key, &nonce, &place, plain, &mut out)?;
        Ok(out)
    }

    fn nonce_of(&self, of: u8, number: u32) -> [u8; NONCE_LENGTH] {
        let mut nonce = [0; NONCE_LENGTH];
        nonce[..7].copy_from_slice(&self.nonce);
        nonce[7] = of;
        nonce[8..].copy_from_slice(&number.to_be_bytes());
        nonce
    }
}
