//! The one place where panics end and failures become statuses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::borrow::Out;
use super::code::{uc_code, uc_status_t};
use super::error::{Failure, uc_error_t};
use super::{handle, hook};

/// Runs the body of an exported function.
///
/// Answers with the body's status. `*error_out` becomes null on success and a new error otherwise. A panic becomes
/// UC_ERR_INTERNAL with the panic's message.
pub fn boundary(error_out: Out<*mut uc_error_t>, body: impl FnOnce() -> Result<(), Failure>) -> uc_status_t {
    let outcome = guarded(body).unwrap_or_else(Err);
    match outcome {
        Ok(()) => {
            error_out.set(std::ptr::null_mut());
            uc_code::UC_OK.status()
        }
        Err(failure) => {
            let status = failure.code.status();
            if error_out.is_wanted() {
                error_out.set(handle::open(failure).unwrap_or(std::ptr::null_mut()));
            }
            status
        }
    }
}

/// Runs the body of an exported function that cannot fail; `otherwise` is the answer if it panics all the same.
pub fn quietly<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    guarded(body).unwrap_or(otherwise)
}

fn guarded<T>(body: impl FnOnce() -> T) -> Result<T, Failure> {
    let _inside = hook::enter();
    // A half-changed value is behind a lock that the body held, and parking_lot's locks do not poison: every noun's
    // critical sections keep their invariants at each step.
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| Failure::panicked(&*payload, hook::take_place()))
}
