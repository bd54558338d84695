//! All that there is: the log, the store, the brokers, what is on its way, and time. Applies ops.

use std::collections::HashMap;

use undercroft::metadata::partition::PartitionState;
use undercroft::metadata::plan::{self, Level};
use undercroft::model::{
    KafkaUuid, LeaderEpoch, Offset, PartitionDelete, PartitionDeleteState, SegmentEpochs, SegmentId, SegmentMetadata,
    SegmentState, TopicIdPartition,
};

use crate::broker::{Broker, Reader, Sent, Task, Ticket};
use crate::fault::{Fault, Faults};
use crate::log::Log;
use crate::op::{B, BROKERS, Op, S, Setup};
use crate::reference::Reference;
use crate::store::Store;

/// T: how long after the end was reached a reader is current.
pub const REACHED_END_MS: i64 = 120_000;
/// Longest time that a record is on its way.
pub const DELIVERY_MS: i64 = 120_000;
/// Z: more than both together, and than two clocks differ by.
pub const SETTLE_MS: i64 = 600_000;
/// A topic's `delete.retention.ms`; short, so that histories outlast it.
pub const DELETE_RETENTION_MS: i64 = 3_600_000;

/// What must never be, and was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Name of the check.
    pub check: &'static str,
    pub detail: String,
}

/// How often what happened: shows that histories are not idle.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub records: u64,
    pub finished: u64,
    pub claims: u64,
    pub tombstones: u64,
    pub backfills: u64,
    pub objects_deleted: u64,
    pub states_let_go: u64,
    pub refused_updates: u64,
    pub cleaner_rounds: u64,
    pub rebuilds: u64,
    pub restarts_from_0: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.finished += other.finished;
        self.claims += other.claims;
        self.tombstones += other.tombstones;
        self.backfills += other.backfills;
        self.objects_deleted += other.objects_deleted;
        self.states_let_go += other.states_let_go;
        self.refused_updates += other.refused_updates;
        self.cleaner_rounds += other.cleaner_rounds;
        self.rebuilds += other.rebuilds;
        self.restarts_from_0 += other.restarts_from_0;
    }
}

#[derive(Debug)]
pub struct World {
    pub faults: Faults,
    pub log: Log,
    pub reference: Reference,
    /// A reader of everything, by the code under test.
    pub full: PartitionState,
    pub store: Store,
    pub brokers: Vec<Broker>,
    /// Records of producers that broke or died.
    pub stragglers: Vec<Sent>,
    pub now_ms: i64,
    pub leader: Option<B>,
    pub epoch: i32,
    /// Level that the administrator has asked for; a record of it is in the log.
    pub level: u8,
    pub is_compacted: bool,
    pub is_converted: bool,
    /// When a stock broker was last running.
    pub last_stock_ms: Option<i64>,
    pub topic_gone_ms: Option<i64>,
    pub added: HashMap<S, Added>,
    /// Segment and writer that own a key, by its number.
    pub owners: Vec<Option<(S, B)>>,
    /// Whether the record that is appended is no broker's order.
    pub is_upkeep: bool,
    pub violation: Option<Violation>,
    pub counts: Counts,
    tickets: Ticket,
}

/// What is known of an attempt from its add on.
#[derive(Debug, Clone, Copy)]
pub struct Added {
    pub has_custom: bool,
}

pub fn user_partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "t", 0)
}

pub fn uuid(seg: S) -> KafkaUuid {
    let mut bytes = [1; 16];
    bytes[14..].copy_from_slice(&seg.to_be_bytes());
    KafkaUuid(bytes)
}

pub fn seg_of(uuid: KafkaUuid) -> S {
    S::from_be_bytes([uuid.0[14], uuid.0[15]])
}

thread_local! {
    static PARTITION: TopicIdPartition = user_partition();
}

pub fn segment_id(seg: S) -> SegmentId {
    SegmentId { partition: PARTITION.with(Clone::clone), uuid: uuid(seg) }
}

pub fn level_of(number: u8) -> Level {
    match number {
        0 => Level::Zero,
        1 => Level::One,
        _ => Level::Two,
    }
}

impl World {
    pub fn new(setup: &Setup, faults: Faults) -> Self {
        let now_ms = 1_000_000_000;
        let is_stock = |b: usize| setup.level == 0 && setup.stock & (1 << b) != 0;
        let brokers = (0..BROKERS)
            .map(|b| Broker::new(b as B, is_stock(b), i64::from(setup.skew_s[b]) * 1000, faults.laws, now_ms))
            .collect::<Vec<_>>();
        let has_stock = brokers.iter().any(|broker| broker.is_stock);
        let mut world = Self {
            faults,
            log: Log::default(),
            reference: Reference::default(),
            full: PartitionState::with_laws(user_partition(), faults.laws),
            store: Store::default(),
            brokers,
            stragglers: Vec::new(),
            now_ms,
            leader: None,
            epoch: 3,
            level: 0,
            is_compacted: false,
            is_converted: !has_stock,
            last_stock_ms: has_stock.then_some(now_ms),
            topic_gone_ms: None,
            added: HashMap::new(),
            owners: Vec::new(),
            is_upkeep: false,
            violation: None,
            counts: Counts::default(),
            tickets: 0,
        };
        if setup.level > 0 {
            world.write_level(setup.level);
            world.is_compacted = setup.level == 2;
        }
        world
    }

