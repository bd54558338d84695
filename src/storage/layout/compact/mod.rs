//! The compact layout: one object a segment, blocks that prove themselves, indexes and footer at the end.

mod blocks;
mod footer;
#[cfg(test)]
mod tests;

pub use blocks::{
    BlockSize, CRC_LENGTH, CorruptBlock, block_count, blocks_for, data_length, seal_block, stored_length_of,
    stored_range, verify_block,
};
pub use footer::{Footer, FooterError, IndexEntry, TRAILER_LENGTH, Trailer, build_tail};
