//! What a broker does with a segment, step by step: the stock broker's order of calls, and our two sides below it.

use undercroft::metadata::plan::{self, Draft, DraftBody};
use undercroft::model::{LeaderEpoch, SegmentMetadata, SegmentState, SegmentUpdate};
use undercroft::wire::{Lane, SegmentKey};

use crate::broker::{Task, Ticket};
use crate::fault::Fault;
use crate::op::{B, How, S};
use crate::world::{World, segment_id};

/// Longest time that a copy may take: later it gives up by itself.
pub const COPY_MS: i64 = 600_000;

/// What became of a wish to write.
pub(crate) enum Written {
    Sent(Ticket),
    AlreadySo,
    Denied,
}

impl World {
    /// Writes that a segment is in another state, as far as the plan allows.
    pub(crate) fn write_update(&mut self, b: B, seg: S, to: SegmentState, nonce: u64) -> Written {
        let (now_ms, faults) = (self.now_ms, self.faults);
        let ticket = self.ticket();
        let early = self.writer_level(b);
        let has_custom = self.added.get(&seg).is_some_and(|added| added.has_custom);
        let broker = self.broker(b);
        let mut standing = broker.standing(now_ms, &faults);
        standing.level = early.unwrap_or(standing.level);
        let custom_metadata = match to {
            SegmentState::CopyFinished => has_custom.then(|| seg.to_be_bytes().to_vec().into()),
            _ => broker.reader.state.custom_metadata_of(&segment_id(seg)),
        };
        let update = SegmentUpdate {
            id: segment_id(seg),
            broker_id: broker.me(),
            event_timestamp_ms: standing.now_ms,
            custom_metadata,
            state: to,
        };
        match plan::update(&broker.reader.state, &standing, update.clone(), nonce) {
            Ok(plan::Step::Write(draft)) => Written::Sent(broker.send(&draft, standing.level, ticket, now_ms)),
            Ok(plan::Step::AlreadySo) => Written::AlreadySo,
            Err(_) if to == SegmentState::CopyFinished && faults.has(Fault::RefusedFinishIsWritten) => {
                self.write_refused_finish(b, seg, ticket)
            }
            Err(_) => {
                self.counts.refused_updates += 1;
                Written::Denied
            }
        }
    }

    /// Fault: a whole record says what an update may not.
    fn write_refused_finish(&mut self, b: B, seg: S, ticket: Ticket) -> Written {
        let (now_ms, faults, epoch) = (self.now_ms, self.faults, self.epoch);
        let broker = self.broker(b);
        let (id, level) = (segment_id(seg), broker.standing(now_ms, &faults).level);
        let known = broker.reader.state.list(None).into_iter().find(|metadata| metadata.id == id);
        let (Some(metadata), Some((end_offset, naming))) = (known, broker.reader.state.naming_of(&id)) else {
            return Written::Denied;
        };
        let lane = Lane::Rewrite { segment: id.uuid, writer_epoch: LeaderEpoch(epoch) };
        let key = SegmentKey {
            partition: (&id.partition).into(),
            end_offset,
            leader_epoch: naming.epoch,
            attempt: naming.has_segment_id.then_some(id.uuid),
            lane,
        };
        let metadata = SegmentMetadata { state: SegmentState::CopyFinished, ..metadata };
        let body = DraftBody::Segment { metadata, leader_epoch: naming.epoch };
        Written::Sent(broker.send(&Draft { key: key.into(), body }, level, ticket, now_ms))
    }

    pub(crate) fn step(&mut self, b: B, seg: S, how: How) -> bool {
        let broker = self.broker(b);
        let Some(&task) = broker.tasks.get(&seg).filter(|_| broker.is_alive) else { return false };
        let next = match task {
            Task::Adding(ticket) => match self.broker(b).answer(ticket) {
                None => return false,
                Some(Ok(())) => Some(Task::Copying),
                // The broker hears of no copy, so it ends none.
                Some(Err(())) => self.end_copy(b, seg, false),
            },
            Task::Copying => self.copy(b, seg, how),
            Task::Copied => match self.write_update(b, seg, SegmentState::CopyFinished, 0) {
                Written::Sent(ticket) => Some(Task::Finishing(ticket)),
                Written::AlreadySo => self.end_copy(b, seg, true),
                Written::Denied => Some(Task::CopyFailed { is_refused: self.can_never_finish(b, seg) }),
            },
            Task::Finishing(ticket) => match self.broker(b).answer(ticket) {
                None => return false,
                Some(Ok(())) if self.was_accepted(b, seg) => self.end_copy(b, seg, true),
                Some(Ok(())) => Some(Task::CopyFailed { is_refused: self.can_never_finish(b, seg) }),
                Some(Err(())) => {
                    if self.faults.has(Fault::AmbiguousFinishDeletes) {
                        self.delete_objects(seg);
                    }
                    Some(Task::CopyFailed { is_refused: false })
                }
            },
            Task::CopyFailed { is_refused } => self.after_failed_copy(b, seg, is_refused, how),
            Task::Delete { was_finished } => match self.write_update(b, seg, SegmentState::DeleteStarted, 0) {
                Written::Sent(_) if self.faults.has(Fault::DeleteBeforeItIsRead) => {
                    Some(Task::Deleting { was_finished })
                }
                Written::Sent(ticket) => Some(Task::DeleteStarting(ticket, was_finished)),
                Written::AlreadySo => Some(Task::Deleting { was_finished }),
                Written::Denied => None,
            },
            Task::DeleteStarting(ticket, was_finished) => match self.broker(b).answer(ticket) {
                None => return false,
                Some(Ok(())) if self.state_at(b, seg) == Some(SegmentState::DeleteStarted) => {
                    Some(Task::Deleting { was_finished })
                }
                Some(_) => None,
            },
            Task::Deleting { was_finished } => self.broker_deletes(seg, was_finished, how),
            Task::Deleted { is_taken_over } => self.after_delete(b, seg, is_taken_over),
            Task::Ending(ticket) => match self.broker(b).answer(ticket) {
                None => return false,
                Some(_) => None,
            },
        };
        let broker = self.broker(b);
        match next {
            Some(next) => broker.tasks.insert(seg, next),
            None => broker.tasks.remove(&seg),
        };
        true
    }

