//! Deleted topics: nobody leads their partitions, so whoever leads the partition of the log that has their records
//! cleans up after them.
//!
//! Each partition of the log is led by one broker, which reads it for this purpose if for no other. Brokers are asked
//! which of the topics there are that nobody told this broker of; one that is missing twice in a row, with nothing new of it
//! in the log, is gone. Two brokers
//! that believe to lead the same partition do each other no harm: what they write says the same.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::metadata::log::LogError;
use crate::metadata::partition::PartitionState;
use crate::metadata::plan::Level;
use crate::model::KafkaUuid;

use super::super::core::Core;
use super::place::{Place, Right};

const DOING: &str = "asking which topics there are (what deleted ones left behind is not removed meanwhile)";
/// Topics in one question.
const NAMES_MAX: usize = 500;

/// Asks what there is to know of deleted topics, if it is time.
pub(super) async fn look_around(core: &Arc<Core>) {
    if !core.upkeep.is_look_due() {
        return;
    }
    let mut strangers = strangers(core);
    // Before those are forgotten that have nothing: of them, too, it must be known that they are gone.
    strangers.retain(|place| !let_go(core, place));
    let mut names: BTreeMap<Arc<str>, BTreeMap<KafkaUuid, i64>> = BTreeMap::new();
    for place in &strangers {
        let topics = names.entry(Arc::clone(&place.partition.topic)).or_default();
        let newest_ms = topics.entry(place.partition.topic_id).or_insert(i64::MIN);
        *newest_ms = place.state.read().newest_ms().max(*newest_ms);
    }
    // Places keep states, and what is kept is not let go.
    drop(strangers);
    let ids: HashSet<_> = names.values().flat_map(BTreeMap::keys).copied().collect();
    core.upkeep.sightings.lock().retain(&ids);
    let names: Vec<_> = names.into_iter().collect();
    let mut led_here = Vec::new();
    // One question at least: it tells too what this broker leads.
    for names in names.chunks(NAMES_MAX).chain(names.is_empty().then_some(&names[..])) {
        let asked: Vec<Arc<str>> = names.iter().map(|(name, _)| Arc::clone(name)).collect();
        let presence = tokio::select! {
            () = core.closed() => return,
            presence = core.log.presence(&asked) => presence,
        };
        match presence {
            Ok(presence) => {
                core.upkeep.quiet.lock().succeeded(DOING);
                for ((name, ids), presence) in names.iter().zip(presence.topics) {
                    let ids: Vec<_> = ids.iter().map(|(&id, &newest_ms)| (id, newest_ms)).collect();
                    for id in core.upkeep.sightings.lock().take(&ids, presence) {
                        tracing::info!("topic {name} with id {id} is gone; what it left is removed");
                    }
                }
                led_here = presence.led_here;
            }
            Err(LogError::Unsupported { .. }) => return core.upkeep.look_no_more(),
            Err(error) => {
                core.upkeep.quiet.lock().failed(DOING, &error);
                return;
            }
        }
    }
    core.directory.write().care_for(&led_here);
    core.bell.ring();
}

/// Partitions of topics that are gone and have something left.
pub(super) fn places(core: &Core) -> Vec<Place> {
    let mut places = strangers(core);
    places.retain(|place| core.upkeep.is_gone(&place.partition.topic_id) && has_something(&place.state.read()));
    let topics: HashSet<_> = places.iter().map(|place| place.partition.topic_id).collect();
    core.upkeep.instruments.topics_gone.set(i64::try_from(topics.len()).unwrap_or(i64::MAX));
    places
}

/// Forgets a partition of a topic that is gone once nothing rests on it. Tells whether it did.
///
/// What then comes is read as by somebody who begins with the cleaned log, and is cleaned up after in the same way. Which
/// short keys are taken need not be known of an id that never comes back: nobody leads it, so nobody adds to it.
fn let_go(core: &Core, place: &Place) -> bool {
    if place.meta.level() == Level::Zero || !core.upkeep.is_gone(&place.partition.topic_id) {
        return false;
    }
    let is_assigned = core.directory.read().assignment(&place.partition).is_some();
    !is_assigned && place.meta.let_go(&place.state, core.now_ms())
}

/// Partitions in what is cared for here, of topics no partition of which was assigned here.
fn strangers(core: &Core) -> Vec<Place> {
    let (metas, known) = {
        let directory = core.directory.read();
        let known: HashSet<_> = directory.assignments().map(|assignment| assignment.partition.topic_id).collect();
        let metas: Vec<_> = directory.meta.values().filter(|meta| meta.is_cared_for()).cloned().collect();
        (metas, known)
    };
    let mut places = Vec::new();
    for meta in metas {
        let states: Vec<_> = {
            let states = meta.states.lock();
            let strange = states.iter().filter(|(partition, _)| !known.contains(&partition.topic_id));
            strange.map(|(partition, state)| (partition.clone(), Arc::clone(state))).collect()
        };
        let place = |(partition, state)| Place { partition, meta: Arc::clone(&meta), state, right: Right::Caretaker };
        places.extend(states.into_iter().map(place));
    }
    places
}

fn has_something(state: &PartitionState) -> bool {
    let work = state.work();
    state.live_segments() + work.gone_with_keys + work.orphan_updates > 0 || state.deletion().is_some()
}
