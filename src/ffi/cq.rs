//! Completions: where submitted work ends.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};

use super::borrow::{self, Growing, Out};
use super::boundary::{boundary, quietly};
use super::buf::{self, Buf, uc_buf_t};
use super::code::{uc_code, uc_status_t};
use super::error::{Failure, uc_error_t};
use super::gate::{Call, Visit, deadline};
use super::handle::{self, noun};
use super::signal::Signal;

/// A completion queue. Each submission that was accepted (UC_OK) puts exactly one event into it, whatever happens.
///
/// Read it with `uc_cq_next` on a thread of the host, or wait for `uc_cq_fd` in the host's own loop and then read with
/// time-out 0. The library never calls the host.
///
/// ```c
/// uc_event_t event = {.struct_size = sizeof event};
/// while (uc_cq_next(cq, UINT32_MAX, &event, NULL) == UC_OK) {
///   complete(event.tag, event.status, event.result, event.error);
///   uc_buf_free(event.result);
///   uc_error_free(event.error);
/// }
/// ```
pub struct uc_cq_t {
    _private: [u8; 0],
}

/// How one submission ended. Set `struct_size` to `sizeof(uc_event_t)`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_event_t {
    pub struct_size: u32,
    pub status: uc_status_t,
    /// What the submission was given.
    pub tag: u64,
    /// Null if `status` is UC_OK. The receiver's to free with `uc_error_free`.
    pub error: *mut uc_error_t,
    /// What the submission answers, or null: custom metadata of a copy, bytes of an index. The receiver's to free with
    /// `uc_buf_free`.
    pub result: *mut uc_buf_t,
}

// SAFETY: repr(C), begins with a u32 size; numbers and raw pointers are valid with any bytes.
unsafe impl Growing for uc_event_t {
    const NAME: &'static str = "uc_event_t";
    const SIZE_MIN: usize = 32;
}

noun!(Queue, uc_cq_t, 0xC6);

pub(super) type Outcome = Result<Option<Bytes>, Failure>;

/// See [`uc_cq_t`].
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    events: VecDeque<(u64, Outcome)>,
    in_flight: HashMap<u64, (u64, Arc<Signal>)>,
    next_id: u64,
    is_closed: bool,
    /// Somebody called `uc_cq_wake`, and nobody has returned from `uc_cq_next` for it.
    is_woken: bool,
    /// Readable while there are events or a wake; there once somebody asked for it.
    fd: Option<OwnedFd>,
}

/// A submission. Once it runs it owes an event, and dropping it is one, too; before that the call's status says it all.
pub struct Ticket {
    queue: Arc<Queue>,
    id: u64,
    tag: u64,
    cancel: Arc<Signal>,
    is_done: bool,
    /// Ends after the event is in the queue, so that a close which waited for it finds all events there.
    visit: Option<Visit>,
}

