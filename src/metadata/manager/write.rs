//! From a call to a record, and from the record to the caller's answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::metadata::MetadataError;
use crate::metadata::log::LogError;
use crate::metadata::partition::{Outcome, Refusal};
use crate::metadata::plan::{self, Denied, Draft, DraftBody, Level, Step};
use crate::model::{
    LeaderEpoch, PartitionDelete, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate, TopicIdPartition,
};

use super::Pending;
use super::core::Core;
use super::delay::{self, now_ms};
use super::directory::{MetaPartition, SharedState};
use super::upkeep::{self, Place};
use super::waiters::{Known, Write};

/// A write that was let in; keeps its metadata partition being read until it is over.
struct Admitted {
    core: Arc<Core>,
    meta: Arc<MetaPartition>,
    state: SharedState,
    write: Write,
    since: Instant,
}

/// What an answer is about.
enum Subject {
    Segment(SegmentId),
    Partition(TopicIdPartition),
}

/// What comes behind a write.
enum Purpose {
    /// An attempt begins.
    Add,
    /// An attempt has finished, if nobody was faster.
    Finish,
    /// Something else that the host said.
    Told,
    /// Something that nobody waits for.
    Upkeep,
}

pub(super) fn add(core: &Arc<Core>, segment: SegmentMetadata, admission: Duration) -> Result<Pending, MetadataError> {
    let id = segment.id.clone();
    // What is wrong with the call itself is said first, whether the partition is ready or not.
    if let Some(what) = plan::why_never(&segment) {
        return Err(MetadataError::InvalidArgument { what });
    }
    let epoch = leader_epoch(core, &id.partition, admission)?;
    delay::admit(core, &segment)?;
    let admitted = Admitted::begin(core, &id.partition)?;
    let standing = core.standing(&admitted.meta, Some(epoch));
    if !standing.is_current {
        return Err(denied(&id.partition, &id, Denied::NotCurrent));
    }
    // Last, as a store that is down lets single ones through to find out, and first of what leaves a trace.
    upkeep::admit(core, &id)?;
    core.upkeep.attempts.begin(&id, standing.now_ms);
    let draft = {
        let mut state = admitted.state.write();
        match admitted.meta.is_read_again() {
            false => plan::add(&mut state, &standing, segment),
            true => Err(Denied::NotCurrent),
        }
    };
    match draft {
        Ok(draft) => Ok(admitted.submit(&draft, standing.level, Subject::Segment(id), Purpose::Add)),
        Err(why) => {
            core.upkeep.attempts.heard(&id, standing.now_ms, true);
            Err(denied(&id.partition, &id, why))
        }
    }
}

pub(super) fn update(core: &Arc<Core>, update: SegmentUpdate) -> Result<Pending, MetadataError> {
    let id = update.id.clone();
    // What no level allows is said first, whether the partition is ready or not.
    if let Some(what) = plan::why_never_to(&update, Level::Two) {
        return Err(MetadataError::InvalidArgument { what });
    }
    let admitted = Admitted::begin(core, &id.partition)?;
    let standing = core.standing(&admitted.meta, core.leadership(&id.partition));
    let from = admitted.state.read().state_of(&id);
    let Some(update) = upkeep::take_over_end(core, from, &standing, update) else {
        return Ok(Box::pin(std::future::ready(Ok(()))));
    };
    let is_finish = update.state == SegmentState::CopyFinished;
    let step = if is_finish && !core.upkeep.attempts.finish(&id, standing.now_ms) {
        Err(Denied::Refused { from: from.unwrap_or(SegmentState::DeleteStarted), to: update.state })
    } else {
        let state = admitted.state.read();
        match admitted.meta.is_read_again() {
            false => plan::update(&state, &standing, update, nonce()),
            true => Err(Denied::NotCurrent),
        }
    };
    let purpose = if is_finish { Purpose::Finish } else { Purpose::Told };
    let why = match step {
        Ok(Step::Write(draft)) => {
            return Ok(admitted.submit(&draft, standing.level, Subject::Segment(id), purpose));
        }
        Ok(Step::AlreadySo) => None,
        Err(why) => Some(denied(&id.partition, &id, why)),
    };
    if is_finish {
        core.upkeep.finish_ended(&id, standing.now_ms, why.as_ref());
    }
    why.map_or_else(|| Ok(Box::pin(std::future::ready(Ok(()))) as Pending), Err)
}

