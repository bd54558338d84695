//! Which segments hold the records of one leader epoch.

use crate::model::{LeaderEpoch, Offset};

use super::segment::Segment;
use super::slab::{Slab, Slotted};

/// The finished segments of one leader epoch. Which of them serve reads depends on nothing but which there are, so it
/// makes no difference in which order a reader met them, nor what a log cleaner has left of the way there.
///
/// Segments are told by their places in the slab; the slab has a segment as long as its place stands here.
#[derive(Debug)]
pub(super) struct Lineage {
    pub(super) epoch: LeaderEpoch,
    /// Within no other one: by start, and so by end.
    serving: Vec<u32>,
    /// All that they have is in a serving one too.
    covered: Vec<u32>,
    /// Never goes down, also when all segments are gone: a broker asks it where to go on copying.
    highest: Option<Offset>,
}

/// What a segment has of the epoch; the end is before the start if it has nothing.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: Offset,
    end: Offset,
}

impl Lineage {
    pub(super) fn new(epoch: LeaderEpoch) -> Self {
        Self { epoch, serving: Vec::new(), covered: Vec::new(), highest: None }
    }

    /// The segment at `place` is complete.
    pub(super) fn finish(&mut self, slab: &Slab<Segment>, place: u32) {
        self.withdraw(slab, place);
        if let Some(Span { end, .. }) = self.span(slab, place) {
            self.reach(end);
            self.put(slab, place);
        }
    }

    /// Copies have come as far as this.
    pub(super) fn reach(&mut self, end: Offset) {
        self.highest = self.highest.max(Some(end));
    }

    /// The segment at `place` serves no more reads.
    pub(super) fn withdraw(&mut self, slab: &Slab<Segment>, place: u32) {
        self.covered.retain(|&other| other != place);
        let Some(Span { start, .. }) = self.span(slab, place) else { return };
        let at = self.first_from(slab, start);
        if self.serving.get(at) == Some(&place) {
            self.serving.remove(at);
            let (back, covered): (Vec<u32>, Vec<u32>) =
                std::mem::take(&mut self.covered).into_iter().partition(|&other| self.is_within(slab, other, place));
            self.covered = covered;
            back.into_iter().for_each(|other| self.put(slab, other));
        }
    }

    fn put(&mut self, slab: &Slab<Segment>, place: u32) {
        let Some(Span { start, .. }) = self.span(slab, place) else { return };
        let at = self.first_from(slab, start);
        // Of those that start earlier, the last one ends last; of those that start at the same offset there is one.
        let before = at.checked_sub(1).and_then(|before| self.serving.get(before));
        if before.into_iter().chain(self.serving.get(at)).any(|&other| self.covers(slab, other, place)) {
            self.covered.push(place);
            return;
        }
        let until = at + self.serving[at..].iter().take_while(|&&other| self.covers(slab, place, other)).count();
        if until == at && self.serving.len() == self.serving.capacity() {
            self.serving.reserve_exact((self.serving.len() / 8).max(4));
        }
        self.covered.extend(self.serving.splice(at..until, [place]));
    }

    /// The segment that serves `offset`, if there is one.
    pub(super) fn find<'a>(&self, slab: &'a Slab<Segment>, offset: Offset) -> Option<&'a Segment> {
        let starts_before = |&place: &u32| self.span(slab, place).is_some_and(|span| span.start <= offset);
        let at = self.serving.partition_point(starts_before).checked_sub(1)?;
        let segment = slab.at(*self.serving.get(at)?)?;
        let (_, end) = segment.range_of(self.epoch)?;
        (offset <= end).then_some(segment)
    }

    pub(super) fn highest(&self) -> Option<Offset> {
        self.highest
    }

    /// All of them, in no order.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> + '_ {
        self.serving.iter().chain(&self.covered).copied()
    }

    /// Where the first of the serving ones stands that starts at `offset` or later.
    fn first_from(&self, slab: &Slab<Segment>, offset: Offset) -> usize {
        let starts_before = |&place: &u32| self.span(slab, place).is_some_and(|span| span.start < offset);
        // Copies come at the end and deletions at the start: neither has to look at those between.
        match self.serving.as_slice() {
            [.., last] if starts_before(last) => self.serving.len(),
            [first, ..] if !starts_before(first) => 0,
            serving => serving.partition_point(starts_before),
        }
    }

    fn span(&self, slab: &Slab<Segment>, place: u32) -> Option<Span> {
        let (start, end) = slab.at(place)?.range_of(self.epoch)?;
        Some(Span { start, end })
    }

    fn is_within(&self, slab: &Slab<Segment>, inner: u32, outer: u32) -> bool {
        let spans = self.span(slab, outer).zip(self.span(slab, inner));
        spans.is_some_and(|(outer, inner)| outer.start <= inner.start && inner.end <= outer.end)
    }

    /// Whether `inner` is of no use beside `outer`. Of two with the same offsets that is the one that was finished first.
    fn covers(&self, slab: &Slab<Segment>, outer: u32, inner: u32) -> bool {
        let rank = |place: u32| slab.at(place).map(|segment| (segment.event_timestamp_ms, segment.uuid()));
        let is_same = self.is_within(slab, outer, inner);
        self.is_within(slab, inner, outer) && (!is_same || rank(outer) > rank(inner))
    }
}
