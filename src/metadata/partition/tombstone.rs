//! What an emptied key changes.

use crate::model::{KafkaUuid, SegmentState, SegmentUpdate};
use crate::wire::{RecordKey, SegmentKey};

use super::naming::{KeyName, LaneName, is_of, segment_of};
use super::segment::Orphan;
use super::{Entry, Outcome, PartitionState};

impl PartitionState {
    /// The log has no record under this key any more. A segment is forgotten with its last base key, whatever its state:
    /// a reader of a cleaned log never meets it. What its other keys say is kept, as that reader keeps it.
    pub(super) fn take_tombstone(&mut self, entry: Entry<'_>) -> Outcome {
        match entry.key {
            Some(RecordKey::Partition(key)) if is_of(key, &self.partition) => self.mark = None,
            Some(RecordKey::Segment(key)) if is_of(&key.partition, &self.partition) => {
                let name = KeyName::new(key);
                for segment in self.owners(key, name) {
                    let _ = self.watching(segment, entry.seen_ms, |state| state.strike(segment, name, entry.seen_ms));
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
        let has_kept = |orphan: &Orphan| orphan.updates.iter().any(|kept| kept.name == Some(name));
        let orphans = self.orphans.iter().filter(|(_, orphan)| has_kept(orphan)).map(|(&id, _)| id);
        self.holders(name).into_iter().chain(orphans).collect()
    }

    fn strike(&mut self, uuid: KafkaUuid, name: KeyName, seen_ms: i64) -> Outcome {
        if let Some(segment) = self.live.get_mut(uuid) {
            segment.usual_keys = self.other_keys.strike(segment.holder(), name);
            if stands_in(segment.state, segment.is_claimed, name.lane) {
                segment.is_state_keyed = false;
            }
            let has_base = self.other_keys.has_base_type(segment.holder());
            if self.laws.forgets_with_last_base && name.is_base_type() && !has_base {
                self.forget(uuid, seen_ms);
            }
        } else if let Some(gone) = self.gone.get_mut(uuid) {
            gone.usual_keys = self.other_keys.strike(gone.holder(), name);
            if stands_in(SegmentState::DeleteFinished, false, name.lane) {
                gone.is_state_keyed = false;
            }
            let holder = gone.holder();
            if name.is_base_type() && !self.other_keys.has_base_type(holder) {
                if let Some(gone) = self.gone.remove(uuid) {
                    let (last, names) = (gone.as_update(&self.partition), self.other_keys.names(holder));
                    self.leave(uuid, names, false, &last, gone.seen_ms);
                }
            } else if self.other_keys.is_empty(holder) {
                self.begin_to_fade(uuid, self.newest_ms);
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
    fn forget(&mut self, uuid: KafkaUuid, seen_ms: i64) {
        let Some(place) = self.live.place_of(uuid) else { return };
        let Some((last, state, is_claimed, names)) = self.live.at(place).map(|segment| {
            let last = segment.as_update(&self.partition, &self.blobs);
            (last, segment.state, segment.is_claimed, self.other_keys.names(segment.holder()))
        }) else {
            return;
        };
        self.withdraw(place, state);
        self.take_out(place);
        self.leave(uuid, names, is_claimed, &last, seen_ms);
    }

    /// What the other keys of a forgotten segment say, as far as the state knows it: each lane says one thing, and of the
    /// orders that lead to the segment's state one is as good as another.
    fn leave(
        &mut self,
        uuid: KafkaUuid,
        mut names: Vec<KeyName>,
        is_claimed: bool,
        last: &SegmentUpdate,
        seen_ms: i64,
    ) {
        self.other_keys.drop_all(uuid);
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
        // The drafts of KIP-1266 have everything but the first record in one lane.
        let is_elsewhere = names.iter().any(|name| stands_in(last.state, is_claimed, name.lane));
        let in_update_lane = if is_elsewhere { SegmentState::CopyFinished } else { last.state };
        let mut orphan = Orphan { updates: Vec::new(), seen_ms };
        for name in names {
            let said = match name.lane {
                LaneName::Base | LaneName::Rewrite { .. } | LaneName::Update => in_update_lane,
                LaneName::Claim { .. } => SegmentState::Dangling,
                LaneName::Delete if last.state == SegmentState::Dangling => SegmentState::Dangling,
                LaneName::Delete => SegmentState::DeleteStarted,
                LaneName::Gone => SegmentState::DeleteFinished,
            };
            orphan.keep(SegmentUpdate { state: said, ..last.clone() }, Some(name));
        }
        self.orphans.insert(uuid, orphan);
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