    pub fn broker(&mut self, b: B) -> &mut Broker {
        let count = self.brokers.len();
        &mut self.brokers[usize::from(b) % count]
    }

    pub fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.tickets
    }

    pub fn fail(&mut self, check: &'static str, detail: impl Into<String>) {
        if self.violation.is_none() {
            self.violation = Some(Violation { check, detail: detail.into() });
        }
    }

    /// Applies an op. False if it changed nothing.
    pub fn apply(&mut self, op: Op) -> bool {
        match op {
            Op::Tick { s } => self.tick(s),
            Op::Read { b, n } => self.read(b, usize::from(n)),
            Op::Deliver { b } => self.deliver(b),
            Op::Break { b } => self.break_producer(b),
            Op::Straggle { i } => self.straggle(usize::from(i)),
            Op::Lose { i } => self.lose(usize::from(i)),
            Op::Repeat { b } => self.repeat(b),
            Op::Settle { b } => self.settle(b),
            Op::Elect { b } => self.elect(b),
            Op::Learn { b, epoch } => self.learn(b, epoch),
            Op::Crash { b } => self.crash(b),
            Op::Start { b, checkpoint } => self.start(b, checkpoint),
            Op::Reread { b } => self.reread(b),
            Op::Add { b, seg, start, end, custom } => self.add(b, seg, (start, end), custom),
            Op::Step { b, seg, how } => self.step(b, seg, how),
            Op::Run { b, seg } => self.run(b, seg),
            Op::Expire { b, seg } => self.expire(b, seg),
            Op::Upkeep { b, nonce } => self.upkeep(b, nonce),
            Op::Backfill { b, max } => self.backfill(b, usize::from(max)),
            Op::Tombstones { b, max } => self.tombstones(b, usize::from(max)),
            Op::Convert => self.convert(),
            Op::Level { to, restart } => self.raise_level(to, restart),
            Op::Pass { sleeper, rounds, s, nonce } => self.pass_quietly(sleeper, rounds, s, nonce),
            Op::Migrate { sleeper, to } => self.migrate(sleeper, to),
            Op::Compact { dirty, swapped } => self.compact(dirty, swapped),
            Op::StoreDown => !std::mem::replace(&mut self.store.is_down, true),
            Op::StoreUp => std::mem::replace(&mut self.store.is_down, false),
            Op::LandPut { i } => self.store.land(usize::from(i)).is_some(),
            Op::DeleteTopic => self.delete_topic(),
            Op::Mark { b, state } => self.mark(b, state),
        }
    }

    fn tick(&mut self, s: u32) -> bool {
        self.now_ms += i64::from(s) * 1000;
        let now_ms = self.now_ms;
        while self.store.land_overdue(now_ms).is_some() {}
        for broker in &mut self.brokers {
            // A client gives up at the same time at which a record can no longer arrive.
            while broker.queue.front().is_some_and(|sent| now_ms - sent.sent_ms > DELIVERY_MS) {
                let sent = broker.queue.pop_front().expect("there is one");
                broker.answers.insert(sent.ticket, crate::broker::Answer::Failed);
            }
        }
        self.stragglers.retain(|sent| now_ms - sent.sent_ms <= DELIVERY_MS);
        if self.brokers.iter().any(|broker| broker.is_alive && broker.is_stock) {
            self.last_stock_ms = Some(now_ms);
        }
        s > 0
    }

    pub fn read(&mut self, b: B, n: usize) -> bool {
        let (now_ms, faults) = (self.now_ms, self.faults);
        let count = self.brokers.len();
        let broker = &mut self.brokers[usize::from(b) % count];
        if !broker.is_alive {
            return false;
        }
        let position = broker.reader.position;
        let has_read = broker.reader.read(&self.log, now_ms, n, &faults);
        self.counts.restarts_from_0 += u64::from(broker.reader.position < position);
        if has_read {
            self.check_reader(b);
        }
        has_read
    }

    pub fn settle(&mut self, b: B) -> bool {
        if !self.broker(b).is_alive {
            return false;
        }
        let mut has_changed = false;
        while self.deliver(b) {
            has_changed = true;
        }
        // A gap sends a reader back to the start at most once for each record that is left.
        for _ in 0..self.log.left_len() + 3 {
            let end = self.log.end();
            has_changed |= self.read(b, usize::MAX);
            let broker = self.broker(b);
            if broker.reader.position == end && broker.reader.reached_end_ms.is_some() {
                break;
            }
        }
        has_changed
    }

    fn elect(&mut self, b: B) -> bool {
        let id = self.broker(b).id;
        if !self.broker(b).is_alive {
            return false;
        }
        self.leader = Some(id);
        self.epoch += 1;
        true
    }

    fn learn(&mut self, b: B, knows_epoch: bool) -> bool {
        let (leader, epoch, laws, now_ms) = (self.leader, self.epoch, self.faults.laws, self.now_ms);
        let is_topic_gone = self.topic_gone_ms.is_some();
        let broker = self.broker(b);
        if !broker.is_alive {
            return false;
        }
        let is_leader = leader == Some(broker.id);
        let leadership = is_leader.then_some(if knows_epoch { LeaderEpoch(epoch) } else { LeaderEpoch::UNKNOWN });
        let before = (broker.leadership, broker.knows_topic_gone);
        (broker.leadership, broker.knows_topic_gone) = (leadership, is_topic_gone);
        let is_let_go = broker.let_go(laws, now_ms);
        self.counts.states_let_go += u64::from(is_let_go);
        before != (leadership, is_topic_gone) || is_let_go
    }

    pub fn crash(&mut self, b: B) -> bool {
        let broker = self.broker(b);
        if !broker.is_alive {
            return false;
        }
        let id = broker.id;
        let sent = broker.crash();
        self.stragglers.extend(sent);
        // A broker that dies is led by nobody, or by another under a new epoch.
        if self.leader == Some(id) {
            self.leader = None;
        }
        true
    }

    pub fn start(&mut self, b: B, from_checkpoint: bool) -> bool {
        let (now_ms, laws, is_converted) = (self.now_ms, self.faults.laws, self.is_converted);
        let broker = self.broker(b);
        if broker.is_alive {
            return false;
        }
        broker.start(laws, from_checkpoint, now_ms);
        if broker.is_stock && is_converted {
            broker.is_stock = false;
            broker.reader = Reader::new(laws, now_ms);
        }
        let is_stock = broker.is_stock;
        if is_stock {
            self.last_stock_ms = Some(now_ms);
        }
        true
    }

    fn reread(&mut self, b: B) -> bool {
        let now_ms = self.now_ms;
        let broker = self.broker(b);
        if !broker.is_alive || broker.reader.position == 0 {
            return false;
        }
        broker.reader.restart(now_ms);
        true
    }

    fn add(&mut self, b: B, seg: S, (start, end): (u8, u8), has_custom: bool) -> bool {
        let (now_ms, faults) = (self.now_ms, self.faults);
        let ticket = self.ticket();
        let writer_level = self.writer_level(b);
        let added = self.added.contains_key(&seg);
        let broker = self.broker(b);
        if added || !broker.is_alive || broker.leadership.is_none() || broker.knows_topic_gone {
            return false;
        }
        let end_offset = Offset(i64::from(end) * 10 + 9);
        let start_offset = Offset((end_offset.0 - 9 - i64::from(start) * 10).max(0));
        let own_epoch = LeaderEpoch(i32::from(seg % 3));
        let mut standing = broker.standing(now_ms, &faults);
        standing.level = writer_level.unwrap_or(standing.level);
        if faults.has(Fault::EpochOfSegment) {
            standing.leadership = Some(own_epoch);
        }
        let metadata = SegmentMetadata {
            id: segment_id(seg),
            start_offset,
            end_offset,
            max_timestamp_ms: 1,
            broker_id: broker.me(),
            event_timestamp_ms: standing.now_ms,
            epochs: SegmentEpochs::new(vec![(own_epoch, start_offset)]).expect("one epoch"),
            size_bytes: 100,
            custom_metadata: None,
            state: SegmentState::CopyStarted,
            is_txn_index_empty: seg.is_multiple_of(2),
        };
        let Ok(draft) = plan::add(&mut broker.reader.state, &standing, metadata) else { return false };
        broker.send(&draft, standing.level, ticket, now_ms);
        broker.tasks.insert(seg, Task::Adding(ticket));
        broker.added_ms.insert(seg, now_ms);
        self.added.insert(seg, Added { has_custom });
        true
    }

    fn delete_topic(&mut self) -> bool {
        let now_ms = self.now_ms;
        self.topic_gone_ms.replace(now_ms).is_none()
    }

    fn mark(&mut self, b: B, state: u8) -> bool {
        let (now_ms, faults) = (self.now_ms, self.faults);
        let ticket = self.ticket();
        let broker = self.broker(b);
        let Some(state) = PartitionDeleteState::from_number(state.into()) else { return false };
        if !broker.is_alive || broker.leadership.is_none() || !broker.knows_topic_gone {
            return false;
        }
        let standing = broker.standing(now_ms, &faults);
        let delete = PartitionDelete {
            partition: user_partition(),
            broker_id: broker.me(),
            event_timestamp_ms: standing.now_ms,
            state,
        };
        let draft = plan::partition_delete(&broker.reader.state, &standing, delete);
        broker.send(&draft, standing.level, ticket, now_ms);
        true
    }

    /// The level that a writer takes if it does not wait for its own reader.
    pub fn writer_level(&self, b: B) -> Option<Level> {
        let broker = &self.brokers[usize::from(b) % self.brokers.len()];
        let is_early = self.faults.has(Fault::LevelBeforeItIsRead) && !broker.is_stock && self.is_converted;
        is_early.then_some(Level::One)
    }
}
