//! How an object is cut into parts.

use std::ops::Range;

use super::super::layout::compact::{BlockSize, block_count, data_length};

/// Parts of one object. All but the last hold the same number of whole blocks; the last one also has the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartPlan {
    blocks: u64,
    blocks_per_part: u64,
    parts: u64,
}

impl PartPlan {
    /// Parts of at least `part_size` bytes, for a segment whose tail has `tail_length` bytes.
    ///
    /// An object that isn't larger than a part is one part.
    pub(super) fn new(segment_size: u64, tail_length: u64, block_size: BlockSize, part_size: u64) -> Self {
        let blocks = block_count(segment_size, block_size);
        let blocks_per_part = part_size.div_ceil(block_size.stored_bytes()).max(1);
        let is_single = data_length(segment_size, block_size).saturating_add(tail_length) <= part_size;
        let parts = if is_single { 1 } else { blocks.div_ceil(blocks_per_part).max(1) };
        Self { blocks, blocks_per_part, parts }
    }

    pub(super) fn parts(&self) -> u64 {
        self.parts
    }

    pub(super) fn is_last(&self, part: u64) -> bool {
        part + 1 >= self.parts
    }

    /// Blocks of a part.
    pub(super) fn blocks(&self, part: u64) -> Range<u64> {
        let start = part.saturating_mul(self.blocks_per_part).min(self.blocks);
        let end = if self.is_last(part) { self.blocks } else { (start + self.blocks_per_part).min(self.blocks) };
        start..end
    }

    /// Bytes that a buffer for any part of the plan must hold.
    pub(super) fn buffer_bytes(&self, segment_size: u64, block_size: BlockSize) -> u64 {
        let most = self.blocks(0);
        (most.end - most.start).saturating_mul(block_size.stored_bytes()).min(data_length(segment_size, block_size))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn parts_are_never_smaller_than_s3_takes_them() {
        let size = BlockSize::default();
        let plan = PartPlan::new(1 << 30, 1000, size, 5 * MIB);
        let first = plan.blocks(0);
        assert!((first.end - first.start) * size.stored_bytes() >= 5 * MIB);
        assert!(PartPlan::new((1 << 31) - 1, 1000, size, 5 * MIB).parts() <= 10_000);
    }

    #[test]
    fn a_small_object_takes_no_buffer_larger_than_itself() {
        let size = BlockSize::default();
        let plan = PartPlan::new(70_000, 500, size, 8 * MIB);
        assert_eq!((plan.parts(), plan.blocks(0), plan.buffer_bytes(70_000, size)), (1, 0..2, 70_008));
        assert_eq!(PartPlan::new(0, 500, size, 8 * MIB).blocks(0), 0..0);
    }

    proptest! {
        /// The parts hold every block once, in order.
        #[test]
        fn parts_cover_the_segment(segment in 0_u64..100_000, tail in 0_u64..10_000, part in 1_u64..20_000) {
            let size = BlockSize::from_exponent(9).expect("valid");
            let plan = PartPlan::new(segment, tail, size, part);
            let mut next = 0;
            for number in 0..plan.parts() {
                let blocks = plan.blocks(number);
                prop_assert_eq!(blocks.start, next);
                prop_assert!((blocks.end - blocks.start) * size.stored_bytes() <= plan.buffer_bytes(segment, size) + 511);
                next = blocks.end;
            }
            prop_assert_eq!(next, block_count(segment, size));
        }
    }
}
