//! Whether a step may be taken, and what it consists of. Functions of values.

use crate::metadata::log::kafka::COMPACTED;

use super::evidence::Resting;
use super::found::Found;
use super::obstacle::Obstacle;
use super::step::{Change, Step};
use super::words::{counted, duration};

/// How long different levels in one topic mean that somebody is at work.
const UNDER_WAY_MS: i64 = 120_000;
/// How long a record without a key behind the level record speaks of a writer that is still there.
const UNKEYED_WRITER_MS: i64 = 900_000;
const HIGHEST: i8 = 2;

/// What the operator wishes beside the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wish {
    /// Overrule what can be overruled.
    pub is_forced: bool,
    /// At level 1, let records go after this time: the KIP's way, which loses facts.
    pub retention_ms: Option<i64>,
    pub segment_ms: Option<i64>,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It is so already.
    Already,
    Go(Plan),
    /// Not yet: these pass by themselves.
    Wait(Vec<Obstacle>),
    /// Not like this.
    Refused(Vec<Obstacle>),
}

/// What is done, and what an operator has to know of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// What speaks against it and was overruled.
    pub overruled: Vec<Obstacle>,
    pub notes: Vec<String>,
}

/// From level 0 to level 1.
#[must_use]
pub fn to_1(found: &Found, wish: &Wish) -> Decision {
    let (lowest, highest) = found.levels();
    if lowest == HIGHEST {
        return Decision::Refused(vec![Obstacle::Downgrade { from: lowest, to: 1 }]);
    }
    let mut obstacles = common(found);
    // What has a key may be compacted at any level.
    let unkeyed = found.unkeyed_below(1);
    if found.is_compacted() && unkeyed > 0 {
        obstacles.push(Obstacle::CompactedTooEarly { unkeyed });
    }
    let mut plan = Plan::default();
    let changes = match wish.retention_ms {
        Some(retention_ms) => {
            plan.notes.push(lost_by_retention(found, retention_ms));
            let segment_ms = wish.segment_ms.unwrap_or(86_400_000);
            changes(found, &bounded(retention_ms, segment_ms))
        }
        None if highest < 2 => changes(found, UNBOUNDED),
        None => Vec::new(),
    };
    if !changes.is_empty() {
        plan.steps.push(Step::Set(changes));
    }
    let partitions = found.below(1);
    if !partitions.is_empty() {
        plan.steps.push(Step::WriteLevel { level: 1, partitions });
    }
    decide(obstacles, plan, wish)
}

/// From level 1 to level 2.
#[must_use]
pub fn to_2(found: &Found, wish: &Wish) -> Decision {
    let (lowest, _) = found.levels();
    let mut obstacles = common(found);
    if lowest < 1 {
        obstacles.insert(0, Obstacle::SkipsALevel { lowest });
    }
    obstacles.extend(of_keys(found));
    let mut plan = Plan::default();
    let changes = changes(found, &compacted(wish.segment_ms));
    // A topic that was created compacted may have been set otherwise since, by somebody who knows why.
    let is_to_be_set = lowest < HIGHEST || !found.is_compacted() || found.has_bounded_retention();
    if is_to_be_set && !changes.is_empty() {
        plan.steps.push(Step::Set(changes));
    }
    let partitions = found.below(2);
    if !partitions.is_empty() {
        plan.steps.push(Step::WriteLevel { level: 2, partitions });
    }
    plan.notes.extend(readers_begin_again(found));
    decide(obstacles, plan, wish)
}

fn decide(obstacles: Vec<Obstacle>, mut plan: Plan, wish: &Wish) -> Decision {
    let is_overruled = |obstacle: &Obstacle| wish.is_forced && obstacle.can_be_overruled();
    let (overruled, open): (Vec<_>, Vec<_>) = obstacles.into_iter().partition(is_overruled);
    if plan.steps.is_empty() && open.iter().all(Obstacle::can_be_overruled) {
        return Decision::Already;
    }
    if open.is_empty() {
        plan.overruled = overruled;
        Decision::Go(plan)
    } else if open.iter().all(Obstacle::passes) {
        Decision::Wait(open)
    } else {
        Decision::Refused(open)
    }
}

