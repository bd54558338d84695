//! From a call to a record, and from the record to the caller's answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::metadata::MetadataError;
use crate::metadata::log::LogError;
use crate::metadata::partition::{Outcome, Refusal, impossible};
use crate::metadata::plan::{Level, add_key, partition_delete_key, update_key};
use crate::model::{
    LeaderEpoch, PartitionDelete, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate, TopicIdPartition,
};
use crate::wire::{self, RecordKey};

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
    let to = SegmentState::CopyStarted;
    if segment.state != to {
        let what = format!("{}: a segment is added in state {to}, not {}", segment.id, segment.state);
        return Err(MetadataError::InvalidArgument { what });
    }
    if let Some(why) = impossible(&segment) {
        return Err(MetadataError::InvalidArgument { what: format!("{}: {why}", segment.id) });
    }
    let epoch = leader_epoch(core, &segment.id.partition, admission)?;
    delay::admit(core, &segment)?;
    let admitted = Admitted::begin(core, &segment.id.partition)?;
    let naming = {
        let mut state = admitted.state.write();
        match state.state_of(&segment.id) {
            None | Some(SegmentState::CopyStarted) => {}
            Some(from) => return Err(MetadataError::Refused { segment: segment.id, from, to, is_written: false }),
        }
        match state.naming_of(&segment.id) {
            Some((_, naming)) => naming,
            None => state.claim_naming(&segment.id, segment.end_offset, epoch),
        }
    };
    let key = add_key(&segment.id.partition, segment.end_offset, segment.id.uuid, naming);
    let value = wire::encode_segment(&segment, naming.epoch, LEVEL.value_version());
    Ok(admitted.submit(&key, value, Subject::Segment(segment.id)))
}

pub(super) fn update(core: &Arc<Core>, mut update: SegmentUpdate) -> Result<Pending, MetadataError> {
    let to = update.state;
    if to == SegmentState::CopyStarted || !LEVEL.may_write(to) {
        let why = match to {
            SegmentState::Dangling => "stock brokers cannot read it; DELETE_SEGMENT_STARTED stands for it",
            _ => "a segment is added in this state",
        };
        return Err(MetadataError::InvalidArgument { what: format!("{}: no update to {to}: {why}", update.id) });
    }
    let admitted = Admitted::begin(core, &update.id.partition)?;
    let (from, end_offset, naming) = {
        let state = admitted.state.read();
        let from = match state.state_of(&update.id) {
            Some(SegmentState::DeleteFinished) if to == SegmentState::DeleteFinished => {
                // Said again by somebody who did not hear the answer.
                return Ok(Box::pin(std::future::ready(Ok(()))));
            }
            None | Some(SegmentState::DeleteFinished) => {
                return Err(MetadataError::UnknownSegment { segment: update.id });
            }
            Some(SegmentState::CopyFinished)
                if to == SegmentState::CopyFinished
                    && [None, state.custom_metadata_of(&update.id)].contains(&update.custom_metadata) =>
            {
                // Not written again: the order in which copies finish decides which of them serve reads, and the later
                // of two records would be the one that compaction keeps.
                return Ok(Box::pin(std::future::ready(Ok(()))));
            }
            Some(from) if from.writer_may(to) => from,
            Some(from) => return Err(MetadataError::Refused { segment: update.id, from, to, is_written: false }),
        };
        let Some((end_offset, naming)) = state.naming_of(&update.id) else {
            return Err(MetadataError::UnknownSegment { segment: update.id });
        };
        if update.custom_metadata.is_none() {
            // A reader replaces it by what the update says, also by nothing.
            update.custom_metadata = state.custom_metadata_of(&update.id);
        }
        (from, end_offset, naming)
    };
    let nonce = uuid::Uuid::new_v4().as_u64_pair().0;
    let key = update_key(&update.id.partition, end_offset, update.id.uuid, naming, (from, to), nonce);
    let value = wire::encode_update(&update, naming.epoch, Some(end_offset), LEVEL.value_version());
    Ok(admitted.submit(&key, value, Subject::Segment(update.id)))
}

pub(super) fn partition_delete(core: &Arc<Core>, delete: &PartitionDelete) -> Result<Pending, MetadataError> {
    let admitted = Admitted::begin(core, &delete.partition)?;
    let value = wire::encode_partition_delete(delete, LeaderEpoch::UNKNOWN, None, LEVEL.value_version());
    Ok(admitted.submit(&partition_delete_key(&delete.partition), value, Subject::Partition(delete.partition.clone())))
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
    fn submit(self, key: &RecordKey, value: Bytes, subject: Subject) -> Pending {
        let (log, index, key) = (Arc::clone(&self.core.log), self.meta.index, key.to_bytes());
        let mut append: Pin<Box<dyn Future<Output = Result<i64, LogError>> + Send>> =
            Box::pin(async move { log.append(index, Some(key), Some(value)).await });
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
