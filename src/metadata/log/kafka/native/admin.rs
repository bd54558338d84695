//! Questions and orders to the cluster.

use std::collections::HashMap;
use std::ffi::c_char;
use std::time::Duration;

use parking_lot::Mutex;
use rdkafka::bindings as rd;

use super::code::{self, Code, RespErr, text};
use super::handle::{Handle, Kind, c_string, millis};
use crate::config::ConfigError;
use crate::metadata::log::kafka::translate::Property;

/// Why a request failed, in librdkafka's words.
#[derive(Debug, Clone)]
pub(in super::super) struct AdminError {
    pub code: Code,
    pub reason: String,
}

/// A topic that there is: the leader of each of its partitions, by partition; -1 where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Described {
    pub leaders: Vec<i32>,
}

/// A topic that there is to be.
pub(in super::super) struct NewTopic<'a> {
    pub name: &'a str,
    pub partitions: i32,
    pub replication_factor: i32,
    pub configs: &'a [(&'a str, String)],
}

/// A client that asks and orders.
pub(in super::super) struct Admin {
    handle: Handle,
    /// What went wrong beside the requests since the last one that succeeded. Remembered, as librdkafka says the same
    /// thing only every 30 s.
    beside: Mutex<Vec<(Code, String)>>,
}

impl Admin {
    pub fn new(properties: &[Property]) -> Result<Self, ConfigError> {
        Handle::new(Kind::Producer, properties).map(|handle| Self { handle, beside: Mutex::default() })
    }

