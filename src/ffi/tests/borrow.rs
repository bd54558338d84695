use std::mem::MaybeUninit;
use std::ptr;

use crate::ffi::borrow::{self, Out};
use crate::ffi::code::uc_code;
use crate::ffi::partition::uc_partition_t;

fn partition(topic: &str) -> uc_partition_t {
    uc_partition_t {
        struct_size: 48,
        partition: 1,
        topic_id: [3; 16],
        topic: topic.as_ptr().cast(),
        topic_len: topic.len(),
        leader_epoch: 5,
        reserved: 0,
    }
}

#[test]
fn null_with_length_zero_is_empty_and_with_another_an_error() {
    // SAFETY: null is allowed.
    let (empty, wrong) = unsafe { (borrow::bytes(ptr::null(), 0, "x"), borrow::bytes(ptr::null(), 1, "x")) };
    assert_eq!(empty, Ok(&[] as &[u8]));
    assert_eq!(wrong.map_err(|e| e.code), Err(uc_code::UC_ERR_INVALID_ARGUMENT));
    // SAFETY: null is allowed.
    assert!(unsafe { borrow::bytes_mut(ptr::null_mut(), 0, "x") }.is_ok());
    // SAFETY: refused before anything is read.
    assert!(unsafe { borrow::bytes(b"x".as_ptr(), usize::MAX, "x") }.is_err());
}

#[test]
fn text_must_be_utf8() {
    // SAFETY: both are arrays of the length that is said.
    unsafe {
        assert_eq!(borrow::text(c"ok".as_ptr(), 2, "x"), Ok("ok"));
        assert!(borrow::text([0xff_u8, 0xfe].as_ptr().cast(), 2, "key").is_err_and(|e| e.message.contains("key")));
    }
}

#[test]
fn a_struct_that_is_too_small_is_named_with_both_sizes() {
    let mut value = partition("orders");
    value.struct_size = 47;
    // SAFETY: readable as far as its struct_size says.
    let failure = unsafe { borrow::one(&raw const value) }.expect_err("47 < 48");
    assert_eq!(
        failure.message,
        "uc_partition_t: struct_size is 47, and it has at least 48 bytes; set it to sizeof(uc_partition_t)"
    );
}

#[test]
fn a_struct_of_any_alignment_and_of_a_newer_host_is_read_as_far_as_known() {
    let mut place = [MaybeUninit::<u8>::new(0xAB); 128];
    let mut value = partition("orders");
    value.struct_size = 100;
    for (i, odd) in [1_usize, 3, 8].into_iter().enumerate() {
        // SAFETY: 48 bytes are written and 100 said to be there, within the 128 of the array.
        let read = unsafe {
            let to = place.as_mut_ptr().add(odd);
            ptr::copy_nonoverlapping((&raw const value).cast(), to, 48);
            borrow::one(to.cast::<uc_partition_t>())
        };
        assert_eq!(read.map(|p| (p.partition, p.topic_len)), Ok((1, 6)), "case {i}");
    }
}

#[test]
fn elements_of_an_array_are_as_far_apart_as_the_first_one_says() {
    #[repr(C)]
    struct Newer(uc_partition_t, u64);
    let mut values =
        [1, 2, 3].map(|n| Newer(uc_partition_t { struct_size: 56, partition: n, ..partition("t") }, u64::MAX));
    // SAFETY: three structs of 56 bytes.
    let read = unsafe { borrow::many(values.as_ptr().cast::<uc_partition_t>(), 3) };
    assert_eq!(read.map(|all| all.iter().map(|p| p.partition).collect::<Vec<_>>()), Ok(vec![1, 2, 3]));
    values[2].0.struct_size = 48;
    // SAFETY: as above.
    assert!(unsafe { borrow::many(values.as_ptr().cast::<uc_partition_t>(), 3) }.is_err());
    // SAFETY: nothing is read.
    assert!(unsafe { borrow::many(ptr::null::<uc_partition_t>(), 0) }.is_ok_and(|all| all.is_empty()));
    // SAFETY: refused before anything but the first struct is read.
    assert!(unsafe { borrow::many(values.as_ptr().cast::<uc_partition_t>(), usize::MAX / 64) }.is_err());
}

#[test]
fn an_answer_is_written_as_far_as_an_older_host_has_room_and_its_size_stays() {
    let mut value = partition("orders");
    value.struct_size = 48;
    let answer = uc_partition_t { partition: 77, struct_size: 0, ..value };
    // SAFETY: 48 bytes, as it says.
    unsafe { borrow::write_back(&raw mut value, &answer) }.expect("it fits");
    assert_eq!((value.struct_size, value.partition), (48, 77));
    // SAFETY: null is allowed.
    assert!(unsafe { borrow::write_back(ptr::null_mut::<uc_partition_t>(), &answer) }.is_err());
}

#[test]
fn an_output_may_lie_anywhere_and_nowhere() {
    let mut place = [0_u8; 16];
    // SAFETY: eight bytes within the array; null is allowed.
    let (odd, nowhere) =
        unsafe { (Out::<u64>::new(place.as_mut_ptr().add(3).cast()), Out::<u64>::new(ptr::null_mut())) };
    odd.set(u64::MAX);
    nowhere.set(1);
    assert_eq!(place[2..12], [0, 255, 255, 255, 255, 255, 255, 255, 255, 0]);
    // SAFETY: null is allowed, and an error.
    assert!(unsafe { Out::<u64>::required(ptr::null_mut(), "n_out") }.is_err_and(|e| e.message == "n_out is null"));
}
