//! The storage manager.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::config::Config;
use crate::metrics::Registry;
use crate::model::{IndexType, SegmentMetadata};
use crate::storage::{StorageEnv, StorageManager};

use super::borrow::{self, Out};
use super::boundary::boundary;
use super::buf::{self, uc_buf_t};
use super::code::uc_status_t;
use super::config::uc_config_t;
use super::cq::uc_cq_t;
use super::error::{Failure, uc_error_t};
use super::handle::{self, noun};
use super::joint::Member;
use super::managed::{self, Managed, Manager};
use super::metrics::uc_metrics_t;
use super::reader::{Reader, uc_reader_t};
use super::segment::{uc_segment_files_t, uc_segment_t};

/// A storage manager: copies closed segments to an object store, reads them back and deletes them.
///
/// May be used by many threads at once, also while one of them closes it.
///
/// ```c
/// uc_storage_t *storage = NULL;
/// uc_storage_open(config, &storage, &error);
/// uc_storage_copy(storage, &segment, &files, 60000, &custom_metadata, &error);
/// uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error);
/// uc_storage_close(storage, 10000, &error);
/// uc_storage_free(storage);
/// ```
pub struct uc_storage_t {
    _private: [u8; 0],
}

/// Kinds of side files of a segment.
#[repr(i32)]
pub enum uc_index_type {
    UC_INDEX_OFFSET = 0,
    UC_INDEX_TIMESTAMP = 1,
    UC_INDEX_PRODUCER_SNAPSHOT = 2,
    UC_INDEX_TRANSACTION = 3,
    UC_INDEX_LEADER_EPOCH = 4,
}

/// See [`uc_storage_t`].
pub type Storage = Managed<StorageManager>;

noun!(Storage, uc_storage_t, 0xC7);

impl Manager for StorageManager {
    const NAME: &'static str = "the storage manager";

    fn open(config: &Config, runtime: Handle) -> Result<Self, Failure> {
        Ok(Self::open(config, StorageEnv { runtime })?)
    }

    fn shut(&self, runtime: &Handle, left: Option<Duration>) -> bool {
        runtime.block_on(async {
            match left {
                Some(left) => tokio::time::timeout(left, self.close()).await.is_ok(),
                None => {
                    self.close().await;
                    true
                }
            }
        })
    }

    fn metrics(&self) -> Arc<Registry> {
        self.metrics()
    }

    fn member(&self) -> Member {
        Member::Storage(self.clone())
    }
}

fn index(number: i32) -> Result<IndexType, Failure> {
    IndexType::from_number(number)
        .ok_or_else(|| Failure::argument(format!("index_type is {number}; known are 0 to 4 (uc_index_type)")))
}

/// # Safety
/// `segment` is null or a struct as `uc_segment_t` says, its pointers null or valid for reads.
unsafe fn segment(segment: *const uc_segment_t) -> Result<SegmentMetadata, Failure> {
    // SAFETY: promised by the caller in the same words.
    unsafe { borrow::one(segment)?.to_model() }
}

/// # Safety
/// `segments` is null or has `count` structs as `uc_segment_t` says, their pointers null or valid for reads.
unsafe fn segments(segments: *const uc_segment_t, count: usize) -> Result<Vec<SegmentMetadata>, Failure> {
    // SAFETY: promised by the caller in the same words.
    unsafe { borrow::many(segments, count)?.into_iter().map(|segment| segment.to_model()).collect() }
}

/// Opens a manager on the store that `config` names. Does not wait for the network: whether the store can be reached is
/// found out in the background, and a warning in the log says if not. `uc_storage_check` asks.
///
/// Ownership: `config` stays the caller's. `*storage_out` is the caller's to free with `uc_storage_free`, `*error_out`, if
/// set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CONFIG, UC_ERR_MISCONFIGURED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `storage_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_open(
    config: *const uc_config_t,
    storage_out: *mut *mut uc_storage_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: promised by the caller in the same words.
    unsafe { managed::open::<StorageManager>(config, storage_out, "storage_out", error_out) }
}

