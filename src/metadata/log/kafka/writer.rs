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

use super::native::{Code, Producer, Report, RespErr};
use super::translate::Property;
use super::{TOPIC, faults};
use crate::metadata::log::LogError;
use crate::metadata::quiet::Quiet;

/// How long the thread waits for reports when nobody wakes it.
const POLL: Duration = Duration::from_millis(100);
/// While records wait in line.
const POLL_IN_NEED: Duration = Duration::from_millis(5);
/// How soon after a client that failed soon, or could not be made, another is made; twice as long each time.
const REMAKE_PAUSE: Duration = Duration::from_millis(250);
const REMAKE_PAUSE_MAX: Duration = Duration::from_secs(5);
/// A client that worked for this long has nothing to do with the one before.
const SOUND: Duration = Duration::from_secs(30);
const DOING: &str = "writing to the log of remote segment metadata";
/// How long closing waits for what is under way.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    properties: Vec<Property>,
    /// Addresses, for messages.
    servers: String,
    line_timeout: Duration,
    state: Mutex<State>,
}

/// The clients that failed for good, one after the other.
#[derive(Debug)]
struct Remakes {
    /// When the last one was made.
    made: Instant,
    /// How long is waited when it fails, if it fails soon.
    pause: Duration,
}

impl Remakes {
    /// The client failed; tells how long to wait until another is made. A first failure is nobody's fault: at once.
    fn failed(&mut self, now: Instant) -> Duration {
        if self.is_sound(now) {
            self.pause = Duration::ZERO;
        }
        let pause = self.pause;
        self.pause = (pause * 2).clamp(REMAKE_PAUSE, REMAKE_PAUSE_MAX);
        pause
    }

    fn is_sound(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.made) >= SOUND
    }
}

struct State {
    producer: Option<Arc<Producer>>,
    /// A client that another one is to take the place of.
    retired: Option<Arc<Producer>>,
    /// When the client was made.
    made: Instant,
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
    pub fn start(properties: Vec<Property>, servers: &str, line_timeout: Duration) -> Result<Self, LogError> {
        let producer = Producer::new(&properties, TOPIC)?;
        let state = State {
            producer: Some(Arc::new(producer)),
            retired: None,
            made: Instant::now(),
            line: VecDeque::new(),
            closed: false,
        };
        let servers = servers.to_owned();
        let shared = Arc::new(Shared { properties, servers, line_timeout, state: Mutex::new(state) });
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

    /// Goes on with another client, which asks for the topic anew, unless this one is younger than `age_min`: a client that knew
    /// another topic of the same name goes by that one's partitions until its next look, which may be minutes away. Records
    /// that come meanwhile wait in line.
    pub fn renew(&self, age_min: Duration) {
        let mut state = self.shared.state.lock();
        if state.made.elapsed() < age_min {
            return;
        }
        // Without one, it was renewed a moment ago already, or failed.
        if let Some(producer) = state.producer.take() {
            producer.handle().wake();
            // The thread lets go of it, which takes time, and makes another one only then.
            state.retired = Some(producer);
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
    pub fn client_for_test(&self) -> Option<Arc<Producer>> {
        self.shared.state.lock().producer.clone()
    }

    /// Tells whether there was one that had not failed yet.
    #[cfg(test)]
    pub fn fail_for_test(&self) -> bool {
        let state = self.shared.state.lock();
        let sound = state.producer.as_ref().filter(|producer| producer.handle().fatal().is_none());
        sound.is_some_and(|producer| {
            producer.handle().fail_for_test();
            true
        })
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
        let mut quiet = Quiet::default();
        let mut remakes = Remakes { made: Instant::now(), pause: Duration::ZERO };
        loop {
            let (producer, retired, in_need, closed) = {
                let mut state = self.state.lock();
                (state.producer.clone(), state.retired.take(), !state.line.is_empty(), state.closed)
            };
            drop(retired);
            if closed {
                break self.end(producer.as_deref());
            }
            match producer {
                Some(producer) => {
                    producer.handle().poll(if in_need { POLL_IN_NEED } else { POLL });
                    // Each was logged when it came, and each record is told its own.
                    producer.handle().take_errors();
                    if let Some((code, why)) = producer.handle().fatal() {
                        quiet.failed(DOING, &faults::error("write", &self.servers, code, &why, 0));
                        self.state.lock().producer = None;
                        // What it had fails now; the reports are called in here.
                        drop(producer);
                        self.pause(remakes.failed(Instant::now()));
                        continue;
                    }
                    if remakes.is_sound(Instant::now()) {
                        quiet.succeeded(DOING);
                    }
                }
                None => match Producer::new(&self.properties, TOPIC) {
                    Ok(producer) => {
                        remakes.made = Instant::now();
                        let mut state = self.state.lock();
                        state.producer = Some(Arc::new(producer));
                        state.made = remakes.made;
                    }
                    Err(error) => {
                        quiet.failed(DOING, &error.into());
                        self.pause(remakes.failed(Instant::now()).max(REMAKE_PAUSE));
                    }
                },
            }
            self.serve_line();
        }
    }

    /// There is nothing to wait on: rights, or files that the settings name, may come at any time. Records in line time out
    /// meanwhile.
    fn pause(&self, pause: Duration) {
        let end = Instant::now() + pause;
        while Instant::now() < end && !self.state.lock().closed {
            self.serve_line();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_fail_one_after_the_other_are_made_more_and_more_rarely_and_a_first_failure_costs_nothing() {
        let start = Instant::now();
        let mut remakes = Remakes { made: start, pause: Duration::ZERO };
        let pauses: Vec<_> = (0..8).map(|_| remakes.failed(start).as_millis()).collect();
        assert_eq!(pauses, [0, 250, 500, 1000, 2000, 4000, 5000, 5000]);
        assert_eq!(remakes.failed(start + SOUND), Duration::ZERO, "it worked for long");
        assert_eq!(remakes.failed(start), REMAKE_PAUSE);
    }
}
