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
        (u8::from(self.is_compressed) * COMPRESSED) | (u8::from(self.is_encrypted) * ENCRYPTED)
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

/// Where blocks lie, by a table of their lengths: the width of each in bytes, then one behind the other.
///
/// # Errors
/// In words, if the table has more or fewer lengths than the segment blocks, or one that no block of that place can have.
pub fn decode_table(
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEGMENT: KafkaUuid = KafkaUuid([9; 16]);
    const KINDS: [Transforms; 3] = [
        Transforms { is_compressed: true, is_encrypted: false },
        Transforms { is_compressed: false, is_encrypted: true },
        Transforms { is_compressed: true, is_encrypted: true },
    ];

    #[test]
    fn a_block_opens_at_its_own_place_and_length_only() {
        let mut contexts = Contexts::new(3).expect("made");
        let plain = b"the bytes of a block, the bytes of a block".repeat(20);
        let length = u32::try_from(plain.len()).expect("small");
        for transforms in KINDS {
            let sealer = Sealer::new(SEGMENT, transforms).expect("random");
            let mut out = vec![0; usize::try_from(transforms.stored_length_max(plain.len() as u64)).expect("small")];
            let end = sealer.seal_block(&mut contexts, 4, &plain, &mut out).expect("fits");
            let key = sealer.key.as_ref();
            let open = |transforms, segment: u8, number, length, stored: &[u8]| {
                open_block(transforms, key, &KafkaUuid([segment; 16]), number, length, stored)
            };
            assert_eq!(open(transforms, 9, 4, length, &out[..end]).as_ref(), Ok(&plain));
            assert!(open(transforms, 8, 4, length, &out[..end]).is_err());
            assert!(open(transforms, 9, 5, length, &out[..end]).is_err());
            assert!(open(transforms, 9, 4, length - 1, &out[..end]).is_err());
            let other = Transforms { is_compressed: !transforms.is_compressed, ..transforms };
            assert!(open(other, 9, 4, length, &out[..end]).is_err(), "taken for one of another kind");
            for at in 0..end {
                assert!(open(transforms, 9, 4, length, &out[..at]).is_err(), "cut at {at}");
                let mut broken = out[..end].to_vec();
                broken[at] ^= 4;
                assert!(open(transforms, 9, 4, length, &broken).is_err(), "flipped at {at}");
            }
            let index = sealer.seal_index(&mut contexts, IndexType::Offset, &plain).expect("sealed");
            if let Some(key) = key {
                assert_eq!(open_index(key, &SEGMENT, IndexType::Offset, length, &index).as_ref(), Ok(&plain));
                assert!(open_index(key, &SEGMENT, IndexType::Timestamp, length, &index).is_err());
                assert!(open(transforms, 9, 0, length, &index).is_err(), "an index is no block 0");
                assert_ne!(sealer.nonce_of(OF_BLOCK, 0), sealer.nonce_of(OF_INDEX, 0));
            }
        }
    }

    #[test]
    fn a_frame_that_would_become_more_than_its_block_is_refused() {
        let mut contexts = Contexts::new(3).expect("made");
        let mut bomb = vec![0; 4096];
        let end = contexts.compress(&vec![0; 16 << 20], &mut bomb).expect("small");
        bomb.truncate(end);
        let crc = crc(&SEGMENT, 0, 1000, &bomb);
        bomb.extend(crc.to_be_bytes());
        let error = open_block(KINDS[0], None, &SEGMENT, 0, 1000, &bomb).expect_err("too much");
        assert!(error.contains("16777216 bytes instead of 1000"), "{error}");
    }

    #[test]
    fn tables_that_say_something_else_are_refused() {
        let size = BlockSize::from_exponent(12).expect("valid");
        let good = encode_table(&[300, 4100, 90]);
        assert_eq!(good, [2, 0x01, 0x2c, 0x10, 0x04, 0x00, 0x5a]);
        let decode = |table: &[u8]| decode_table(table, 10_000, size, KINDS[2]);
        assert_eq!(decode(&good).map(|blocks| blocks.object_length()), Ok(4490));
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err(), "{cut}");
        }
        for table in [
            &encode_table(&[300, 4100])[..],
            &encode_table(&[300, 4100, 90, 90]),
            &encode_table(&[300, 4100, 28]),
            &encode_table(&[300, 5000, 90]),
            &encode_table(&[300, 4100, 4100]),
            &[&good[..], &[0]].concat(),
            &[0],
            &[5, 1, 1, 1],
        ] {
            assert!(decode(table).is_err(), "{table:?}");
        }
        assert_eq!(decode_table(&encode_table(&[]), 0, size, KINDS[2]).map(|blocks| blocks.object_length()), Ok(0));
    }

    proptest! {
        /// Numbers of any segment and block size add up, without a byte of it.
        #[test]
        fn lengths_follow_from_sizes(segment in 0_u32..=i32::MAX as u32, exponent in 9_u8..=24, cut in 0_u64..100) {
            let size = BlockSize::from_exponent(exponent).expect("valid");
            let (count, bytes) = (block_count(u64::from(segment), size), u64::from(segment));
            let blocks = KINDS[1].fixed(segment, size).expect("valid");
            prop_assert_eq!(blocks.count(), count);
            prop_assert_eq!(blocks.object_length(), bytes + 28 * count);
            prop_assert!(KINDS[1].fit(bytes, size, blocks.object_length()));
            prop_assert!(!KINDS[1].fit(bytes, size, blocks.object_length() + 1));
            for kind in [KINDS[0], KINDS[2]] {
                let most = count * kind.stored_length_max(size.bytes());
                prop_assert!(kind.fit(bytes, size, most.saturating_sub(cut).max(count * (kind.overhead() + 1))));
                prop_assert!(!kind.fit(bytes, size, most + 1));
                prop_assert!(count == 0 || !kind.fit(bytes, size, count * kind.overhead()));
                prop_assert!(u32::try_from(kind.stored_length_max(size.bytes())).is_ok());
            }
            if count > 0 {
                let last = blocks.stored_range(count - 1..count);
                prop_assert_eq!(last.end - last.start, blocks.plain_length(count - 1) + 28);
                prop_assert_eq!(blocks.chunk_at(last.start), count - 1);
            }
        }

        /// What a table says is what was written into it.
        #[test]
        fn tables_keep_lengths(lengths in prop::collection::vec(1_u32..4000, 1..200)) {
            let size = BlockSize::from_exponent(12).expect("valid");
            let lengths: Vec<_> = lengths.iter().map(|length| length + 28).collect();
            let segment = u32::try_from(lengths.len()).expect("few") * 4096;
            let blocks = decode_table(&encode_table(&lengths), segment, size, KINDS[2]).expect("valid");
            let found: Vec<_> = (0..blocks.count()).map(|block| blocks.stored_length(block)).collect();
            prop_assert_eq!(found, lengths.iter().map(|length| u64::from(*length)).collect::<Vec<_>>());
        }
    }
}
