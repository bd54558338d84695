//! What must hold at every moment.

use std::collections::BTreeMap;

use undercroft::metadata::partition::PartitionState;
use undercroft::metadata::plan::Level;
use undercroft::model::{LeaderEpoch, Offset, SegmentMetadata, SegmentState};
use undercroft::wire::{Lane, Record, RecordKey, SegmentKey, Version};

use crate::broker::{Sent, take};
use crate::log::{KeyNumber, Stored};
use crate::op::{B, S};
use crate::reference::agree;
use crate::world::{World, seg_of, user_partition};

/// Second byte of the frame behind the API key: the version of the value.
const VERSION_AT: usize = 2;

impl World {
    /// At level 0 a stock broker reads along, and must survive.
    pub(crate) fn check_stock_reader(&mut self, sent: &Sent, body: Option<&Record>) {
        if self.level_in_log() > Level::Zero {
            return;
        }
        let Some(value) = &sent.value else {
            return self.fail("a stock reader survives level 0", "a null value");
        };
        if value.get(VERSION_AT) != Some(&0) {
            self.fail("a stock reader survives level 0", format!("a value of {:?}", Version::V1));
        }
        let state = match body {
            Some(Record::Segment(whole)) => whole.metadata.state,
            Some(Record::Update(update)) => update.update.state,
            _ => return,
        };
        if state == SegmentState::Dangling {
            self.fail("a stock reader survives level 0", "state 4");
        }
    }

    /// A key belongs to one segment for ever, and one that carries whole records to one writer.
    pub(crate) fn check_key_owner(&mut self, number: Option<KeyNumber>, stored: &Stored) {
        let (Some(number), Some(seg), true) = (number, stored.seg, stored.body.is_some()) else { return };
        let is_base = matches!(&stored.key, Some(RecordKey::Segment(key)) if key.is_base_type());
        let at = number as usize;
        if self.owners.len() <= at {
            self.owners.resize(at + 1, None);
        }
        let is_known = self.owners[at].is_some();
        let (owner, writer) = *self.owners[at].get_or_insert((seg, stored.writer));
        let key = || stored.key.as_ref().map(ToString::to_string).unwrap_or_default();
        let is_claim = matches!(&stored.key, Some(RecordKey::Segment(SegmentKey { lane: Lane::Claim { .. }, .. })));
        if is_claim && is_known {
            self.fail("a claim has a key of its own", key());
        } else if owner != seg {
            self.fail("a key belongs to one segment", format!("{}: segments {owner} and {seg}", key()));
        } else if is_base && writer != stored.writer {
            self.fail("a base key has one writer", format!("{}: brokers {writer} and {}", key(), stored.writer));
        }
    }

    /// After a record of `seg`, which was in state `before`.
    pub(crate) fn check_append(&mut self, seg: S, before: Option<SegmentState>) {
        let now = self.reference.now(seg);
        let core = self.full.state_of(&crate::world::segment_id(seg));
        if !agree(core, now) {
            self.fail("a reader keeps to the rules", format!("segment {seg}: {core:?}, by the rules {now:?}"));
        }
        let is_over = |state: Option<SegmentState>| state.is_none_or(|state| state == SegmentState::DeleteFinished);
        if now.is_none() && !is_over(before) {
            self.fail("nothing is forgotten", format!("segment {seg} was {before:?}"));
        }
        if before == Some(SegmentState::DeleteFinished) && !is_over(now) {
            self.fail("nothing is resurrected", format!("segment {seg} is {now:?}"));
        }
        if now == Some(SegmentState::CopyFinished) && before != now && !self.store.has(seg) {
            self.fail("a live segment has its objects", format!("segment {seg} was {before:?}"));
        }
    }

    /// Only a broker's order, or the end of its topic, ends a live segment.
    pub(crate) fn check_order(&mut self, seg: S, before: Option<SegmentState>) {
        let now = self.reference.now(seg);
        if self.is_upkeep && self.topic_gone_ms.is_none() && before == Some(SegmentState::CopyFinished) && now != before
        {
            self.fail("a live segment is deleted only on a broker's order", format!("segment {seg} is {now:?}"));
        }
    }

    /// After a segment's objects were deleted.
    pub(crate) fn check_delete(&mut self, seg: S) {
        if self.reference.now(seg) == Some(SegmentState::CopyFinished) {
            self.fail("a live segment has its objects", format!("segment {seg}: deleted while it is live"));
        }
    }

    /// After a broker has read: what it knows is what the whole log says up to there. (Before the end of what the cleaner has
    /// been over it may still have to meet the successors of what is gone.)
    pub(crate) fn check_reader(&mut self, b: B) {
        let count = self.brokers.len();
        let reader = &self.brokers[usize::from(b) % count].reader;
        if reader.position < self.log.cleaned_to {
            return;
        }
        let differing = self.reference.segments().find_map(|(seg, _)| {
            let (seen, said) = (reader.state_of(seg), self.reference.before(seg, reader.position));
            (!agree(seen, said)).then_some((seg, seen, said))
        });
        if let Some((seg, seen, said)) = differing {
            let detail = format!("segment {seg}: broker {b} has {seen:?}, the whole log {said:?}");
            self.fail("a running reader knows what the whole log says", detail);
        }
    }

    /// A new reader of what the cleaner left knows what a reader of everything knows.
    pub(crate) fn check_rebuild(&mut self) {
        self.counts.rebuilds += 1;
        let mut state = PartitionState::with_laws(user_partition(), self.faults.laws);
        for (offset, stored) in self.log.left_from(0) {
            if !matches!(stored.body, Some(Record::Level(_))) {
                take(&mut state, offset, stored, self.now_ms);
            }
        }
        let (rebuilt, full) = (facts(&state), facts(&self.full));
        if rebuilt != full {
            let differs = |seg: &&S| rebuilt.get(*seg) != full.get(*seg);
            let seg = full.keys().chain(rebuilt.keys()).find(differs).copied().unwrap_or_default();
            let detail = format!("segment {seg}: {:?}, from the whole log {:?}", rebuilt.get(&seg), full.get(&seg));
            return self.fail("what the cleaner left says what the whole log said", detail);
        }
        for (epoch, offset) in (0..3).flat_map(|epoch| (0..7).map(move |at| (epoch, at * 10 + 5))) {
            let at = |state: &PartitionState| {
                state.find(LeaderEpoch(epoch), Offset(offset)).map(|metadata| seg_of(metadata.id.uuid))
            };
            let (rebuilt, full) = (at(&state), at(&self.full));
            if rebuilt != full {
                let detail = format!("epoch {epoch}, offset {offset}: {rebuilt:?}, from the whole log {full:?}");
                return self.fail("a read finds the same segment", detail);
            }
        }
    }
}

/// What a state says of each segment that is not deleted: all but who said it last, and when.
fn facts(state: &PartitionState) -> BTreeMap<S, SegmentMetadata> {
    let timeless = |mut metadata: SegmentMetadata| {
        metadata.event_timestamp_ms = 0;
        metadata.broker_id = undercroft::model::BrokerId(0);
        (seg_of(metadata.id.uuid), metadata)
    };
    state.list(None).into_iter().map(timeless).collect()
}
