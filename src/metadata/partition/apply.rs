//! What a record that says something of a segment changes.

use crate::model::{KafkaUuid, SegmentMetadata, SegmentState, SegmentUpdate};

use super::entry::Said;
use super::lineage::{Lineage, Span};
use super::naming::{KeyName, Naming};
use super::segment::{Gone, KeptUpdate, Segment};
use super::{Outcome, PartitionState, Refusal};

impl PartitionState {
    /// Applies a record that describes a whole segment. Only such a record makes a segment known.
    pub(super) fn apply_segment(&mut self, metadata: &SegmentMetadata, said: Said) -> Outcome {
        if let Some(why) = impossible(metadata) {
            return Outcome::Refused(Refusal::Impossible(why));
        }
        let uuid = metadata.id.uuid;
        let to = metadata.state;
        if self.note_gone(uuid, to, said) {
            return repeated(SegmentState::DeleteFinished, to);
        }
        let Some(known) = self.segments.get_mut(&uuid) else {
            self.create(uuid, metadata, said);
            return Outcome::Applied;
        };
        let from = known.state;
        let is_late_finish = self.laws.whole_finish_overrules_claim
            && from == SegmentState::Dangling
            && known.is_claimed
            && to == SegmentState::CopyFinished;
        let may_change = from == SegmentState::CopyStarted
            || is_late_finish
            || (!self.laws.whole_changes_only_open_attempts && from.reader_accepts(to, false));
        if !may_change {
            if from == to || self.laws.refused_records_count {
                known.note(said.name);
            }
            known.is_state_keyed |= from == to && said.name.is_some();
            if to == SegmentState::CopyFinished && said.name.is_some() {
                self.count_refused_finish(uuid);
            }
            return repeated(from, to);
        }
        known.note(said.name);
        let update = SegmentUpdate {
            id: metadata.id.clone(),
            broker_id: metadata.broker_id,
            event_timestamp_ms: metadata.event_timestamp_ms,
            custom_metadata: metadata.custom_metadata.clone(),
            state: to,
        };
        self.advance(uuid, &update, said);
        Outcome::Applied
    }

    /// Applies a record that says one thing of a segment.
    pub(super) fn apply_update(&mut self, update: &SegmentUpdate, said: Said) -> Outcome {
        let uuid = update.id.uuid;
        let to = update.state;
        if self.note_gone(uuid, to, said) {
            return repeated(SegmentState::DeleteFinished, to);
        }
        let is_claim = said.name.is_some_and(KeyName::is_claim) && self.laws.claims_only_open_attempts;
        let Some(known) = self.segments.get_mut(&uuid) else {
            if self.laws.keeps_early_updates {
                let orphan = self.orphans.entry(uuid).or_default();
                orphan.keep(update.clone(), said.name);
                orphan.seen_ms = said.seen_ms;
            }
            return Outcome::Kept;
        };
        let from = known.state;
        let is_accepted = from.reader_accepts(to, is_claim);
        if is_accepted || self.laws.refused_records_count {
            known.note(said.name);
        }
        if !is_accepted {
            if to == SegmentState::CopyFinished && said.name.is_some() && !known.book.has_claim() {
                self.count_refused_finish(uuid);
            }
            return Outcome::Refused(Refusal::Step { from, to });
        }
        self.advance(uuid, update, said);
        Outcome::Applied
    }

    /// A COPY_SEGMENT_FINISHED behind a deletion: whether that deletion was the first one of the segment, a reader of a
    /// cleaned log cannot tell, and takes the copy as finished before it was deleted. So everybody does, as to how far
    /// copies ever came. (Behind a claim it is another matter: claims stay, and nobody takes the copy as finished.)
    fn count_refused_finish(&mut self, uuid: KafkaUuid) {
        let Some(segment) = self.segments.get(&uuid) else { return };
        for (epoch, _, end) in segment.epochs.ranges(segment.end_offset) {
            self.lineages.entry(epoch).or_default().reach(end);
        }
    }

    /// Two segments have the same short key: topics that were written by drafts of KIP-1266 have such. A log cleaner keeps
    /// the later one's record only, so nothing of the earlier one rests on a key, and its next records need other ones.
    pub(super) fn dispute(&mut self, name: KeyName, newcomer: KafkaUuid, seen_ms: i64) {
        let live = self.segments.iter().filter(|(_, s)| s.book.has(name, s.end_offset, s.naming)).map(|(&id, _)| id);
        let gone = self.gone.iter().filter(|(_, s)| s.book.has(name, s.end_offset, s.naming)).map(|(&id, _)| id);
        let holders: Vec<_> = live.chain(gone).filter(|&holder| holder != newcomer).collect();
        for holder in holders {
            let seen_ms = self.unsettled.get(&holder).copied().unwrap_or(seen_ms);
            let _ = self.watching(holder, seen_ms, |state| {
                if let Some(segment) = state.segments.get_mut(&holder) {
                    segment.book.strike_short(segment.end_offset, segment.naming);
                    segment.naming.has_segment_id = true;
                    segment.is_state_keyed = false;
                } else if let Some(gone) = state.gone.get_mut(&holder) {
                    gone.book.strike_short(gone.end_offset, gone.naming);
                    if gone.book.is_empty() {
                        state.fading.push_back((gone.timestamp_ms, holder));
                    }
                }
                Outcome::Applied
            });
        }
    }