pub(super) fn partition_delete(core: &Arc<Core>, delete: &PartitionDelete) -> Result<Pending, MetadataError> {
    let admitted = Admitted::begin(core, &delete.partition)?;
    let standing = core.standing(&admitted.meta, core.leadership(&delete.partition));
    let draft = plan::partition_delete(&admitted.state.read(), &standing, delete.clone());
    Ok(admitted.submit(&draft, standing.level, Subject::Partition(delete.partition.clone()), Purpose::Told))
}

/// Writes a record of upkeep's. Its place in the log is decided when this returns.
pub(super) fn submit(core: &Arc<Core>, place: &Place, draft: &Draft, level: Level) -> Pending {
    let subject = match &draft.body {
        DraftBody::Segment { metadata, .. } => Subject::Segment(metadata.id.clone()),
        DraftBody::Update { update, .. } => Subject::Segment(update.id.clone()),
        DraftBody::PartitionDelete { .. } | DraftBody::Tombstone => Subject::Partition(place.partition.clone()),
    };
    match Admitted::at(core, place) {
        Ok(admitted) => admitted.submit(draft, level, subject, Purpose::Upkeep),
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}

/// A number that no other claim has.
pub(super) fn nonce() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}

pub(super) fn denied(partition: &TopicIdPartition, segment: &SegmentId, denied: Denied) -> MetadataError {
    let not_ready = |why: &str| MetadataError::NotReady { partition: partition.clone(), why: why.to_owned() };
    match denied {
        Denied::InvalidArgument(what) => MetadataError::InvalidArgument { what },
        Denied::Refused { from, to } => {
            MetadataError::Refused { segment: segment.clone(), from, to, is_written: false }
        }
        Denied::UnknownSegment => MetadataError::UnknownSegment { segment: segment.clone() },
        Denied::NotLed => not_ready("this broker does not lead it"),
        Denied::NotCurrent => not_ready("the end of the log has not been reached lately"),
    }
}

fn leader_epoch(
    core: &Arc<Core>,
    partition: &TopicIdPartition,
    admission: Duration,
) -> Result<LeaderEpoch, MetadataError> {
    let assignment = core.with_ready(partition, |assignment, _| Arc::clone(assignment))?;
    assignment.leadership.epoch(admission, || core.is_closed()).map_err(|why| match core.is_closed() {
        true => MetadataError::Closed,
        false => MetadataError::NotReady { partition: partition.clone(), why },
    })
}

impl Admitted {
    fn begin(core: &Arc<Core>, partition: &TopicIdPartition) -> Result<Self, MetadataError> {
        let admitted = core.with_ready(partition, |_, bound| Self::new(core, &bound.meta, &bound.state))?;
        // Closing forgets all assignments after it is told: what was let in before sees it here or while it waits.
        if core.is_closed() { Err(MetadataError::Closed) } else { Ok(admitted) }
    }

    /// A write to a partition that need not be assigned, as long as its metadata partition is still read.
    fn at(core: &Arc<Core>, place: &Place) -> Result<Self, MetadataError> {
        let admitted = {
            let directory = core.directory.read();
            let meta = directory.meta.get(&place.meta.index);
            let is_read = meta.is_some_and(|meta| Arc::ptr_eq(meta, &place.meta)) && !core.is_doubted();
            is_read.then(|| Self::new(core, &place.meta, &place.state))
        };
        let why = || "its records are no longer read here".to_owned();
        let admitted =
            admitted.ok_or_else(|| MetadataError::NotReady { partition: place.partition.clone(), why: why() })?;
        if core.is_closed() { Err(MetadataError::Closed) } else { Ok(admitted) }
    }

    /// Must be called while the directory does not change.
    fn new(core: &Arc<Core>, meta: &Arc<MetaPartition>, state: &SharedState) -> Self {
        meta.write_begins();
        core.instruments.writes_in_flight.add(1);
        Self {
            core: Arc::clone(core),
            meta: Arc::clone(meta),
            state: Arc::clone(state),
            write: core.waiters.lock().begin(meta.index),
            since: Instant::now(),
        }
    }

