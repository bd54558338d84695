//! Appending: records go to librdkafka in the call, reports come back on one thread.
//!
//! While there is no room in the queue, or no client (it failed for good and is made anew), records wait in a line here,
//! in the order of the calls, and go on from the thread; one that waits for too long times out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::TOPIC;
use super::native::{Code, Producer, Report, RespErr};
use super::translate::Property;
use crate::metadata::log::LogError;

/// How long the thread waits for reports when nobody wakes it.
const POLL: Duration = Duration::from_millis(100);
/// While records wait in line.
const POLL_IN_NEED: Duration = Duration::from_millis(5);
/// How often a client that could not be made anew is tried again.
const REBUILD_PAUSE: Duration = Duration::from_secs(1);
/// A client that failed for good at this age or later did work: the next one is made at once.
const HEALTHY: Duration = Duration::from_secs(60);
/// Longest pause before a client that is made because the last ones failed young.
const REBUILD_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long closing waits for what is under way.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    properties: Vec<Property>,
    line_timeout: Duration,
    state: Mutex<State>,
}

struct State {
    producer: Option<Arc<Producer>>,
    line: VecDeque<Waiting>,
    closed: bool,
}

struct Waiting {
    partition: i32,
    key: Option<Bytes>,
    value: Option<Bytes>,
    report: Report,
    deadline: Instant,
}

