//! Data: blocks with a checksum each.

use std::ops::Range;

use super::super::crc::crc32c_at;
use crate::model::KafkaUuid;

/// Bytes that a block's checksum takes.
pub const CRC_LENGTH: u64 = 4;

/// Bytes of data in a block: a power of two from 2^9 to 2^24.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize(u8);

impl Default for BlockSize {
    fn default() -> Self {
        Self(16)
    }
}

impl BlockSize {
    #[must_use]
    pub fn from_exponent(exponent: u8) -> Option<Self> {
        (9..=24).contains(&exponent).then_some(Self(exponent))
    }

    #[must_use]
    pub fn exponent(self) -> u8 {
        self.0
    }

    #[must_use]
    pub fn bytes(self) -> u64 {
        1 << self.0
    }

    /// Bytes of a full block in the object.
    #[must_use]
    pub fn stored_bytes(self) -> u64 {
        self.bytes() + CRC_LENGTH
    }
}

/// Blocks of a segment of `segment_size` bytes.
#[must_use]
pub fn block_count(segment_size: u64, size: BlockSize) -> u64 {
    segment_size.div_ceil(size.bytes())
}

/// Bytes that the data of a segment takes in the object; saturates where no object reaches.
#[must_use]
pub fn data_length(segment_size: u64, size: BlockSize) -> u64 {
    segment_size.saturating_add(block_count(segment_size, size).saturating_mul(CRC_LENGTH))
}

/// Blocks that a read of `[from, to]` has to have; both are positions in the segment as the broker wrote it, inclusive.
///
/// A range that ends behind the segment is cut to it; one that starts behind it is empty.
/// ```
/// # use undercroft::storage::layout::compact::{BlockSize, blocks_for};
/// let size = BlockSize::default();
/// assert_eq!(blocks_for(65_535, 65_536, 1_000_000, size), 0..2);
/// assert_eq!(blocks_for(70_000, u64::MAX, 70_001, size), 1..2);
/// assert_eq!(blocks_for(70_001, u64::MAX, 70_001, size), 2..2);
/// ```
#[must_use]
pub fn blocks_for(from: u64, to: u64, segment_size: u64, size: BlockSize) -> Range<u64> {
    let count = block_count(segment_size, size);
    if from >= segment_size || to < from {
        return count..count;
    }
    let last = to.min(segment_size - 1);
    from / size.bytes()..last / size.bytes() + 1
}

/// Where `blocks` lie in the object of a segment of `segment_size` bytes. Blocks that don't exist take no bytes.
#[must_use]
pub fn stored_range(blocks: Range<u64>, segment_size: u64, size: BlockSize) -> Range<u64> {
    let end = data_length(segment_size, size);
    let at = |block: u64| block.saturating_mul(size.stored_bytes()).min(end);
    at(blocks.start)..at(blocks.end.max(blocks.start))
}

/// Bytes that block `number` takes in the object, its checksum included; 0 if there is no such block.
#[must_use]
pub fn stored_length_of(number: u64, segment_size: u64, size: BlockSize) -> u64 {
    let range = stored_range(number..number.saturating_add(1), segment_size, size);
    range.end - range.start
}

/// Checksum that follows the bytes of block `number`.
#[must_use]
pub fn seal_block(segment: &KafkaUuid, number: u32, bytes: &[u8]) -> [u8; 4] {
    crc32c_at(segment, number, bytes).to_be_bytes()
}

/// A block whose checksum doesn't fit its bytes, segment and number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its bytes have crc {found:08x}, the stored crc is {stored:08x}")]
pub struct CorruptBlock {
    pub found: u32,
    pub stored: u32,
}

/// Checks a stored block and hands back how many of its bytes are data.
///
/// # Errors
/// [`CorruptBlock`] if a bit of it is wrong, or if it belongs to another segment or place.
pub fn verify_block(segment: &KafkaUuid, number: u32, stored: &[u8]) -> Result<usize, CorruptBlock> {
    let Some((data, &crc)) = stored.split_last_chunk::<4>() else {
        return Err(CorruptBlock { found: 0, stored: 0 });
    };
    let (found, stored) = (crc32c_at(segment, number, data), u32::from_be_bytes(crc));
    if found == stored { Ok(data.len()) } else { Err(CorruptBlock { found, stored }) }
}