    /// Appends the record; its place in the log is decided when this returns.
    fn submit(self, draft: &Draft, level: Level, subject: Subject, purpose: Purpose) -> Pending {
        let (log, index) = (Arc::clone(&self.core.log), self.meta.index);
        let (key, value) = (draft.key.to_bytes(), draft.value(level));
        let mut append: Pin<Box<dyn Future<Output = Result<i64, LogError>> + Send>> =
            Box::pin(async move { log.append(index, Some(key), value).await });
        let runtime = self.core.env.runtime.clone();
        let first = {
            let _entered = runtime.enter();
            append.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        let task = runtime.spawn(async move {
            let core = Arc::clone(&self.core);
            // In a place of its own: a task of more than a kilobyte is slow to get memory for, and there are thousands.
            let work = Box::pin(async {
                let offset = match first {
                    Poll::Ready(offset) => offset,
                    Poll::Pending => append.await,
                };
                self.await_reader(offset?, &subject).await
            });
            let result = tokio::select! {
                biased;
                () = core.closed() => Err(MetadataError::Closed),
                result = work => result,
            };
            match &result {
                Ok(()) => core.instruments.write.record(self.since.elapsed()),
                Err(_) => core.instruments.writes_failed.increment(),
            }
            self.ended(&subject, &purpose, result.as_ref().err());
            result
        });
        // A task that vanished was taken down with its runtime.
        Box::pin(async move { task.await.unwrap_or(Err(MetadataError::Closed)) })
    }

    /// Tells upkeep what became of a write of the host's, also if the host has not waited.
    fn ended(&self, subject: &Subject, purpose: &Purpose, error: Option<&MetadataError>) {
        let (Subject::Segment(id), upkeep) = (subject, &self.core.upkeep) else { return };
        match purpose {
            Purpose::Add => upkeep.attempts.heard(id, now_ms(), error.is_some()),
            Purpose::Finish => upkeep.finish_ended(id, now_ms(), error),
            Purpose::Told | Purpose::Upkeep => {}
        }
        let is_end = error.is_some() || matches!(purpose, Purpose::Finish | Purpose::Told);
        if is_end && !matches!(purpose, Purpose::Upkeep) && self.state.read().work().is_unsettled() {
            upkeep.nudges.nudge(&id.partition);
        }
    }

    async fn await_reader(&self, offset: i64, subject: &Subject) -> Result<(), MetadataError> {
        let known = self.core.waiters.lock().landed(self.write, offset);
        let outcome = match known {
            Known::Now(outcome) => outcome,
            Known::Misplaced => {
                return Err(MetadataError::Log(LogError::Mismatch {
                    what: format!("write {subject}"),
                    log: "the metadata log".to_owned(),
                    why: format!(
                        "the record has offset {offset} of metadata partition {}, where another one was read before; was \
                         the log deleted?",
                        self.meta.index
                    ),
                }));
            }
            Known::Later(outcome) => {
                let wait = self.core.options.consume_wait;
                match tokio::time::timeout(wait, outcome).await {
                    Ok(outcome) => outcome.map_err(|_| match self.core.is_closed() {
                        true => MetadataError::Closed,
                        false => MetadataError::Log(LogError::Mismatch {
                            what: format!("write {subject}"),
                            log: "the metadata log".to_owned(),
                            why: "another one took its place before the record was read".to_owned(),
                        }),
                    })?,
                    Err(_) => {
                        return Err(MetadataError::Timeout {
                            what: format!("{subject} at offset {offset} of metadata partition {}", self.meta.index),
                            waited_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                        });
                    }
                }
            }
        };
        match (outcome, subject) {
            (Outcome::Applied, _) => Ok(()),
            (Outcome::Refused(Refusal::Step { from, to }), Subject::Segment(segment)) => {
                Err(MetadataError::Refused { segment: segment.clone(), from, to, is_written: true })
            }
            // A tombstone.
            (_, Subject::Partition(_)) => Ok(()),
            (Outcome::Kept, Subject::Segment(segment)) => {
                Err(MetadataError::UnknownSegment { segment: segment.clone() })
            }
            (outcome, subject) => {
                Err(MetadataError::Internal { what: format!("{subject}: our own record came to {outcome:?}") })
            }
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.core.waiters.lock().end(self.write);
        self.core.instruments.writes_in_flight.add(-1);
        if self.meta.write_ends() {
            self.core.bell.ring();
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Segment(segment) => segment.fmt(f),
            Self::Partition(partition) => partition.fmt(f),
        }
    }
}
