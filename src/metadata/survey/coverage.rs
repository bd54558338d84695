//! Which offsets the finished segments of a partition hold, by leader epoch.

use std::collections::BTreeMap;

use crate::model::{LeaderEpoch, Offset, SegmentMetadata, SegmentState};

/// Offsets that can be read, and those in between that cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// First and last offset of all finished segments.
    pub offsets: Option<(Offset, Offset)>,
    pub epochs: Vec<EpochCoverage>,
}

/// What finished segments hold of one leader epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochCoverage {
    pub epoch: LeaderEpoch,
    pub start: Offset,
    pub end: Offset,
    /// Offsets that no segment has: within the epoch, and between its end and the start of the next one.
    pub gaps: Vec<(Offset, Offset)>,
    /// Offsets that several segments have.
    pub overlaps: Vec<(Offset, Offset)>,
}

impl Coverage {
    /// Number of gaps of all epochs.
    #[must_use]
    pub fn gap_count(&self) -> usize {
        self.epochs.iter().map(|epoch| epoch.gaps.len()).sum()
    }
}

/// Coverage of segments of one partition; those that are not finished hold nothing.
///
/// What lies before the first segment is no gap: retention deletes from there.
#[must_use]
pub fn coverage(segments: &[SegmentMetadata]) -> Coverage {
    let mut by_epoch: BTreeMap<LeaderEpoch, Vec<(Offset, Offset)>> = BTreeMap::new();
    let finished = || segments.iter().filter(|segment| segment.state == SegmentState::CopyFinished);
    for segment in finished() {
        let ranges = segment.epochs.ranges(segment.end_offset).filter(|(_, start, end)| start <= end);
        ranges.for_each(|(epoch, start, end)| by_epoch.entry(epoch).or_default().push((start, end)));
    }
    let mut epochs: Vec<_> = by_epoch.into_iter().filter_map(|(epoch, ranges)| of_epoch(epoch, ranges)).collect();
    let starts: Vec<_> = epochs.iter().skip(1).map(|next| next.start).collect();
    for (epoch, next_start) in epochs.iter_mut().zip(starts) {
        if epoch.end.next() < next_start {
            epoch.gaps.push((epoch.end.next(), next_start.previous()));
        }
    }
    let first = finished().map(|segment| segment.start_offset).min();
    let last = finished().map(|segment| segment.end_offset).max();
    Coverage { offsets: first.zip(last), epochs }
}

fn of_epoch(epoch: LeaderEpoch, mut ranges: Vec<(Offset, Offset)>) -> Option<EpochCoverage> {
    ranges.sort_unstable();
    let &(start, mut end) = ranges.first()?;
    let (mut gaps, mut overlaps) = (Vec::new(), Vec::new());
    for &(next_start, next_end) in &ranges[1..] {
        if next_start > end.next() {
            gaps.push((end.next(), next_start.previous()));
        } else if next_start <= end {
            overlaps.push((next_start, next_end.min(end)));
        }
        end = end.max(next_end);
    }
    Some(EpochCoverage { epoch, start, end, gaps, overlaps })
}
