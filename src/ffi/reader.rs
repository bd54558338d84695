//! A stream of a segment's bytes.

use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use parking_lot::Mutex;

use crate::storage::{SegmentReader, StorageError};

use super::borrow::{self, Out};
use super::boundary::{boundary, quietly};
use super::code::uc_status_t;
use super::error::{Failure, uc_error_t};
use super::gate::timer;
use super::handle::{self, noun};
use super::signal::Signal;
use super::storage::Storage;

/// Reads a range of a segment from front to back.
///
/// One thread at a time reads; `uc_reader_cancel` and `uc_reader_free` may come from any, also during a read.
///
/// ```c
/// uc_reader_t *reader = NULL;
/// uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error);
/// size_t n = 0;
/// while (uc_reader_read(reader, buffer, sizeof buffer, 30000, &n, &error) == UC_OK && n > 0) { use(buffer, n); }
/// uc_reader_free(reader);
/// ```
pub struct uc_reader_t {
    _private: [u8; 0],
}

/// See [`uc_reader_t`].
pub struct Reader {
    storage: Arc<Storage>,
    cancel: Signal,
    stream: Mutex<Stream>,
}

struct Stream {
    /// Bytes that came and did not fit into the host's memory.
    rest: Bytes,
    step: Step,
}

type Reading = Pin<Box<dyn Future<Output = (Box<SegmentReader>, Result<Bytes, StorageError>)> + Send>>;

/// A read that timed out goes on with the next call, so nothing that was fetched is lost.
enum Step {
    Idle(Box<SegmentReader>),
    Reading(Reading),
    /// Only while a step is taken.
    Lost,
}

noun!(Reader, uc_reader_t, 0xC8);

impl Reader {
    pub(super) fn new(storage: Arc<Storage>, reader: SegmentReader) -> Self {
        let stream = Stream { rest: Bytes::new(), step: Step::Idle(Box::new(reader)) };
        Self { storage, cancel: Signal::default(), stream: Mutex::new(stream) }
    }

    /// Fills the front of `dst`; 0 at the end of the stream.
    fn read(&self, dst: &mut [MaybeUninit<u8>], timeout_ms: u32) -> Result<usize, Failure> {
        let mut stream =
            self.stream.try_lock().ok_or_else(|| Failure::argument("uc_reader_read: another thread reads here"))?;
        let call = self.storage.gate.enter()?;
        if self.cancel.is_fired() {
            return Err(cancelled());
        }
        if stream.rest.is_empty() {
            stream.rest = call.wait("read", super::gate::UNBOUNDED, async {
                tokio::select! {
                    biased;
                    () = self.cancel.wait() => Err(cancelled()),
                    bytes = stream.step.next() => bytes,
                    () = timer(timeout_ms) => Err(Failure::timeout("read", timeout_ms)),
                }
            })?;
        }
        let count = stream.rest.len().min(dst.len());
        for (to, from) in dst.iter_mut().zip(&stream.rest) {
            to.write(*from);
        }
        stream.rest.advance(count);
        Ok(count)
    }
}

impl Step {
    /// The next bytes. Dropped before its end, it goes on with the next call.
    async fn next(&mut self) -> Result<Bytes, Failure> {
        self.start();
        let Self::Reading(reading) = self else { return Err(Failure::internal("read: the stream is lost")) };
        let (reader, bytes) = reading.as_mut().await;
        *self = Self::Idle(reader);
        bytes.map_err(Failure::from)
    }

    fn start(&mut self) {
        *self = match std::mem::replace(self, Self::Lost) {
            Self::Idle(mut reader) => Self::Reading(Box::pin(async move {
                let bytes = reader.read().await;
                (reader, bytes)
            })),
            step => step,
        };
    }
}

fn cancelled() -> Failure {
    Failure::cancelled("read: cancelled by the host")
}

/// Reads the next bytes of a segment into `dst`.
///
/// Blocks until at least one byte is there, the stream ends, `timeout_ms` (0 = do not wait, UINT32_MAX = no bound) passes
/// or the reader is cancelled; it does not wait until `dst` is full. At the end of the stream `*read_out` is 0 and the
/// status UC_OK. On any other status nothing is written to `*read_out`. After UC_ERR_TIMEOUT or UC_ERR_UNREACHABLE the
/// same call goes on where it was; no byte is lost or read twice.
///
/// Ownership: `dst` stays the caller's. `*error_out`, if set, is the caller's to free with `uc_error_free`.
/// Threads: one thread at a time per reader; `uc_reader_cancel` and `uc_reader_free` from any.
/// Errors: UC_ERR_TIMEOUT and UC_ERR_UNREACHABLE (retriable), UC_ERR_CANCELLED, UC_ERR_NOT_FOUND, UC_ERR_CORRUPT,
/// UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_UNSUPPORTED, UC_ERR_CLOSED (also: its manager is closed),
/// UC_ERR_INVALID_ARGUMENT (also: `dst_len` is 0, which could not be told from the end). Since ABI 1.
///
/// # Safety
/// `dst` is null or valid for writes of `dst_len` bytes; `read_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_reader_read(
    reader: *mut uc_reader_t,
    dst: *mut u8,
    dst_len: usize,
    timeout_ms: u32,
    read_out: *mut usize,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write, and `dst` for `dst_len` bytes (# Safety), used only during this call.
        let (read_out, dst) =
            unsafe { (Out::required(read_out, "read_out")?, borrow::bytes_mut(dst, dst_len, "dst")?) };
        let reader = handle::find::<Reader>(reader)?;
        if dst.is_empty() {
            return Err(Failure::argument("dst_len is 0: reading nothing could not be told from the end"));
        }
        read_out.set(reader.read(dst, timeout_ms)?);
        Ok(())
    })
}

/// Ends the reading: a read under way and every later one answer UC_ERR_CANCELLED, at once.
///
/// Threads: any. Nothing happens if `reader` is null or freed. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_reader_cancel(reader: *const uc_reader_t) {
    quietly((), || {
        if let Ok(reader) = handle::find::<Reader>(reader) {
            reader.cancel.fire();
        }
    });
}

/// Frees a reader; a read under way answers UC_ERR_CANCELLED. Nothing happens if it is null or freed already.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_reader_free(reader: *mut uc_reader_t) {
    quietly((), || {
        if let Some(reader) = handle::take::<Reader>(reader) {
            reader.cancel.fire();
        }
    });
}
