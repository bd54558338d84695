//! Which segments hold the records of one leader epoch.

use std::collections::{BTreeMap, HashSet};

use crate::model::{KafkaUuid, Offset};

/// A segment that serves reads from its key on, to `end` inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) segment: KafkaUuid,
    pub(super) end: Offset,
}

/// The segments of one leader epoch: those that serve reads, by the first offset that they have in it, and the rest
/// (attempts, duplicates, what is being deleted), which only lists show.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    referenced: BTreeMap<Offset, Span>,
    unreferenced: HashSet<KafkaUuid>,
    /// Of the unreferenced: complete segments that wait behind a longer one with the same start, the longest first. When
    /// that one goes, they serve reads. So it makes no difference whether a reader met its deletion before or after them.
    waiting: BTreeMap<Offset, Vec<Span>>,
    /// Never goes down, also when all segments are gone: a broker asks it where to go on copying.
    highest: Option<Offset>,
}

impl Lineage {
    /// `segment` has records of this epoch but does not serve them (yet).
    pub(super) fn begin(&mut self, segment: KafkaUuid) {
        self.unreferenced.insert(segment);
    }

    /// `segment` is complete and serves `start..=end` of this epoch.
    ///
    /// What it covers from its start on leaves the lookups for good: an earlier leader copied a part of it. A span that
    /// starts at the same offset and ends later stays, as long as it is there.
    pub(super) fn finish(&mut self, segment: KafkaUuid, start: Offset, end: Offset) {
        if self.highest.is_some_and(|highest| highest <= end) {
            while let Some(last) = self.referenced.last_entry().filter(|last| *last.key() >= start) {
                self.waiting.remove(last.key());
                self.unreferenced.insert(last.remove().segment);
            }
        }
        self.highest = self.highest.max(Some(end));
        if self.referenced.get(&start).is_some_and(|span| span.segment != segment && span.end > end) {
            self.unreferenced.insert(segment);
            let waiting = self.waiting.entry(start).or_default();
            waiting.retain(|other| other.segment != segment && other.end > end);
            waiting.push(Span { segment, end });
            return;
        }
        self.waiting.remove(&start);
        self.unreferenced.remove(&segment);
        if let Some(hidden) = self.referenced.insert(start, Span { segment, end })
            && hidden.segment != segment
        {
            self.unreferenced.insert(hidden.segment);
        }
    }

    /// `segment` serves no more reads; lists go on to show it.
    pub(super) fn withdraw(&mut self, segment: KafkaUuid, start: Offset) {
        self.unreferenced.insert(segment);
        if let Some(waiting) = self.waiting.get_mut(&start) {
            waiting.retain(|span| span.segment != segment);
        }
        if self.referenced.get(&start).is_some_and(|span| span.segment == segment) {
            self.referenced.remove(&start);
            self.promote(start);
        }
    }

    /// Lets the longest segment that waits at `start` serve reads.
    fn promote(&mut self, start: Offset) {
        let Some(mut waiting) = self.waiting.remove(&start).filter(|waiting| !waiting.is_empty()) else { return };
        let next = waiting.remove(0);
        self.unreferenced.remove(&next.segment);
        self.referenced.insert(start, next);
        if !waiting.is_empty() {
            self.waiting.insert(start, waiting);
        }
    }

    /// `segment` is no more.
    pub(super) fn forget(&mut self, segment: KafkaUuid, start: Offset) {
        self.withdraw(segment, start);
        self.unreferenced.remove(&segment);
    }

    /// The segment that serves `offset`, if there is one.
    pub(super) fn find(&self, offset: Offset) -> Option<KafkaUuid> {
        let (_, span) = self.referenced.range(..=offset).next_back()?;
        (offset <= span.end).then_some(span.segment)
    }

    pub(super) fn highest(&self) -> Option<Offset> {
        self.highest
    }

    /// All of them, those that serve reads first and by offset.
    pub(super) fn all(&self) -> impl Iterator<Item = KafkaUuid> + '_ {
        self.referenced.values().map(|span| span.segment).chain(self.unreferenced.iter().copied())
    }
}
