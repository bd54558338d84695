//! Which leader wrote which part of a segment.

use super::{LeaderEpoch, Offset};

/// Leader epochs of a segment with the first offset that each has in it; never empty, ascending in both.
///
/// Kafka clips the offsets to the segment: the first one is the segment's start offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentEpochs(Box<[(LeaderEpoch, Offset)]>);

/// Why a list of epochs belongs to no segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EpochsError {
    #[error("a segment has at least one leader epoch, and none was given")]
    Empty,
    #[error(
        "leader epoch {later} at offset {later_offset} follows epoch {earlier} at offset {earlier_offset}: both must ascend"
    )]
    NotAscending { earlier: LeaderEpoch, earlier_offset: Offset, later: LeaderEpoch, later_offset: Offset },
}

impl SegmentEpochs {
    /// Sorts `entries` by epoch and checks them.
    ///
    /// # Errors
    /// [`EpochsError`] if there is no entry, an epoch stands twice, or a later epoch starts at a lower offset.
    pub fn new(mut entries: Vec<(LeaderEpoch, Offset)>) -> Result<Self, EpochsError> {
        entries.sort_by_key(|&(epoch, _)| epoch);
        if entries.is_empty() {
            return Err(EpochsError::Empty);
        }
        for pair in entries.windows(2) {
            let &[(earlier, earlier_offset), (later, later_offset)] = pair else { continue };
            if earlier == later || earlier_offset > later_offset {
                return Err(EpochsError::NotAscending { earlier, earlier_offset, later, later_offset });
            }
        }
        Ok(Self(entries.into_boxed_slice()))
    }

    /// Of a segment that one leader wrote.
    #[must_use]
    pub fn single(epoch: LeaderEpoch, start_offset: Offset) -> Self {
        Self(Box::new([(epoch, start_offset)]))
    }

    /// The entries, ascending.
    #[must_use]
    pub fn entries(&self) -> &[(LeaderEpoch, Offset)] {
        &self.0
    }

    /// For each epoch its first and last offset (both inclusive) in a segment that ends at `end_offset`.
    pub fn ranges(&self, end_offset: Offset) -> impl Iterator<Item = (LeaderEpoch, Offset, Offset)> + '_ {
        self.0.iter().enumerate().map(move |(i, &(epoch, start))| {
            let end = self.0.get(i + 1).map_or(end_offset, |&(_, next)| next.previous());
            (epoch, start, end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(entries: &[(i32, i64)]) -> Result<SegmentEpochs, EpochsError> {
        SegmentEpochs::new(entries.iter().map(|&(e, o)| (LeaderEpoch(e), Offset(o))).collect())
    }

    #[test]
    fn each_epoch_ends_before_the_next_begins() {
        let ranges: Vec<_> = epochs(&[(3, 50), (0, 0), (1, 10)])
            .expect("valid")
            .ranges(Offset(99))
            .map(|(e, from, to)| (e.0, from.0, to.0))
            .collect();
        assert_eq!(ranges, [(0, 0, 9), (1, 10, 49), (3, 50, 99)]);
    }

    #[test]
    fn refuses_lists_that_no_segment_has() {
        assert_eq!(epochs(&[]), Err(EpochsError::Empty));
        assert!(epochs(&[(0, 0), (0, 5)]).is_err());
        assert!(epochs(&[(0, 10), (1, 5)]).is_err());
        assert!(epochs(&[(0, 10), (1, 10)]).is_ok(), "an epoch without records is one that Kafka writes");
    }
}
