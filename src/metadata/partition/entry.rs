//! A record of the log on its way into the state.

use crate::model::{KafkaUuid, PartitionDelete, SegmentState};
use crate::wire::{Record, RecordKey};

use super::naming::{KeyName, is_of};
use super::{Mark, PartitionState};

/// A record as a reader of the log has it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its place in the metadata partition.
    pub offset: i64,
    /// When it was written, as the log says, milliseconds since 1970.
    pub timestamp_ms: i64,
    /// When it was read, by the reader's own clock. Waits are measured by it: a writer's clock may be wrong.
    pub seen_ms: i64,
    /// `None` also if it is none of ours.
    pub key: Option<&'a RecordKey>,
    /// `None` empties the key.
    pub body: Option<&'a Record>,
}

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

/// How long a segment that is gone and has no keys is remembered behind its last record. Late records come sooner.
const FADES_AFTER_MS: i64 = 3_600_000;

/// What the place of a record adds to what it says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said {
    pub(super) name: Option<KeyName>,
    pub(super) seen_ms: i64,
    pub(super) timestamp_ms: i64,
}

impl PartitionState {
    /// Takes the next record of the log. Records that are about no segment count as applied.
    pub fn take(&mut self, entry: Entry<'_>) -> Outcome {
        self.changes += 1;
        // What claims to come from the future would keep all behind it from being forgotten, and let all before it be.
        let entry = Entry { timestamp_ms: entry.timestamp_ms.min(entry.seen_ms), ..entry };
        self.newest_ms = self.newest_ms.max(entry.timestamp_ms);
        self.fade();
        let is_key_known = match entry.key {
            Some(RecordKey::Segment(key)) if is_of(&key.partition, &self.partition) => {
                let may_be_read = self.watermarks.may_be_read(key.leader_epoch, key.end_offset);
                self.watermarks.note(key.leader_epoch, key.end_offset);
                may_be_read
            }
            _ => false,
        };
        let Some(record) = entry.body else { return self.take_tombstone(entry) };
        if record.partition().is_some_and(|partition| *partition != self.partition) {
            return Outcome::Refused(Refusal::Impossible("it is about another partition"));
        }
        let said = |segment| Said {
            name: KeyName::of(entry.key, &self.partition, segment),
            seen_ms: entry.seen_ms,
            timestamp_ms: entry.timestamp_ms,
        };
        match record {
            Record::Segment(whole) => {
                let segment = whole.metadata.id.uuid;
                let said = said(segment);
                if let Some(name) = said.name.filter(|name| is_key_known && name.is_short_base()) {
                    self.dispute(name, segment, entry.seen_ms);
                }
                self.watching(segment, entry.seen_ms, |state| state.apply_segment(&whole.metadata, said))
            }
            Record::Update(record) => {
                let segment = record.update.id.uuid;
                let said = said(segment);
                self.watching(segment, entry.seen_ms, |state| state.apply_update(&record.update, said))
            }
            Record::PartitionDelete(record) => self.take_mark(&record.delete, entry),
            Record::Snapshot | Record::Level(_) => Outcome::Applied,
        }
    }

    /// Takes note of an event of the whole partition's deletion; no segment changes.
    fn take_mark(&mut self, delete: &PartitionDelete, entry: Entry<'_>) -> Outcome {
        let is_keyed = matches!(entry.key, Some(RecordKey::Partition(key)) if is_of(key, &self.partition));
        let is_keyed = is_keyed || self.mark.is_some_and(|mark| mark.is_keyed);
        self.mark = Some(Mark { state: delete.state, is_keyed, seen_ms: entry.seen_ms });
        Outcome::Applied
    }

    /// Does what changes one segment, and keeps the counts of [`super::Work`] and the times of what is unsettled.
    pub(super) fn watching(
        &mut self,
        segment: KafkaUuid,
        seen_ms: i64,
        change: impl FnOnce(&mut Self) -> Outcome,
    ) -> Outcome {
        let before = self.share(segment);
        let outcome = change(self);
        let after = self.share(segment);
        self.work = self.work.minus(before).plus(after);
        let is_unsettled = self.live.get(segment).is_some_and(|known| known.state != SegmentState::CopyFinished);
        if is_unsettled {
            self.unsettled.insert(segment, seen_ms);
        } else {
            self.unsettled.remove(&segment);
        }
        outcome
    }

    /// The segment is gone, and is forgotten an hour of the log later.
    pub(super) fn begin_to_fade(&mut self, segment: KafkaUuid, timestamp_ms: i64) {
        // By an eighth, as the slab that has the segments themselves.
        if self.fading.len() == self.fading.capacity() {
            self.fading.reserve_exact((self.fading.len() / 8).max(4));
        }
        self.fading.push_back((timestamp_ms, segment));
    }

    /// Whether the log has nothing of the partition that is still to be known, and has been quiet for so long that nothing is
    /// on its way. Of what is gone without keys, a reader that begins now may know nothing either.
    #[must_use]
    pub fn is_spent(&self, now_ms: i64) -> bool {
        let is_empty = self.live.is_empty() && self.orphans.is_empty() && self.mark.is_none();
        is_empty && self.work.gone_with_keys == 0 && self.newest_ms.saturating_add(FADES_AFTER_MS) < now_ms
    }

    /// Forgets what is gone and has nothing that could be emptied.
    fn fade(&mut self) {
        while let Some(&(timestamp_ms, segment)) = self.fading.front()
            && timestamp_ms.saturating_add(FADES_AFTER_MS) < self.newest_ms
        {
            self.fading.pop_front();
            if self.gone.get(segment).is_some_and(|gone| self.other_keys.is_empty(gone.holder())) {
                self.gone.remove(segment);
            }
            // Nothing is left of a burst.
            if self.fading.len() < self.fading.capacity() / 4 {
                self.fading.shrink_to(self.fading.len() * 2);
            }
        }
    }
}