/// Copies a segment with its indexes to the store and waits for it.
///
/// `*custom_metadata_out` becomes what must be kept and given back with the segment in every later call; null if that
/// is nothing. If the call fails, is timed out or the manager is closed, no object is left if the store can be reached.
///
/// Ownership: `segment` and `files` stay the caller's. `*custom_metadata_out` is the caller's to free with
/// `uc_buf_free` (the pointer may be null if nobody wants it), `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_SOURCE, UC_ERR_UNREACHABLE, UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_TIMEOUT,
/// UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `segment` and `files` are null or valid for reads of their struct_size, and so is what they point to;
/// `custom_metadata_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_copy(
    storage: *const uc_storage_t,
    segment: *const uc_segment_t,
    files: *const uc_segment_files_t,
    timeout_ms: u32,
    custom_metadata_out: *mut *mut uc_buf_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let custom_out = unsafe { Out::new(custom_metadata_out) };
        let (storage, call) = managed::enter::<StorageManager>(storage)?;
        // SAFETY: null or readable, and so is what they point to (# Safety); copied here.
        let (segment, files) = unsafe { (self::segment(segment)?, borrow::one(files)?.to_model()?) };
        let custom = call.wait("copy", timeout_ms, storage.manager.copy(&segment, &files))?;
        if custom_out.is_wanted() {
            custom_out.set(custom.map(buf::open).transpose()?.unwrap_or(std::ptr::null_mut()));
        }
        Ok(())
    })
}

/// Begins to copy a segment. On UC_OK one event with `tag` follows in `cq`; its `result` is the custom metadata or null.
///
/// Ownership: `segment` and `files` stay the caller's and are copied; the files themselves must stay until the event.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT; in the event as `uc_storage_copy`, and
/// UC_ERR_CANCELLED. Since ABI 1.
///
/// # Safety
/// `segment` and `files` are null or valid for reads of their struct_size, and so is what they point to; `error_out` is
/// null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_copy_submit(
    storage: *const uc_storage_t,
    segment: *const uc_segment_t,
    files: *const uc_segment_files_t,
    cq: *const uc_cq_t,
    tag: u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let storage = handle::find::<Storage>(storage)?;
        // SAFETY: null or readable, and so is what they point to (# Safety); copied here.
        let (segment, files) = unsafe { (self::segment(segment)?, borrow::one(files)?.to_model()?) };
        storage.submit("copy", cq, tag, |manager| Ok(async move { manager.copy(&segment, &files).await }))
    })
}

/// Opens a reader of the segment's bytes from `start` to `end_inclusive` (UINT64_MAX = to the end). Nothing is asked of
/// the store before the first read.
///
/// Ownership: `segment` stays the caller's. `*reader_out` is the caller's to free with `uc_reader_free`, `*error_out`,
/// if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT (`start` behind the end), UC_ERR_UNSUPPORTED, UC_ERR_CORRUPT and
/// UC_ERR_MISCONFIGURED (all three if the segment's metadata says so; else reads do), UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `segment` is null or valid for reads of its struct_size, and so is what it points to; `reader_out` and `error_out`
/// are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_fetch(
    storage: *const uc_storage_t,
    segment: *const uc_segment_t,
    start: u64,
    end_inclusive: u64,
    reader_out: *mut *mut uc_reader_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let reader_out = unsafe { Out::required(reader_out, "reader_out")? };
        let (storage, call) = managed::enter::<StorageManager>(storage)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let segment = unsafe { self::segment(segment)? };
        let _runtime = call.handle().enter();
        let end = (end_inclusive != u64::MAX).then_some(end_inclusive);
        let reader = storage.manager.fetch(&segment, start, end)?;
        reader_out.set(handle::open(Reader::new(Arc::clone(&storage), reader))?);
        Ok(())
    })
}

/// Reads one side file of a segment (`uc_index_type`) and waits for it.
///
/// Ownership: `segment` stays the caller's. `*bytes_out` is the caller's to free with `uc_buf_free`, `*error_out`, if
/// set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_NOT_FOUND (also a segment without that index), UC_ERR_CORRUPT, UC_ERR_UNREACHABLE,
/// UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_UNSUPPORTED, UC_ERR_TIMEOUT, UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT.
/// Since ABI 1.
///
/// # Safety
/// `segment` is null or valid for reads of its struct_size, and so is what it points to; `bytes_out` and `error_out`
/// are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_fetch_index(
    storage: *const uc_storage_t,
    segment: *const uc_segment_t,
    index_type: i32,
    timeout_ms: u32,
    bytes_out: *mut *mut uc_buf_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let bytes_out = unsafe { Out::required(bytes_out, "bytes_out")? };
        let (storage, call) = managed::enter::<StorageManager>(storage)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let segment = unsafe { self::segment(segment)? };
        let index = self::index(index_type)?;
        let bytes = call.wait(index.name(), timeout_ms, storage.manager.fetch_index(&segment, index))?;
        bytes_out.set(buf::open(bytes)?);
        Ok(())
    })
}

