//! The metadata manager.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::Handle;

use crate::config::Config;
use crate::metadata::{AssignedPartition, MetadataEnv, MetadataError, MetadataManager, Pending};
use crate::metrics::Registry;
use crate::model::{BrokerId, LeaderEpoch, Offset, PartitionDelete, PartitionDeleteState, TopicIdPartition};
use crate::storage::StorageManager;

use super::borrow::{self, Out};
use super::boundary::boundary;
use super::code::uc_status_t;
use super::config::uc_config_t;
use super::cq::uc_cq_t;
use super::error::{Failure, uc_error_t};
use super::handle::{self, noun};
use super::joint::{self, Member};
use super::managed::{self, Managed, Manager};
use super::metrics::uc_metrics_t;
use super::partition::uc_partition_t;
use super::segment::{uc_segment_t, uc_segment_update_t};
use super::segments::{self, uc_segments_t};
use super::storage::uc_storage_t;

/// A metadata manager: knows which remote segment holds which offsets, and tells the other brokers.
///
/// May be used by many threads at once, also while one of them closes it. No function here waits for the network,
/// but `uc_metadata_add`, `uc_metadata_update` and `uc_metadata_put_partition_delete` for at most their `admission_ms`.
///
/// ```c
/// uc_metadata_t *metadata = NULL;
/// uc_metadata_open(config, &metadata, &error);
/// uc_metadata_lead_and_follow(metadata, leaders, 1, NULL, 0, &error);
/// uc_metadata_add(metadata, &segment, 1000, cq, 42, &error);
/// uc_metadata_find(metadata, &leaders[0], epoch, offset, &segments, &error);
/// uc_metadata_close(metadata, 10000, &error);
/// uc_metadata_free(metadata);
/// ```
pub struct uc_metadata_t {
    _private: [u8; 0],
}

/// States of the deletion of a whole partition, Kafka's numbers.
#[repr(i32)]
pub enum uc_partition_delete_state {
    UC_DELETE_PARTITION_MARKED = 0,
    UC_DELETE_PARTITION_STARTED = 1,
    UC_DELETE_PARTITION_FINISHED = 2,
}

/// See [`uc_metadata_t`].
pub type Metadata = Managed<MetadataManager>;

noun!(Metadata, uc_metadata_t, 0xCA);

impl Manager for MetadataManager {
    const NAME: &'static str = "the metadata manager";

    fn open(config: &Config, runtime: Handle) -> Result<Self, Failure> {
        Ok(Self::open(config, MetadataEnv::from_config(config, runtime)?)?)
    }

    fn shut(&self, _runtime: &Handle, left: Option<Duration>) -> bool {
        shut(self, left)
    }

    fn metrics(&self) -> Arc<Registry> {
        self.metrics()
    }

    fn member(&self) -> Member {
        Member::Metadata(self.clone())
    }
}

impl Metadata {
    /// Lets a call by that looks at what is known.
    fn look<T>(&self, look: impl FnOnce(&MetadataManager) -> Result<T, MetadataError>) -> Result<T, Failure> {
        self.gate.pass()?;
        Ok(look(&self.manager)?)
    }

    /// Lets a call in that changes what is known, and waits for nothing.
    fn ask<T>(&self, ask: impl FnOnce(&MetadataManager) -> Result<T, MetadataError>) -> Result<T, Failure> {
        let _call = self.gate.enter()?;
        Ok(ask(&self.manager)?)
    }

    /// Lets a call in that writes and gives its event to `cq`.
    fn write(
        &self,
        what: &'static str,
        cq: *const uc_cq_t,
        tag: u64,
        begin: impl FnOnce(&MetadataManager) -> Result<Pending, MetadataError>,
    ) -> Result<(), Failure> {
        self.submit(what, cq, tag, |manager| {
            let pending = begin(&manager)?;
            Ok(async move { pending.await.map(|()| None) })
        })
    }
}

