//! Where the chunks of a segment lie in an object, from its beginning.

use std::ops::Range;

/// Chunks of the segment, numbered from 0. All but the last hold the same number of the segment's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunks {
    chunk_size: u32,
    segment_size: u32,
    stored: Stored,
}

/// How long chunks are in the object.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stored {
    /// All but the last have one length.
    Fixed { each: u32, last: u32 },
    /// Where each begins, and where the last one ends.
    Variable { starts: Box<[u64]> },
}

impl Chunks {
    /// Chunks of one stored length.
    ///
    /// # Errors
    /// In words, if a chunk holds nothing or takes no bytes.
    pub fn fixed(chunk_size: u32, segment_size: u32, each: u32, last: u32) -> Result<Self, String> {
        let chunks = Self { chunk_size, segment_size, stored: Stored::Fixed { each, last } };
        if chunk_size == 0 {
            return Err("a chunk size of 0".to_owned());
        }
        if segment_size > 0 && (each == 0 || last == 0) {
            return Err("chunks that take no bytes".to_owned());
        }
        Ok(chunks)
    }

    /// Chunks of the given stored lengths.
    ///
    /// # Errors
    /// In words, if there are more or fewer than the segment has, or one takes no bytes.
    pub fn variable(chunk_size: u32, segment_size: u32, lengths: &[u32]) -> Result<Self, String> {
        if chunk_size == 0 {
            return Err("a chunk size of 0".to_owned());
        }
        let count = segment_size.div_ceil(chunk_size);
        if lengths.len() as u64 != u64::from(count) {
            let found = lengths.len();
            return Err(format!("a table of {found} chunks, and a segment of its size has {count}"));
        }
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        let mut next = 0_u64;
        starts.push(next);
        for &length in lengths {
            if length == 0 {
                return Err("a chunk that takes no bytes".to_owned());
            }
            next += u64::from(length);
            starts.push(next);
        }
        Ok(Self { chunk_size, segment_size, stored: Stored::Variable { starts: starts.into() } })
    }

    /// The segment as it is, cut into pieces of `chunk_size` bytes (at least 1): what a segment without a transform is,
    /// whatever its writer called a chunk.
    #[must_use]
    pub fn plain(chunk_size: u32, segment_size: u32) -> Self {
        let chunk_size = chunk_size.max(1);
        let last = segment_size.checked_rem(chunk_size).filter(|rest| *rest > 0).unwrap_or(chunk_size);
        Self { chunk_size, segment_size, stored: Stored::Fixed { each: chunk_size, last } }
    }

    /// Bytes of the segment in all chunks but the last.
    #[must_use]
    pub fn chunk_size(&self) -> u64 {
        u64::from(self.chunk_size)
    }

    /// Bytes of the segment.
    #[must_use]
    pub fn segment_size(&self) -> u64 {
        u64::from(self.segment_size)
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.segment_size().div_ceil(self.chunk_size())
    }

    /// Bytes of the segment in chunk `number`; 0 if there is no such chunk.
    #[must_use]
    pub fn plain_length(&self, number: u64) -> u64 {
        let start = number.saturating_mul(self.chunk_size());
        self.segment_size().saturating_sub(start).min(self.chunk_size())
    }

    /// Where chunks lie in the object. Chunks that don't exist take no bytes.
    #[must_use]
    pub fn stored_range(&self, chunks: Range<u64>) -> Range<u64> {
        let at = |number: u64| match &self.stored {
            Stored::Fixed { .. } if number == 0 => 0,
            Stored::Fixed { each, last } if number >= self.count() => {
                self.count().saturating_sub(1).saturating_mul(u64::from(*each)).saturating_add(match self.count() {
                    0 => 0,
                    _ => u64::from(*last),
                })
            }
            Stored::Fixed { each, .. } => number.saturating_mul(u64::from(*each)),
            Stored::Variable { starts } => {
                let last = starts.len().saturating_sub(1);
                starts.get(usize::try_from(number).unwrap_or(last).min(last)).copied().unwrap_or(0)
            }
        };
        at(chunks.start)..at(chunks.end.max(chunks.start))
    }

    /// Bytes that chunk `number` takes in the object.
    #[must_use]
    pub fn stored_length(&self, number: u64) -> u64 {
        let range = self.stored_range(number..number.saturating_add(1));
        range.end - range.start
    }

    /// Size of the object.
    #[must_use]
    pub fn object_length(&self) -> u64 {
        self.stored_range(0..self.count()).end
    }

    /// The chunk that has byte `position` of the object.
    #[must_use]
    pub fn chunk_at(&self, position: u64) -> u64 {
        let number = match &self.stored {
            Stored::Fixed { each, .. } => position.checked_div(u64::from(*each)).unwrap_or(0),
            Stored::Variable { starts } => starts.partition_point(|start| *start <= position).saturating_sub(1) as u64,
        };
        number.min(self.count().saturating_sub(1))
    }

    /// Stored length of all but the last, and of the last, if these are enough to know.
    pub(super) fn fixed_lengths(&self) -> Option<(u32, u32)> {
        match self.stored {
            Stored::Fixed { each, last } => Some((each, last)),
            Stored::Variable { .. } => None,
        }
    }

    /// Chunks among which are all stored lengths that there are.
    pub(super) fn of_every_length(&self) -> impl Iterator<Item = u64> {
        let (count, last) = (self.count(), self.count().saturating_sub(1));
        let first = match &self.stored {
            Stored::Fixed { .. } => 0..last.min(1),
            Stored::Variable { .. } => 0..last,
        };
        first.chain(last..count)
    }

    /// Bytes that the chunks take in memory beyond a few.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.stored {
            Stored::Fixed { .. } => 0,
            Stored::Variable { starts } => starts.len().saturating_mul(8),
        }
    }
}