    fn create(&mut self, uuid: KafkaUuid, metadata: &SegmentMetadata, said: Said) {
        let mut segment = Segment::new(metadata, said.name.map_or(Naming::UNKNOWN, KeyName::naming));
        segment.note(said.name);
        segment.state = SegmentState::CopyStarted;
        for &(epoch, _) in segment.epochs.entries() {
            self.lineages.entry(epoch).or_default().begin(uuid);
        }
        self.segments.insert(uuid, segment);
        self.settle_state(uuid, metadata.state, said);
        for KeptUpdate { update, name } in self.orphans.remove(&uuid).unwrap_or_default().updates {
            // What is refused now would have been refused in any order: nobody waits for an update of a segment that
            // was not known when it was read.
            let _ = self.apply_update(&update, Said { name, ..said });
        }
    }

    fn advance(&mut self, uuid: KafkaUuid, update: &SegmentUpdate, said: Said) {
        if let Some(segment) = self.segments.get_mut(&uuid) {
            segment.take(update);
        }
        self.settle_state(uuid, update.state, said);
    }

    /// The segment is in this state now, whatever it was in before.
    fn settle_state(&mut self, uuid: KafkaUuid, to: SegmentState, said: Said) {
        let Some(segment) = self.segments.get_mut(&uuid) else { return };
        segment.is_state_keyed = said.name.is_some() || (segment.is_state_keyed && segment.state == to);
        segment.is_claimed = to == SegmentState::Dangling && said.name.is_some_and(KeyName::is_claim);
        segment.state = to;
        let finished_ms = segment.event_timestamp_ms;
        let change: fn(&mut Lineage, Span) = match to {
            SegmentState::CopyStarted => return,
            SegmentState::CopyFinished => Lineage::finish,
            SegmentState::DeleteStarted | SegmentState::Dangling => {
                |lineage, span| lineage.withdraw(span.segment, span.start)
            }
            SegmentState::DeleteFinished => |lineage, span| lineage.forget(span.segment, span.start),
        };
        for (epoch, start, end) in segment.epochs.ranges(segment.end_offset) {
            change(self.lineages.entry(epoch).or_default(), Span { start, end, finished_ms, segment: uuid });
        }
        if to == SegmentState::DeleteFinished
            && let Some(segment) = self.segments.remove(&uuid)
        {
            self.bury(uuid, segment, said);
        }
    }

    /// Takes a segment out of everything but the memory of what the log has of it.
    fn bury(&mut self, uuid: KafkaUuid, segment: Segment, said: Said) {
        let gone = Gone {
            end_offset: segment.end_offset,
            naming: segment.naming,
            is_state_keyed: segment.is_state_keyed,
            book: segment.book,
            seen_ms: said.seen_ms,
            timestamp_ms: said.timestamp_ms,
        };
        if gone.book.is_empty() {
            self.fading.push_back((said.timestamp_ms, uuid));
        }
        self.gone.insert(uuid, gone);
    }

    /// Takes note of a record of a segment that is gone. Tells whether it is.
    fn note_gone(&mut self, uuid: KafkaUuid, to: SegmentState, said: Said) -> bool {
        let Some(gone) = self.gone.get_mut(&uuid) else { return false };
        if let Some(name) = said.name {
            if self.laws.refused_records_count {
                gone.book.note(name, gone.end_offset, gone.naming);
            }
            gone.is_state_keyed |= to == SegmentState::DeleteFinished;
        }
        gone.seen_ms = said.seen_ms;
        gone.timestamp_ms = said.timestamp_ms;
        if gone.book.is_empty() {
            self.fading.push_back((said.timestamp_ms, uuid));
        }
        true
    }
}

impl Segment {
    /// There is a record of it under this key, whatever becomes of it.
    fn note(&mut self, name: Option<KeyName>) {
        if let Some(name) = name {
            self.book.note(name, self.end_offset, self.naming);
        }
    }
}

/// The answer where only a repetition is allowed.
fn repeated(from: SegmentState, to: SegmentState) -> Outcome {
    if from == to { Outcome::Applied } else { Outcome::Refused(Refusal::Step { from, to }) }
}

/// Why there is no such segment, if there is none.
#[must_use]
pub fn impossible(metadata: &SegmentMetadata) -> Option<&'static str> {
    if metadata.start_offset.0 < 0 {
        return Some("its start offset is negative");
    }
    (metadata.end_offset < metadata.start_offset).then_some("it ends before it starts")
}