    /// What went wrong beside the requests since the last one that succeeded.
    pub fn beside(&self) -> Vec<(Code, String)> {
        self.handle.poll(Duration::ZERO);
        let mut beside = self.beside.lock();
        for error in self.handle.take_errors() {
            // The newest of a kind stands last.
            beside.retain(|(code, _)| *code != error.0);
            beside.push(error);
        }
        beside.clone()
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(super) fn forget(&self) {
        self.handle.poll(Duration::ZERO);
        self.handle.take_errors();
        self.beside.lock().clear();
    }

    /// Describes a topic. The code is that of the topic if a broker answered.
    ///
    /// By a plain metadata request, which any broker answers: librdkafka's DescribeTopics waits for a controller.
    pub fn describe(&self, topic: &str, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Described, AdminError> {
        let object = Topic::new(&self.handle, topic);
        self.metadata(Some(&object), timeout, stop)?.leaders()
    }

    /// Describes several topics at once, in their order, as [`Admin::describe`] does one.
    pub fn describe_all(
        &self,
        topics: &[&str],
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Vec<Result<Described, Code>>, AdminError> {
        // As long as these live, the topics are known here: those are what is asked for.
        let objects: Vec<_> = topics.iter().map(|topic| Topic::new(&self.handle, topic)).collect();
        let answers = self.metadata(None, timeout, stop)?.topics();
        drop(objects);
        let answer = |topic: &&str| answers.get(*topic).cloned().unwrap_or_else(|| Err(empty().code));
        Ok(topics.iter().map(answer).collect())
    }

    /// Asks for one topic, or for all that are known here.
    fn metadata(
        &self,
        only: Option<&Topic>,
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Metadata, AdminError> {
        let only = only.map_or(std::ptr::null_mut(), |topic| topic.0);
        let mut timed_out = Err(timed_out());
        // First shortly, so that whoever closes doesn't wait long for a cluster that is away.
        for timeout in [timeout / 5, timeout - timeout / 5] {
            if stop() {
                break;
            }
            let mut metadata = std::ptr::null();
            // SAFETY: a live client and a topic of it or null; the answer is owned by us if there is one.
            let code = Code::of(unsafe {
                rd::rd_kafka_metadata(self.handle.rk(), 0, only, &raw mut metadata, millis(timeout))
            });
            let reason = code.to_string();
            if code.is_ok() {
                self.forget();
                return Ok(Metadata(metadata));
            } else if code.is_any(&[RespErr::RD_KAFKA_RESP_ERR__TRANSPORT, RespErr::RD_KAFKA_RESP_ERR__TIMED_OUT]) {
                // The former is what it says when no broker came up in time.
                timed_out = Err(AdminError { reason, ..self::timed_out() });
            } else {
                return Err(AdminError { code, reason });
            }
        }
        timed_out
    }

    /// Creates a topic.
    pub fn create(&self, topic: &NewTopic<'_>, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<(), AdminError> {
        let name = c_string(topic.name);
        let mut why = [0 as c_char; 256];
        let request = Request::new(&self.handle, rd::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_CREATETOPICS, timeout);
        // SAFETY: live client, options and queue, C strings, a buffer with its length; the new topic is copied by the
        // request and destroyed here.
        unsafe {
            let (partitions, replication_factor) = (topic.partitions, topic.replication_factor);
            let new =
                rd::rd_kafka_NewTopic_new(name.as_ptr(), partitions, replication_factor, why.as_mut_ptr(), why.len());
            if new.is_null() {
                let code = Code::of(RespErr::RD_KAFKA_RESP_ERR__INVALID_ARG);
                return Err(AdminError { code, reason: text(why.as_ptr()) });
            }
            for (name, value) in topic.configs {
                rd::rd_kafka_NewTopic_set_config(new, c_string(name).as_ptr(), c_string(value).as_ptr());
            }
            let mut topics = [new];
            rd::rd_kafka_CreateTopics(self.handle.rk(), topics.as_mut_ptr(), 1, request.options, request.queue);
            rd::rd_kafka_NewTopic_destroy(new);
        }
        let answer = request.wait(timeout, stop)?;
        self.forget();
        // SAFETY: as in `describe`.
        unsafe {
            let result = rd::rd_kafka_event_CreateTopics_result(answer.0);
            let mut count = 0;
            let topics = rd::rd_kafka_CreateTopics_result_topics(result, &raw mut count);
            let Some(&topic) = slice(topics, count).first() else { return Err(empty()) };
            let code = Code::of(rd::rd_kafka_topic_result_error(topic));
            if code.is_ok() {
                return Ok(());
            }
            Err(AdminError { code, reason: text(rd::rd_kafka_topic_result_error_string(topic)) })
        }
    }
}

pub(super) fn timed_out() -> AdminError {
    let code = Code::of(RespErr::RD_KAFKA_RESP_ERR__TIMED_OUT);
    AdminError { code, reason: code.to_string() }
}

pub(super) fn empty() -> AdminError {
    let code = Code::of(RespErr::RD_KAFKA_RESP_ERR__BAD_MSG);
    AdminError { code, reason: "the answer is empty".to_owned() }
}

/// # Safety
/// `items` is null or has `count` elements that live for `'a`.
pub(super) unsafe fn slice<'a, T>(items: *const T, count: usize) -> &'a [T] {
    if items.is_null() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(items, count) }
}

/// A request's options, and the queue for its answer.
pub(super) struct Request {
    pub(super) options: *mut rd::rd_kafka_AdminOptions_t,
    pub(super) queue: *mut rd::rd_kafka_queue_t,
}

/// How often a waiting request looks whether it is still wanted.
const SLICE: Duration = Duration::from_millis(50);

impl Request {
    pub(super) fn new(handle: &Handle, operation: rd::rd_kafka_admin_op_t, timeout: Duration) -> Self {
        let mut why = [0 as c_char; 128];
        // SAFETY: a live client, which outlives the request; a buffer with its length.
        unsafe {
            let options = rd::rd_kafka_AdminOptions_new(handle.rk(), operation);
            rd::rd_kafka_AdminOptions_set_request_timeout(options, millis(timeout), why.as_mut_ptr(), why.len());
            Self { options, queue: rd::rd_kafka_queue_new(handle.rk()) }
        }
    }

    /// The answer, if it comes in time and is none of an error.
    pub(super) fn wait(&self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Event, AdminError> {
        // librdkafka answers by itself when the time is over; a little more, so that its reason is the one told.
        let slices = timeout.as_millis() / SLICE.as_millis() + 10;
        for _ in 0..slices {
            if stop() {
                break;
            }
            // SAFETY: a live queue; the event is owned by us.
            let event = unsafe { rd::rd_kafka_queue_poll(self.queue, millis(SLICE)) };
            if event.is_null() {
                continue;
            }
            let event = Event(event);
            // SAFETY: a live event.
            let (code, reason) = unsafe {
                (Code::of(rd::rd_kafka_event_error(event.0)), text(rd::rd_kafka_event_error_string(event.0)))
            };
            return if code.is_ok() { Ok(event) } else { Err(AdminError { code, reason }) };
        }
        Err(timed_out())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // SAFETY: owned; a request under way keeps its own reference to the queue.
        unsafe {
            rd::rd_kafka_AdminOptions_destroy(self.options);
            rd::rd_kafka_queue_destroy(self.queue);
        }
    }
}

struct Topic(*mut rd::rd_kafka_topic_t);

impl Topic {
    fn new(handle: &Handle, name: &str) -> Self {
        let name = c_string(name);
        // SAFETY: a live client, which outlives the topic, and a C string; null is the default configuration.
        Self(unsafe { rd::rd_kafka_topic_new(handle.rk(), name.as_ptr(), std::ptr::null_mut()) })
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { rd::rd_kafka_topic_destroy(self.0) };
    }
}

/// The answer to a question about topics.
struct Metadata(*const rd::rd_kafka_metadata);

impl Metadata {
    /// Of the only topic.
    fn leaders(&self) -> Result<Described, AdminError> {
        let answer = self.each().next().ok_or_else(empty)?.1;
        answer.map_err(|code| AdminError { code, reason: code.to_string() })
    }

    /// By name.
    fn topics(&self) -> HashMap<String, Result<Described, Code>> {
        self.each().collect()
    }

    fn each(&self) -> impl Iterator<Item = (String, Result<Described, Code>)> + '_ {
        // SAFETY: a live answer; its array has the length that stands beside it.
        let topics = unsafe { slice((*self.0).topics, usize::try_from((*self.0).topic_cnt).unwrap_or(0)) };
        topics.iter().map(|topic| {
            // SAFETY: part of a live answer; its array has the length that stands beside it.
            let (name, code, partitions) = unsafe {
                let partitions = slice(topic.partitions, usize::try_from(topic.partition_cnt).unwrap_or(0));
                (text(topic.topic), code::read(&raw const topic.err), partitions)
            };
            if !code.is_ok() {
                return (name, Err(code));
            }
            let mut leaders = vec![-1; partitions.len()];
            for partition in partitions {
                let index = usize::try_from(partition.id).unwrap_or(usize::MAX);
                if let Some(leader) = leaders.get_mut(index) {
                    *leader = partition.leader;
                }
            }
            (name, Ok(Described { leaders }))
        })
    }
}

impl Drop for Metadata {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { rd::rd_kafka_metadata_destroy(self.0) };
    }
}

pub(super) struct Event(pub(super) *mut rd::rd_kafka_event_t);

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { rd::rd_kafka_event_destroy(self.0) };
    }
}
