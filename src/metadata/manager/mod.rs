//! The manager: what a host talks to.
//!
//! In: which partitions a host leads and follows, what it says of segments, what it asks. Out: answers from memory;
//! writes that resolve when the manager's own reader has applied them. Never: a wait for the log in a call, apart from
//! the bounded one for an epoch.
//!
//! A task makes the log usable and tries for ever (`startup`), and writes first level records (`levels`). One thread reads
//! (`reader`, `reading`), applies (`intake`) and keeps what it knows for the next start (`checkpoint`). The `directory` knows what is assigned and what is read, `leadership` the epochs, `waiters` who waits for which offset.
//! `delay` holds back what is to stay local only, with what `inquiry` asks of the cluster and `local_log` of the disk.
#![allow(clippy::disallowed_methods, reason = "shell: reads the clock and owns threads")]

mod checkpoint;
mod close;
mod core;
mod delay;
mod directory;
mod env;
mod inquiry;
mod instruments;
mod intake;
mod last_record;
mod leadership;
mod levels;
mod local_log;
mod meta_partition;
mod reader;
mod reading;
mod silence;
mod startup;
mod supervise;
#[cfg(test)]
mod tests;
mod upkeep;
mod waiters;
mod write;

pub use env::{MetadataEnv, open_prefixes};

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::metrics::Registry;
use crate::model::{
    LeaderEpoch, Offset, PartitionDelete, SegmentLedger, SegmentMetadata, SegmentObjects, SegmentUpdate,
    TopicIdPartition,
};

use super::MetadataError;
use super::log::MetadataLog;
use super::partition::PartitionState;
use super::quiet;

use close::Lifetime;
use core::Core;

/// Resolves when this manager's own reader has applied the record. Dropping it does not take the record back.
pub type Pending = Pin<Box<dyn Future<Output = Result<(), MetadataError>> + Send>>;

/// A partition that a host leads or follows.
#[derive(Debug, Clone)]
pub struct AssignedPartition {
    pub partition: TopicIdPartition,
    /// Epoch of the leadership if the host knows it; otherwise the log's broker is asked.
    pub leader_epoch: Option<LeaderEpoch>,
}

/// Knows the remote segments of the partitions that it is told of. Clones are the same manager; the last one to go
/// closes it without waiting.
///
/// Lookups answer [`MetadataError::NotAssigned`] for a partition that the manager was not told of, and
/// [`MetadataError::NotReady`] until everything that was in the log at the assignment is read: never "nothing" when the
/// truth is "not known yet".
#[derive(Clone)]
pub struct MetadataManager {
    lifetime: Arc<Lifetime>,
}

impl MetadataManager {
    /// Opens a manager over the log that `config` names. The log need not be there yet: it is looked for in the
    /// background, for ever, and said after half a minute, then every five minutes.
    ///
    /// # Errors
    /// [`MetadataError::Config`] for a value that can never be used; nothing else.
    pub fn open(config: &Config, env: MetadataEnv) -> Result<Self, MetadataError> {
        env::check(config)?;
        let log = env::choose_log(config, &env)?;
        Self::open_with_log(config, env, log)
    }

    /// As [`MetadataManager::open`], over a log of the caller's. The manager closes it.
    ///
    /// # Errors
    /// As [`MetadataManager::open`].
    pub fn open_with_log(config: &Config, env: MetadataEnv, log: Arc<dyn MetadataLog>) -> Result<Self, MetadataError> {
        let core = Arc::new(Core::new(config, env, log)?);
        startup::spawn(&core);
        upkeep::spawn(&core);
        Ok(Self { lifetime: Arc::new(Lifetime::begin(core)?) })
    }

    /// Tells which partitions the host leads and follows from now on, beside those it was told of before. A partition
    /// in `leaders` begins a new leadership, also if it was led before: its epoch is asked for again.
    ///
    /// # Errors
    /// [`MetadataError::Closed`].
    pub fn lead_and_follow(
        &self,
        leaders: &[AssignedPartition],
        followers: &[AssignedPartition],
    ) -> Result<(), MetadataError> {
        let core = self.core()?;
        let partitions: Vec<_> = leaders.iter().chain(followers).map(|assigned| &assigned.partition).collect();
        let assigned = core.directory.write().assign(&partitions);
        for (assignment, leader) in assigned.iter().zip(leaders) {
            leadership::lead(core, assignment, leader.leader_epoch);
            core.upkeep.instruments.led(&leader.partition.topic);
        }
        for follower in assigned.iter().skip(leaders.len()) {
            follower.leadership.follow();
        }
        delay::forget(core, followers.iter().map(|follower| &follower.partition));
        core.assignment_changed();
        Ok(())
    }

