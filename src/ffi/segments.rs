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
/// `uc_segments_read` hands out many in one call.
pub struct uc_segments_t {
    _private: [u8; 0],
}

/// See [`uc_segments_t`]. The epochs of all stand beside the segments in C's form, for C to point to.
pub struct Segments {
    segments: Vec<SegmentMetadata>,
    epochs: Vec<uc_leader_epoch_t>,
    /// Where each segment's epochs begin.
    first_epochs: Vec<usize>,
}

noun!(Segments, uc_segments_t, 0xC5);

/// A handle for `segments`.
pub(super) fn open(segments: impl IntoIterator<Item = SegmentMetadata>) -> Result<*mut uc_segments_t, Failure> {
    let segments: Vec<_> = segments.into_iter().collect();
    let mut epochs = Vec::with_capacity(segments.len());
    let mut first_epochs = Vec::with_capacity(segments.len());
    for segment in &segments {
        first_epochs.push(epochs.len());
        let entries = segment.epochs.entries().iter();
        epochs.extend(entries.map(|&(e, offset)| uc_leader_epoch_t {
            epoch: e.0,
            reserved: 0,
            start_offset: offset.0,
        }));
    }
    handle::open(Segments { segments, epochs, first_epochs })
}

impl Segments {
    fn get(&self, index: usize) -> Option<uc_segment_t> {
        let (segment, &from) = (self.segments.get(index)?, self.first_epochs.get(index)?);
        let epochs = self.epochs.get(from..from + segment.epochs.entries().len())?;
        Some(uc_segment_t::from_model(segment, epochs))
    }

    fn none(&self, index: usize) -> Failure {
        Failure::argument(format!("index is {index}, and there are {}", self.segments.len()))
    }
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
        len_out.set(handle::find::<Segments>(segments)?.segments.len());
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
        let segment = segments.get(index).ok_or_else(|| segments.none(index))?;
        // SAFETY: null, or readable and writable as its struct_size says (# Safety).
        unsafe { borrow::write_back(segment_out, &segment) }
    })
}

/// `count` segments from `index` on, as many calls of `uc_segments_get`. Set `segments_out->struct_size` of the first
/// struct before the call: all lie as far apart, and get it.
///
/// Ownership: as `uc_segments_get`. On a failure some may have been written.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT (not so many, struct_size). Since ABI 2.
///
/// # Safety
/// `segments_out` is null or valid for reads and writes of `count` structs of `segments_out->struct_size` bytes each;
/// `error_out` is null or valid for writes. Nobody frees `segments` while the structs are used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_segments_read(
    segments: *const uc_segments_t,
    index: usize,
    segments_out: *mut uc_segment_t,
    count: usize,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let segments = handle::find::<Segments>(segments)?;
        let end = index.checked_add(count).filter(|&end| end <= segments.segments.len());
        let end = end.ok_or_else(|| segments.none(index.saturating_add(count)))?;
        let values = (index..end).filter_map(|index| segments.get(index));
        // SAFETY: null, or `count` structs that are readable and writable (# Safety), and there are no more values.
        unsafe { borrow::write_all(segments_out, values) }
    })
}

/// Frees a list. Nothing happens if it is null or freed already.
///
/// Threads: any, once nobody uses what it pointed to. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_segments_free(segments: *mut uc_segments_t) {
    quietly((), || drop(handle::take::<Segments>(segments)));
}
