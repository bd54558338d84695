//! What a record that says something of a segment changes.

use crate::model::{KafkaUuid, SegmentMetadata, SegmentState, SegmentUpdate};

use super::entry::Said;
use super::lineage::Lineage;
use super::naming::{KeyName, LaneName, Naming};
use super::segment::{Gone, KeptUpdate, Segment};
use super::slab::Slab;
use super::{Outcome, PartitionState, Refusal};

impl PartitionState {
    /// Applies a record that describes a whole segment. Only such a record makes a segment known.
    pub(super) fn apply_segment(&mut self, metadata: &SegmentMetadata, said: Said) -> Outcome {
        if let Some(why) = metadata.why_impossible() {
            return Outcome::Refused(Refusal::Impossible(why));
        }
        let uuid = metadata.id.uuid;
        let to = metadata.state;
        if self.note_gone(uuid, to, said) {
            return repeated(SegmentState::DeleteFinished, to);
        }
        let Some(place) = self.live.place_of(uuid) else {
            self.create(metadata, said);
            return Outcome::Applied;
        };
        let Some(known) = self.live.at_mut(place) else { return Outcome::Applied };
        let from = known.state;
        let is_late_finish = self.laws.whole_finish_overrules_claim
            && from == SegmentState::Dangling
            && known.is_claimed
            && to == SegmentState::CopyFinished;
        let may_change = from == SegmentState::CopyStarted
            || is_late_finish
            || (!self.laws.whole_changes_only_open_attempts && from.reader_accepts(to, false));
        if !may_change {
            // A reader of a cleaned log may meet an earlier whole record first and go by that, or what stands in the lane
            // of deletions last, whatever this one says. Only COPY_SEGMENT_FINISHED is taken from a later one.
            let is_first = self.other_keys.is_first_but_finish(known.holder());
            let counts = to == SegmentState::CopyFinished || is_first;
            known.is_state_keyed |= from == to && said.name.is_some() && counts;
            // A rewrite that was decided earlier and came later takes the place of the one that the state may rest on.
            // COPY_SEGMENT_FINISHED that stands in its own lane rests on none.
            let holder = known.holder();
            let is_in_its_lane = |name| self.other_keys.has(holder, KeyName { lane: LaneName::Update, ..name });
            let takes_place = |name| {
                self.other_keys.has(holder, name) && !(from == SegmentState::CopyFinished && is_in_its_lane(name))
            };
            let replaces = from != to && said.name.is_some_and(takes_place);
            known.is_state_keyed &= !replaces;
            if from == to || self.laws.refused_records_count {
                self.note(place, said.name);
            }
            if to == SegmentState::CopyFinished && said.name.is_some() {
                self.count_refused_finish(place);
            }
            return repeated(from, to);
        }
        let update = SegmentUpdate {
            id: metadata.id.clone(),
            broker_id: metadata.broker_id,
            event_timestamp_ms: metadata.event_timestamp_ms,
            custom_metadata: metadata.custom_metadata.clone(),
            state: to,
        };
        self.advance(place, &update, said);
        Outcome::Applied
    }

    /// Applies a record that says one thing of a segment.
    pub(super) fn apply_update(&mut self, update: &SegmentUpdate, said: Said) -> Outcome {
        let uuid = update.id.uuid;
        let to = update.state;
        if self.note_gone(uuid, to, said) {
            return repeated(SegmentState::DeleteFinished, to);
        }
        let Some(place) = self.live.place_of(uuid) else {
            if self.laws.keeps_early_updates {
                let orphan = self.orphans.entry(uuid).or_default();
                orphan.keep(update.clone(), said.name);
                orphan.seen_ms = said.seen_ms;
            }
            return Outcome::Kept;
        };
        let from = self.live.at(place).map_or(SegmentState::CopyStarted, |known| known.state);
        let is_claim = said.name.is_some_and(KeyName::is_claim) && self.laws.claims_only_open_attempts;
        if from.reader_accepts(to, is_claim) {
            self.advance(place, update, said);
            return Outcome::Applied;
        }
        if self.laws.refused_records_count {
            self.note(place, said.name);
        }
        if to == SegmentState::CopyFinished && said.name.is_some() && !self.other_keys.has_claim(uuid) {
            self.count_refused_finish(place);
        }
        Outcome::Refused(Refusal::Step { from, to })
    }

    /// A COPY_SEGMENT_FINISHED behind a deletion: whether that deletion was the first one of the segment, a reader of a
    /// cleaned log cannot tell, and takes the copy as finished before it was deleted. So everybody does, as to how far
    /// copies ever came. (Behind a claim it is another matter: claims stay, and nobody takes the copy as finished.)
    fn count_refused_finish(&mut self, place: u32) {
        self.with_lineages(place, |lineage, _, end| lineage.reach(end));
    }