    /// Forgets partitions. Those that nobody told of are passed over.
    ///
    /// # Errors
    /// [`MetadataError::Closed`].
    pub fn stop(&self, partitions: &[TopicIdPartition]) -> Result<(), MetadataError> {
        let core = self.core()?;
        let stopped = core.directory.write().unassign(partitions);
        for stopped in stopped {
            stopped.leadership.follow();
        }
        delay::forget(core, partitions.iter());
        core.assignment_changed();
        Ok(())
    }

    /// Whether lookups of `partition` answer and writes are taken. Never fails, never waits.
    #[must_use]
    pub fn is_ready(&self, partition: &TopicIdPartition) -> bool {
        self.lifetime.core.is_ready(partition)
    }

    /// Makes a segment known whose copy begins. Waits at most `admission` for the epoch of this leadership.
    ///
    /// # Errors
    /// Nothing is written then. [`MetadataError::TooYoung`] for a segment that is to stay local only for a while yet; [`MetadataError::InvalidArgument`] for a segment in another state than
    /// COPY_SEGMENT_STARTED or one that cannot be; [`MetadataError::Refused`] for an id that is known in another state;
    /// [`MetadataError::NotReady`] also if the host did not say that it leads the partition.
    pub fn add(&self, segment: SegmentMetadata, admission: Duration) -> Result<Pending, MetadataError> {
        write::add(self.core()?, segment, admission)
    }

    /// Moves a segment to another state. Custom metadata that the update leaves out stays as it was.
    ///
    /// # Errors
    /// Nothing is written then. [`MetadataError::UnknownSegment`], [`MetadataError::Refused`] for a step that the
    /// segment's state does not allow, [`MetadataError::InvalidArgument`] for a state that no update may have. The
    /// future fails with [`MetadataError::Refused`] if somebody else's record came first.
    pub fn update(&self, update: SegmentUpdate, _admission: Duration) -> Result<Pending, MetadataError> {
        write::update(self.core()?, update)
    }

    /// Writes an event of a whole partition's deletion. It changes no segment.
    ///
    /// # Errors
    /// Those of lookups.
    pub fn put_partition_delete(
        &self,
        delete: PartitionDelete,
        _admission: Duration,
    ) -> Result<Pending, MetadataError> {
        write::partition_delete(self.core()?, &delete)
    }

    /// The finished segment that holds `offset` of `epoch`.
    ///
    /// # Errors
    /// See [`MetadataManager`].
    pub fn find(
        &self,
        partition: &TopicIdPartition,
        epoch: LeaderEpoch,
        offset: Offset,
    ) -> Result<Option<SegmentMetadata>, MetadataError> {
        self.glance(partition, |state| state.find(epoch, offset))
    }

    /// The first finished segment at or behind `offset`, within one unbroken run of `epoch`, that may have aborted
    /// transactions.
    ///
    /// # Errors
    /// See [`MetadataManager`].
    pub fn next_with_transaction_index(
        &self,
        partition: &TopicIdPartition,
        epoch: LeaderEpoch,
        offset: Offset,
    ) -> Result<Option<SegmentMetadata>, MetadataError> {
        self.look(partition, |state| state.next_with_transaction_index(epoch, offset))
    }

    /// The highest offset of `epoch` that was ever in a finished segment.
    ///
    /// # Errors
    /// See [`MetadataManager`].
    pub fn highest_offset(
        &self,
        partition: &TopicIdPartition,
        epoch: LeaderEpoch,
    ) -> Result<Option<Offset>, MetadataError> {
        self.glance(partition, |state| state.highest_offset(epoch))
    }

