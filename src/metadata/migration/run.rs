//! Taking the steps, and telling of it. The only place with an order of events; all that it decides by is elsewhere.

use crate::metadata::log::LogError;

use super::cluster::Cluster;
use super::decide::{Decision, Plan, Wish, to_1, to_2};
use super::found::Found;
use super::obstacle::Obstacle;
use super::step::Step;

/// What an operator asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Say whether level 2 can be had, or which step comes first. Nothing is written.
    Check,
    Level1,
    Level2,
    /// Level 1, then level 2 as soon as it can be had.
    Auto,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The goal is reached; of a check: the next level can be had now.
    Done,
    /// Not yet; it passes by itself.
    NotYet,
    /// Somebody has to do something first.
    Refused,
}

/// How long facts are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Between two looks.
    pub poll_ms: u64,
    /// Without any progress.
    pub stall_ms: u64,
}

/// Where it is told what happens; in this order, each as soon as it is known.
pub trait Events {
    /// What there is, once before the first decision.
    fn found(&mut self, found: &Found);
    /// What is going to be done.
    fn planned(&mut self, plan: &Plan);
    fn taken(&mut self, step: &Step);
    fn is_already(&mut self, level: i8);
    /// A level is reached, as a second look has shown.
    fn reached(&mut self, level: i8, found: &Found);
    /// What stands in the way, while it is waited for.
    fn waiting(&mut self, obstacles: &[Obstacle], found: &Found);
    fn not_yet(&mut self, obstacles: &[Obstacle]);
    fn refused(&mut self, obstacles: &[Obstacle]);
    /// Of a check: this step can be taken now.
    fn ready_for(&mut self, level: i8, plan: &Plan);
}

/// Goes for the goal.
///
/// # Errors
/// [`LogError`] if the cluster cannot be looked at or changed. What was told as taken is done; the same call goes on from
/// there.
pub fn pursue(
    cluster: &dyn Cluster,
    goal: Goal,
    wish: &Wish,
    patience: Patience,
    events: &mut dyn Events,
) -> Result<Ending, LogError> {
    let found = cluster.look()?;
    events.found(&found);
    match goal {
        Goal::Check => Ok(check(&found, wish, events)),
        Goal::Level1 => climb(cluster, &found, 1, wish, events),
        Goal::Level2 => climb(cluster, &found, 2, wish, events),
        Goal::Auto => {
            if found.levels().0 < 1 {
                match climb(cluster, &found, 1, wish, events)? {
                    Ending::Done => {}
                    ending => return Ok(ending),
                }
                drop(found);
                return wait_and_climb(cluster, cluster.look()?, wish, patience, events);
            }
            wait_and_climb(cluster, found, wish, patience, events)
        }
    }
}

fn check(found: &Found, wish: &Wish, events: &mut dyn Events) -> Ending {
    let (lowest, _) = found.levels();
    let (level, decision) = if lowest < 1 { (1, to_1(found, wish)) } else { (2, to_2(found, wish)) };
    match decision {
        Decision::Already => events.is_already(level),
        Decision::Go(plan) => events.ready_for(level, &plan),
        Decision::Wait(obstacles) => {
            events.not_yet(&obstacles);
            return Ending::NotYet;
        }
        Decision::Refused(obstacles) => {
            events.refused(&obstacles);
            return Ending::Refused;
        }
    }
    Ending::Done
}

fn climb(
    cluster: &dyn Cluster,
    found: &Found,
    level: i8,
    wish: &Wish,
    events: &mut dyn Events,
) -> Result<Ending, LogError> {
    let decision = if level == 1 { to_1(found, wish) } else { to_2(found, wish) };
    match decision {
        Decision::Already => events.is_already(level),
        Decision::Wait(obstacles) => {
            events.not_yet(&obstacles);
            return Ok(Ending::NotYet);
        }
        Decision::Refused(obstacles) => {
            events.refused(&obstacles);
            return Ok(Ending::Refused);
        }
        Decision::Go(plan) => {
            events.planned(&plan);
            for step in &plan.steps {
                match step {
                    Step::Set(changes) => cluster.set(changes)?,
                    Step::WriteLevel { level, partitions } => cluster.write_level(*level, partitions)?,
                }
                events.taken(step);
            }
            confirm(cluster, level, events)?;
        }
    }
    Ok(Ending::Done)
}

/// Looks again: what is told as done is what a reader sees.
fn confirm(cluster: &dyn Cluster, level: i8, events: &mut dyn Events) -> Result<(), LogError> {
    let after = cluster.look()?;
    let missing = after.below(level);
    if missing.is_empty() {
        events.reached(level, &after);
        return Ok(());
    }
    let why = format!(
        "the level record was acknowledged, but a reader does not find level {level} in metadata partitions {missing:?}: \
         another level record came behind it. Is somebody else at it? Try again when they are done"
    );
    Err(LogError::Mismatch { what: format!("confirm level {level}"), log: after.log, why })
}

fn wait_and_climb(
    cluster: &dyn Cluster,
    mut found: Found,
    wish: &Wish,
    patience: Patience,
    events: &mut dyn Events,
) -> Result<Ending, LogError> {
    // Bounded retention is a wish for level 1 only.
    let wish = Wish { retention_ms: None, ..*wish };
    let (mut fewest, mut waited_ms) = (usize::MAX, 0);
    loop {
        let Decision::Wait(obstacles) = to_2(&found, &wish) else {
            return climb(cluster, &found, 2, &wish, events);
        };
        // Only a look that finds less than every one before it is progress.
        if found.resting.len() < fewest {
            (fewest, waited_ms) = (found.resting.len(), 0);
        }
        if waited_ms >= patience.stall_ms {
            events.not_yet(&obstacles);
            return Ok(Ending::NotYet);
        }
        events.waiting(&obstacles, &found);
        cluster.pause(patience.poll_ms);
        waited_ms += patience.poll_ms;
        found = cluster.look()?;
    }
}