impl Writer {
    /// Makes the client and starts the thread.
    pub fn start(properties: Vec<Property>, line_timeout: Duration) -> Result<Self, LogError> {
        let producer = Producer::new(&properties, TOPIC)?;
        let state = State { producer: Some(Arc::new(producer)), line: VecDeque::new(), closed: false };
        let shared = Arc::new(Shared { properties, line_timeout, state: Mutex::new(state) });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("undercroft-send".to_owned())
            .spawn(move || of_thread.run())
            .map_err(|error| LogError::Internal { what: "start a thread".to_owned(), why: error.to_string() })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Sends a record, or puts it in line. The order of calls is the order in the log.
    pub fn send(
        &self,
        partition: i32,
        key: Option<Bytes>,
        value: Option<Bytes>,
    ) -> oneshot::Receiver<Result<i64, Code>> {
        let (report, receiver) = oneshot::channel();
        let deadline = Instant::now() + self.shared.line_timeout;
        let mut state = self.shared.state.lock();
        if state.closed {
            let _ = report.send(Err(Code::of(RespErr::RD_KAFKA_RESP_ERR__DESTROY)));
            return receiver;
        }
        let waiting = Waiting { partition, key, value, report, deadline };
        let left = if state.line.is_empty() { offer(state.producer.as_deref(), waiting) } else { Some(waiting) };
        if let Some(waiting) = left {
            state.line.push_back(waiting);
            if let Some(producer) = &state.producer {
                producer.handle().wake();
            }
        }
        receiver
    }

    /// Fails all that is queued or under way; records that come later are sent.
    pub fn give_up(&self) {
        let (producer, line) = {
            let mut state = self.shared.state.lock();
            (state.producer.clone(), std::mem::take(&mut state.line))
        };
        for waiting in line {
            let _ = waiting.report.send(Err(Code::of(RespErr::RD_KAFKA_RESP_ERR__PURGE_QUEUE)));
        }
        if let Some(producer) = producer {
            producer.purge();
        }
    }

    /// Takes no more records, gives those under way a little time, fails the others, and joins the thread. Blocks.
    pub fn close(&self) {
        {
            let mut state = self.shared.state.lock();
            state.closed = true;
            if let Some(producer) = &state.producer {
                producer.handle().wake();
            }
        }
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }

    #[cfg(test)]
    pub fn fail_for_test(&self) {
        if let Some(producer) = &self.shared.state.lock().producer {
            producer.handle().fail_for_test();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Hands a record over, and gives it back if it has to wait.
fn offer(producer: Option<&Producer>, waiting: Waiting) -> Option<Waiting> {
    let Some(producer) = producer else { return Some(waiting) };
    let Waiting { partition, key, value, report, deadline } = waiting;
    let (code, report) = producer.send(partition, key.as_deref(), value.as_deref(), report).err()?;
    if code.is_any(&[RespErr::RD_KAFKA_RESP_ERR__QUEUE_FULL, RespErr::RD_KAFKA_RESP_ERR__FATAL]) {
        return Some(Waiting { partition, key, value, report, deadline });
    }
    let _ = report.send(Err(code));
    None
}

impl Shared {
    fn run(&self) {
        let mut failures = Failures::default();
        let mut born = Instant::now();
        loop {
            let (producer, in_need, closed) = {
                let state = self.state.lock();
                (state.producer.clone(), !state.line.is_empty(), state.closed)
            };
            if closed {
                break self.end(producer.as_deref());
            }
            match producer {
                Some(producer) => {
                    producer.handle().poll(if in_need { POLL_IN_NEED } else { POLL });
                    // Each was logged when it came, and each record is told its own.
                    producer.handle().take_errors();
                    if let Some((code, why)) = producer.handle().fatal() {
                        self.state.lock().producer = None;
                        // What it had fails now; the reports are called in here.
                        drop(producer);
                        self.pause(failures.next_pause(code, &why, born.elapsed()));
                        continue;
                    }
                }
                None => {
                    self.rebuild();
                    born = Instant::now();
                }
            }
            self.serve_line();
        }
    }

    fn rebuild(&self) {
        match Producer::new(&self.properties, TOPIC) {
            Ok(producer) => self.state.lock().producer = Some(Arc::new(producer)),
            Err(error) => {
                tracing::warn!(target: "undercroft::kafka", "no producer can be made: {error}");
                self.pause(REBUILD_PAUSE);
            }
        }
    }

    /// There is nothing to wait on: files that the settings name may come back at any time.
    fn pause(&self, pause: Duration) {
        let end = Instant::now() + pause;
        while Instant::now() < end && !self.state.lock().closed {
            std::thread::sleep(POLL_IN_NEED * 4);
        }
    }

    fn serve_line(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        let State { producer, line, .. } = &mut *state;
        while let Some(waiting) = line.pop_front() {
            if waiting.deadline <= now {
                let _ = waiting.report.send(Err(Code::of(RespErr::RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE)));
            } else if let Some(waiting) = offer(producer.as_deref(), waiting) {
                line.push_front(waiting);
                break;
            }
        }
    }

    fn end(&self, producer: Option<&Producer>) {
        if let Some(producer) = producer {
            producer.flush(FLUSH_TIMEOUT);
            producer.purge();
        }
        let (_destroyed_here, line) = {
            let mut state = self.state.lock();
            (state.producer.take(), std::mem::take(&mut state.line))
        };
        for waiting in line {
            let _ = waiting.report.send(Err(Code::of(RespErr::RD_KAFKA_RESP_ERR__DESTROY)));
        }
    }
}

/// Clients that failed for good, one after the other. Without the right to write each does so as soon as it is made, in use
/// or not.
#[derive(Default)]
struct Failures {
    last: Option<Code>,
    pause: Duration,
}

impl Failures {
    /// How long to wait before the next client is made. Says why, but not the same again and again.
    fn next_pause(&mut self, code: Code, why: &str, age: Duration) -> Duration {
        let is_again = age < HEALTHY && self.last == Some(code);
        if is_again {
            tracing::debug!(target: "undercroft::kafka", "the producer failed for good again ({why}); making another");
            self.pause = (self.pause * 2).clamp(REBUILD_PAUSE, REBUILD_PAUSE_MAX);
        } else {
            tracing::warn!(target: "undercroft::kafka", "the producer failed for good ({why}); others are made until one works");
            self.pause = Duration::ZERO;
        }
        self.last = Some(code);
        self.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_followed_at_once_unless_the_last_one_failed_young_of_the_same() {
        let refused = || Code::of(RespErr::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
        let young = Duration::from_millis(20);
        let mut failures = Failures::default();
        let seconds: Vec<u64> = (0..5).map(|_| failures.next_pause(refused(), "refused", young).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 5]);
        let other = Code::of(RespErr::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
        assert_eq!(failures.next_pause(other, "fenced", young), Duration::ZERO);
        assert_eq!(failures.next_pause(other, "fenced", HEALTHY), Duration::ZERO);
    }
}
