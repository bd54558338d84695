//! How much to ask for at once.

use std::ops::Range;

/// Grows while one stream is read on and on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    blocks: Range<u64>,
    bytes: u64,
    bytes_max: u64,
    block_bytes: u64,
    is_first: bool,
}

impl Window {
    pub(super) fn new(bytes_min: u64, bytes_max: u64, block_bytes: u64) -> Self {
        Self { blocks: 0..0, bytes: bytes_min, bytes_max: bytes_max.max(bytes_min), block_bytes, is_first: true }
    }

    /// Moves on if `block` isn't in it; the stream ends before block `end`. Tells whether it has moved.
    pub(super) fn move_to(&mut self, block: u64, end: u64) -> bool {
        if self.blocks.contains(&block) {
            return false;
        }
        self.is_first = self.blocks.is_empty();
        if !self.is_first {
            self.bytes = self.bytes.saturating_mul(2).min(self.bytes_max);
        }
        self.blocks = block..self.end_of(block, end);
        true
    }

    /// First block behind it.
    pub(super) fn end(&self) -> u64 {
        self.blocks.end
    }

    /// Blocks worth getting already. Nothing in the first window: most readers take what it has and go.
    pub(super) fn ahead(&self, end: u64) -> Range<u64> {
        let start = self.blocks.end.min(end);
        if self.is_first { start..start } else { start..self.end_of(start, end) }
    }

    fn end_of(&self, start: u64, end: u64) -> u64 {
        start.saturating_add(self.bytes.div_ceil(self.block_bytes).max(1)).min(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_goes_on_gets_more_at_once_and_ahead() {
        let mut window = Window::new(1000, 4000, 100);
        assert!(window.move_to(5, 1000));
        assert_eq!(window.blocks, 5..15);
        assert_eq!(window.ahead(1000), 15..15, "who reads one window only gets nothing for nothing");
        assert!(!window.move_to(14, 1000));
        assert!(window.move_to(15, 1000));
        assert_eq!(window.blocks, 15..35);
        assert_eq!(window.ahead(1000), 35..55);
        assert!(window.move_to(35, 1000));
        assert_eq!(window.blocks, 35..75);
        assert!(window.move_to(75, 1000));
        assert_eq!(window.blocks, 75..115, "bounded");
    }

    #[test]
    fn nothing_is_asked_for_behind_the_end() {
        let mut window = Window::new(1000, 4000, 100);
        window.move_to(5, 8);
        assert_eq!(window.blocks, 5..8);
        assert_eq!(window.ahead(8), 8..8);
        let mut tiny = Window::new(1, 1, 100);
        tiny.move_to(3, 8);
        assert_eq!(tiny.blocks, 3..4);
    }
}
