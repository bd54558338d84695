//! What went wrong, as the header has it.

use std::any::Any;
use std::error::Error;
use std::ffi::c_char;

use crate::config::ConfigError;
use crate::metadata::MetadataError;
use crate::storage::StorageError;

use super::borrow::Out;
use super::boundary::{boundary, quietly};
use super::code::{uc_code, uc_status_t};
use super::handle::{self, noun};

/// What went wrong: code, message and whether to try again. It never changes and may be read by many threads at once.
///
/// ```c
/// uc_error_t *error = NULL;
/// if (uc_storage_check(storage, 5000, &error) != UC_OK) {
///   const char *text = NULL;
///   size_t len = 0;
///   uc_error_message(error, &text, &len);
///   fprintf(stderr, "%.*s\n", (int)len, text);
///   uc_error_free(error);
/// }
/// ```
pub struct uc_error_t {
    _private: [u8; 0],
}

noun!(Failure, uc_error_t, 0xC1);

/// Why a call of the ABI failed; becomes a status and, if the caller wants it, a `uc_error_t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: uc_code,
    pub message: String,
    pub is_retriable: bool,
}

impl Failure {
    pub(super) fn new(code: uc_code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), is_retriable: code.is_retriable() }
    }

    pub(super) fn argument(message: impl Into<String>) -> Self {
        Self::new(uc_code::UC_ERR_INVALID_ARGUMENT, message)
    }

    pub(super) fn closed(message: impl Into<String>) -> Self {
        Self::new(uc_code::UC_ERR_CLOSED, message)
    }

    pub(super) fn cancelled(message: impl Into<String>) -> Self {
        Self::new(uc_code::UC_ERR_CANCELLED, message)
    }

    pub(super) fn timeout(what: &str, timeout_ms: u32) -> Self {
        Self::new(uc_code::UC_ERR_TIMEOUT, format!("{what}: not done within {timeout_ms} ms"))
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(uc_code::UC_ERR_INTERNAL, message)
    }

    /// From what a panic carries; its place was noted by the hook.
    pub(super) fn panicked(payload: &(dyn Any + Send), place: Option<String>) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
        Self::internal(format!("the library panicked{place}: {text}; this is a defect, please report it"))
    }

    fn of(code: uc_code, error: &dyn Error, is_retriable: bool) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self { code, message, is_retriable }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::of((&error).into(), &error, error.is_retriable())
    }
}

impl From<MetadataError> for Failure {
    fn from(error: MetadataError) -> Self {
        Self::of((&error).into(), &error, error.is_retriable())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::of((&error).into(), &error, false)
    }
}

/// The code of an error.
///
/// Threads: any. Errors: UC_ERR_CLOSED if `error` is null or freed. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_error_code(error: *const uc_error_t) -> uc_status_t {
    quietly(uc_code::UC_ERR_INTERNAL.status(), || match handle::find::<Failure>(error) {
        Ok(failure) => failure.code.status(),
        Err(_) => uc_code::UC_ERR_CLOSED.status(),
    })
}

/// 1 if the same call may succeed later without anybody's help, else 0; 0 if `error` is null or freed.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_error_is_retriable(error: *const uc_error_t) -> i32 {
    quietly(0, || handle::find::<Failure>(error).map_or(0, |failure| i32::from(failure.is_retriable)))
}

/// Shows the message of an error: what was tried, on what, what happened, and the remedy if there is one. UTF-8, not
/// NUL-terminated.
///
/// Ownership: the text is the error's; it is there until `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `ptr_out` and `len_out` are null or valid for writes. Nobody frees `error` while the text is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_error_message(
    error: *const uc_error_t,
    ptr_out: *mut *const c_char,
    len_out: *mut usize,
) -> uc_status_t {
    boundary(Out::nowhere(), || {
        // SAFETY: each is null or valid for one write (# Safety).
        let (ptr_out, len_out) = unsafe { (Out::required(ptr_out, "ptr_out")?, Out::required(len_out, "len_out")?) };
        let failure = handle::find::<Failure>(error)?;
        ptr_out.set(failure.message.as_ptr().cast());
        len_out.set(failure.message.len());
        Ok(())
    })
}

/// Frees an error. Nothing happens if it is null or freed already.
///
/// Threads: any, once nobody uses its message. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_error_free(error: *mut uc_error_t) {
    quietly((), || drop(handle::take::<Failure>(error)));
}