    fn create(&mut self, metadata: &SegmentMetadata, said: Said) {
        let uuid = metadata.id.uuid;
        let custom_metadata = self.blobs.put(metadata.custom_metadata.as_deref());
        let naming = said.name.map_or(Naming::UNKNOWN, KeyName::naming);
        let place = self.live.insert(Segment::new(metadata, naming, custom_metadata));
        self.note(place, said.name);
        self.enter(place, metadata.state, said);
        for KeptUpdate { update, name } in self.orphans.remove(&uuid).unwrap_or_default().updates {
            // What is refused now would have been refused in any order: nobody waits for an update of a segment that
            // was not known when it was read.
            let _ = self.apply_update(&update, Said { name, ..said });
        }
    }

    fn advance(&mut self, place: u32, update: &SegmentUpdate, said: Said) {
        self.note(place, said.name);
        if let Some(segment) = self.live.at_mut(place) {
            segment.take(update, &mut self.blobs);
        }
        self.blobs.sweep(self.live.iter_mut().map(|segment| &mut segment.custom_metadata));
        self.enter(place, update.state, said);
    }

    /// The segment is in this state now, whatever it was in before.
    fn enter(&mut self, place: u32, to: SegmentState, said: Said) {
        let Some(segment) = self.live.at_mut(place) else { return };
        let from = segment.state;
        segment.is_state_keyed = said.name.is_some() || (segment.is_state_keyed && from == to);
        // A claim counts from an open attempt only: of one that was given back it makes nothing else.
        let is_claim = said.name.is_some_and(KeyName::is_claim);
        segment.is_claimed = to == SegmentState::Dangling && is_claim && (from != to || segment.is_claimed);
        segment.state = to;
        match to {
            SegmentState::CopyStarted => {}
            SegmentState::CopyFinished => self.with_lineages(place, |lineage, live, _| lineage.finish(live, place)),
            SegmentState::DeleteStarted | SegmentState::Dangling => self.withdraw(place, from),
            SegmentState::DeleteFinished => {
                self.withdraw(place, from);
                self.bury(place, said);
            }
        }
    }

    /// It serves no more reads, if it did in its last state.
    pub(super) fn withdraw(&mut self, place: u32, from: SegmentState) {
        if from == SegmentState::CopyFinished {
            let withdraw = |lineage: &mut Lineage, live: &Slab<Segment>, _| lineage.withdraw(live, place);
            self.with_lineages(place, withdraw);
        }
    }

    /// Takes a segment out of everything but the memory of what the log has of it.
    fn bury(&mut self, place: u32, said: Said) {
        let Some(segment) = self.take_out(place) else { return };
        let gone = Gone::new(&segment, said.seen_ms);
        if self.other_keys.is_empty(gone.holder()) {
            self.begin_to_fade(gone.holder().uuid, said.timestamp_ms);
        }
        self.gone.insert(gone);
    }

    /// Takes a segment, which serves no reads, out of the live ones. What is noted of its keys stays.
    pub(super) fn take_out(&mut self, place: u32) -> Option<Segment> {
        let uuid = self.live.at(place)?.holder().uuid;
        let segment = self.live.remove(uuid)?;
        self.blobs.discard(segment.custom_metadata);
        self.blobs.sweep(self.live.iter_mut().map(|segment| &mut segment.custom_metadata));
        Some(segment)
    }

    /// Takes note of a record of a segment that is gone. Tells whether it is.
    fn note_gone(&mut self, uuid: KafkaUuid, to: SegmentState, said: Said) -> bool {
        let Some(gone) = self.gone.get_mut(uuid) else { return false };
        if let Some(name) = said.name {
            if self.laws.refused_records_count {
                gone.usual_keys = self.other_keys.note(gone.holder(), name);
            }
            gone.is_state_keyed |= to == SegmentState::DeleteFinished;
        }
        gone.seen_ms = said.seen_ms;
        true
    }

    /// There is a record of a live segment under this key, whatever becomes of it.
    fn note(&mut self, place: u32, name: Option<KeyName>) {
        if let Some(name) = name
            && let Some(segment) = self.live.at_mut(place)
        {
            segment.usual_keys = self.other_keys.note(segment.holder(), name);
        }
    }
}

/// The answer where only a repetition is allowed.
fn repeated(from: SegmentState, to: SegmentState) -> Outcome {
    if from == to { Outcome::Applied } else { Outcome::Refused(Refusal::Step { from, to }) }
}
