//! Configuration as pairs of text.

use std::ffi::c_char;

use parking_lot::Mutex;

use crate::config::storage::DRIVER_PREFIX;
use crate::config::{Config, Side, Warning, markdown};
use crate::metadata;

use super::borrow::{self, Out};
use super::boundary::{boundary, quietly};
use super::buf::{self, uc_buf_t};
use super::code::uc_status_t;
use super::error::{Failure, uc_error_t};
use super::handle::{self, noun};

/// Pairs of key and value for one manager, as Kafka has them; `docs/CONFIG.md` lists the keys.
///
/// A manager takes a copy when it is opened: later changes do not reach it.
///
/// ```c
/// uc_config_t *config = NULL;
/// uc_config_new(&config, NULL);
/// uc_config_set(config, "storage.backend.class", 21, "filesystem", 10, NULL);
/// uc_storage_open(config, &storage, &error);
/// uc_config_free(config);
/// ```
pub struct uc_config_t {
    _private: [u8; 0],
}

/// Which manager a configuration is for.
#[repr(i32)]
pub enum uc_side {
    /// Keys of `uc_storage_open`.
    UC_SIDE_STORAGE = 0,
    /// Keys of `uc_metadata_open`.
    UC_SIDE_METADATA = 1,
}

/// See [`uc_config_t`].
pub struct Pairs(Mutex<Config>);

noun!(Pairs, uc_config_t, 0xC3);

/// What the handle holds now.
pub(super) fn snapshot(config: *const uc_config_t) -> Result<Config, Failure> {
    Ok(handle::find::<Pairs>(config)?.0.lock().clone())
}

/// An empty configuration.
///
/// Ownership: `*config_out` is the caller's to free with `uc_config_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `config_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_config_new(
    config_out: *mut *mut uc_config_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let config_out = unsafe { Out::required(config_out, "config_out")? };
        config_out.set(handle::open(Pairs(Mutex::default()))?);
        Ok(())
    })
}

/// Sets a key; the last value wins. Any key is taken: values are checked by `uc_config_check` and when a manager opens.
///
/// Ownership: key and value stay the caller's and are copied.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT (null, not UTF-8), UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `key` and `value` are null or valid for reads of their lengths; `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_config_set(
    config: *mut uc_config_t,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or readable for their lengths (# Safety); used only during this call.
        let (key, value) = unsafe { (borrow::text(key, key_len, "key")?, borrow::text(value, value_len, "value")?) };
        if key.is_empty() {
            return Err(Failure::argument("key is empty"));
        }
        handle::find::<Pairs>(config)?.0.lock().set(key, value);
        Ok(())
    })
}

/// Checks all values for one manager (`uc_side`).
///
/// `*warnings_json_out` becomes a JSON array of the keys that nobody reads: `[{"key":"…","did_you_mean":"…" or null}]`.
///
/// Ownership: `*warnings_json_out` is the caller's to free with `uc_buf_free`; the pointer may be null if nobody wants
/// it. `*error_out`, if set, is the caller's to free with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_CONFIG (names key, value and range), UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `warnings_json_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_config_check(
    config: *const uc_config_t,
    side: i32,
    warnings_json_out: *mut *mut uc_buf_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let warnings_out = unsafe { Out::new(warnings_json_out) };
        let (side, open_prefixes) = side_of(side)?;
        let warnings = snapshot(config)?.check(side, &open_prefixes)?;
        if warnings_out.is_wanted() {
            warnings_out.set(buf::open(json(&warnings))?);
        }
        Ok(())
    })
}

/// The reference of all keys, as Markdown.
///
/// Ownership: `*markdown_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `markdown_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_config_reference(
    markdown_out: *mut *mut uc_buf_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let markdown_out = unsafe { Out::required(markdown_out, "markdown_out")? };
        markdown_out.set(buf::open(markdown())?);
        Ok(())
    })
}

/// Frees a configuration. Nothing happens if it is null or freed already. Managers opened with it are not touched.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_config_free(config: *mut uc_config_t) {
    quietly((), || drop(handle::take::<Pairs>(config)));
}

/// The side, and the beginnings of keys that belong to what the side talks to.
fn side_of(number: i32) -> Result<(Side, Vec<&'static str>), Failure> {
    match number {
        n if n == uc_side::UC_SIDE_STORAGE as i32 => Ok((Side::Storage, vec![DRIVER_PREFIX])),
        n if n == uc_side::UC_SIDE_METADATA as i32 => Ok((Side::Metadata, metadata::open_prefixes())),
        n => Err(Failure::argument(format!("side is {n}; known are 0 (storage) and 1 (metadata)"))),
    }
}

fn json(warnings: &[Warning]) -> String {
    let rows = warnings.iter().map(|w| serde_json::json!({ "key": w.key, "did_you_mean": w.did_you_mean }));
    serde_json::Value::Array(rows.collect()).to_string()
}
