//! From a call to a record, and from the record to the caller's answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::metadata::MetadataError;
use crate::metadata::log::LogError;
use crate::metadata::partition::{Outcome, Refusal};
use crate::metadata::plan::{self, Denied, Draft, Level, Standing, Step};
use crate::model::{LeaderEpoch, PartitionDelete, SegmentId, SegmentMetadata, SegmentUpdate, TopicIdPartition};

use super::Pending;
use super::core::Core;
use super::delay;
use super::directory::{MetaPartition, SharedState};
use super::waiters::{Known, Write};

/// Level of every log so far. A log with a record that says otherwise is still written to in the forms of level 0, which
/// every reader understands.
const LEVEL: Level = Level::Zero;

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

pub(super) fn add(core: &Arc<Core>, segment: SegmentMetadata, admission: Duration) -> Result<Pending, MetadataError> {
    let id = segment.id.clone();
    // What is wrong with the call itself is said first, whether the partition is ready or not.
    if let Some(what) = plan::why_never(&segment) {
        return Err(MetadataError::InvalidArgument { what });
    }
    let epoch = leader_epoch(core, &id.partition, admission)?;
    delay::admit(core, &segment)?;
    let admitted = Admitted::begin(core, &id.partition)?;
    let draft = plan::add(&mut admitted.state.write(), &standing(Some(epoch), &segment), segment);
    let draft = draft.map_err(|denied| refusal(denied, &id))?;
    Ok(admitted.submit(draft, Subject::Segment(id)))
}

pub(super) fn update(core: &Arc<Core>, update: SegmentUpdate) -> Result<Pending, MetadataError> {
    let id = update.id.clone();
    if let Some(what) = plan::why_never_to(&update, LEVEL) {
        return Err(MetadataError::InvalidArgument { what });
    }
    let admitted = Admitted::begin(core, &id.partition)?;
    let standing = Standing {
        level: LEVEL,
        me: update.broker_id,
        leadership: None,
        is_current: true,
        now_ms: update.event_timestamp_ms,
    };
    let nonce = uuid::Uuid::new_v4().as_u64_pair().0;
    let step = plan::update(&admitted.state.read(), &standing, update, nonce);
    match step.map_err(|denied| refusal(denied, &id))? {
        Step::Write(draft) => Ok(admitted.submit(draft, Subject::Segment(id))),
        Step::AlreadySo => Ok(Box::pin(std::future::ready(Ok(())))),
    }
}

pub(super) fn partition_delete(core: &Arc<Core>, delete: &PartitionDelete) -> Result<Pending, MetadataError> {
    let admitted = Admitted::begin(core, &delete.partition)?;
    let standing = Standing {
        level: LEVEL,
        me: delete.broker_id,
        leadership: None,
        is_current: true,
        now_ms: delete.event_timestamp_ms,
    };
    let draft = plan::partition_delete(&admitted.state.read(), &standing, delete.clone());
    Ok(admitted.submit(draft, Subject::Partition(delete.partition.clone())))
}

fn refusal(denied: Denied, segment: &SegmentId) -> MetadataError {
    let not_ready = |why: &str| MetadataError::NotReady { partition: segment.partition.clone(), why: why.to_owned() };
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

/// Whoever adds leads; that the reader is current is what readiness says so far.
fn standing(leadership: Option<LeaderEpoch>, segment: &SegmentMetadata) -> Standing {
    Standing { level: LEVEL, me: segment.broker_id, leadership, is_current: true, now_ms: segment.event_timestamp_ms }
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
        let admitted = core.with_ready(partition, |_, bound| {
            bound.meta.write_begins();
            core.instruments.writes_in_flight.add(1);
            Self {
                core: Arc::clone(core),
                meta: Arc::clone(&bound.meta),
                state: Arc::clone(&bound.state),
                write: core.waiters.lock().begin(bound.meta.index),
                since: Instant::now(),
            }
        })?;
        // Closing forgets all assignments after it is told: what was let in before sees it here or while it waits.
        if core.is_closed() { Err(MetadataError::Closed) } else { Ok(admitted) }
    }

    /// Appends the record; its place in the log is decided when this returns.
    fn submit(self, draft: Draft, subject: Subject) -> Pending {
        let (log, index) = (Arc::clone(&self.core.log), self.meta.index);
        let (key, value) = (draft.key.to_bytes(), draft.value(LEVEL));
        let mut append: Pin<Box<dyn Future<Output = Result<i64, LogError>> + Send>> =
            Box::pin(async move { log.append(index, Some(key), value).await });
        let runtime = self.core.env.runtime.clone();
        let first = {
            let _entered = runtime.enter();
            append.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        };
        let task = runtime.spawn(async move {
            let core = Arc::clone(&self.core);
            let work = async {
                let offset = match first {
                    Poll::Ready(offset) => offset,
                    Poll::Pending => append.await,
                };
                self.await_reader(offset?, &subject).await
            };
            let result = tokio::select! {
                biased;
                () = core.closed() => Err(MetadataError::Closed),
                result = work => result,
            };
            match &result {
                Ok(()) => core.instruments.write.record(self.since.elapsed()),
                Err(_) => core.instruments.writes_failed.increment(),
            }
            result
        });
        // A task that vanished was taken down with its runtime.
        Box::pin(async move { task.await.unwrap_or(Err(MetadataError::Closed)) })
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
                    Ok(outcome) => outcome.map_err(|_| MetadataError::Closed)?,
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
