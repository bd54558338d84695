//! What librdkafka calls: log lines and errors that belong to no request.

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;
use rdkafka::bindings as rd;
use tracing::Level;

use super::code::{Code, RespErr, text};

/// Errors that were reported beside the requests, until somebody takes them.
#[derive(Default)]
pub(super) struct Errors {
    list: Mutex<Vec<(Code, String)>>,
}

/// More than these are dropped, oldest first: it is the last ones that tell why nothing works.
const ERRORS_MAX: usize = 32;

impl Errors {
    /// That all brokers are down is said at each attempt to connect, and would push out the reason.
    fn push(&self, code: Code, reason: String) {
        let mut list = self.list.lock();
        let summary = code.is(RespErr::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
        if list.iter().any(|(known, text)| *known == code && (summary || *text == reason)) {
            return;
        }
        tracing::debug!(target: "undercroft::kafka", "{reason}");
        if list.len() == ERRORS_MAX {
            list.remove(0);
        }
        list.push((code, reason));
    }

    pub(super) fn take(&self) -> Vec<(Code, String)> {
        std::mem::take(&mut *self.list.lock())
    }
}

/// `error_cb`: runs inside of `rd_kafka_poll`, on the thread that polls.
///
/// # Safety
/// Called by librdkafka with a C string and the opaque that the client was made with.
pub(super) unsafe extern "C" fn on_error(
    _: *mut rd::rd_kafka_t,
    code: c_int,
    reason: *const c_char,
    opaque: *mut c_void,
) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the opaque is the `Errors` that the client's `Handle` keeps alive until after `rd_kafka_destroy`.
        let errors = unsafe { &*opaque.cast::<Errors>() };
        // SAFETY: a C string, valid during this call.
        let reason = unsafe { text(reason) };
        errors.push(Code(code), reason);
    }));
}

/// `log_cb`: runs on any of librdkafka's threads.
///
/// # Safety
/// Called by librdkafka with C strings.
pub(super) unsafe extern "C" fn on_log(
    _: *const rd::rd_kafka_t,
    level: c_int,
    facility: *const c_char,
    line: *const c_char,
) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: C strings, valid during this call.
        let (facility, line) = unsafe { (text(facility), text(line)) };
        match severity(level, &facility, &line) {
            Level::ERROR => tracing::error!(target: "undercroft::kafka", "{facility}: {line}"),
            Level::WARN => tracing::warn!(target: "undercroft::kafka", "{facility}: {line}"),
            Level::INFO => tracing::info!(target: "undercroft::kafka", "{facility}: {line}"),
            _ => tracing::debug!(target: "undercroft::kafka", "{facility}: {line}"),
        }
    }));
}

/// From syslog's levels. A broker that is away is said again and again, by facility FAIL; whoever waits for it is told by
/// an error of its own. So it is with a client that failed for good, which its owner asks for, with a coordinator that is
/// still loading, which every cluster's first start has, and with a connection that is given up for a better known one. What
/// a log's reader finds at an offset that is gone (OFFSET) it tells itself, where it is a loss.
fn severity(level: c_int, facility: &str, line: &str) -> Level {
    let is_usual = facility == "GETPID" && (line.contains("load in progress") || line.contains("handle destroyed"));
    match level {
        _ if matches!(facility, "FAIL" | "ERROR" | "FATAL" | "OFFSET") || is_usual => Level::DEBUG,
        ..=3 => Level::ERROR,
        4 => Level::WARN,
        5 => Level::INFO,
        _ => Level::DEBUG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_no_warning() {
        let line =
            "Failed to acquire idempotence PID from broker a:1/1: Broker: Coordinator load in progress: retrying";
        assert_eq!(severity(4, "GETPID", line), Level::DEBUG);
        let line = "Failed to acquire idempotence PID from broker a:1/bootstrap: Local: Broker handle destroyed without \
                    termination: retrying";
        assert_eq!(severity(4, "GETPID", line), Level::DEBUG);
        assert_eq!(
            severity(2, "FATAL", "[thrd:main]: Fatal error: Broker: Cluster authorization failed"),
            Level::DEBUG
        );
        let line =
            "__remote_log_metadata [0]: offset reset (at offset 6 (leader epoch 0), broker 1) to offset BEGINNING";
        assert_eq!(severity(4, "OFFSET", line), Level::DEBUG);
        assert_eq!(severity(4, "GETPID", "Cluster authorization failed"), Level::WARN);
        assert_eq!(severity(3, "FAIL", "Connection refused"), Level::DEBUG);
        assert_eq!(severity(3, "CONFWARN", "x"), Level::ERROR);
    }
}