impl Queue {
    /// Accepts a submission, which owes an event from [`Ticket::run`] on.
    pub fn accept(self: &Arc<Self>, tag: u64) -> Result<Ticket, Failure> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(Failure::closed("uc_cq_t: freed"));
        }
        let id = state.next_id;
        state.next_id += 1;
        let cancel = Arc::new(Signal::default());
        state.in_flight.insert(id, (tag, Arc::clone(&cancel)));
        Ok(Ticket { queue: Arc::clone(self), id, tag, cancel, is_done: false, visit: None })
    }

    fn put(&self, ticket: &Ticket, outcome: Outcome) {
        let mut state = self.state.lock();
        state.in_flight.remove(&ticket.id);
        if state.is_closed {
            return;
        }
        state.events.push_back((ticket.tag, outcome));
        state.show();
        drop(state);
        self.changed.notify_one();
    }

    pub(super) fn next(&self, timeout_ms: u32) -> Result<(u64, Outcome), Failure> {
        let deadline = deadline(timeout_ms);
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return Err(Failure::closed("uc_cq_t: freed"));
            }
            if let Some(event) = state.events.pop_front() {
                state.show();
                return Ok(event);
            }
            if std::mem::take(&mut state.is_woken) {
                state.show();
                return Err(Failure::new(uc_code::UC_ERR_TIMEOUT, "uc_cq_next: woken by uc_cq_wake"));
            }
            let timed_out = match deadline {
                Some(deadline) => self.changed.wait_until(&mut state, deadline).timed_out(),
                None => {
                    self.changed.wait(&mut state);
                    false
                }
            };
            if timed_out && state.events.is_empty() && !state.is_closed {
                return Err(Failure::timeout("uc_cq_next", timeout_ms));
            }
        }
    }

    /// Waits for an event and lets `hand_out` give it to the host. One that it could not give stays the next one.
    pub(super) fn deliver(
        &self,
        timeout_ms: u32,
        hand_out: impl FnOnce(u64, &Outcome) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (tag, outcome) = self.next(timeout_ms)?;
        let handed_out = hand_out(tag, &outcome);
        if handed_out.is_err() {
            let mut state = self.state.lock();
            if !state.is_closed {
                state.events.push_front((tag, outcome));
                state.show();
                drop(state);
                self.changed.notify_one();
            }
        }
        handed_out
    }

    fn wake(&self) {
        let mut state = self.state.lock();
        state.is_woken = true;
        state.show();
        drop(state);
        self.changed.notify_one();
    }

    fn cancel(&self, tag: u64) {
        let state = self.state.lock();
        let matching = state.in_flight.values().filter(|(of, _)| *of == tag);
        let signals: Vec<_> = matching.map(|(_, signal)| Arc::clone(signal)).collect();
        drop(state);
        for signal in signals {
            signal.fire();
        }
    }

    /// Cancels what is in flight, drops what nobody took, and wakes everyone who waits.
    fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let events = std::mem::take(&mut state.events);
        let in_flight = std::mem::take(&mut state.in_flight);
        state.fd = None;
        drop(state);
        self.changed.notify_all();
        drop(events);
        for (_, signal) in in_flight.values() {
            signal.fire();
        }
    }

    fn fd(&self) -> Result<i32, Failure> {
        let mut state = self.state.lock();
        if state.fd.is_none() {
            let fd = event_fd().map_err(|e| Failure::internal(format!("uc_cq_fd: no descriptor to be had: {e}")))?;
            state.fd = Some(fd);
            state.show();
        }
        state.fd.as_ref().map(AsRawFd::as_raw_fd).ok_or_else(|| Failure::closed("uc_cq_t: freed"))
    }
}

impl State {
    /// Makes the descriptor readable exactly while there is something to read.
    fn show(&self) {
        let Some(fd) = &self.fd else { return };
        let mut count = 1_u64;
        let place = (&raw mut count).cast();
        // SAFETY: the descriptor is open (owned by `self`), and `count` has the eight bytes that an eventfd wants. It does
        // not block (EFD_NONBLOCK); a full or an empty counter is what is wanted, so the answer does not matter.
        unsafe {
            if self.events.is_empty() && !self.is_woken {
                libc::read(fd.as_raw_fd(), place, size_of::<u64>());
            } else {
                libc::write(fd.as_raw_fd(), place, size_of::<u64>());
            }
        }
    }
}

fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers alone.
    let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

impl Ticket {
    /// Takes the submission back: it was not accepted after all and owes nothing. A panic before [`Ticket::run`] does the
    /// same.
    pub fn withdraw(self) {
        drop(self);
    }

    /// Runs `work` on the library's threads until it is done, cancelled or the manager is closed.
    pub fn run<E: Into<Failure> + Send + 'static>(
        mut self,
        call: &Call,
        what: &'static str,
        work: impl Future<Output = Result<Option<Bytes>, E>> + Send + 'static,
    ) {
        self.visit = Some(call.leave_behind());
        let closing = call.closing();
        let cancel = Arc::clone(&self.cancel);
        call.handle().spawn(async move {
            let outcome = tokio::select! {
                biased;
                outcome = work => outcome.map_err(Into::into),
                () = cancel.wait() => Err(Failure::cancelled(format!("{what}: cancelled by the host"))),
                () = closing.wait() => Err(Failure::closed(format!("{what}: the manager was closed"))),
            };
            self.finish(outcome);
        });
    }

    fn finish(&mut self, outcome: Outcome) {
        if !std::mem::replace(&mut self.is_done, true) {
            self.queue.put(self, outcome);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.visit.is_none() {
            self.queue.state.lock().in_flight.remove(&self.id);
            return;
        }
        let failure = if std::thread::panicking() {
            Failure::internal("the library panicked while it did this; its log has the place. Please report it")
        } else {
            Failure::closed("the manager was closed")
        };
        self.finish(Err(failure));
    }
}

/// What the handle of a queue stands for.
pub(super) fn find(cq: *const uc_cq_t) -> Result<Arc<Queue>, Failure> {
    handle::find::<Queue>(cq)
}