/// What speaks against any step.
fn common(found: &Found) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    let tally = found.evidence.survey().tally();
    let (lowest, highest) = found.levels();
    if highest > HIGHEST || tally.newer.count > 0 {
        obstacles.push(Obstacle::Newer { records: tally.newer.count, level: (highest > HIGHEST).then_some(highest) });
    }
    if found.brokers.is_empty() {
        obstacles.push(Obstacle::NoBrokers);
    }
    let others = found.brokers.iter().filter(|broker| !broker.runs.is_ours());
    let others: Vec<_> = others.map(|broker| (broker.id, broker.runs.clone())).collect();
    if !others.is_empty() {
        obstacles.push(Obstacle::Brokers(others));
    }
    if lowest != highest
        && let Some(age_ms) = found.evidence.newest_level_ms().map(|ms| found.now_ms.saturating_sub(ms).max(0))
        && age_ms < UNDER_WAY_MS
    {
        obstacles.push(Obstacle::UnderWay { lowest, highest, age_ms });
    }
    if let Some((first, last)) = found.added_partitions() {
        obstacles.push(Obstacle::Added { first, last });
    }
    if tally.misplaced.count > 0 {
        obstacles.push(Obstacle::Misplaced { records: tally.misplaced.count, partitions: found.partitions });
    }
    obstacles
}

/// What speaks against a cleaner that drops what has no key.
fn of_keys(found: &Found) -> Vec<Obstacle> {
    let mut obstacles = Vec::new();
    let count = |resting: &[&Resting]| u64::try_from(resting.len()).unwrap_or(u64::MAX);
    let (led, lost) = found.resting_by_leader();
    if !led.is_empty() {
        let mut partitions: Vec<_> = led.iter().map(|resting| name(resting)).collect();
        partitions.dedup();
        obstacles.push(Obstacle::Resting { facts: count(&led), partitions });
    }
    if !lost.is_empty() {
        let topics = found.lost_topics.values().map(ToString::to_string).collect();
        obstacles.push(Obstacle::RestingOfLostTopics { facts: count(&lost), topics });
    }
    if let Some(place) = found.evidence.newest_behind_level() {
        let age_ms = found.now_ms.saturating_sub(place.timestamp_ms).max(0);
        if age_ms < UNKEYED_WRITER_MS {
            obstacles.push(Obstacle::UnkeyedWriter {
                age_ms,
                wait_ms: UNKEYED_WRITER_MS - age_ms,
                place: format!("metadata partition {}, offset {}", place.partition, place.offset),
            });
        }
    }
    obstacles
}

fn name(resting: &Resting) -> String {
    format!("{}-{}", resting.segment.partition.topic, resting.segment.partition.partition)
}

/// Settings at level 1.
const UNBOUNDED: &[(&str, &str)] = &[("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")];

/// The KIP's settings of level 1.
fn bounded(retention_ms: i64, segment_ms: i64) -> Vec<(&'static str, String)> {
    vec![
        ("cleanup.policy", "compact,delete".to_owned()),
        ("retention.ms", retention_ms.to_string()),
        ("segment.ms", segment_ms.to_string()),
    ]
}

/// Settings of level 2, those of a topic that we create.
fn compacted(segment_ms: Option<i64>) -> Vec<(&'static str, String)> {
    let fixed = COMPACTED.iter().chain(&[("retention.ms", "-1")]);
    let wished = |&(name, value): &(&'static str, &str)| match segment_ms.filter(|_| name == "segment.ms") {
        Some(segment_ms) => (name, segment_ms.to_string()),
        None => (name, value.to_owned()),
    };
    fixed.map(wished).collect()
}

/// Those of `settings` that the topic doesn't have.
fn changes<V: AsRef<str>>(found: &Found, settings: &[(&'static str, V)]) -> Vec<Change> {
    let differs = |&(name, ref to): &(&'static str, V)| {
        let from = found.settings.get(name).cloned();
        (from.as_deref() != Some(to.as_ref())).then(|| Change { name, from, to: to.as_ref().to_owned() })
    };
    settings.iter().filter_map(differs).collect()
}

fn lost_by_retention(found: &Found, retention_ms: i64) -> String {
    format!(
        "with retention.ms={retention_ms} every record goes {} after it was written, {} in the log now: of a segment that \
         lives longer, what is known is lost unless its leader writes it again in time, and so is all of a partition whose \
         leader is away for so long. Leave --retention-ms away to lose nothing",
        duration(retention_ms),
        counted(found.evidence.live_segments(), "live segment")
    )
}

/// What is said of readers that have read what the cleaner is going to drop.
fn readers_begin_again(found: &Found) -> Option<String> {
    let age_ms = found.newest_unkeyed_age_ms()?;
    let count = found.evidence.unkeyed_count();
    let retention_ms = found.number("delete.retention.ms").unwrap_or(86_400_000);
    (age_ms < retention_ms).then(|| {
        format!(
            "{} without a key, the last one {} old, will be dropped by the log cleaner; every fact in them stands in a later \
             record with a key too. A broker that has read one and meets the gap reads the topic again from its beginning, \
             by itself",
            counted(count, "record"),
            duration(age_ms)
        )
    })
}
