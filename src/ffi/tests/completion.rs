#![cfg(not(miri))]

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::ffi::code::uc_code;
use crate::ffi::cq::Queue;
use crate::ffi::error::Failure;
use crate::ffi::gate::{Gate, UNBOUNDED};
use crate::ffi::runtime;

fn gate() -> Gate {
    Gate::new("the test's manager", runtime::lease().expect("a runtime"))
}

fn shut() -> impl FnOnce(&tokio::runtime::Handle, Option<Duration>) -> bool {
    |_, _| true
}

#[test]
fn a_panic_of_submitted_work_is_one_event() {
    let (gate, queue) = (gate(), Arc::new(Queue::default()));
    let call = gate.enter().expect("open");
    let ticket = queue.accept(3).expect("open");
    ticket.run::<Failure>(&call, "test", async { panic!("no luck") });
    let (tag, outcome) = queue.next(UNBOUNDED).expect("an event");
    assert_eq!((tag, outcome.map_err(|e| e.code)), (3, Err(uc_code::UC_ERR_INTERNAL)));
    assert!(queue.next(20).is_err_and(|e| e.code == uc_code::UC_ERR_TIMEOUT));
}

#[test]
fn a_submission_that_failed_in_the_call_owes_no_event_however_it_failed() {
    let queue = Arc::new(Queue::default());
    queue.accept(1).expect("open").withdraw();
    let call = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ticket = queue.accept(2).expect("open");
        panic!("the host hears of it by the call's status");
    }));
    assert!(call.is_err());
    assert!(queue.next(0).is_err_and(|e| e.code == uc_code::UC_ERR_TIMEOUT));
}

#[test]
fn a_close_ends_what_would_never_end_and_its_events_are_there() {
    let (gate, queue) = (gate(), Arc::new(Queue::default()));
    // Another share keeps the runtime alive.
    let _other = runtime::lease().expect("a runtime");
    for tag in 0..50 {
        let call = gate.enter().expect("open");
        queue.accept(tag).expect("open").run::<Failure>(&call, "test", std::future::pending());
    }
    gate.close(10_000, shut()).expect("in time");
    for _ in 0..50 {
        assert!(queue.next(0).is_ok_and(|(_, outcome)| outcome.is_err_and(|e| e.code == uc_code::UC_ERR_CLOSED)));
    }
    assert!(gate.enter().is_err_and(|e| e.code == uc_code::UC_ERR_CLOSED));
    assert_eq!(gate.close(0, shut()), Ok(()));
}

#[test]
fn a_blocking_call_ends_with_the_close_and_with_its_time() {
    let gate = gate();
    let call = gate.enter().expect("open");
    let never = || std::future::pending::<Result<(), Failure>>();
    assert!(call.wait("test", 10, never()).is_err_and(|e| e.code == uc_code::UC_ERR_TIMEOUT && e.is_retriable));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let call = call;
            assert!(call.wait("test", UNBOUNDED, never()).is_err_and(|e| e.code == uc_code::UC_ERR_CLOSED));
        });
        gate.close(10_000, shut()).expect("in time");
    });
}

#[test]
fn a_close_that_runs_out_of_time_says_so_and_the_visitor_ends_in_peace() {
    let gate = gate();
    let call = gate.enter().expect("open");
    assert!(gate.close(10, shut()).is_err_and(|e| e.code == uc_code::UC_ERR_TIMEOUT));
    assert!(call.wait("test", UNBOUNDED, async { Ok::<_, Failure>(Bytes::new()) }).is_ok());
}

#[test]
fn an_event_that_could_not_be_handed_out_is_the_next_one_again() {
    let (gate, queue) = (gate(), Arc::new(Queue::default()));
    for tag in 1..=2 {
        let call = gate.enter().expect("open");
        let done = Ok(Some(Bytes::from(format!("result {tag}"))));
        queue.accept(tag).expect("open").run::<Failure>(&call, "test", std::future::ready(done));
        let taken = queue.deliver(UNBOUNDED, |_, _| Err(Failure::internal("no handle to be had")));
        assert!(taken.is_err_and(|e| e.code == uc_code::UC_ERR_INTERNAL));
    }
    for tag in 1..=2 {
        let mut got = None;
        let deliver = queue.deliver(UNBOUNDED, |tag, outcome| {
            got = Some((tag, outcome.clone()));
            Ok(())
        });
        assert_eq!(deliver, Ok(()));
        let result = Some(Bytes::from(format!("result {tag}")));
        assert_eq!(got, Some((tag, Ok(result))));
    }
    assert!(queue.next(0).is_err_and(|e| e.code == uc_code::UC_ERR_TIMEOUT));
}
