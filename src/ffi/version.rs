//! Which library this is.

use std::ffi::{CStr, c_char};

use super::boundary::quietly;
use super::code::{uc_code, uc_status_t};

/// Number of the ABI: the header's UC_ABI_VERSION. Grows with additions; what was there before goes on working.
pub const ABI_VERSION: u32 = 2;

static VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => c"",
};

/// From the header beside which the library was built (`build.rs`).
static BUILD_ID: &CStr = match CStr::from_bytes_with_nul(concat!(env!("UNDERCROFT_BUILD_ID"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => c"",
};

/// Number of the ABI that the library has; a program compiled against UC_ABI_VERSION needs at least that one.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_abi_version() -> u32 {
    ABI_VERSION
}

/// Version of the library, such as "0.1.0": the UNDERCROFT_VERSION of its header. Static, NUL-terminated, never null.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The UC_BUILD_ID of the header that the library was built with. Equal strings mean: same release, same header text.
///
/// For parts that are shipped together (the JNI shim and its core). Others compare `uc_abi_version`.
/// Static, NUL-terminated, never null. Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_build_id() -> *const c_char {
    BUILD_ID.as_ptr()
}

/// Name of a status, such as "UC_ERR_CORRUPT"; "UC_ERR_?" for a number that this library does not know.
///
/// Static, NUL-terminated, never null. Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_status_name(status: uc_status_t) -> *const c_char {
    quietly(c"UC_ERR_?".as_ptr(), || uc_code::from_status(status).map_or(c"UC_ERR_?", uc_code::c_name).as_ptr())
}
