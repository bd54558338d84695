//! What a script reads.

use serde_json::{Map, Value, json};
use undercroft::metadata::migration::{Decision, Ending, Found, Obstacle, RestingFact, Runs, Wish, to_1, to_2};

use super::report::SETTINGS;

/// The verdict on the next level, and everything that it rests on.
pub fn check(found: &Found, wish: &Wish) -> (Ending, Value) {
    let (lowest, highest) = found.levels();
    let (next, decision) = if lowest < 1 { (1, to_1(found, wish)) } else { (2, to_2(found, wish)) };
    let (ending, word) = match &decision {
        Decision::Already => (Ending::Done, "already"),
        Decision::Go(_) => (Ending::Done, "ready"),
        Decision::Wait(_) => (Ending::NotYet, "not-yet"),
        Decision::Refused(_) => (Ending::Refused, "refused"),
    };
    let (steps, notes, overruled) = match &decision {
        Decision::Go(plan) => {
            (plan.steps.iter().map(ToString::to_string).collect(), plan.notes.clone(), plan.overruled.clone())
        }
        _ => (Vec::new(), Vec::new(), Vec::new()),
    };
    let obstacles: &[Obstacle] = match &decision {
        Decision::Wait(obstacles) | Decision::Refused(obstacles) => obstacles,
        Decision::Already | Decision::Go(_) => &[],
    };
    let settings: Map<String, Value> =
        SETTINGS.iter().filter_map(|&name| Some((name.to_owned(), json!(found.settings.get(name)?)))).collect();
    let verdict = json!({
        "log": found.log,
        "partitions": found.partitions,
        "lowestLevel": lowest,
        "highestLevel": highest,
        "nextLevel": next,
        "verdict": word,
        "steps": steps,
        "notes": notes,
        "obstacles": obstacles.iter().map(obstacle).collect::<Vec<_>>(),
        "overruled": overruled.iter().map(obstacle).collect::<Vec<_>>(),
        "remainingWaitMs": remaining_wait_ms(obstacles),
        "settings": settings,
        "brokers": brokers(found),
        "recordsWithoutKey": unkeyed(found),
        "liveSegments": found.evidence.live_segments(),
        "restingFacts": resting(found),
    });
    (ending, verdict)
}

fn obstacle(obstacle: &Obstacle) -> Value {
    json!({
        "kind": obstacle.name(),
        "passes": obstacle.passes(),
        "canBeForced": obstacle.can_be_overruled(),
        "text": obstacle.to_string(),
    })
}

/// `None` if nobody can tell: leaders write facts again as fast as they come to it.
fn remaining_wait_ms(obstacles: &[Obstacle]) -> Option<i64> {
    let wait = |obstacle: &Obstacle| match obstacle {
        Obstacle::UnkeyedWriter { wait_ms, .. } => Some(*wait_ms),
        _ => None,
    };
    obstacles.iter().map(wait).try_fold(0, |longest: i64, wait| wait.map(|wait| longest.max(wait)))
}

fn brokers(found: &Found) -> Vec<Value> {
    let broker = found.brokers.iter().map(|broker| {
        let class = match &broker.runs {
            Runs::Undercroft(class) | Runs::Other(class) | Runs::Nothing(class) => Some(class),
            Runs::Down | Runs::Unknown(_) => None,
        };
        let (keeps, text) = (broker.runs.is_ours(), broker.runs.text());
        json!({ "id": broker.id.0, "class": class, "keepsToLevels": keeps, "text": text })
    });
    broker.collect()
}

fn unkeyed(found: &Found) -> Value {
    let evidence = &found.evidence;
    let partitions = evidence.metas().iter().zip(0..).filter_map(|(meta, number): (_, i32)| {
        let (first, last) = (meta.unkeyed.first?, meta.unkeyed.last?);
        Some(json!({
            "metadataPartition": number,
            "count": meta.unkeyed.count,
            "firstOffset": first.offset,
            "lastOffset": last.offset,
            "lastTimestampMs": last.timestamp_ms,
        }))
    });
    json!({
        "count": evidence.unkeyed_count(),
        "newestAgeMs": found.newest_unkeyed_age_ms(),
        "partitions": partitions.collect::<Vec<_>>(),
    })
}

fn resting(found: &Found) -> Vec<Value> {
    let fact = found.resting.iter().map(|resting| {
        let (partition, topic) = (&resting.segment.partition, &*resting.segment.partition.topic);
        json!({
            "topic": topic,
            "topicId": partition.topic_id.to_string(),
            "partition": partition.partition,
            "segmentId": resting.segment.uuid.to_string(),
            "fact": match resting.fact {
                RestingFact::Base => "existence",
                RestingFact::State => "state",
                RestingFact::Deletion => "deletion",
            },
            "topicExists": !found.lost_topics.contains_key(&partition.topic_id),
        })
    });
    fact.collect()
}