/// A new, empty queue. One may serve any number of managers.
///
/// Ownership: `*cq_out` is the caller's to free with `uc_cq_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `cq_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_cq_new(cq_out: *mut *mut uc_cq_t, error_out: *mut *mut uc_error_t) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let cq_out = unsafe { Out::required(cq_out, "cq_out")? };
        cq_out.set(handle::open(Queue::default())?);
        Ok(())
    })
}

/// Takes the oldest event, waiting up to `timeout_ms` for one (0 = do not wait, UINT32_MAX = for ever).
///
/// Set `event_out->struct_size` before the call; it stays. On any status but UC_OK nothing is written to `*event_out`, and
/// no event is lost.
///
/// Ownership: `event_out->error` and `event_out->result` are the caller's to free, as is `*error_out`, if set.
/// Threads: any number at once; each event goes to one of them.
/// Errors: UC_ERR_TIMEOUT (also after `uc_cq_wake`), UC_ERR_CLOSED (freed, also during the wait),
/// UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `event_out` is null or valid for reads and writes of `event_out->struct_size` bytes; `error_out` is null or valid for
/// writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_cq_next(
    cq: *const uc_cq_t,
    timeout_ms: u32,
    event_out: *mut uc_event_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let queue = find(cq)?;
        // SAFETY: null, or readable as its struct_size says (# Safety).
        unsafe { borrow::check_place(event_out)? };
        queue.deliver(timeout_ms, |tag, outcome| {
            let event = open_event(tag, outcome)?;
            // SAFETY: readable and writable as its struct_size says (# Safety).
            let written = unsafe { borrow::write_back(event_out, &event) };
            if written.is_err() {
                drop((handle::take::<Buf>(event.result), handle::take::<Failure>(event.error)));
            }
            written
        })
    })
}

/// The event as the host gets it, with handles of its own.
fn open_event(tag: u64, outcome: &Outcome) -> Result<uc_event_t, Failure> {
    let mut event = uc_event_t {
        struct_size: 0,
        status: uc_code::UC_OK.status(),
        tag,
        error: std::ptr::null_mut(),
        result: std::ptr::null_mut(),
    };
    match outcome {
        Ok(None) => {}
        Ok(Some(bytes)) => event.result = buf::open(bytes.clone())?,
        Err(failure) => {
            event.status = failure.code.status();
            event.error = handle::open(failure.clone())?;
        }
    }
    Ok(event)
}

/// A descriptor that is readable while the queue has an event, for the host's own loop (epoll, poll, select).
///
/// Never read from it, write to it or close it: take events with `uc_cq_next` and time-out 0 until UC_ERR_TIMEOUT.
///
/// Ownership: the descriptor is the queue's and is closed by `uc_cq_free`; take it out of the loop before.
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT, UC_ERR_INTERNAL (no descriptor left). Since ABI 1.
///
/// # Safety
/// `fd_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_cq_fd(
    cq: *const uc_cq_t,
    fd_out: *mut i32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let fd_out = unsafe { Out::required(fd_out, "fd_out")? };
        fd_out.set(find(cq)?.fd()?);
        Ok(())
    })
}

/// Makes one `uc_cq_next` that waits, or else the next one, return UC_ERR_TIMEOUT at once if there is no event.
///
/// Threads: any. Nothing happens if `cq` is null or freed. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_cq_wake(cq: *const uc_cq_t) {
    quietly((), || {
        if let Ok(queue) = find(cq) {
            queue.wake();
        }
    });
}

/// Cancels every submission in flight that has this tag. Each still gives its one event: UC_ERR_CANCELLED, or how it
/// ended if it was faster. UC_OK also if none has the tag.
///
/// A cancelled metadata event may be in the log already and counts then; a cancelled copy leaves no object.
///
/// Threads: any. Errors: UC_ERR_CLOSED. Since ABI 1.
///
/// # Safety
/// `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_cq_cancel(cq: *const uc_cq_t, tag: u64, error_out: *mut *mut uc_error_t) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        find(cq)?.cancel(tag);
        Ok(())
    })
}

/// Frees a queue. What is in flight on it is cancelled without an event, events that nobody took are freed, and every
/// `uc_cq_next` that waits answers UC_ERR_CLOSED. Nothing happens if it is null or freed already.
///
/// Threads: any. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_cq_free(cq: *mut uc_cq_t) {
    quietly((), || {
        if let Some(queue) = handle::take::<Queue>(cq) {
            queue.close();
        }
    });
}