/// Closes the manager on a thread of its own, so that its bound and the host's are both kept.
fn shut(manager: &MetadataManager, left: Option<Duration>) -> bool {
    let Some(left) = left else {
        manager.close();
        return true;
    };
    let (done, is_done) = mpsc::channel();
    let closer = manager.clone();
    let thread = std::thread::Builder::new().name("undercroft-end".to_owned()).spawn(move || {
        closer.close();
        let _ = done.send(());
    });
    match thread {
        Ok(thread) if is_done.recv_timeout(left).is_ok() => thread.join().is_ok(),
        Ok(_) => false,
        Err(_) => {
            manager.close();
            true
        }
    }
}

fn admission(ms: u32) -> Duration {
    Duration::from_millis(u64::from(ms))
}

/// # Safety
/// `partition` is null or a struct as `uc_partition_t` says, its pointer null or valid for reads.
unsafe fn partition(partition: *const uc_partition_t) -> Result<TopicIdPartition, Failure> {
    // SAFETY: promised by the caller in the same words.
    unsafe { borrow::one(partition)?.to_model() }
}

/// # Safety
/// `partitions` is null or has `count` structs as `uc_partition_t` says, their pointers null or valid for reads.
unsafe fn assigned(partitions: *const uc_partition_t, count: usize) -> Result<Vec<AssignedPartition>, Failure> {
    // SAFETY: promised by the caller in the same words.
    unsafe { borrow::many(partitions, count)?.into_iter().map(|partition| partition.to_assigned()).collect() }
}

/// Opens a manager. Returns at once: a log that is not there yet is tried again and again, for ever.
///
/// The configuration has the keys of the metadata side and those that a broker adds: `broker.id`, `log.dir`,
/// `cluster.id`.
///
/// Ownership: `config` stays the caller's. `*metadata_out` is the caller's to free with `uc_metadata_free`,
/// `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CONFIG, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `metadata_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_open(
    config: *const uc_config_t,
    metadata_out: *mut *mut uc_metadata_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: promised by the caller in the same words.
    unsafe { managed::open::<MetadataManager>(config, metadata_out, "metadata_out", error_out) }
}

/// Tells which partitions this broker leads and which it follows from now on, beside those told before. Never waits.
///
/// Ownership: the arrays stay the caller's.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `leaders` and `followers` are null or have as many structs as said, as far apart as the first one's struct_size,
/// valid for reads, and so is what they point to; `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_lead_and_follow(
    metadata: *const uc_metadata_t,
    leaders: *const uc_partition_t,
    leaders_len: usize,
    followers: *const uc_partition_t,
    followers_len: usize,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what they point to (# Safety); copied here.
        let (leaders, followers) = unsafe { (assigned(leaders, leaders_len)?, assigned(followers, followers_len)?) };
        metadata.ask(|manager| manager.lead_and_follow(&leaders, &followers))
    })
}

/// Tells which partitions this broker neither leads nor follows any more.
///
/// Ownership: the array stays the caller's.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `partitions` is null or has `count` structs, as far apart as the first one's struct_size, valid for reads, and so is
/// what they point to; `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_stop(
    metadata: *const uc_metadata_t,
    partitions: *const uc_partition_t,
    count: usize,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what they point to (# Safety); copied here.
        let partitions = unsafe { assigned(partitions, count)? };
        let partitions: Vec<_> = partitions.into_iter().map(|assigned| assigned.partition).collect();
        metadata.ask(|manager| manager.stop(&partitions))
    })
}

/// Whether everything that the log says of the partition is known here: `*is_ready_out` becomes 1 or 0. Cheap.
///
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `is_ready_out` and
/// `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_is_ready(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    is_ready_out: *mut i32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let is_ready_out = unsafe { Out::required(is_ready_out, "is_ready_out")? };
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        is_ready_out.set(i32::from(metadata.look(|manager| Ok(manager.is_ready(&partition)))?));
        Ok(())
    })
}

