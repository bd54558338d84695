//! The records that a leader writes for the log's own sake: facts again under keys, and tombstones.

use std::collections::HashSet;
use std::sync::Arc;

use crate::metadata::MetadataError;
use crate::metadata::partition::PartitionState;
use crate::metadata::plan::{self, Draft, Level, Standing};
use crate::metrics::Counter;
use crate::model::{PartitionDelete, PartitionDeleteState};

use super::super::core::Core;
use super::super::write;
use super::place::Place;

/// Records of one partition that are written at one time.
const AT_ONCE_MAX: usize = 500;

/// Whether there may be something to write. Costs no look at single segments.
pub(super) fn may_be_due(state: &PartitionState, level: Level, is_topic_gone: bool) -> bool {
    let work = state.work();
    let is_any = work.unkeyed_facts + work.gone_with_keys + work.orphan_updates > 0;
    level > Level::Zero && (is_any || state.deletion().is_some() || is_topic_gone)
}

/// Writes what is due, if the records before have come to their end.
pub(super) async fn write_due(core: Arc<Core>, place: Place) {
    let Some(mut turn) = core.upkeep.turns.take(&place.partition) else { return };
    let standing = place.standing(&core);
    if standing.leadership.is_none() || !standing.is_current || standing.level == Level::Zero {
        return;
    }
    let (mark, rewrites, tombstones) = {
        let state = place.state.read();
        if place.meta.is_read_again() {
            return;
        }
        let settle_ms = core.options.upkeep.tombstone_delay_ms;
        (
            mark(&state, &place, &standing),
            match place.is_topic_gone() {
                false => plan::backfill(&state, &standing, &HashSet::new(), AT_ONCE_MAX),
                // Its records go soon, and two caretakers must not write under one key.
                true => Vec::new(),
            },
            plan::tombstones(&state, &standing, settle_ms, AT_ONCE_MAX),
        )
    };
    let instruments = &core.upkeep.instruments;
    let results = [
        write_all(&core, &place, &standing, mark.into_iter().collect(), None).await,
        write_all(&core, &place, &standing, rewrites, Some(&instruments.rewrites)).await,
        write_all(&core, &place, &standing, tombstones, Some(&instruments.tombstones)).await,
    ];
    if let Some(error) = results.into_iter().find_map(Result::err) {
        tracing::debug!("{}: records that keep the log small are written later: {error}", place.partition);
        // What failed may still be on its way, and must not be written twice at a time.
        turn.rest(core.options.consume_wait);
    }
}

/// The mark of a deleted topic's partition. It tells copies that still run that their segment must not live.
fn mark(state: &PartitionState, place: &Place, standing: &Standing) -> Option<Draft> {
    let is_empty = state.live_segments() == 0;
    let to = match state.deletion() {
        _ if !place.is_topic_gone() => return None,
        None | Some(PartitionDeleteState::Marked) if !is_empty => PartitionDeleteState::Started,
        Some(PartitionDeleteState::Marked | PartitionDeleteState::Started) if is_empty => {
            PartitionDeleteState::Finished
        }
        _ => return None,
    };
    let delete = PartitionDelete {
        partition: place.partition.clone(),
        broker_id: standing.me,
        event_timestamp_ms: standing.now_ms,
        state: to,
    };
    Some(plan::partition_delete(state, standing, delete))
}

async fn write_all(
    core: &Arc<Core>,
    place: &Place,
    standing: &Standing,
    drafts: Vec<Draft>,
    counter: Option<&Counter>,
) -> Result<(), MetadataError> {
    let pending: Vec<_> = drafts.iter().map(|draft| write::submit(core, place, draft, standing.level)).collect();
    let mut result = Ok(());
    for pending in pending {
        match pending.await {
            Ok(()) => counter.map_or((), Counter::increment),
            // A later record of the key, or of the segment, came first.
            Err(MetadataError::Refused { .. } | MetadataError::UnknownSegment { .. }) => {}
            Err(error) => result = Err(error),
        }
    }
    result
}