/// Begins to read one side file. On UC_OK one event with `tag` follows in `cq`; its `result` is the bytes.
///
/// Ownership: `segment` stays the caller's and is copied.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT; in the event as `uc_storage_fetch_index`, and
/// UC_ERR_CANCELLED. Since ABI 1.
///
/// # Safety
/// `segment` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
/// for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_fetch_index_submit(
    storage: *const uc_storage_t,
    segment: *const uc_segment_t,
    index_type: i32,
    cq: *const uc_cq_t,
    tag: u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let storage = handle::find::<Storage>(storage)?;
        // SAFETY: null or readable, and so is what it points to (# Safety); copied here.
        let segment = unsafe { self::segment(segment)? };
        let index = self::index(index_type)?;
        let work = |manager: StorageManager| Ok(async move { manager.fetch_index(&segment, index).await.map(Some) });
        storage.submit(index.name(), cq, tag, work)
    })
}

/// Deletes all objects of some segments and waits for it. Objects that are not there count as deleted.
///
/// Ownership: `segments` stay the caller's.
/// Threads: any. Errors: UC_ERR_UNREACHABLE, UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_TIMEOUT, UC_ERR_CLOSED,
/// UC_ERR_INVALID_ARGUMENT; some may be deleted then. Since ABI 1.
///
/// # Safety
/// `segments` is null or has `count` structs, as far apart as the first one's struct_size, valid for reads, and so is
/// what they point to; `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_delete(
    storage: *const uc_storage_t,
    segments: *const uc_segment_t,
    count: usize,
    timeout_ms: u32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let (storage, call) = managed::enter::<StorageManager>(storage)?;
        // SAFETY: null or readable, and so is what they point to (# Safety); copied here.
        let segments = unsafe { self::segments(segments, count)? };
        call.wait("delete", timeout_ms, storage.manager.delete(&segments))
    })
}

/// Begins to delete all objects of some segments. On UC_OK one event with `tag` follows in `cq`.
///
/// Ownership: `segments` stay the caller's and are copied.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT; in the event as `uc_storage_delete`, and
/// UC_ERR_CANCELLED. Since ABI 1.
///
/// # Safety
/// `segments` is null or has `count` structs, as far apart as the first one's struct_size, valid for reads, and so is
/// what they point to; `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_delete_submit(
    storage: *const uc_storage_t,
    segments: *const uc_segment_t,
    count: usize,
    cq: *const uc_cq_t,
    tag: u64,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let storage = handle::find::<Storage>(storage)?;
        // SAFETY: null or readable, and so is what they point to (# Safety); copied here.
        let segments = unsafe { self::segments(segments, count)? };
        storage.submit("delete", cq, tag, |manager| Ok(async move { manager.delete(&segments).await.map(|()| None) }))
    })
}

/// Asks the store whether it can be used as it is configured, and waits for the answer.
///
/// Threads: any. Errors: UC_ERR_UNREACHABLE, UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_TIMEOUT, UC_ERR_CLOSED.
/// Since ABI 1.
///
/// # Safety
/// `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_check(
    storage: *const uc_storage_t,
    timeout_ms: u32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let (storage, call) = managed::enter::<StorageManager>(storage)?;
        call.wait("check", timeout_ms, storage.manager.check())
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
pub unsafe extern "C" fn uc_storage_metrics(
    storage: *const uc_storage_t,
    metrics_out: *mut *mut uc_metrics_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: promised by the caller in the same words.
    unsafe { managed::metrics::<StorageManager>(storage, metrics_out, error_out) }
}

/// Closes the manager: new calls and reads answer UC_ERR_CLOSED, those under way are cancelled and answer
/// UC_ERR_CLOSED or UC_ERR_CANCELLED, submissions give their events. Waits up to `timeout_ms` for all of that, and for
/// the library's threads if no other manager is open. A second close does nothing.
///
/// The handle stays valid until `uc_storage_free`.
/// Threads: any. Errors: UC_ERR_TIMEOUT (it is closed; what was not done in time ends in the background),
/// UC_ERR_CLOSED (no handle). Since ABI 1.
///
/// # Safety
/// `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_storage_close(
    storage: *const uc_storage_t,
    timeout_ms: u32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: promised by the caller in the same words.
    unsafe { managed::close::<StorageManager>(storage, timeout_ms, error_out) }
}

/// Frees a manager, closing it first (waiting up to ten seconds) if nobody did. Readers of it answer UC_ERR_CLOSED from
/// then on and are freed on their own. Nothing happens if it is null or freed already.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_storage_free(storage: *mut uc_storage_t) {
    managed::free::<StorageManager>(storage);
}