/// Adds a segment, in state COPY_SEGMENT_STARTED. Whether it may be added is decided within `admission_ms`, in the
/// call; on UC_OK one event with `tag` follows in `cq`, when this manager has read the record back.
///
/// Ownership: `segment` stays the caller's and is copied.
/// Threads: any. Errors: UC_ERR_NOT_READY and UC_ERR_TOO_YOUNG (nothing was written; try again), UC_ERR_NOT_ASSIGNED,
/// UC_ERR_ILLEGAL_TRANSITION, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED; in the event also UC_ERR_UNREACHABLE,
/// UC_ERR_REFUSED, UC_ERR_TIMEOUT, UC_ERR_CANCELLED. Since ABI 1.
///
/// # Safety
/// `segment` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
/// for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_add(
    metadata: *const uc_metadata_t,
    segment: *const uc_segment_t,
    admission_ms: u32,
    cq: *const uc_cq_t,
    tag: u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let segment = unsafe { borrow::one(segment)?.to_model()? };
        metadata.write("add segment", cq, tag, |manager| manager.add(segment, admission(admission_ms)))
    })
}

/// Tells a later state of a segment; otherwise as `uc_metadata_add`.
///
/// Ownership: `update` stays the caller's and is copied.
/// Threads: any. Errors: as `uc_metadata_add`, and UC_ERR_UNKNOWN_SEGMENT. Since ABI 1.
///
/// # Safety
/// `update` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
/// for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_update(
    metadata: *const uc_metadata_t,
    update: *const uc_segment_update_t,
    admission_ms: u32,
    cq: *const uc_cq_t,
    tag: u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let update = unsafe { borrow::one(update)?.to_model()? };
        metadata.write("update segment", cq, tag, |manager| manager.update(update, admission(admission_ms)))
    })
}

/// Tells a state of the deletion of a whole partition (`uc_partition_delete_state`); otherwise as `uc_metadata_add`.
///
/// Ownership: `partition` stays the caller's and is copied.
/// Threads: any. Errors: as `uc_metadata_add`. Since ABI 1.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
/// for writes.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "a struct for four values would be one more thing that grows")]
pub unsafe extern "C" fn uc_metadata_put_partition_delete(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    broker_id: i32,
    event_timestamp_ms: i64,
    state: i32,
    admission_ms: u32,
    cq: *const uc_cq_t,
    tag: u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        let state = PartitionDeleteState::from_number(state)
            .ok_or_else(|| Failure::argument(format!("state is {state}; known are 0 to 2")))?;
        let delete = PartitionDelete { partition, broker_id: BrokerId(broker_id), event_timestamp_ms, state };
        metadata.write("delete partition", cq, tag, |m| m.put_partition_delete(delete, admission(admission_ms)))
    })
}

/// The segment that holds `offset` of leader epoch `epoch`: a list of one, or of none if there is no such segment.
///
/// Ownership: `*segments_out` is the caller's to free with `uc_segments_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `segments_out` and
/// `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_find(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    epoch: i32,
    offset: i64,
    segments_out: *mut *mut uc_segments_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let segments_out = unsafe { Out::required(segments_out, "segments_out")? };
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        let found = metadata.look(|manager| manager.find(&partition, LeaderEpoch(epoch), Offset(offset)))?;
        segments_out.set(segments::open(found)?);
        Ok(())
    })
}

/// The first segment from `offset` of leader epoch `epoch` on that has aborted transactions: a list of one or none.
///
/// Ownership: `*segments_out` is the caller's to free with `uc_segments_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `segments_out` and
/// `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_next_with_txn_index(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    epoch: i32,
    offset: i64,
    segments_out: *mut *mut uc_segments_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let segments_out = unsafe { Out::required(segments_out, "segments_out")? };
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        let (epoch, offset) = (LeaderEpoch(epoch), Offset(offset));
        let found = metadata.look(|manager| manager.next_with_transaction_index(&partition, epoch, offset))?;
        segments_out.set(segments::open(found)?);
        Ok(())
    })
}

/// The highest offset of leader epoch `epoch` that is in a remote segment; -1 if there is none.
///
/// Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `offset_out` and `error_out`
/// are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_highest_offset(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    epoch: i32,
    offset_out: *mut i64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let offset_out = unsafe { Out::required(offset_out, "offset_out")? };
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        let highest = metadata.look(|manager| manager.highest_offset(&partition, LeaderEpoch(epoch)))?;
        offset_out.set(highest.map_or(-1, |offset| offset.0));
        Ok(())
    })
}

