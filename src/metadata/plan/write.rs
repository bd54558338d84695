//! What a caller's wish becomes: a record, or a reason why not.

use crate::metadata::partition::PartitionState;
use crate::model::{LeaderEpoch, PartitionDelete, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate};

use super::Level;
use super::draft::{Denied, Draft, DraftBody, Standing, Step};
use super::keys::{add_key, partition_delete_key, update_key_under};

/// The record that begins a copy. The short key, if it is free, is the segment's from now on, also if nothing is written.
///
/// # Errors
/// [`Denied`]: nothing may be written.
pub fn add(state: &mut PartitionState, standing: &Standing, segment: SegmentMetadata) -> Result<Draft, Denied> {
    let to = SegmentState::CopyStarted;
    if let Some(why) = why_never(&segment) {
        return Err(Denied::InvalidArgument(why));
    }
    match state.state_of(&segment.id) {
        None | Some(SegmentState::CopyStarted) => {}
        Some(from) => return Err(Denied::Refused { from, to }),
    }
    let epoch = standing.decides(!state.laws().only_current_leaders_decide)?;
    let naming = state.choose_naming(&segment.id, segment.end_offset, epoch);
    let key = add_key(&segment.id.partition, segment.end_offset, segment.id.uuid, naming);
    Ok(Draft { key, body: DraftBody::Segment { metadata: segment, leader_epoch: naming.epoch } })
}

/// The record that says that a segment is in another state. Custom metadata that the caller leaves out is repeated: a
/// reader replaces it by what the record says, also by nothing.
///
/// `nonce` must be new for each call; it is used if an open attempt becomes DANGLING.
///
/// # Errors
/// [`Denied`]: nothing may be written.
pub fn update(
    state: &PartitionState,
    standing: &Standing,
    mut update: SegmentUpdate,
    nonce: u64,
) -> Result<Step, Denied> {
    let to = update.state;
    if let Some(why) = why_never_to(&update, standing.level) {
        return Err(Denied::InvalidArgument(why));
    }
    let from = match state.state_of(&update.id) {
        Some(SegmentState::DeleteFinished) if to == SegmentState::DeleteFinished => return Ok(Step::AlreadySo),
        // It ended, by somebody else's record, so long ago that it is forgotten; or it never was.
        None if to == SegmentState::DeleteFinished && standing.is_current => return Ok(Step::AlreadySo),
        None | Some(SegmentState::DeleteFinished) => return Err(Denied::UnknownSegment),
        Some(from) if from.writer_may(to) => from,
        Some(from) => return Err(Denied::Refused { from, to }),
    };
    let custom_metadata = state.custom_metadata_of(&update.id);
    if from == to && (update.custom_metadata.is_none() || update.custom_metadata == custom_metadata) {
        return Ok(Step::AlreadySo);
    }
    if to == SegmentState::Dangling {
        standing.decides(!state.laws().only_current_leaders_decide)?;
    }
    if update.custom_metadata.is_none() && state.laws().repeats_custom_metadata {
        update.custom_metadata = custom_metadata;
    }
    draft(state, update, from, nonce).map(Step::Write)
}

/// What is wrong with adding this segment, whatever is known.
#[must_use]
pub fn why_never(segment: &SegmentMetadata) -> Option<String> {
    let to = SegmentState::CopyStarted;
    if segment.state != to {
        return Some(format!("{}: a segment is added in state {to}, not {}", segment.id, segment.state));
    }
    segment.why_impossible().map(|why| format!("{}: {why}", segment.id))
}

/// What is wrong with this update at `level`, whatever is known.
#[must_use]
pub fn why_never_to(update: &SegmentUpdate, level: Level) -> Option<String> {
    let to = update.state;
    let why = match to {
        SegmentState::CopyStarted => "a segment is added in this state",
        _ if !level.may_write(to) => "stock brokers cannot read it; DELETE_SEGMENT_STARTED stands for it",
        _ => return None,
    };
    Some(format!("{}: no update to {to}: {why}", update.id))
}

/// The mark of a partition's deletion. It changes no segment, so anybody may set it at any time.
#[must_use]
pub fn partition_delete(_state: &PartitionState, standing: &Standing, delete: PartitionDelete) -> Draft {
    let leader_epoch = standing.leadership.unwrap_or(LeaderEpoch::UNKNOWN);
    let key = partition_delete_key(&delete.partition);
    Draft { key, body: DraftBody::PartitionDelete { delete, leader_epoch, end_offset: None } }
}

/// The record by which somebody takes over an attempt that was abandoned. Whether it counts is known when the own reader
/// has met it: a COPY_SEGMENT_FINISHED that stands before it in the log wins.
///
/// # Errors
/// [`Denied`]: always at level 0, where only the attempts of the own process can be cleaned.
pub fn claim(state: &PartitionState, standing: &Standing, segment: &SegmentId, nonce: u64) -> Result<Draft, Denied> {
    let to = SegmentState::Dangling;
    if !standing.level.may_write(to) {
        return Err(Denied::InvalidArgument(format!("{segment}: stock brokers cannot read a claim")));
    }
    let from = match state.state_of(segment) {
        None | Some(SegmentState::DeleteFinished) => return Err(Denied::UnknownSegment),
        Some(from @ SegmentState::CopyStarted) => from,
        Some(from) => return Err(Denied::Refused { from, to }),
    };
    standing.decides(!state.laws().only_current_leaders_decide)?;
    let custom_metadata = state.custom_metadata_of(segment).filter(|_| state.laws().repeats_custom_metadata);
    let update = SegmentUpdate {
        id: segment.clone(),
        broker_id: standing.me,
        event_timestamp_ms: standing.now_ms,
        custom_metadata,
        state: to,
    };
    draft(state, update, from, nonce)
}

fn draft(state: &PartitionState, update: SegmentUpdate, from: SegmentState, nonce: u64) -> Result<Draft, Denied> {
    let (end_offset, naming) = state.naming_of(&update.id).ok_or(Denied::UnknownSegment)?;
    let steps = (from, update.state);
    let key = update_key_under(state.laws(), &update.id.partition, end_offset, update.id.uuid, naming, steps, nonce);
    let body = DraftBody::Update { update, leader_epoch: naming.epoch, end_offset: Some(end_offset) };
    Ok(Draft { key, body })
}
