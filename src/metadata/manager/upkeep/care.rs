//! One segment that was left behind, from what is known of it to the next thing that has to be waited for.

use std::sync::Arc;
use std::time::Duration;

use crate::metadata::MetadataError;
use crate::metadata::partition::Unsettled;
use crate::metadata::plan::{self, Evidence, Stage, Standing, Store, Verdict, judge};
use crate::model::{ObjectsError, SegmentId, SegmentMetadata, SegmentObjects, SegmentState, SegmentUpdate};

use super::super::core::Core;
use super::super::write;
use super::attempts::Times;
use super::cases::Busy;
use super::place::Place;

/// A store that has not answered by then is not waited for any longer.
const DELETE_MAX: Duration = Duration::from_secs(300);

/// What is known of a segment, but for the store's health, which is asked for only by whoever needs the store.
fn evidence(core: &Core, place: &Place, segment: &Unsettled, busy: Option<&Busy<'_>>) -> Evidence {
    let objects = core.upkeep.objects();
    let id = &segment.metadata.id;
    let delays = core.upkeep.delays();
    let times = Times { now_ms: core.now_ms(), linger_ms: delays.grace_ms, lease_ms: delays.lease_ms };
    Evidence {
        own: core.upkeep.attempts.look(id, objects.as_deref(), &times),
        process_began_ms: core.upkeep.began_ms,
        is_topic_gone: place.is_topic_gone(),
        store: if objects.is_some() { Store::Usable } else { Store::Absent },
        cleanup: busy.map_or_else(|| core.upkeep.cases.cleanup(id), Busy::cleanup),
    }
}

/// Whether there is something to do for `segment` now.
pub(super) fn is_due(core: &Core, place: &Place, standing: &Standing, segment: &Unsettled) -> bool {
    let verdict = judge(segment, &evidence(core, place, segment, None), standing, &core.upkeep.delays());
    !matches!(verdict, Verdict::Keep | Verdict::Wait)
}

/// Does one thing after the other until something has to be waited for.
pub(super) async fn care(core: Arc<Core>, place: Place, segment: SegmentId) {
    let Some(busy) = core.upkeep.cases.work_on(&segment) else { return };
    while !core.is_closed() {
        let Some(segment) = place.state.read().look(segment.uuid) else { return };
        let standing = place.standing(&core);
        match step(&core, &place, &segment, &standing, &busy).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                // The next round begins with what is then known.
                tracing::debug!("{}: cleaning up has to wait: {error}", segment.metadata.id);
                return;
            }
        }
    }
}

/// Does what is due. False if that is nothing.
async fn step(
    core: &Arc<Core>,
    place: &Place,
    segment: &Unsettled,
    standing: &Standing,
    busy: &Busy<'_>,
) -> Result<bool, MetadataError> {
    let mut evidence = evidence(core, place, segment, Some(busy));
    let verdict = judge(segment, &evidence, standing, &core.upkeep.delays());
    // A deletion that has begun is tried at once; only what is tried asks whether it may.
    if matches!(verdict, Verdict::Delete | Verdict::ListAgain) && !core.upkeep.may_try()
        || verdict == Verdict::BeginDelete && core.upkeep.is_store_down()
    {
        evidence.store = Store::Down;
    }
    let objects = core.upkeep.objects();
    let (metadata, id) = (&segment.metadata, &segment.metadata.id);
    match (judge(segment, &evidence, standing, &core.upkeep.delays()), objects) {
        (Verdict::Keep | Verdict::Wait, _) => return Ok(false),
        (Verdict::Claim, _) => {
            let draft = plan::claim(&place.state.read(), standing, id, write::nonce());
            let draft = draft.map_err(|denied| write::denied(&place.partition, id, denied))?;
            match write::submit(core, place, &draft, standing.level).await {
                Ok(()) => {
                    core.upkeep.instruments.claims.increment();
                    tracing::info!("{id}: the copy of broker {} was abandoned and is removed", metadata.broker_id);
                }
                Err(error) => {
                    let is_late = matches!(error, MetadataError::Refused { is_written: true, .. });
                    core.upkeep.instruments.claims_refused.add(u64::from(is_late));
                    return Err(error);
                }
            }
        }
        (Verdict::BeginDelete, _) => {
            // At level 0 nothing else keeps a COPY_FINISHED from standing before it in the log.
            let is_open = metadata.state == SegmentState::CopyStarted && !place.is_topic_gone();
            if is_open && !core.upkeep.attempts.give_up(id, standing.now_ms) {
                return Ok(false);
            }
            say(core, place, standing, segment, SegmentState::DeleteStarted).await?;
            busy.begun();
        }
        (Verdict::GiveBack, _) => {
            say(core, place, standing, segment, SegmentState::Dangling).await?;
            busy.begun();
        }
        (Verdict::Finish, _) => {
            say(core, place, standing, segment, SegmentState::DeleteFinished).await?;
            core.upkeep.instruments.deletes.increment();
        }
        (Verdict::Delete, Some(objects)) => delete(core, &*objects, metadata, busy).await,
        (Verdict::ListAgain, Some(objects)) => look_again(core, &*objects, metadata, busy).await,
        (Verdict::Delete | Verdict::ListAgain, None) => return Ok(false),
    }
    Ok(true)
}

async fn say(
    core: &Arc<Core>,
    place: &Place,
    standing: &Standing,
    segment: &Unsettled,
    state: SegmentState,
) -> Result<(), MetadataError> {
    let id = &segment.metadata.id;
    let update = SegmentUpdate {
        id: id.clone(),
        broker_id: standing.me,
        event_timestamp_ms: standing.now_ms,
        custom_metadata: None,
        state,
    };
    let step = plan::update(&place.state.read(), standing, update, write::nonce());
    match step.map_err(|denied| write::denied(&place.partition, id, denied))? {
        plan::Step::Write(draft) => write::submit(core, place, &draft, standing.level).await,
        plan::Step::AlreadySo => Ok(()),
    }
}

async fn delete(core: &Core, objects: &dyn SegmentObjects, segment: &SegmentMetadata, busy: &Busy<'_>) {
    match tried(core, objects.delete_objects(segment)).await {
        Ok(()) => busy.done(Stage::Deleted { at_ms: core.now_ms() }),
        Err(error) => {
            core.upkeep.instruments.deletes_failed.increment();
            core.upkeep.delete_failed(&segment.id, &error);
            busy.failed(core.now_ms());
        }
    }
}

async fn look_again(core: &Core, objects: &dyn SegmentObjects, segment: &SegmentMetadata, busy: &Busy<'_>) {
    match tried(core, objects.has_objects(segment)).await {
        Ok(false) => busy.done(Stage::Gone),
        Ok(true) => {
            core.upkeep.instruments.deletes_late.increment();
            delete(core, objects, segment, busy).await;
        }
        Err(error) => {
            core.upkeep.delete_failed(&segment.id, &error);
            busy.rest(core.now_ms());
        }
    }
}

/// Asks the store, for a bounded time, and takes note of how it is.
async fn tried<T>(core: &Core, work: impl Future<Output = Result<T, ObjectsError>>) -> Result<T, ObjectsError> {
    let late = || ObjectsError::Unreachable(format!("no answer in {DELETE_MAX:?}"));
    let result = tokio::select! {
        () = core.closed() => return Err(ObjectsError::Other("the metadata manager is closed".to_owned())),
        result = tokio::time::timeout(DELETE_MAX, work) => result.unwrap_or_else(|_| Err(late())),
    };
    core.upkeep.tried(&result);
    result
}
