//! Bytes that the library hands out.

use bytes::Bytes;

use super::borrow::Out;
use super::boundary::{boundary, quietly};
use super::code::uc_status_t;
use super::error::{Failure, uc_error_t};
use super::handle::{self, noun};

/// Bytes that the library made, reference counted and never changed. May be read by many threads at once.
///
/// ```c
/// const uint8_t *bytes = NULL;
/// size_t len = 0;
/// if (uc_buf_view(buf, &bytes, &len) == UC_OK) { fwrite(bytes, 1, len, stdout); }
/// uc_buf_free(buf);
/// ```
pub struct uc_buf_t {
    _private: [u8; 0],
}

/// See [`uc_buf_t`].
pub struct Buf(Bytes);

noun!(Buf, uc_buf_t, 0xC2);

/// A handle for `bytes`.
pub(super) fn open(bytes: impl Into<Bytes>) -> Result<*mut uc_buf_t, Failure> {
    handle::open(Buf(bytes.into()))
}

/// Shows the bytes. An empty buffer may show null.
///
/// Ownership: the bytes are the buffer's; they are there until `uc_buf_free`.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `ptr_out` and `len_out` are null or valid for writes. Nobody frees `buf` while the bytes are used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_buf_view(
    buf: *const uc_buf_t,
    ptr_out: *mut *const u8,
    len_out: *mut usize,
) -> uc_status_t {
    boundary(Out::nowhere(), || {
        // SAFETY: each is null or valid for one write (# Safety).
        let (ptr_out, len_out) = unsafe { (Out::required(ptr_out, "ptr_out")?, Out::required(len_out, "len_out")?) };
        let buf = handle::find::<Buf>(buf)?;
        ptr_out.set(if buf.0.is_empty() { std::ptr::null() } else { buf.0.as_ptr() });
        len_out.set(buf.0.len());
        Ok(())
    })
}

/// A second handle for the same bytes, without a copy; each handle is freed on its own.
///
/// Ownership: `*buf_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `buf_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_buf_clone(
    buf: *const uc_buf_t,
    buf_out: *mut *mut uc_buf_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let buf_out = unsafe { Out::required(buf_out, "buf_out")? };
        let buf = handle::find::<Buf>(buf)?;
        buf_out.set(open(buf.0.clone())?);
        Ok(())
    })
}

/// Frees a buffer. Nothing happens if it is null or freed already.
///
/// Threads: any, once nobody uses its bytes. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_buf_free(buf: *mut uc_buf_t) {
    quietly((), || drop(handle::take::<Buf>(buf)));
}
