//! When what was left behind is looked for, and where.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::metadata::partition::{Amount, Unsettled};
use crate::metadata::plan::{Level, Standing};
use crate::model::{KafkaUuid, SegmentId, SegmentState, TopicIdPartition};

use super::super::core::Core;
use super::care;
use super::caretaker;
use super::place::{Place, Right};
use super::records;
use super::rolls;

/// What a copy run leaves is looked for this long after its end, together with what others leave meanwhile.
const NUDGE_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Segments that are copied out of a state at one time.
const LOOKS_AT_ONCE: usize = 64;

/// Runs until the manager is closed.
pub(super) async fn run(core: Arc<Core>) {
    if !core.started().await {
        return;
    }
    let interval = core.options.upkeep.interval;
    let mut next_full = tokio::time::Instant::now() + jittered(interval);
    while !core.is_closed() {
        let is_full = tokio::select! {
            () = core.closed() => return,
            () = tokio::time::sleep_until(next_full) => true,
            () = core.upkeep.nudges.wait() => false,
        };
        if is_full {
            round(&core, None).await;
            caretaker::look_around(&core).await;
            rolls::roll(&core).await;
            next_full = tokio::time::Instant::now() + jittered(interval);
        } else {
            core.sleep(NUDGE_PAUSE_MAX.min(interval)).await;
            let nudged = core.upkeep.nudges.take();
            round(&core, Some(&nudged)).await;
        }
    }
}

/// A fifth more or less, so that brokers that were started together do not act together.
fn jittered(interval: Duration) -> Duration {
    let share = u32::from(uuid::Uuid::new_v4().as_bytes()[0]);
    interval.mul_f64(0.8 + 0.4 * f64::from(share) / 255.0)
}

/// Looks at the partitions led here (of `only`, if there is one) and at those nobody leads any more, and begins what is
/// due. Waits while as much is under way as may be.
pub(in super::super) async fn round(core: &Arc<Core>, only: Option<&HashSet<TopicIdPartition>>) {
    let mut places = census(core);
    if only.is_none() {
        settle(core);
        places.extend(caretaker::places(core));
    }
    let is_meant = |place: &Place| only.is_none_or(|only| only.contains(&place.partition));
    let mut age_ms_max = 0;
    for place in places.into_iter().filter(is_meant) {
        if core.is_closed() {
            return;
        }
        age_ms_max = age_ms_max.max(tend(core, &place).await);
    }
    if only.is_none() {
        core.upkeep.instruments.dangling_age_ms_max.set(age_ms_max);
    }
}

/// The partitions led here in which there is something to do; the gauges on the way.
pub(super) fn census(core: &Core) -> Vec<Place> {
    let assignments: Vec<_> = core.directory.read().assignments().cloned().collect();
    let mut places = Vec::new();
    let mut topics: BTreeMap<Arc<str>, Amount> = BTreeMap::new();
    for assignment in assignments {
        let Some(bound) = assignment.bound().filter(|_| assignment.leadership.now().is_some()) else { continue };
        let (level, state) = (bound.meta.level(), bound.state.read());
        let work = state.work();
        let topic = topics.entry(Arc::clone(&assignment.partition.topic)).or_default();
        for amount in [Some(work.dangling), (level == Level::Zero).then_some(work.delete_started)].into_iter().flatten()
        {
            topic.count += amount.count;
            topic.bytes += amount.bytes;
        }
        if work.is_unsettled() || records::may_be_due(&state, level, false) {
            let (meta, shared) = (Arc::clone(&bound.meta), Arc::clone(&bound.state));
            let partition = assignment.partition.clone();
            drop(state);
            places.push(Place { partition, meta, state: shared, right: Right::Leader(assignment) });
        }
    }
    let instruments = &core.upkeep.instruments;
    for (topic, amount) in &topics {
        instruments.dangling.with(topic).set(i64::try_from(amount.count).unwrap_or(i64::MAX));
        instruments.dangling_bytes.with(topic).set(i64::try_from(amount.bytes).unwrap_or(i64::MAX));
    }
    instruments.dangling.retain(|topic| topics.contains_key(topic));
    instruments.dangling_bytes.retain(|topic| topics.contains_key(topic));
    places
}

/// Begins what is due in one partition. Tells how old the oldest of what dangles there is.
async fn tend(core: &Arc<Core>, place: &Place) -> i64 {
    let standing = place.standing(core);
    if standing.leadership.is_none() {
        return 0;
    }
    let (ids, is_record_due) = {
        let state = place.state.read();
        let ids: Vec<KafkaUuid> = match place.is_topic_gone() {
            false => state.unsettled_ids().collect(),
            true => state.live_ids().collect(),
        };
        (ids, records::may_be_due(&state, standing.level, place.is_topic_gone()))
    };
    if is_record_due && !core.upkeep.turns.is_taken(&place.partition) {
        begin(core, records::write_due(Arc::clone(core), place.clone())).await;
    }
    let mut age_ms_max = 0;
    // The reader waits for whoever holds the lock, and everybody else for the reader.
    for ids in ids.chunks(LOOKS_AT_ONCE) {
        let segments: Vec<Unsettled> = {
            let state = place.state.read();
            ids.iter().filter_map(|&id| state.look(id)).collect()
        };
        for segment in segments {
            age_ms_max = age_ms_max.max(age_ms(core, &standing, &segment));
            if care::is_due(core, place, &standing, &segment) {
                begin(core, care::care(Arc::clone(core), place.clone(), segment.metadata.id)).await;
            }
        }
    }
    age_ms_max
}

/// How long something has dangled; 0 if it doesn't.
fn age_ms(core: &Core, standing: &Standing, segment: &Unsettled) -> i64 {
    let is_dangling = match segment.metadata.state {
        SegmentState::Dangling => true,
        SegmentState::DeleteStarted => standing.level == Level::Zero,
        _ => false,
    };
    if !is_dangling {
        return 0;
    }
    let since_ms = core.upkeep.cases.since(&segment.metadata.id, segment.metadata.event_timestamp_ms);
    standing.now_ms.saturating_sub(since_ms).max(0)
}

/// Runs `work` beside, as soon as there is room for it.
async fn begin(core: &Arc<Core>, work: impl Future<Output = ()> + Send + 'static) {
    let permit = tokio::select! {
        () = core.closed() => return,
        permit = Arc::clone(&core.upkeep.room).acquire_owned() => permit,
    };
    let Ok(permit) = permit else { return };
    let core = Arc::clone(core);
    core.env.runtime.clone().spawn(async move {
        let _permit = permit;
        tokio::select! {
            () = core.closed() => {}
            () = work => {}
        }
    });
}

/// Forgets what has come to its end.
fn settle(core: &Core) {
    let state_of = |segment: &SegmentId| {
        let known = core.known_state(&segment.partition)?;
        known.read().state_of(segment)
    };
    // Until it is deleted: that an own copy has ended is what lets its deletion end soon.
    let is_over = |state| matches!(state, SegmentState::CopyFinished | SegmentState::DeleteFinished);
    let is_open = |segment: &SegmentId| state_of(segment).map(|state| !is_over(state));
    let settled = core.upkeep.attempts.settle(is_open, core.now_ms());
    if let Some(objects) = core.upkeep.objects() {
        settled.iter().for_each(|segment| objects.settled(segment));
    }
    core.upkeep.cases.settle(|segment| state_of(segment).is_some_and(|state| state != SegmentState::DeleteFinished));
}
