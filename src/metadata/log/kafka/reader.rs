//! Reading: one consumer, polled by the manager's thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::faults;
use super::native::{Code, Consumer, Message, RespErr, Waker};
use super::settings::Settings;
use super::{TOPIC, native};
use crate::metadata::log::{LogError, LogEvent, LogReader};

pub(super) struct KafkaReader {
    consumer: Consumer,
    settings: Arc<Settings>,
    closed: Arc<AtomicBool>,
    /// Set by a waker: its yield may be eaten by a poll that didn't wait.
    woken: Arc<AtomicBool>,
    told: Told,
}

/// What was told as trouble and not yet been cured: nothing is told twice.
#[derive(Default)]
struct Told {
    partitions: HashMap<i32, Code>,
    refused: bool,
    down: Option<Instant>,
}

/// Brokers that went down this long ago and go down again were up in between, even if no record tells so.
const DOWN_AGAIN: Duration = Duration::from_secs(30);

impl KafkaReader {
    pub fn new(settings: Arc<Settings>, closed: Arc<AtomicBool>) -> Result<Self, LogError> {
        let consumer = Consumer::new(&settings.consumer, TOPIC)?;
        Ok(Self { consumer, settings, closed, woken: Arc::default(), told: Told::default() })
    }

    /// Wakes the reader for good: used when the log is closed.
    pub fn native_waker(&self) -> Arc<Waker> {
        self.consumer.waker()
    }

    fn check_open(&self) -> Result<(), LogError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(LogError::Closed { what: "read".to_owned() });
        }
        Ok(())
    }

    /// Troubles of all partitions, told beside the messages.
    fn hand_out_errors(&mut self, sink: &mut dyn FnMut(LogEvent<'_>)) {
        self.consumer.handle().poll(Duration::ZERO);
        for (code, why) in self.consumer.handle().take_errors() {
            let refusal = faults::is_refusal(code);
            let down = code.is(RespErr::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
            if (refusal && !self.told.refused) || (down && self.told.went_down()) {
                self.told.refused |= refusal;
                let error = faults::error("read", &self.settings.servers, code, &why, 0);
                sink(LogEvent::Trouble { partition: None, error });
            }
        }
    }
}

impl LogReader for KafkaReader {
    fn assign(&mut self, partition: i32, from_offset: i64) -> Result<(), LogError> {
        self.check_open()?;
        let what = format!("read partition {partition} from offset {from_offset}");
        if !(0..self.settings.partitions).contains(&partition) {
            let why = format!("it has {} partitions", self.settings.partitions);
            return Err(LogError::Mismatch { what, log: format!("topic {TOPIC} at {}", self.settings.servers), why });
        }
        self.told.partitions.remove(&partition);
        self.consumer
            .start(partition, from_offset.max(0))
            .map_err(|code| faults::error(&what, &self.settings.servers, code, "", 0))
    }

    fn unassign(&mut self, partition: i32) -> Result<(), LogError> {
        self.check_open()?;
        self.consumer.stop(partition);
        self.told.partitions.remove(&partition);
        Ok(())
    }

    fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(LogEvent<'_>)) -> Result<(), LogError> {
        self.check_open()?;
        self.hand_out_errors(sink);
        let timeout = if self.woken.swap(false, Ordering::AcqRel) { Duration::ZERO } else { timeout };
        let (told, servers) = (&mut self.told, &self.settings.servers);
        self.consumer.poll(timeout, &mut |message| {
            if let Some(event) = event(message, told, servers) {
                sink(event);
            }
        });
        self.check_open()
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let (woken, waker) = (Arc::clone(&self.woken), self.consumer.waker());
        Arc::new(move || {
            woken.store(true, Ordering::Release);
            native::Waker::wake(&waker);
        })
    }
}

/// A message as an event, unless it tells of trouble that was told before.
fn event<'a>(message: Message<'a>, told: &mut Told, servers: &str) -> Option<LogEvent<'a>> {
    match message {
        Message::Record { partition, offset, timestamp_ms, key, value } => {
            told.cured(partition);
            Some(LogEvent::Record { partition, offset, timestamp_ms, key, value })
        }
        Message::End { partition, next_offset } => {
            told.cured(partition);
            Some(LogEvent::End { partition, next_offset })
        }
        Message::Error { partition, code, reason } => {
            if told.partitions.insert(partition, code) == Some(code) {
                return None;
            }
            let error = faults::error(&format!("read partition {partition}"), servers, code, &reason, 0);
            Some(LogEvent::Trouble { partition: Some(partition), error })
        }
    }
}

impl Told {
    fn cured(&mut self, partition: i32) {
        if !self.partitions.is_empty() {
            self.partitions.remove(&partition);
        }
        self.refused = false;
        self.down = None;
    }

    /// Whether this is news. A broker that is starting or flapping is reported several times.
    fn went_down(&mut self) -> bool {
        let now = Instant::now();
        self.down.replace(now).is_none_or(|before| now.duration_since(before) > DOWN_AGAIN)
    }
}
