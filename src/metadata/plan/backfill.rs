//! Facts that rest on records without a key, said again with one.

use std::collections::{BTreeMap, HashSet};

use crate::metadata::partition::{NullKeyFact, PartitionState};
use crate::model::{KafkaUuid, LeaderEpoch, SegmentId, SegmentState, SegmentUpdate};
use crate::wire::Lane;

use super::Level;
use super::draft::{Draft, DraftBody, Standing};
use super::keys::{segment_key, update_key_under};

/// Records for at most `max` facts that a log cleaner would lose, by segment; none of segments that are `in_flight`.
///
/// Only the leader writes them, so that two of one epoch never differ: whoever gets one puts the segment in flight until
/// the own reader has met the record or the write has failed for good.
#[must_use]
pub fn backfill(state: &PartitionState, standing: &Standing, in_flight: &HashSet<KafkaUuid>, max: usize) -> Vec<Draft> {
    let laws = state.laws();
    let Ok(epoch) = standing.decides(!laws.only_current_leaders_decide) else { return Vec::new() };
    let has_work = laws.backfills && state.work().unkeyed_facts > 0;
    if standing.level == Level::Zero || !epoch.is_known() || !has_work {
        return Vec::new();
    }
    let mut segments: BTreeMap<KafkaUuid, (SegmentId, bool)> = BTreeMap::new();
    for (segment, fact) in state.rests_on_null_keys() {
        let (_, is_base) = segments.entry(segment.uuid).or_insert((segment, false));
        *is_base |= fact == NullKeyFact::Base;
    }
    let wanted = segments.into_values().filter(|(segment, _)| !in_flight.contains(&segment.uuid));
    let drafts = wanted.filter_map(|(segment, is_base)| draft(state, standing, epoch, &segment, is_base));
    drafts.take(max).collect()
}

fn draft(
    state: &PartitionState,
    standing: &Standing,
    epoch: LeaderEpoch,
    segment: &SegmentId,
    is_base: bool,
) -> Option<Draft> {
    let (end_offset, naming) = state.naming_of(segment)?;
    let now = state.state_of(segment)?;
    if let Some(mut metadata) = state.metadata_of(segment)
        && (is_base || now == SegmentState::CopyFinished)
    {
        if !state.laws().repeats_custom_metadata {
            metadata.custom_metadata = None;
        }
        let lane = Lane::Rewrite { segment: segment.uuid, writer_epoch: epoch };
        let key = segment_key(state.partition(), end_offset, segment.uuid, naming, lane);
        return Some(Draft { key, body: DraftBody::Segment { metadata, leader_epoch: naming.epoch } });
    }
    let known = state.metadata_of(segment);
    let update = SegmentUpdate {
        id: segment.clone(),
        broker_id: known.as_ref().map_or(standing.me, |known| known.broker_id),
        event_timestamp_ms: known.as_ref().map_or(standing.now_ms, |known| known.event_timestamp_ms),
        custom_metadata: known.and_then(|known| known.custom_metadata).filter(|_| state.laws().repeats_custom_metadata),
        state: now,
    };
    // Said from DELETE_SEGMENT_STARTED, so that DANGLING goes where deletions stand, never into a claim.
    let steps = (SegmentState::DeleteStarted, now);
    let key = update_key_under(state.laws(), state.partition(), end_offset, segment.uuid, naming, steps, 0);
    Some(Draft { key, body: DraftBody::Update { update, leader_epoch: naming.epoch, end_offset: Some(end_offset) } })
}
