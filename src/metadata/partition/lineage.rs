//! Which segments hold the records of one leader epoch.

use std::collections::HashSet;

use crate::model::{KafkaUuid, Offset};

/// What a segment has of one leader epoch; both offsets inclusive. The end is before the start if it has nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: Offset,
    pub(super) end: Offset,
    /// Time of the event that finished it: of two with the same offsets the later one serves reads.
    pub(super) finished_ms: i64,
    pub(super) segment: KafkaUuid,
}

/// The segments of one leader epoch. Which of them serve reads depends on nothing but which are finished, so it makes no
/// difference in which order a reader met them, nor what a log cleaner has left of the way there.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    /// Finished and within no other one: by start, and so by end.
    serving: Vec<Span>,
    /// Finished, and all that they have is in a serving one too.
    covered: Vec<Span>,
    /// Attempts, and what is being deleted.
    others: HashSet<KafkaUuid>,
    /// Never goes down, also when all segments are gone: a broker asks it where to go on copying.
    highest: Option<Offset>,
}

impl Lineage {
    /// `segment` has records of this epoch but does not serve them (yet).
    pub(super) fn begin(&mut self, segment: KafkaUuid) {
        self.others.insert(segment);
    }

    /// A segment is complete.
    pub(super) fn finish(&mut self, span: Span) {
        self.remove(span.segment, span.start);
        self.reach(span.end);
        self.place(span);
    }

    /// Copies have come as far as this.
    pub(super) fn reach(&mut self, end: Offset) {
        self.highest = self.highest.max(Some(end));
    }

    /// `segment` serves no more reads; lists go on to show it.
    pub(super) fn withdraw(&mut self, segment: KafkaUuid, start: Offset) {
        self.remove(segment, start);
        self.others.insert(segment);
    }

    /// `segment` is no more.
    pub(super) fn forget(&mut self, segment: KafkaUuid, start: Offset) {
        self.remove(segment, start);
    }

    /// An offset that was in a finished segment once.
    pub(super) fn raise(&mut self, highest: Offset) {
        self.highest = self.highest.max(Some(highest));
    }

    fn place(&mut self, span: Span) {
        let at = self.serving.partition_point(|other| other.start < span.start);
        // Of those that start earlier, the last one ends last; of those that start at the same offset there is one.
        let before = at.checked_sub(1).and_then(|before| self.serving.get(before));
        if before.into_iter().chain(self.serving.get(at)).any(|other| covers(other, &span)) {
            self.covered.push(span);
            return;
        }
        let until = at + self.serving[at..].iter().take_while(|other| covers(&span, other)).count();
        self.covered.extend(self.serving.splice(at..until, [span]));
    }

    fn remove(&mut self, segment: KafkaUuid, start: Offset) {
        self.others.remove(&segment);
        self.covered.retain(|other| other.segment != segment);
        let at = self.serving.partition_point(|other| other.start < start);
        if self.serving.get(at).is_some_and(|other| other.segment == segment) {
            let gone = self.serving.remove(at);
            let (back, covered) = self.covered.drain(..).partition(|other| covers(&gone, other));
            self.covered = covered;
            back.into_iter().for_each(|span: Span| self.place(span));
        }
    }

    /// The segment that serves `offset`, if there is one.
    pub(super) fn find(&self, offset: Offset) -> Option<KafkaUuid> {
        let at = self.serving.partition_point(|span| span.start <= offset);
        let span = self.serving.get(at.checked_sub(1)?)?;
        (offset <= span.end).then_some(span.segment)
    }

    pub(super) fn highest(&self) -> Option<Offset> {
        self.highest
    }

    /// All of them, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = KafkaUuid> + '_ {
        let finished = self.serving.iter().chain(&self.covered).map(|span| span.segment);
        finished.chain(self.others.iter().copied())
    }
}

/// Whether `inner` is of no use beside `outer`.
fn covers(outer: &Span, inner: &Span) -> bool {
    outer.start <= inner.start
        && inner.end <= outer.end
        && ((outer.start, outer.end) != (inner.start, inner.end) || outer > inner)
}
