//! Which keys may be emptied.

use crate::metadata::partition::PartitionState;
use crate::wire::RecordKey;

use super::Level;
use super::draft::{Draft, DraftBody, Standing};
use super::keys::partition_delete_key;

/// Keys to be emptied, at most `max`: of segments whose deletion has ended, of updates that have no segment, and of the
/// mark of the partition's deletion when nothing else is left.
///
/// Only the leader does so, and not before `settle_ms` have passed since the last record of the segment: until then a
/// record may be on its way that was decided earlier. Base keys come first, and the other ones when the own reader has met
/// the end of the last base key: whatever is lost in between, nobody meets a segment without the record that says that it
/// is gone.
#[must_use]
pub fn tombstones(state: &PartitionState, standing: &Standing, settle_ms: i64, max: usize) -> Vec<Draft> {
    let laws = state.laws();
    let Ok(epoch) = standing.decides(!laws.only_current_leaders_decide) else { return Vec::new() };
    let work = state.work();
    let lone_mark = state.lone_mark_seen_ms();
    let is_idle = work.gone_with_keys == 0 && work.orphan_updates == 0 && lone_mark.is_none();
    if standing.level == Level::Zero || !epoch.is_known() || is_idle {
        return Vec::new();
    }
    let settle_ms = if laws.tombstones_wait { settle_ms } else { 0 };
    let has_settled = |seen_ms: i64| seen_ms.saturating_add(settle_ms) <= standing.now_ms;
    let mut keys: Vec<RecordKey> = Vec::new();
    for leftover in state.leftovers() {
        if keys.len() >= max {
            break;
        }
        if leftover.epoch > epoch || !has_settled(leftover.seen_ms) {
            continue;
        }
        match (leftover.base_keys.is_empty(), laws.base_keys_go_first) {
            (true, _) => keys.extend(leftover.other_keys),
            (false, true) => keys.extend(leftover.base_keys),
            (false, false) => keys.extend(leftover.other_keys.into_iter().chain(leftover.base_keys)),
        }
    }
    if lone_mark.is_some_and(has_settled) {
        keys.push(partition_delete_key(state.partition()));
    }
    keys.truncate(max);
    keys.into_iter().map(|key| Draft { key, body: DraftBody::Tombstone }).collect()
}