    /// Segments in every state, of one epoch or of all, by start offset; those whose deletion has ended are gone, and so
    /// are those whose deletion the host was told to have ended ([`MetadataManager::ledger`]). With a joined storage side
    /// abandoned copies are not shown either, as they are removed without the host.
    ///
    /// # Errors
    /// See [`MetadataManager`].
    pub fn list(
        &self,
        partition: &TopicIdPartition,
        epoch: Option<LeaderEpoch>,
    ) -> Result<Vec<SegmentMetadata>, MetadataError> {
        let upkeep = &self.core()?.upkeep;
        self.look(partition, |state| match upkeep.hides(state) {
            false => state.list(epoch),
            true => upkeep.shown(state.list(epoch)),
        })
    }

    /// A number that is the same as long as [`MetadataManager::list`] answers the same about an assigned partition; `None`
    /// while that depends on more than the log. So a host may keep what it made of an answer.
    ///
    /// # Errors
    /// See [`MetadataManager`].
    pub fn list_stamp(&self, partition: &TopicIdPartition) -> Result<Option<u64>, MetadataError> {
        let upkeep = &self.core()?.upkeep;
        self.glance(partition, |state| (!upkeep.hides(state)).then(|| state.changes()))
    }

    /// Sum of the sizes of the segments that [`MetadataManager::list`] shows of `epoch`, in every state.
    ///
    /// # Errors
    /// See [`MetadataManager`].
    pub fn size_bytes(&self, partition: &TopicIdPartition, epoch: LeaderEpoch) -> Result<u64, MetadataError> {
        let upkeep = &self.core()?.upkeep;
        let size = |segment: &SegmentMetadata| u64::try_from(segment.size_bytes).unwrap_or(0);
        self.look(partition, |state| match upkeep.hides(state) {
            false => state.size_bytes(epoch),
            true => upkeep.shown(state.list(Some(epoch))).iter().map(size).sum(),
        })
    }

    /// Joins the storage side of this process: abandoned copies and deletions without an end are cleaned up with it, and no
    /// copy begins while its store is down. Without one they are only claimed and shown. It takes the place of one that was
    /// joined before.
    pub fn join(&self, objects: Arc<dyn SegmentObjects>) {
        self.lifetime.core.upkeep.join(objects);
    }

    /// Ends a [`MetadataManager::join`].
    pub fn part(&self) {
        self.lifetime.core.upkeep.part();
    }

    /// What the storage side of this process may ask. It keeps no manager alive, and knows nothing once that is closed.
    #[must_use]
    pub fn ledger(&self) -> Arc<dyn SegmentLedger> {
        Arc::new(upkeep::Ledger::of(&self.lifetime.core))
    }

    /// What it counts; all of it from the start on.
    #[must_use]
    pub fn metrics(&self) -> Arc<Registry> {
        Arc::clone(&self.lifetime.core.registry)
    }

    /// Ends all work: writes in flight fail with [`MetadataError::Closed`], and so do all later calls. Blocks until the
    /// threads have ended, at most some 20 seconds. Does nothing the second time.
    pub fn close(&self) {
        self.lifetime.close();
    }

    fn core(&self) -> Result<&Arc<Core>, MetadataError> {
        let core = &self.lifetime.core;
        if core.is_closed() { Err(MetadataError::Closed) } else { Ok(core) }
    }

    /// As [`MetadataManager::look`], for a question that takes no time: assignments do not change while it is answered.
    fn glance<T>(
        &self,
        partition: &TopicIdPartition,
        question: impl Fn(&PartitionState) -> T,
    ) -> Result<T, MetadataError> {
        let glanced = self.core()?.with_ready(partition, |_, bound| {
            // Never a wait for a state's lock in here: whoever has that may wait for the directory's.
            bound.state.try_read().filter(|_| !bound.meta.is_read_again()).map(|state| question(&state))
        })?;
        glanced.map_or_else(|| self.look(partition, question), Ok)
    }

    fn look<T>(
        &self,
        partition: &TopicIdPartition,
        question: impl FnOnce(&PartitionState) -> T,
    ) -> Result<T, MetadataError> {
        let core = self.core()?;
        let (state, meta) =
            core.with_ready(partition, |_, bound| (Arc::clone(&bound.state), Arc::clone(&bound.meta)))?;
        let state = state.read();
        if meta.is_read_again() {
            return Err(core.read_again(partition));
        }
        Ok(question(&state))
    }
}
