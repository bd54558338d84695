//! What a record changes.

use crate::model::{KafkaUuid, PartitionDelete, SegmentMetadata, SegmentState, SegmentUpdate};

use super::naming::{KeyFacts, Naming};
use super::segment::{KeptUpdate, Segment};
use super::{Lineage, PartitionState};

/// What became of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The state now says what the record says (or said so already).
    Applied,
    /// An update of a segment that is not known yet: it is replayed when the segment's first record comes.
    Kept,
    /// It changes nothing, for this reader and every other.
    Refused(Refusal),
}

/// Why a record changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The segment's state does not allow the step.
    Step { from: SegmentState, to: SegmentState },
    /// No segment can be as the record says.
    Impossible(&'static str),
}

impl PartitionState {
    /// Applies a record that describes a whole segment. Only such a record makes a segment known.
    pub fn apply_segment(&mut self, metadata: &SegmentMetadata, key: KeyFacts) -> Outcome {
        if let Some(why) = impossible(metadata) {
            return Outcome::Refused(Refusal::Impossible(why));
        }
        let uuid = metadata.id.uuid;
        if let Some(naming) = key.naming {
            self.key_owners.note(metadata.end_offset, naming.epoch, uuid);
        }
        let to = metadata.state;
        match self.segments.get_mut(&uuid) {
            None if self.gone.contains(&uuid) => repeated(SegmentState::DeleteFinished, to),
            None => {
                self.create(uuid, metadata, key);
                Outcome::Applied
            }
            Some(known) => {
                let from = known.state;
                let is_late_finish =
                    from == SegmentState::Dangling && known.is_claimed && to == SegmentState::CopyFinished;
                if from != SegmentState::CopyStarted && !is_late_finish {
                    return repeated(from, to);
                }
                let update = SegmentUpdate {
                    id: metadata.id.clone(),
                    broker_id: metadata.broker_id,
                    event_timestamp_ms: metadata.event_timestamp_ms,
                    custom_metadata: metadata.custom_metadata.clone(),
                    state: to,
                };
                self.advance(uuid, &update, key.is_claim);
                Outcome::Applied
            }
        }
    }

    /// Applies a record that says one thing of a segment.
    pub fn apply_update(&mut self, update: SegmentUpdate, key: KeyFacts) -> Outcome {
        let uuid = update.id.uuid;
        let to = update.state;
        match self.segments.get(&uuid).map(|segment| segment.state) {
            None if self.gone.contains(&uuid) => repeated(SegmentState::DeleteFinished, to),
            None => {
                self.kept.entry(uuid).or_default().push(KeptUpdate { update, is_claim: key.is_claim });
                Outcome::Kept
            }
            Some(from) if from.reader_accepts(to, key.is_claim) => {
                self.advance(uuid, &update, key.is_claim);
                Outcome::Applied
            }
            Some(from) => Outcome::Refused(Refusal::Step { from, to }),
        }
    }

    /// Takes note of an event of the whole partition's deletion; no segment changes.
    pub fn apply_partition_delete(&mut self, delete: &PartitionDelete) -> Outcome {
        self.deletion = Some(delete.state);
        Outcome::Applied
    }

    fn create(&mut self, uuid: KafkaUuid, metadata: &SegmentMetadata, key: KeyFacts) {
        let state = metadata.state;
        let mut segment = Segment::new(metadata, key.naming.unwrap_or(Naming::UNKNOWN), key.is_claim);
        segment.state = SegmentState::CopyStarted;
        for &(epoch, _) in segment.epochs.entries() {
            self.lineages.entry(epoch).or_default().begin(uuid);
        }
        self.segments.insert(uuid, segment);
        self.enter(uuid, state);
        for KeptUpdate { update, is_claim } in self.kept.remove(&uuid).unwrap_or_default() {
            // What is refused now would have been refused in any order: nobody waits for an update of a segment that
            // was not known when it was read.
            let _ = self.apply_update(update, KeyFacts { naming: None, is_claim });
        }
    }

    fn advance(&mut self, uuid: KafkaUuid, update: &SegmentUpdate, is_claim: bool) {
        if let Some(segment) = self.segments.get_mut(&uuid) {
            let was_claimed = segment.is_claimed && segment.state == SegmentState::Dangling;
            segment.take(update);
            segment.is_claimed = update.state == SegmentState::Dangling && (is_claim || was_claimed);
        }
        self.enter(uuid, update.state);
    }

    /// Puts the segment where its new state belongs.
    fn enter(&mut self, uuid: KafkaUuid, to: SegmentState) {
        let Some(segment) = self.segments.get_mut(&uuid) else { return };
        segment.state = to;
        let change: fn(&mut Lineage, KafkaUuid, _, _) = match to {
            SegmentState::CopyStarted => return,
            SegmentState::CopyFinished => |lineage, uuid, start, end| lineage.finish(uuid, start, end),
            SegmentState::DeleteStarted | SegmentState::Dangling => {
                |lineage, uuid, start, _| lineage.withdraw(uuid, start)
            }
            SegmentState::DeleteFinished => |lineage, uuid, start, _| lineage.forget(uuid, start),
        };
        for (epoch, start, end) in segment.epochs.ranges(segment.end_offset) {
            change(self.lineages.entry(epoch).or_default(), uuid, start, end);
        }
        if to == SegmentState::DeleteFinished {
            self.segments.remove(&uuid);
            self.gone.insert(uuid);
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