    /// All steps at once, each with what it sends.
    pub(crate) fn run(&mut self, b: B, seg: S) -> bool {
        let mut has_changed = false;
        for _ in 0..12 {
            if !self.step(b, seg, How::Well) {
                break;
            }
            has_changed = true;
            self.settle(b);
        }
        has_changed
    }

    pub(crate) fn expire(&mut self, b: B, seg: S) -> bool {
        let broker = self.broker(b);
        let is_copying = broker.tasks.contains_key(&seg);
        if !broker.is_alive || broker.leadership.is_none() || is_copying {
            return false;
        }
        let was_finished = match broker.reader.state_of(seg) {
            Some(SegmentState::CopyFinished) => true,
            Some(SegmentState::CopyStarted | SegmentState::DeleteStarted) => false,
            _ => return false,
        };
        broker.tasks.insert(seg, Task::Delete { was_finished });
        true
    }

    fn copy(&mut self, b: B, seg: S, how: How) -> Option<Task> {
        let (now_ms, is_down) = (self.now_ms, self.store.is_down);
        let broker = self.broker(b);
        let is_late = broker.added_ms.get(&seg).is_none_or(|&added_ms| now_ms - added_ms > COPY_MS);
        let is_condemned = broker.reader.state_of(seg) != Some(SegmentState::CopyStarted);
        if is_late || is_condemned {
            return Some(Task::CopyFailed { is_refused: true });
        }
        match how {
            How::Well if !is_down => {
                self.store.put(seg);
                return Some(Task::Copied);
            }
            How::Ambiguous if !is_down => self.store.put(seg),
            How::Late => self.store.put_later(seg, now_ms),
            How::Well | How::Fails | How::Ambiguous => {}
        }
        Some(Task::CopyFailed { is_refused: true })
    }

    /// The copy's end. COPY_FINISHED can no longer be said by anybody, or it may (`is_refused` tells).
    fn after_failed_copy(&mut self, b: B, seg: S, is_refused: bool, how: How) -> Option<Task> {
        // Our storage side removes what it knows to be of no use, if it can.
        if is_refused && how != How::Fails && !self.store.is_down {
            self.delete_objects(seg);
        }
        self.end_copy(b, seg, !is_refused);
        // A broker that was told to stop does nothing more; others delete the segment.
        (how == How::Well).then_some(Task::Delete { was_finished: false })
    }

    fn broker_deletes(&mut self, seg: S, was_finished: bool, how: How) -> Option<Task> {
        let can_be_late = !was_finished && !self.faults.has(Fault::UnfinishedDeleteIsFinal);
        match how {
            How::Well if !self.store.is_down => {
                self.delete_objects(seg);
                Some(Task::Deleted { is_taken_over: can_be_late })
            }
            How::Ambiguous if !self.store.is_down => {
                self.delete_objects(seg);
                None
            }
            How::Well | How::Late => Some(Task::Deleted { is_taken_over: true }),
            How::Fails | How::Ambiguous => None,
        }
    }

    fn after_delete(&mut self, b: B, seg: S, is_taken_over: bool) -> Option<Task> {
        let to = match is_taken_over {
            false => SegmentState::DeleteFinished,
            // At level 0 DELETE_STARTED stands for DANGLING.
            true if self.broker(b).reader.level == plan::Level::Zero => return None,
            true => SegmentState::Dangling,
        };
        match self.write_update(b, seg, to, 0) {
            Written::Sent(ticket) => Some(Task::Ending(ticket)),
            Written::AlreadySo | Written::Denied => None,
        }
    }

    fn end_copy(&mut self, b: B, seg: S, is_finish_said: bool) -> Option<Task> {
        self.broker(b).ended.insert(seg, is_finish_said);
        None
    }

    fn state_at(&mut self, b: B, seg: S) -> Option<SegmentState> {
        self.broker(b).reader.state_of(seg)
    }

    /// A COPY_FINISHED that our own reader has come to was accepted, whatever happened since.
    fn was_accepted(&mut self, b: B, seg: S) -> bool {
        self.state_at(b, seg) == Some(SegmentState::CopyFinished)
    }

    /// Whether our own reader shows that nobody will ever read the segment.
    fn can_never_finish(&mut self, b: B, seg: S) -> bool {
        use SegmentState::{Dangling, DeleteFinished, DeleteStarted};
        matches!(self.state_at(b, seg), Some(Dangling | DeleteStarted | DeleteFinished))
    }

    /// Deletes the segment's objects, wherever it is asked for.
    pub(crate) fn delete_objects(&mut self, seg: S) {
        if self.store.delete(seg) {
            self.counts.objects_deleted += 1;
            self.check_delete(seg);
        }
    }
}
