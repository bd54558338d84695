//! Reading: one consumer, polled by the manager's thread.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::native::{Code, Consumer, Message, RespErr, Waker};
use super::settings::Settings;
use super::{TOPIC, faults};
use crate::metadata::log::{LogError, LogEvent, LogReader};

pub(super) struct KafkaReader {
    consumer: Consumer,
    current: Arc<Current>,
    assigned: Vec<i32>,
    /// Brokers said that the topic is gone.
    gone: bool,
    settings: Arc<Settings>,
    closed: Arc<AtomicBool>,
    /// Whether records may be written: no longer once brokers say that the topic is another one or none.
    fits: Arc<AtomicBool>,
    /// Set by a waker: its yield may be eaten by a poll that didn't wait.
    woken: Arc<AtomicBool>,
    told: Told,
}

/// The waker of the consumer of the moment.
pub(super) struct Current(Mutex<Arc<Waker>>);

impl Current {
    pub fn wake(&self) {
        self.0.lock().wake();
    }
}

/// What was told as trouble and not yet been cured: nothing is told twice, but that brokers are down.
#[derive(Default)]
struct Told {
    partitions: HashMap<i32, Code>,
    refused: bool,
    down: Option<Instant>,
}

/// Brokers that stay down are told again after this: whoever is told doesn't know otherwise how long it lasts.
const DOWN_AGAIN: Duration = Duration::from_secs(5);

/// Said of a topic that brokers don't know any more.
const GONE: &[RespErr] = &[
    RespErr::RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
    RespErr::RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION,
    RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
    RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_ID,
];

impl KafkaReader {
    pub fn new(settings: Arc<Settings>, closed: Arc<AtomicBool>, fits: Arc<AtomicBool>) -> Result<Self, LogError> {
        let consumer = Consumer::new(&settings.consumer, TOPIC)?;
        let current = Arc::new(Current(Mutex::new(consumer.waker())));
        let (woken, told) = (Arc::default(), Told::default());
        Ok(Self { consumer, current, assigned: Vec::new(), gone: false, settings, closed, fits, woken, told })
    }

    /// Wakes the reader whatever consumer it has: used when the log is closed.
    pub fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current)
    }

    /// A topic that comes again under the same name is another one: its offsets begin anew, and so do its leader epochs,
    /// which librdkafka takes for outdated ones and waits for ever. So another consumer reads it, from the beginning;
    /// while it stays away, one after the other finds it missing.
    fn start_again(&mut self) -> Result<(), LogError> {
        let mut consumer = Consumer::new(&self.settings.consumer, TOPIC)?;
        *self.current.0.lock() = consumer.waker();
        for &partition in &self.assigned {
            consumer.start(partition, 0).map_err(|code| faults::error("read", &self.settings.servers, code, "", 0))?;
        }
        self.consumer = consumer;
        self.gone = false;
        Ok(())
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
            let refusal = faults::is_refusal(code, &why);
            let down = code.is(RespErr::RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
            if (refusal && !self.told.refused) || (down && !self.told.refused && self.told.is_down_news()) {
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
        self.assigned.retain(|&assigned| assigned != partition);
        self.assigned.push(partition);
        self.consumer
            .start(partition, from_offset.max(0))
            .map_err(|code| faults::error(&what, &self.settings.servers, code, "", 0))
    }

    fn unassign(&mut self, partition: i32) -> Result<(), LogError> {
        self.check_open()?;
        self.consumer.stop(partition);
        self.assigned.retain(|&assigned| assigned != partition);
        self.told.partitions.remove(&partition);
        Ok(())
    }

    fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(LogEvent<'_>)) -> Result<(), LogError> {
        self.check_open()?;
        if self.gone {
            self.start_again()?;
        }
        self.hand_out_errors(sink);
        let timeout = if self.woken.swap(false, Ordering::AcqRel) { Duration::ZERO } else { timeout };
        let (told, servers, gone, fits) = (&mut self.told, &self.settings.servers, &mut self.gone, &self.fits);
        self.consumer.poll(timeout, &mut |message| {
            *gone |= matches!(message, Message::Error { code, .. } if code.is_any(GONE));
            if let Some(event) = event(message, told, servers) {
                if matches!(event, LogEvent::Trouble { error: LogError::Mismatch { .. }, .. }) {
                    fits.store(false, Ordering::Release);
                }
                sink(event);
            }
        });
        self.check_open()
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let (woken, current) = (Arc::clone(&self.woken), self.current());
        Arc::new(move || {
            woken.store(true, Ordering::Release);
            current.wake();
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
            // Said in several words, one after the other.
            let kind = if code.is_any(GONE) { Code::of(RespErr::RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) } else { code };
            if told.partitions.insert(partition, kind) == Some(kind) {
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

    /// Whether it is told. librdkafka reports it at each attempt to connect.
    fn is_down_news(&mut self) -> bool {
        let now = Instant::now();
        let is_news = self.down.is_none_or(|told| now.duration_since(told) > DOWN_AGAIN);
        if is_news {
            self.down = Some(now);
        }
        is_news
    }
}
