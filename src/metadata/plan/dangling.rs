//! What is to be done about a segment that may have been left behind, decided from what is known here and now.
//!
//! | state | what proves that nobody is at it | what follows |
//! |---|---|---|
//! | COPY_STARTED | this process began it, and its copy has ended | claim; at level 0 its deletion begins |
//! | COPY_STARTED | this broker's, from before this process began | claim |
//! | COPY_STARTED | older than any copy may take | claim |
//! | any | its topic was seen gone twice | claim, or its deletion begins |
//! | DANGLING | our own reader shows it | its deletion begins |
//! | DELETE_STARTED | we began it, or nobody has ended it for a while | delete, grace, list again, DELETE_FINISHED |
//!
//! A claim is an attempt: the log decides between it and a late COPY_FINISHED, and nothing is deleted before our own
//! reader shows that it came first. An epoch that has moved on proves nothing.

use crate::metadata::partition::Unsettled;
use crate::model::SegmentState;

use super::{Level, Standing};

/// What this process knows of a segment beside its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    pub own: OwnCopy,
    /// When this process began, by its own clock. Earlier events of this broker are of a process that is dead.
    pub process_began_ms: i64,
    /// The topic's id was seen gone twice. It never comes back.
    pub is_topic_gone: bool,
    pub store: Store,
    pub cleanup: Cleanup,
}

/// Whether this process began the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnCopy {
    /// It did not, or has forgotten it.
    No,
    /// It did, and more may come: the copy runs, or has not ended long enough ago, or a record of it is in flight.
    Open,
    /// It did, and the copy has ended.
    Ended {
        /// Whether a COPY_FINISHED of it was handed to the log so short a time ago that it may still come, whatever was heard
        /// of it.
        is_finish_said: bool,
    },
}

/// The storage side, as far as it is in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// There is none: objects are the broker's to delete.
    Absent,
    /// It is known not to answer.
    Down,
    Usable,
}

/// How far this process has come with the objects of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cleanup {
    pub stage: Stage,
    /// Something is under way now: a record, a delete.
    pub is_busy: bool,
    /// Tries that failed since the last one that did not.
    pub failures: u32,
    pub failed_ms: i64,
}

/// What was done last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stage {
    /// Nothing by us.
    #[default]
    Idle,
    /// The deletion is ours: we wrote that it begins, or the broker was told that it has ended.
    Begun,
    /// A try failed.
    Failed,
    /// The store said that all is deleted. What was on its way then may have arrived since.
    Deleted { at_ms: i64 },
    /// A second look, after the grace, found nothing.
    Gone,
}

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delays {
    /// More than any copy may take, and by how much clocks may differ.
    pub lease_ms: i64,
    /// How long a deletion that somebody else began is left to them.
    pub delete_patience_ms: i64,
    /// From a delete to the second look.
    pub grace_ms: i64,
    /// From a failed delete to the next one; doubles with each failure up to `backoff_max_ms`.
    pub backoff_ms: i64,
    pub backoff_max_ms: i64,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing, whatever time it is.
    Keep,
    /// Nothing yet.
    Wait,
    /// Write DANGLING as a claim.
    Claim,
    /// Write DELETE_STARTED.
    BeginDelete,
    /// Delete the objects.
    Delete,
    /// Look whether anything came late, and delete that.
    ListAgain,
    /// Write DELETE_FINISHED.
    Finish,
    /// Write DANGLING again: the deletion failed.
    GiveBack,
}

impl Cleanup {
    fn is_resting(&self, now_ms: i64, delays: &Delays) -> bool {
        if self.failures == 0 {
            return false;
        }
        let factor = 1_i64.checked_shl(self.failures - 1).filter(|&factor| factor > 0).unwrap_or(i64::MAX);
        let pause = delays.backoff_ms.saturating_mul(factor).min(delays.backoff_max_ms);
        now_ms.saturating_sub(self.failed_ms) < pause
    }
}

