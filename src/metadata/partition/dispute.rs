//! Two segments under one key.

use crate::model::KafkaUuid;

use super::book::Holder;
use super::naming::KeyName;
use super::{Outcome, PartitionState};

impl PartitionState {
    /// Two segments have the same short key: topics that were written by drafts of KIP-1266 have such. A log cleaner keeps
    /// the later one's record only, so nothing of the earlier one rests on a key, and its next records need other ones.
    pub(super) fn dispute(&mut self, name: KeyName, newcomer: KafkaUuid, seen_ms: i64) {
        for holder in self.holders(name).into_iter().filter(|&holder| holder != newcomer) {
            let seen_ms = self.unsettled.get(&holder).copied().unwrap_or(seen_ms);
            let _ = self.watching(holder, seen_ms, |state| {
                if let Some(segment) = state.live.get_mut(holder) {
                    segment.usual_keys = state.other_keys.strike_short(segment.holder());
                    segment.insist_on_id();
                    segment.is_state_keyed = false;
                } else if let Some(gone) = state.gone.get_mut(holder) {
                    gone.usual_keys = state.other_keys.strike_short(gone.holder());
                    if state.other_keys.is_empty(gone.holder()) {
                        state.begin_to_fade(holder, state.newest_ms);
                    }
                }
                Outcome::Applied
            });
        }
    }

    /// Segments, live and gone, that have a record under a key.
    pub(super) fn holders(&self, name: KeyName) -> Vec<KafkaUuid> {
        let live = self.live.iter().map(|segment| segment.holder());
        let all = live.chain(self.gone.iter().map(|gone| gone.holder()));
        // The end offset tells nearly all of them apart.
        let may_have = |holder: &Holder| holder.end_offset == name.end_offset || self.other_keys.are_there_any();
        all.filter(|holder| may_have(holder) && self.other_keys.has(*holder, name)).map(|holder| holder.uuid).collect()
    }
}
