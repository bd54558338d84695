//! Records on their way to the log.
//!
//! A producer's records arrive in its order. When it breaks, its callers are told that what is under way failed, and each
//! of these is lost or arrives at any time, in any order, until the delivery timeout has passed; so are those of a process
//! that died. Only what a stock broker sent may arrive twice, and then before anything else of that broker: our
//! producers are idempotent, and a stock broker's has one request in flight.

use undercroft::metadata::plan::Level;
use undercroft::model::SegmentState;
use undercroft::wire::{LevelRecord, Record, RecordKey};

use crate::broker::{Answer, Sent, decode, take};
use crate::log::Stored;
use crate::op::B;
use crate::world::{World, level_of, seg_of};

impl World {
    pub(crate) fn deliver(&mut self, b: B) -> bool {
        let Some(sent) = self.broker(b).queue.pop_front() else { return false };
        let offset = self.append_sent(&sent);
        let broker = self.broker(b);
        broker.answers.insert(sent.ticket, Answer::At(offset));
        broker.arrived = Some(sent);
        true
    }

    pub(crate) fn break_producer(&mut self, b: B) -> bool {
        let broker = self.broker(b);
        let sent: Vec<Sent> = broker.queue.drain(..).collect();
        broker.answers.extend(sent.iter().map(|sent| (sent.ticket, Answer::Failed)));
        let has_changed = !sent.is_empty();
        self.stragglers.extend(sent);
        has_changed
    }

    pub(crate) fn straggle(&mut self, i: usize) -> bool {
        if i >= self.stragglers.len() {
            return false;
        }
        let sent = self.stragglers.remove(i);
        self.append_sent(&sent);
        true
    }

    pub(crate) fn lose(&mut self, i: usize) -> bool {
        i < self.stragglers.len() && {
            self.stragglers.remove(i);
            true
        }
    }

    pub(crate) fn repeat(&mut self, b: B) -> bool {
        let now_ms = self.now_ms;
        let Some(sent) = self.broker(b).arrived.take() else { return false };
        if sent.key.is_some() || now_ms - sent.sent_ms > crate::world::DELIVERY_MS {
            return false;
        }
        self.append_sent(&sent);
        true
    }

    fn append_sent(&mut self, sent: &Sent) -> usize {
        self.is_upkeep = sent.is_upkeep;
        let body = match decode(sent.value.as_ref()) {
            Ok(body) => body,
            Err(error) => {
                self.fail("what is written can be read", error.to_string());
                None
            }
        };
        self.check_stock_reader(sent, body.as_ref());
        let stored = Stored {
            key: sent.key.clone(),
            key_number: None,
            body,
            timestamp_ms: sent.timestamp_ms,
            writer: sent.writer,
            seg: None,
        };
        self.append(stored)
    }

    /// The administrator's record: it goes into the log at once.
    pub(crate) fn write_level(&mut self, level: u8) {
        let record = LevelRecord { level: level as i8, timestamp_ms: self.now_ms };
        self.level = level;
        self.append(Stored {
            key: Some(RecordKey::Level),
            key_number: None,
            body: Some(Record::Level(record)),
            timestamp_ms: self.now_ms,
            writer: B::MAX,
            seg: None,
        });
    }

    fn append(&mut self, mut stored: Stored) -> usize {
        let number = stored.key.as_ref().map(|key| self.log.number(key));
        let named = match &stored.body {
            Some(Record::Segment(whole)) => Some(seg_of(whole.metadata.id.uuid)),
            Some(Record::Update(update)) => Some(seg_of(update.update.id.uuid)),
            _ => None,
        };
        stored.key_number = number;
        stored.seg = named.or_else(|| Some((*self.owners.get(number? as usize)?)?.0));
        self.check_key_owner(number, &stored);
        self.counts.records += 1;
        self.counts.tombstones += u64::from(stored.body.is_none());
        let seg = stored.seg;
        let before = seg.and_then(|seg| self.reference.now(seg));
        let offset = self.log.append(stored);
        let stored = &self.log.all[offset];
        self.reference.take(offset, stored);
        if !matches!(stored.key, Some(RecordKey::Level)) {
            take(&mut self.full, offset, stored, self.now_ms);
        }
        if let Some(seg) = seg {
            self.check_append(seg, before);
            self.check_order(seg, before);
            let now = self.reference.now(seg);
            self.counts.finished += u64::from(now == Some(SegmentState::CopyFinished) && before != now);
        }
        offset
    }

    /// The level that readers at the end of the log have met.
    pub(crate) fn level_in_log(&self) -> Level {
        level_of(self.level)
    }
}
