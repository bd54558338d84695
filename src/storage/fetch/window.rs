//! How much to ask for at once.

use std::ops::Range;

/// What the requests of one open ask for; grows while it is read on and on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    blocks: Range<u64>,
    bytes: u64,
    bytes_max: u64,
    block_bytes: u64,
}

impl Window {
    pub(super) fn new(bytes_min: u64, bytes_max: u64, block_bytes: u64) -> Self {
        Self { blocks: 0..0, bytes: bytes_min, bytes_max: bytes_max.max(bytes_min), block_bytes }
    }

    /// Moves on if the block that has `position` isn't in it: as many bytes from there, and what their last block has
    /// beyond. The stream ends before block `end`.
    pub(super) fn move_to(&mut self, position: u64, end: u64) {
        let block = position / self.block_bytes;
        if self.blocks.contains(&block) {
            return;
        }
        if !self.blocks.is_empty() {
            self.bytes = self.bytes.saturating_mul(2).min(self.bytes_max);
        }
        let until = position.saturating_add(self.bytes).div_ceil(self.block_bytes);
        self.blocks = block..until.max(block + 1).min(end);
    }

    /// First block behind it.
    pub(super) fn end(&self) -> u64 {
        self.blocks.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_goes_on_gets_more_at_once() {
        let mut window = Window::new(1000, 4000, 100);
        window.move_to(500, 1000);
        assert_eq!(window.blocks, 5..15);
        window.move_to(1499, 1000);
        assert_eq!(window.blocks, 5..15);
        window.move_to(1500, 1000);
        assert_eq!(window.blocks, 15..35);
        window.move_to(3500, 1000);
        assert_eq!(window.blocks, 35..75);
        window.move_to(7500, 1000);
        assert_eq!(window.blocks, 75..115, "bounded");
    }

    /// So that a read of what a consumer takes at once is one request wherever in a block it begins.
    #[test]
    fn the_bytes_are_those_behind_the_position_and_not_those_behind_its_block() {
        let mut window = Window::new(1000, 4000, 100);
        window.move_to(501, 1000);
        assert_eq!(window.blocks, 5..16);
    }

    #[test]
    fn nothing_is_asked_for_behind_the_end() {
        let mut window = Window::new(1000, 4000, 100);
        window.move_to(500, 8);
        assert_eq!(window.blocks, 5..8);
        let mut tiny = Window::new(1, 1, 100);
        tiny.move_to(300, 8);
        assert_eq!(tiny.blocks, 3..4);
    }
}
