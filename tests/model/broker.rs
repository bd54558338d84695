//! A broker's process: what it read, what it believes, what it is doing and what it sent.

use std::collections::{BTreeMap, HashMap, VecDeque};

use bytes::Bytes;
use undercroft::metadata::partition::{Entry, PartitionState};
use undercroft::metadata::plan::dangling::Cleanup;
use undercroft::metadata::plan::{Draft, Laws, Level, Standing};
use undercroft::model::{BrokerId, LeaderEpoch, SegmentState};
use undercroft::wire::{self, Record, RecordKey};

use crate::fault::{Fault, Faults};
use crate::log::{Log, Stored};
use crate::op::{B, S};
use crate::world::{DELETE_RETENTION_MS, DELIVERY_MS, REACHED_END_MS, segment_id, user_partition};

/// Number of a record that was sent.
pub type Ticket = u32;

/// A record on its way.
#[derive(Debug, Clone)]
pub struct Sent {
    pub ticket: Ticket,
    pub writer: B,
    /// `None` from a stock broker.
    pub key: Option<RecordKey>,
    pub value: Option<Bytes>,
    /// Not on a broker's order.
    pub is_upkeep: bool,
    pub sent_ms: i64,
    pub timestamp_ms: i64,
}

/// What the caller was told of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Failed,
    At(usize),
}

/// Where the broker stands with a segment: each step is one op, and a crash may come between any two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Adding(Ticket),
    Copying,
    Copied,
    Finishing(Ticket),
    /// Copied or not, it will not be used. The flag: our own reader shows that it can never finish.
    CopyFailed {
        is_refused: bool,
    },
    /// The flag: our own reader has seen it finished, so that no upload can be on its way.
    Delete {
        was_finished: bool,
    },
    DeleteStarting(Ticket, bool),
    Deleting {
        was_finished: bool,
    },
    Deleted {
        is_taken_over: bool,
    },
    Ending(Ticket),
}

/// Cleaning up after somebody's attempt.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cleaning {
    pub cleanup: Cleanup,
    /// A record of it that is under way, and what has been done when it has been read.
    pub waits: Option<(Ticket, undercroft::metadata::plan::dangling::Stage)>,
}

#[derive(Debug)]
pub struct Reader {
    pub state: PartitionState,
    pub position: usize,
    /// Last time at the end, or when reading from the start began.
    pub behind_since_ms: i64,
    /// Last time at the end since the process began.
    pub reached_end_ms: Option<i64>,
    /// Whether a record without a key was applied.
    pub has_unkeyed: bool,
    pub level: Level,
}

#[derive(Debug)]
pub struct Broker {
    pub id: B,
    pub is_alive: bool,
    pub is_stock: bool,
    pub skew_ms: i64,
    pub began_ms: i64,
    pub reader: Reader,
    pub leadership: Option<LeaderEpoch>,
    pub queue: VecDeque<Sent>,
    /// The last of its records that arrived.
    pub arrived: Option<Sent>,
    pub answers: HashMap<Ticket, Answer>,
    pub tasks: BTreeMap<S, Task>,
    /// Copies that this process began and that have ended; whether COPY_FINISHED was ever sent.
    pub ended: BTreeMap<S, bool>,
    pub added_ms: BTreeMap<S, i64>,
    pub cleanings: BTreeMap<S, Cleaning>,
    pub rewrites: BTreeMap<S, Ticket>,
    pub knows_topic_gone: bool,
    /// While what it does is on nobody's order.
    pub is_in_upkeep: bool,
}

impl Reader {
    pub fn new(laws: Laws, now_ms: i64) -> Self {
        Self {
            state: PartitionState::with_laws(user_partition(), laws),
            position: 0,
            behind_since_ms: now_ms,
            reached_end_ms: None,
            has_unkeyed: false,
            level: Level::Zero,
        }
    }

    /// From the start again, in the same process.
    pub fn restart(&mut self, now_ms: i64) {
        self.state = self.state.restarted();
        self.position = 0;
        self.behind_since_ms = now_ms;
        self.reached_end_ms = None;
        self.has_unkeyed = false;
    }

    /// Reads up to `n` records. True if anything came of it.
    pub fn read(&mut self, log: &Log, now_ms: i64, n: usize, faults: &Faults) -> bool {
        let is_far_behind = now_ms - self.behind_since_ms > DELETE_RETENTION_MS / 2;
        if is_far_behind && self.position < log.end() && !faults.has(Fault::ResumesFarBehind) {
            self.restart(now_ms);
        }
        let (mut read, mut left) = (0, log.left_from(self.position));
        let is_at_end = loop {
            let Some((offset, stored)) = left.next() else { break true };
            if self.has_unkeyed && offset != self.position && !faults.has(Fault::GapIgnored) {
                self.restart(now_ms);
                return true;
            }
            if read == n {
                break false;
            }
            self.take(offset, stored, now_ms);
            read += 1;
        };
        if !is_at_end {
            return true;
        }
        if self.has_unkeyed && self.position != log.end() && !faults.has(Fault::GapIgnored) {
            self.restart(now_ms);
            return true;
        }
        let was_away = self.reached_end_ms.is_none_or(|reached_ms| now_ms - reached_ms > REACHED_END_MS / 2);
        let came_further = self.position != log.end() || was_away;
        self.position = log.end();
        self.reached_end_ms = Some(now_ms);
        self.behind_since_ms = now_ms;
        came_further || read > 0
    }

