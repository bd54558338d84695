//! What an emptied key changes.

use crate::model::{KafkaUuid, SegmentId, SegmentState, SegmentUpdate};
use crate::wire::{RecordKey, SegmentKey};

use super::naming::{KeyName, LaneName, segment_of};
use super::segment::Orphan;
use super::{Entry, Outcome, PartitionState};

impl PartitionState {
    /// The log has no record under this key any more. A segment is forgotten with its last base key, whatever its state:
    /// a reader of a cleaned log never meets it. What its other keys say is kept, as that reader keeps it.
    pub(super) fn take_tombstone(&mut self, entry: Entry<'_>) -> Outcome {
        match entry.key {
            Some(RecordKey::Partition(key)) if key.to_partition() == self.partition => self.mark = None,
            Some(RecordKey::Segment(key)) if key.partition.to_partition() == self.partition => {
                let name = KeyName::new(key);
                for segment in self.owners(key, name) {
                    let _ = self.watching(segment, entry.seen_ms, |state| state.strike(segment, name));
                }
            }
            _ => {}
        }
        Outcome::Applied
    }

    /// The segments that have, or could have, a record under a key.
    fn owners(&self, key: &SegmentKey, name: KeyName) -> Vec<KafkaUuid> {
        if let Some(segment) = segment_of(key) {
            return vec![segment];
        }
        let live = self.segments.iter().filter(|(_, s)| s.book.has(name, s.end_offset, s.naming)).map(|(&id, _)| id);
        let gone = self.gone.iter().filter(|(_, s)| s.book.has(name, s.end_offset, s.naming)).map(|(&id, _)| id);
        let has_kept = |orphan: &Orphan| orphan.updates.iter().any(|kept| kept.name == Some(name));
        let orphans = self.orphans.iter().filter(|(_, orphan)| has_kept(orphan)).map(|(&id, _)| id);
        live.chain(gone).chain(orphans).collect()
    }

    fn strike(&mut self, uuid: KafkaUuid, name: KeyName) -> Outcome {
        if let Some(segment) = self.segments.get_mut(&uuid) {
            segment.book.strike(name, segment.end_offset, segment.naming);
            if stands_in(segment.state, segment.is_claimed, name.lane) {
                segment.is_state_keyed = false;
            }
            if self.laws.forgets_with_last_base && name.is_base_type() && !segment.book.has_base_type() {
                self.forget(uuid);
            }
        } else if let Some(gone) = self.gone.get_mut(&uuid) {
            gone.book.strike(name, gone.end_offset, gone.naming);
            if stands_in(SegmentState::DeleteFinished, false, name.lane) {
                gone.is_state_keyed = false;
            }
            if name.is_base_type() && !gone.book.has_base_type() {
                if let Some(gone) = self.gone.remove(&uuid) {
                    let names = gone.book.names(gone.end_offset, gone.naming);
                    let last = gone.as_update(self.id_of(uuid));
                    self.leave(uuid, names, (SegmentState::DeleteFinished, false), &last, Some(gone.seen_ms));
                }
            } else if gone.book.is_empty() {
                self.fading.push_back((gone.timestamp_ms, uuid));
            }
        } else if let Some(orphan) = self.orphans.get_mut(&uuid) {
            orphan.updates.retain(|kept| kept.name != Some(name));
            if orphan.updates.is_empty() {
                self.orphans.remove(&uuid);
            }
        }
        Outcome::Applied
    }

    /// A live segment is not known any more.
    fn forget(&mut self, uuid: KafkaUuid) {
        let Some(segment) = self.segments.remove(&uuid) else { return };
        for (epoch, start, _) in segment.epochs.ranges(segment.end_offset) {
            self.lineages.entry(epoch).or_default().forget(uuid, start);
        }
        let seen_ms = self.unsettled.get(&uuid).copied();
        let names = segment.book.names(segment.end_offset, segment.naming);
        self.leave(uuid, names, (segment.state, segment.is_claimed), &segment.as_update(self.id_of(uuid)), seen_ms);
    }

    /// What the other keys of a forgotten segment say, as far as the state knows it: each lane says one thing, and of the
    /// orders that lead to the segment's state one is as good as another.
    fn leave(
        &mut self,
        uuid: KafkaUuid,
        mut names: Vec<KeyName>,
        (state, is_claimed): (SegmentState, bool),
        last: &SegmentUpdate,
        seen_ms: Option<i64>,
    ) {
        names.retain(|name| !name.is_base_type());
        names.sort_by_key(|name| match name.lane {
            LaneName::Claim { .. } if is_claimed => 0,
            LaneName::Base | LaneName::Rewrite { .. } | LaneName::Update => 1,
            LaneName::Claim { .. } => 2,
            LaneName::Delete => 3,
            LaneName::Gone => 4,
        });
        if names.is_empty() {
            return;
        }
        let mut orphan = Orphan { updates: Vec::new(), seen_ms: seen_ms.unwrap_or(i64::MIN) };
        for name in names {
            let said = match name.lane {
                LaneName::Base | LaneName::Rewrite { .. } | LaneName::Update => SegmentState::CopyFinished,
                LaneName::Claim { .. } => SegmentState::Dangling,
                LaneName::Delete if state == SegmentState::Dangling => SegmentState::Dangling,
                LaneName::Delete => SegmentState::DeleteStarted,
                LaneName::Gone => SegmentState::DeleteFinished,
            };
            orphan.keep(SegmentUpdate { state: said, ..last.clone() }, Some(name));
        }
        self.orphans.insert(uuid, orphan);
    }

    fn id_of(&self, uuid: KafkaUuid) -> SegmentId {
        SegmentId { partition: self.partition.clone(), uuid }
    }
}

/// The lane in which a state stands.
fn stands_in(state: SegmentState, is_claimed: bool, lane: LaneName) -> bool {
    match state {
        SegmentState::CopyStarted => false,
        SegmentState::CopyFinished => lane == LaneName::Update,
        SegmentState::Dangling if is_claimed => matches!(lane, LaneName::Claim { .. }),
        SegmentState::DeleteStarted | SegmentState::Dangling => lane == LaneName::Delete,
        SegmentState::DeleteFinished => lane == LaneName::Gone,
    }
}
