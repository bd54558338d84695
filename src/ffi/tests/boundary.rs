use std::ptr;

use crate::ffi::borrow::Out;
use crate::ffi::boundary::{boundary, quietly};
use crate::ffi::code::uc_code;
use crate::ffi::error::{Failure, uc_error_code, uc_error_free, uc_error_t};
use crate::ffi::handle;

#[test]
fn a_panic_is_an_internal_error_that_says_where_and_what() {
    let mut error: *mut uc_error_t = ptr::null_mut();
    // SAFETY: a place of this function.
    let out = unsafe { Out::new(&raw mut error) };
    let status = boundary(out, || panic!("the sky fell at {}", 42));
    assert_eq!(status, uc_code::UC_ERR_INTERNAL.status());
    assert_eq!(uc_error_code(error), status);
    let failure = handle::find::<Failure>(error).expect("open");
    assert!(failure.message.contains("the sky fell at 42"), "{}", failure.message);
    assert!(failure.message.contains("boundary.rs"), "{}", failure.message);
    uc_error_free(error);
    assert_eq!(uc_error_code(error), uc_code::UC_ERR_CLOSED.status());
}

#[test]
fn a_panic_where_nothing_can_fail_gives_the_other_answer() {
    assert_eq!(quietly(-1, || panic!("no")), -1);
    assert_eq!(quietly(-1, || 5), 5);
}

#[test]
fn success_writes_null_and_failure_without_a_place_is_a_status_alone() {
    let mut error: *mut uc_error_t = ptr::without_provenance_mut(0x10);
    // SAFETY: a place of this function.
    let out = unsafe { Out::new(&raw mut error) };
    assert_eq!(boundary(out, || Ok(())), 0);
    assert!(error.is_null());
    assert_eq!(boundary(Out::nowhere(), || Err(Failure::argument("x"))), uc_code::UC_ERR_INVALID_ARGUMENT.status());
}

#[test]
fn every_code_has_its_own_number_and_name() {
    let codes = uc_code::all();
    for (i, code) in codes.iter().enumerate() {
        assert_eq!(uc_code::from_status(code.status()), Some(*code));
        assert!(codes[..i].iter().all(|other| other.c_name() != code.c_name() && other.status() < code.status()));
        assert!(!code.text().is_empty() && !code.java_class().is_empty());
    }
    assert_eq!(uc_code::from_status(1), None);
}