    fn take(&mut self, offset: usize, stored: &Stored, now_ms: i64) {
        self.position = offset + 1;
        if let Some(Record::Level(record)) = &stored.body {
            self.level = match record.level {
                ..=0 => Level::Zero,
                1 => Level::One,
                _ => Level::Two,
            };
            return;
        }
        self.has_unkeyed |= stored.key.is_none();
        take(&mut self.state, offset, stored, now_ms);
    }

    pub fn state_of(&self, seg: S) -> Option<SegmentState> {
        self.state.state_of(&segment_id(seg))
    }
}

/// Hands a record to a state.
pub fn take(state: &mut PartitionState, offset: usize, stored: &Stored, now_ms: i64) {
    let _ = state.take(Entry {
        offset: offset as i64,
        timestamp_ms: stored.timestamp_ms,
        seen_ms: now_ms,
        key: stored.key.as_ref(),
        body: stored.body.as_ref(),
    });
}

impl Broker {
    pub fn new(id: B, is_stock: bool, skew_ms: i64, laws: Laws, now_ms: i64) -> Self {
        Self {
            id,
            is_alive: true,
            is_stock,
            skew_ms,
            began_ms: now_ms + skew_ms,
            reader: Reader::new(laws, now_ms),
            leadership: None,
            queue: VecDeque::new(),
            arrived: None,
            answers: HashMap::new(),
            tasks: BTreeMap::new(),
            ended: BTreeMap::new(),
            added_ms: BTreeMap::new(),
            cleanings: BTreeMap::new(),
            rewrites: BTreeMap::new(),
            knows_topic_gone: false,
            is_in_upkeep: false,
        }
    }

    pub fn me(&self) -> BrokerId {
        BrokerId(self.id.into())
    }

    /// Its clock.
    pub fn wall_ms(&self, now_ms: i64) -> i64 {
        now_ms + self.skew_ms
    }

    pub fn standing(&self, now_ms: i64, faults: &Faults) -> Standing {
        let is_current = match self.reader.reached_end_ms {
            _ if faults.has(Fault::StaleReaderDecides) => true,
            Some(reached_ms) => now_ms - reached_ms <= REACHED_END_MS,
            None => faults.has(Fault::CheckpointCounts) && self.reader.position > 0,
        };
        let leadership = match self.leadership {
            Some(epoch) if !epoch.is_known() && faults.has(Fault::UnknownEpochIsZero) => Some(LeaderEpoch(0)),
            known => known,
        };
        Standing { level: self.reader.level, me: self.me(), leadership, is_current, now_ms: self.wall_ms(now_ms) }
    }

    /// Puts a record on its way.
    pub fn send(&mut self, draft: &Draft, level: Level, ticket: Ticket, now_ms: i64) -> Ticket {
        let key = (!self.is_stock).then(|| draft.key.clone());
        let timestamp_ms = self.wall_ms(now_ms);
        let value = draft.value(level);
        let (writer, is_upkeep) = (self.id, self.is_in_upkeep);
        self.queue.push_back(Sent { ticket, writer, key, value, is_upkeep, sent_ms: now_ms, timestamp_ms });
        ticket
    }

    /// What became of a record: `None` while nothing is known, or while our own reader has not come to it.
    pub fn answer(&self, ticket: Ticket) -> Option<Result<(), ()>> {
        match self.answers.get(&ticket)? {
            Answer::Failed => Some(Err(())),
            Answer::At(offset) => (self.reader.position > *offset).then_some(Ok(())),
        }
    }

    /// The process dies. Its records that are on their way may still arrive.
    pub fn crash(&mut self) -> Vec<Sent> {
        self.is_alive = false;
        self.leadership = None;
        self.answers.clear();
        self.tasks.clear();
        self.ended.clear();
        self.added_ms.clear();
        self.cleanings.clear();
        self.rewrites.clear();
        self.knows_topic_gone = false;
        self.arrived = None;
        self.queue.drain(..).collect()
    }

    /// What upkeep does with the state of a deleted topic of which the log has nothing left. Tells whether it did.
    pub fn let_go(&mut self, laws: Laws, now_ms: i64) -> bool {
        let is_idle = self.queue.is_empty() && self.tasks.is_empty() && self.cleanings.is_empty();
        let reader = &mut self.reader;
        let newest_ms = reader.state.newest_ms();
        let is_quiet = newest_ms > i64::MIN && now_ms.saturating_sub(newest_ms) > DELIVERY_MS;
        // A manager waits for an hour, in which everything arrives.
        let is_due = self.knows_topic_gone && reader.level > Level::Zero && is_quiet && reader.state.is_spent(i64::MAX);
        if is_idle && is_due {
            reader.state = PartitionState::with_laws(user_partition(), laws);
        }
        is_idle && is_due
    }

    pub fn start(&mut self, laws: Laws, from_checkpoint: bool, now_ms: i64) {
        self.is_alive = true;
        self.began_ms = self.wall_ms(now_ms);
        let is_fresh = now_ms - self.reader.behind_since_ms <= DELETE_RETENTION_MS / 2;
        if !from_checkpoint || !is_fresh {
            self.reader = Reader::new(laws, now_ms);
        } else if laws == Laws::ALL {
            // A state that was read again keeps to all of them.
            self.reader.state = written_and_read(&self.reader.state);
        }
        self.reader.reached_end_ms = None;
    }
}

/// A state as a checkpoint brings it back.
fn written_and_read(state: &PartitionState) -> PartitionState {
    let mut writer = wire::Writer::default();
    state.save(&mut writer);
    PartitionState::load(&mut wire::Reader::new(&writer.into_bytes())).expect("what was saved can be loaded")
}

/// What a value says, as every reader reads it.
pub fn decode(value: Option<&Bytes>) -> Result<Option<Record>, wire::DecodeError> {
    value.map(|value| wire::decode(value)).transpose()
}