/// What is to be done about `segment`.
///
/// `standing` is that of a leader, also for a partition whose topic is gone. Without leadership, or before the reader has
/// met the end, everything waits.
#[must_use]
pub fn judge(segment: &Unsettled, evidence: &Evidence, standing: &Standing, delays: &Delays) -> Verdict {
    if evidence.cleanup.is_busy || standing.leadership.is_none() || !standing.is_current {
        return Verdict::Wait;
    }
    match segment.metadata.state {
        SegmentState::CopyStarted => judge_attempt(segment, evidence, standing, delays),
        SegmentState::CopyFinished if evidence.is_topic_gone => match evidence.store {
            Store::Absent => Verdict::Keep,
            Store::Down => Verdict::Wait,
            Store::Usable => Verdict::BeginDelete,
        },
        SegmentState::CopyFinished | SegmentState::DeleteFinished => Verdict::Keep,
        SegmentState::Dangling => judge_dangling(evidence, standing, delays),
        SegmentState::DeleteStarted => judge_deletion(segment, evidence, standing, delays),
    }
}

fn judge_attempt(segment: &Unsettled, evidence: &Evidence, standing: &Standing, delays: &Delays) -> Verdict {
    let is_level_0 = standing.level == Level::Zero;
    match evidence.own {
        OwnCopy::Open => return Verdict::Wait,
        // At level 0 nothing decides between a deletion and a COPY_FINISHED that is still on its way.
        OwnCopy::Ended { is_finish_said: true } if is_level_0 && !evidence.is_topic_gone => return Verdict::Wait,
        // Written also while the store is down: at level 0 only this process knows that it must be deleted.
        OwnCopy::Ended { .. } if is_level_0 => return Verdict::BeginDelete,
        OwnCopy::Ended { .. } => return Verdict::Claim,
        OwnCopy::No => {}
    }
    match (is_level_0, evidence.is_topic_gone, evidence.store) {
        (false, _, _) if is_abandoned(segment, evidence, standing, delays) => Verdict::Claim,
        (true, true, Store::Absent) => Verdict::Keep,
        (false, true, Store::Absent) => Verdict::Claim,
        // No claim: it would say that nobody copies any more, and that is not known.
        (_, true, Store::Down | Store::Usable) => Verdict::BeginDelete,
        (true, false, _) => Verdict::Keep,
        (false, false, _) => Verdict::Wait,
    }
}

/// Whether no process can still be copying another process's attempt.
fn is_abandoned(segment: &Unsettled, evidence: &Evidence, standing: &Standing, delays: &Delays) -> bool {
    let attempt = &segment.metadata;
    let is_own_broker = standing.me.0 >= 0 && attempt.broker_id == standing.me;
    if is_own_broker && attempt.event_timestamp_ms < evidence.process_began_ms {
        return true;
    }
    // A time that has not come yet is a clock that is wrong by nobody knows how much, and proves nothing either.
    standing.now_ms.saturating_sub(attempt.event_timestamp_ms) > delays.lease_ms
}

fn judge_dangling(evidence: &Evidence, standing: &Standing, delays: &Delays) -> Verdict {
    match evidence.store {
        Store::Absent => Verdict::Keep,
        Store::Down => Verdict::Wait,
        Store::Usable if evidence.cleanup.is_resting(standing.now_ms, delays) => Verdict::Wait,
        Store::Usable => Verdict::BeginDelete,
    }
}

fn judge_deletion(segment: &Unsettled, evidence: &Evidence, standing: &Standing, delays: &Delays) -> Verdict {
    let (cleanup, now_ms) = (&evidence.cleanup, standing.now_ms);
    let is_patient = |since_ms: i64, patience_ms: i64| now_ms.saturating_sub(since_ms) < patience_ms;
    // Whoever may still be copying ends within the lease, and may die before it looks whether that is wanted.
    let is_over = segment.is_copy_over || matches!(evidence.own, OwnCopy::Ended { .. });
    let late_ms = if is_over { delays.grace_ms } else { delays.grace_ms.max(delays.lease_ms) };
    match cleanup.stage {
        Stage::Gone => Verdict::Finish,
        _ if evidence.store == Store::Absent => Verdict::Keep,
        Stage::Failed if standing.level > Level::Zero => Verdict::GiveBack,
        _ if evidence.store == Store::Down || cleanup.is_resting(now_ms, delays) => Verdict::Wait,
        Stage::Deleted { at_ms } if is_patient(at_ms, late_ms) => Verdict::Wait,
        Stage::Deleted { .. } => Verdict::ListAgain,
        Stage::Idle if !evidence.is_topic_gone && is_patient(segment.seen_ms, delays.delete_patience_ms) => {
            Verdict::Wait
        }
        Stage::Idle | Stage::Begun | Stage::Failed => Verdict::Delete,
    }
}

#[cfg(test)]
mod tests;
