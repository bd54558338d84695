//! The compact layout: one object a segment, blocks that prove themselves, indexes and footer at the end. Blocks may be
//! compressed and encrypted.

mod blocks;
mod footer;
mod sealed;
#[cfg(test)]
mod tests;

pub use blocks::{
    BlockSize, CRC_LENGTH, CorruptBlock, block_count, blocks_for, data_length, seal_block, stored_length_of,
    stored_range, verify_block,
};
pub use footer::{Footer, FooterError, IndexEntry, TRAILER_LENGTH, Trailer, build_tail};
pub(in super::super) use footer::{Written, build_sealed_tail};
pub(in super::super) use sealed::{Sealer, open_block};
pub use sealed::{Transforms, WrappedKey, decode_table};