/// All segments of a partition (`epoch` -1), or those with offsets of one leader epoch, in whatever state.
///
/// Ownership: `*segments_out` is the caller's to free with `uc_segments_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `segments_out` and
/// `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_list(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    epoch: i32,
    segments_out: *mut *mut uc_segments_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let segments_out = unsafe { Out::required(segments_out, "segments_out")? };
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        let epoch = Some(LeaderEpoch(epoch)).filter(|epoch| epoch.is_known());
        segments_out.set(segments::open(metadata.look(|manager| manager.list(&partition, epoch))?)?);
        Ok(())
    })
}

/// What tells that the lists of a partition have not changed: while `*stamp_out` is the same and not 0,
/// `uc_metadata_list` answers the same, for every epoch. 0 says nothing. Compare only what was told since the partition was
/// assigned. To keep a list, ask before and after it, and keep it if both answers are equal.
///
/// Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 2.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `stamp_out` and `error_out`
/// are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_list_stamp(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    stamp_out: *mut u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let stamp_out = unsafe { Out::required(stamp_out, "stamp_out")? };
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        let stamp = metadata.look(|manager| manager.list_stamp(&partition))?;
        stamp_out.set(stamp.map_or(0, |changes| changes.saturating_add(1)));
        Ok(())
    })
}

/// Bytes in remote segments with offsets of one leader epoch, as the broker wrote them.
///
/// Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `partition` is null or valid for reads of its struct_size, and so is what it points to; `size_bytes_out` and
/// `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_size(
    metadata: *const uc_metadata_t,
    partition: *const uc_partition_t,
    epoch: i32,
    size_bytes_out: *mut u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let size_out = unsafe { Out::required(size_bytes_out, "size_bytes_out")? };
        let metadata = handle::find::<Metadata>(metadata)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let partition = unsafe { self::partition(partition)? };
        size_out.set(metadata.look(|manager| manager.size_bytes(&partition, LeaderEpoch(epoch)))?);
        Ok(())
    })
}

/// Lets a metadata and a storage manager of this process work together: attempts that failed are cleaned up, none begins
/// while the store is down, and a delete that can't be done now is done later. Ends what either was joined with before.
///
/// Not needed for two managers whose configurations have the same `broker.id`: they are joined when both are open, unless
/// the process has more than one of them that is not joined. The close of one of them parts them; neither keeps the other,
/// and they may be closed and freed in any order.
///
/// Ownership: both handles stay the caller's.
/// Threads: any. Errors: UC_ERR_CLOSED. Since ABI 2.
///
/// # Safety
/// `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_join(
    metadata: *const uc_metadata_t,
    storage: *const uc_storage_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let (metadata, _inside_metadata) = managed::enter::<MetadataManager>(metadata)?;
        let (storage, _inside_storage) = managed::enter::<StorageManager>(storage)?;
        joint::join(storage.number, metadata.number)
    })
}

/// The metrics of the manager. They may outlive it.
///
/// Ownership: `*metrics_out` is the caller's to free with `uc_metrics_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CLOSED (freed), UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `metrics_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_metrics(
    metadata: *const uc_metadata_t,
    metrics_out: *mut *mut uc_metrics_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: promised by the caller in the same words.
    unsafe { managed::metrics::<MetadataManager>(metadata, metrics_out, error_out) }
}

/// Closes the manager: new calls answer UC_ERR_CLOSED, submissions give their events. Waits up to `timeout_ms` for that,
/// and for the library's threads if no other manager is open. A second close does nothing.
///
/// The handle stays valid until `uc_metadata_free`.
/// Threads: any. Errors: UC_ERR_TIMEOUT (it is closed; what was not done in time ends in the background),
/// UC_ERR_CLOSED (no handle). Since ABI 1.
///
/// # Safety
/// `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_metadata_close(
    metadata: *const uc_metadata_t,
    timeout_ms: u32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: promised by the caller in the same words.
    unsafe { managed::close::<MetadataManager>(metadata, timeout_ms, error_out) }
}

/// Frees a manager, closing it first (waiting up to ten seconds) if nobody did. Nothing happens if it is null or freed
/// already.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_metadata_free(metadata: *mut uc_metadata_t) {
    managed::free::<MetadataManager>(metadata);
}
