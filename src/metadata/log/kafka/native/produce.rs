//! Records out, delivery reports back.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use rdkafka::bindings as rd;
use tokio::sync::oneshot;

use super::code::{self, Code};
use super::handle::{Handle, Kind, c_string};
use crate::config::ConfigError;
use crate::metadata::log::kafka::translate::Property;

/// Where a record's offset, or the reason why it has none, is told.
pub(in super::super) type Report = oneshot::Sender<Result<i64, Code>>;

/// A producer for one topic.
pub(in super::super) struct Producer {
    handle: Handle,
    topic: *mut rd::rd_kafka_topic_t,
}

// SAFETY: a topic object may be used from any thread, and lives as long as this.
unsafe impl Send for Producer {}
// SAFETY: as above.
unsafe impl Sync for Producer {}

/// How long reports are waited for once everything has been purged; they need no network then.
const PURGE_TIMEOUT: Duration = Duration::from_secs(2);

impl Producer {
    pub fn new(properties: &[Property], topic: &str) -> Result<Self, ConfigError> {
        let handle = Handle::new(Kind::Producer, properties)?;
        let name = c_string(topic);
        // SAFETY: a live client, a C string; null is the default configuration.
        let topic = unsafe { rd::rd_kafka_topic_new(handle.rk(), name.as_ptr(), std::ptr::null_mut()) };
        Ok(Self { handle, topic })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Puts a record into the queue. Never waits. The report is given back with the code if there is no room or the
    /// client can take no more.
    pub fn send(
        &self,
        partition: i32,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        report: Report,
    ) -> Result<(), (Code, Report)> {
        let opaque = Box::into_raw(Box::new(report)).cast::<c_void>();
        let pointer = |bytes: Option<&[u8]>| bytes.map_or(std::ptr::null(), <[u8]>::as_ptr).cast::<c_void>();
        // SAFETY: a live topic; the bytes are copied in the call (F_COPY), a null pointer with length 0 is a null key
        // or value. On success the report belongs to the delivery callback.
        let result = unsafe {
            rd::rd_kafka_produce(
                self.topic,
                partition,
                rd::RD_KAFKA_MSG_F_COPY,
                pointer(value).cast_mut(),
                value.map_or(0, <[u8]>::len),
                pointer(key),
                key.map_or(0, <[u8]>::len),
                opaque,
            )
        };
        if result == 0 {
            return Ok(());
        }
        // SAFETY: librdkafka's own variable of this thread, set by the call above.
        let code = Code::of(unsafe { rd::rd_kafka_last_error() });
        // SAFETY: made above from a box of this type, and not taken over by librdkafka.
        let report = unsafe { Box::from_raw(opaque.cast::<Report>()) };
        Err((code, *report))
    }

    /// Waits up to `timeout` until all records are reported on.
    pub fn flush(&self, timeout: Duration) {
        // SAFETY: a live client.
        unsafe { rd::rd_kafka_flush(self.handle.rk(), super::handle::millis(timeout)) };
    }

    /// Gives up all records that are not reported on; their reports say so.
    pub fn purge(&self) {
        // SAFETY: a live client.
        unsafe { rd::rd_kafka_purge(self.handle.rk(), rd::RD_KAFKA_PURGE_F_QUEUE | rd::RD_KAFKA_PURGE_F_INFLIGHT) };
        self.flush(PURGE_TIMEOUT);
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // Every record owns its report; destroying the client before all are called would leak them.
        self.purge();
        // SAFETY: owned, and destroyed before its client is.
        unsafe { rd::rd_kafka_topic_destroy(self.topic) };
    }
}

/// `dr_msg_cb`: runs inside of `rd_kafka_poll` or `rd_kafka_flush`.
///
/// # Safety
/// Called by librdkafka, once for each record that [`Producer::send`] handed over.
pub(super) unsafe extern "C" fn on_delivery(
    _: *mut rd::rd_kafka_t,
    message: *const rd::rd_kafka_message_t,
    _: *mut c_void,
) {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: a message that is valid during this call; its private pointer is the box that `send` made, and this
        // call is the only one that gets it.
        let (code, offset, report) = unsafe {
            let opaque = (*message)._private;
            if opaque.is_null() {
                return;
            }
            let code = code::read(&raw const (*message).err);
            (code, (*message).offset, Box::from_raw(opaque.cast::<Report>()))
        };
        let _ = report.send(if code.is_ok() { Ok(offset) } else { Err(code) });
    }));
}
