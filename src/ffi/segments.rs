//! Answers that are lists of segments.

use crate::model::SegmentMetadata;

use super::borrow::{self, Out};
use super::boundary::{boundary, quietly};
use super::code::uc_status_t;
use super::error::{Failure, uc_error_t};
use super::handle::{self, noun};
use super::segment::{uc_leader_epoch_t, uc_segment_t};

/// A list of segments as it was when it was asked for. May be read by many threads at once.
///
/// ```c
/// size_t count = 0;
/// uc_segments_len(segments, &count);
/// for (size_t i = 0; i < count; i++) {
///   uc_segment_t segment = {.struct_size = sizeof segment};
///   uc_segments_get(segments, i, &segment, NULL);
/// }
/// uc_segments_free(segments);
/// ```
pub struct uc_segments_t {
    _private: [u8; 0],
}

/// See [`uc_segments_t`]. Epochs stand beside the segments in C's form, for C to point to.
pub struct Segments(Vec<(SegmentMetadata, Box<[uc_leader_epoch_t]>)>);

noun!(Segments, uc_segments_t, 0xC5);

/// A handle for `segments`.
pub(super) fn open(segments: impl IntoIterator<Item = SegmentMetadata>) -> Result<*mut uc_segments_t, Failure> {
    let with_epochs = segments.into_iter().map(|segment| {
        let entries = segment.epochs.entries().iter();
        let epochs =
            entries.map(|&(e, offset)| uc_leader_epoch_t { epoch: e.0, reserved: 0, start_offset: offset.0 }).collect();
        (segment, epochs)
    });
    handle::open(Segments(with_epochs.collect()))
}

/// How many there are.
///
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `len_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_segments_len(segments: *const uc_segments_t, len_out: *mut usize) -> uc_status_t {
    boundary(Out::nowhere(), || {
        // SAFETY: null or valid for one write (# Safety).
        let len_out = unsafe { Out::required(len_out, "len_out")? };
        len_out.set(handle::find::<Segments>(segments)?.0.len());
        Ok(())
    })
}

/// The segment at `index`, from 0. Set `segment_out->struct_size` before the call; it stays.
///
/// Ownership: what the struct points to is the list's; it is there until `uc_segments_free`.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT (no such index, struct_size). Since ABI 1.
///
/// # Safety
/// `segment_out` is null or valid for reads and writes of `segment_out->struct_size` bytes; `error_out` is null or valid
/// for writes. Nobody frees `segments` while the struct is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_segments_get(
    segments: *const uc_segments_t,
    index: usize,
    segment_out: *mut uc_segment_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let segments = handle::find::<Segments>(segments)?;
        let len = segments.0.len();
        let (segment, epochs) =
            segments.0.get(index).ok_or_else(|| Failure::argument(format!("index is {index}, and there are {len}")))?;
        // SAFETY: null, or readable and writable as its struct_size says (# Safety).
        unsafe { borrow::write_back(segment_out, &uc_segment_t::from_model(segment, epochs)) }
    })
}

/// Frees a list. Nothing happens if it is null or freed already.
///
/// Threads: any, once nobody uses what it pointed to. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_segments_free(segments: *mut uc_segments_t) {
    quietly((), || drop(handle::take::<Segments>(segments)));
}
