//! Records in: partitions of one topic, read without a group.

use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rdkafka::bindings as rd;

use super::code::{self, Code, RespErr};
use super::handle::{Handle, Kind, c_string, millis};
use crate::config::ConfigError;
use crate::metadata::log::kafka::translate::Property;

/// What a partition's queue holds.
pub(in super::super) enum Message<'a> {
    Record { partition: i32, offset: i64, timestamp_ms: i64, key: Option<&'a [u8]>, value: Option<&'a [u8]> },
    End { partition: i32, next_offset: i64 },
    Error { partition: i32, code: Code, reason: String },
}

/// A consumer of one topic. Partitions share one queue.
///
/// It uses librdkafka's interface without groups: a group, even one that is never joined, makes the client look for a
/// coordinator, and the broker create `__consumer_offsets` for it.
pub(in super::super) struct Consumer {
    queue: Arc<Waker>,
    raw_queue: *mut rd::rd_kafka_queue_t,
    topic: *mut rd::rd_kafka_topic_t,
    started: Vec<i32>,
    handle: Handle,
}

// SAFETY: the pointers may be used from any thread, and live as long as this.
unsafe impl Send for Consumer {}

/// Wakes a consumer that waits; outlives it without harm.
pub(in super::super) struct Waker {
    queue: Mutex<Option<QueuePointer>>,
}

struct QueuePointer(*mut rd::rd_kafka_queue_t);

// SAFETY: a queue may be used from any thread; who holds the lock knows that it still lives.
unsafe impl Send for QueuePointer {}

impl Waker {
    /// Ends the wait under way, or the next one.
    pub fn wake(&self) {
        if let Some(queue) = &*self.queue.lock() {
            // SAFETY: the consumer takes the pointer out under this lock before it destroys the queue.
            unsafe { rd::rd_kafka_queue_yield(queue.0) };
        }
    }
}

impl Consumer {
    pub fn new(properties: &[Property], topic: &str) -> Result<Self, ConfigError> {
        let handle = Handle::new(Kind::Consumer, properties)?;
        let name = c_string(topic);
        // SAFETY: a live client and a C string; null is the default configuration.
        let (topic, raw_queue) = unsafe {
            let topic = rd::rd_kafka_topic_new(handle.rk(), name.as_ptr(), std::ptr::null_mut());
            (topic, rd::rd_kafka_queue_new(handle.rk()))
        };
        let queue = Arc::new(Waker { queue: Mutex::new(Some(QueuePointer(raw_queue))) });
        Ok(Self { queue, raw_queue, topic, started: Vec::new(), handle })
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    pub fn waker(&self) -> Arc<Waker> {
        Arc::clone(&self.queue)
    }

    /// Reads `partition` from `offset` on, wherever it was read before.
    pub fn start(&mut self, partition: i32, offset: i64) -> Result<(), Code> {
        self.stop(partition);
        // SAFETY: a live topic and queue; the partition is not being read (stopped above).
        let result = unsafe { rd::rd_kafka_consume_start_queue(self.topic, partition, offset, self.raw_queue) };
        if result != 0 {
            // SAFETY: librdkafka's own variable of this thread, set by the call above.
            return Err(Code::of(unsafe { rd::rd_kafka_last_error() }));
        }
        self.started.push(partition);
        Ok(())
    }

    /// Stops to read `partition`; messages of it that are queued are dropped. Nothing happens if it isn't read.
    pub fn stop(&mut self, partition: i32) {
        let Some(index) = self.started.iter().position(|&started| started == partition) else { return };
        self.started.swap_remove(index);
        // SAFETY: a live topic, and a partition that is being read.
        unsafe { rd::rd_kafka_consume_stop(self.topic, partition) };
    }

    /// Hands out all messages that are there; waits up to `timeout` for the first.
    pub fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(Message<'_>)) {
        let mut call = Call { sink, panic: None };
        // SAFETY: a live queue that holds messages only; `call` outlives the call and is what `on_message` expects.
        unsafe {
            rd::rd_kafka_consume_callback_queue(
                self.raw_queue,
                millis(timeout),
                Some(on_message),
                (&raw mut call).cast::<c_void>(),
            );
        }
        if let Some(panic) = call.panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        for partition in std::mem::take(&mut self.started) {
            // SAFETY: a live topic, and a partition that is being read.
            unsafe { rd::rd_kafka_consume_stop(self.topic, partition) };
        }
        self.queue.queue.lock().take();
        // SAFETY: owned, used by nobody any more, and destroyed before their client is.
        unsafe {
            rd::rd_kafka_queue_destroy(self.raw_queue);
            rd::rd_kafka_topic_destroy(self.topic);
        }
    }
}

struct Call<'a> {
    sink: &'a mut dyn FnMut(Message<'_>),
    /// A panic must not cross C; it goes on once the call is back.
    panic: Option<Box<dyn Any + Send>>,
}

/// # Safety
/// Called by librdkafka inside of [`Consumer::poll`], with the `Call` given there.
unsafe extern "C" fn on_message(message: *mut rd::rd_kafka_message_t, opaque: *mut c_void) {
    // SAFETY: `poll` gave a pointer to its `Call`, which nobody else uses meanwhile.
    let call = unsafe { &mut *opaque.cast::<Call<'_>>() };
    if call.panic.is_some() {
        return;
    }
    // SAFETY: a message that is valid during this call.
    let message = unsafe { view(message) };
    call.panic = catch_unwind(AssertUnwindSafe(|| (call.sink)(message))).err();
}

/// # Safety
/// `message` is valid for `'a`.
unsafe fn view<'a>(message: *const rd::rd_kafka_message_t) -> Message<'a> {
    // SAFETY: valid as the caller promises; pointers inside are null or have the length that stands beside them.
    unsafe {
        let (partition, offset) = ((*message).partition, (*message).offset);
        let bytes = |pointer: *mut c_void, len: usize| {
            (!pointer.is_null()).then(|| std::slice::from_raw_parts(pointer.cast::<u8>().cast_const(), len))
        };
        let code = code::read(&raw const (*message).err);
        if code.is_ok() {
            let timestamp_ms = rd::rd_kafka_message_timestamp(message, std::ptr::null_mut());
            let key = bytes((*message).key, (*message).key_len);
            let value = bytes((*message).payload, (*message).len);
            return Message::Record { partition, offset, timestamp_ms, key, value };
        }
        if code.is(RespErr::RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            return Message::End { partition, next_offset: offset };
        }
        let reason =
            bytes((*message).payload, (*message).len).map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        Message::Error { partition, code, reason }
    }
}
