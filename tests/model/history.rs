//! Histories: made from a seed, run again from a list.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use crate::fault::Faults;
use crate::op::{B, BROKERS, How, Op, S, Setup};
use crate::random::{Fnv, Random};
use crate::world::{Counts, Violation, World};

/// Steps of a history before it comes to rest.
const LENGTHS: [usize; 4] = [100, 300, 300, 600];

/// A history that ran.
#[derive(Debug)]
pub struct Ran {
    pub setup: Setup,
    pub ops: Vec<Op>,
    pub violation: Option<Violation>,
    pub counts: Counts,
    pub segments: usize,
}

/// Runs a list of ops to the end.
pub fn replay(setup: &Setup, ops: &[Op], faults: Faults) -> Option<Violation> {
    let mut world = World::new(setup, faults);
    for &op in ops {
        world.apply(op);
        if world.violation.is_some() {
            return world.violation;
        }
    }
    world.end(setup);
    world.violation
}

/// Makes a history from its seed, and runs it.
pub fn generate(seed: u64, faults: Faults) -> Ran {
    let mut random = Random::new(seed);
    let setup = setup(&mut random);
    let mut generator = Generator::new(random);
    let mut world = World::new(&setup, faults);
    let length = generator.length;
    let mut ops = Vec::with_capacity(length);
    let mut tries = 0;
    while ops.len() < length && tries < length * 20 && world.violation.is_none() {
        tries += 1;
        let Some(op) = generator.next(&world) else { continue };
        if world.apply(op) || world.violation.is_some() {
            ops.push(op);
        }
    }
    if world.violation.is_none() {
        world.end(&setup);
    }
    Ran { setup, ops, violation: world.violation, counts: world.counts, segments: world.added.len() }
}

/// A number that tells two histories apart; the same on every machine.
pub fn fingerprint(ran: &Ran) -> u64 {
    let mut hasher = Fnv::default();
    (ran.setup, &ran.ops, ran.counts.records, ran.counts.tombstones).hash(&mut hasher);
    hasher.finish()
}

fn setup(random: &mut Random) -> Setup {
    let level = [0, 0, 0, 1, 2, 2][random.below(6)];
    let mut skew_s = [0; BROKERS];
    for skew in &mut skew_s {
        *skew = [0, 0, 1, -40, 40][random.below(5)];
    }
    Setup { level, stock: (random.below(8) | 1 << random.below(3)) as u8, skew_s, crash_at_end: random.one_in(2) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tick,
    Read,
    Deliver,
    Break,
    Straggle,
    Lose,
    Repeat,
    Settle,
    Elect,
    Learn,
    Crash,
    Start,
    Reread,
    Add,
    Step,
    Run,
    Expire,
    Upkeep,
    Backfill,
    Tombstones,
    Convert,
    Pass,
    Migrate,
    Level,
    Compact,
    StoreDown,
    StoreUp,
    LandPut,
    DeleteTopic,
    Mark,
}

/// How likely each kind is before a history's own taste.
const WEIGHTS: [(Kind, u32); 30] = [
    (Kind::Tick, 11),
    (Kind::Read, 30),
    (Kind::Deliver, 150),
    (Kind::Break, 40),
    (Kind::Straggle, 60),
    (Kind::Lose, 20),
    (Kind::Repeat, 20),
    (Kind::Settle, 50),
    (Kind::Elect, 3),
    (Kind::Learn, 40),
    (Kind::Crash, 2),
    (Kind::Start, 60),
    (Kind::Reread, 1),
    (Kind::Add, 40),
    (Kind::Step, 240),
    (Kind::Run, 100),
    (Kind::Expire, 60),
    (Kind::Upkeep, 120),
    (Kind::Backfill, 200),
    (Kind::Tombstones, 200),
    (Kind::Convert, 6),
    (Kind::Pass, 4),
    (Kind::Migrate, 8),
    (Kind::Level, 12),
    (Kind::Compact, 60),
    (Kind::StoreDown, 1),
    (Kind::StoreUp, 10),
    (Kind::LandPut, 40),
    (Kind::DeleteTopic, 1),
    (Kind::Mark, 6),
];

/// What it takes until a rewrite can be late for everything: all within the time that a record may be on its way.
const LATE_REWRITE: [Kind; 12] = [
    Kind::Break,
    Kind::Backfill,
    Kind::Settle,
    Kind::Expire,
    Kind::Run,
    Kind::Expire,
    Kind::Run,
    Kind::Tombstones,
    Kind::Settle,
    Kind::Tombstones,
    Kind::Settle,
    Kind::Straggle,
];

/// Chooses what happens next. Each history has a taste of its own: some kinds often, some never.
struct Generator {
    random: Random,
    /// Each kind as often as it is likely.
    kinds: Vec<Kind>,
    /// What comes next without a choice.
    then: VecDeque<(Kind, B)>,
    next_seg: S,
    nonce: u16,
    /// Few ends make many attempts at the same one.
    ends: usize,
    /// A broker that hears nothing for a while, but may act.
    sleeper: Option<B>,
    length: usize,
}

impl Generator {
    fn new(mut random: Random) -> Self {
        let mut kinds = Vec::with_capacity(4096);
        for (kind, weight) in WEIGHTS {
            let taste = [0, 1, 2, 4, 4, 4, 8, 16][random.below(8)];
            // Without these nothing happens at all.
            let is_needed = matches!(kind, Kind::Add | Kind::Step | Kind::Settle | Kind::Learn | Kind::Start);
            let taste = if is_needed { taste.max(2) } else { taste };
            kinds.extend(std::iter::repeat_n(kind, (weight * taste) as usize));
        }
        let ends = 1 + random.below(5);
        let length = LENGTHS[random.below(LENGTHS.len())];
        Self { random, kinds, then: VecDeque::new(), next_seg: 0, nonce: 0, ends, sleeper: None, length }
    }

    /// An op, unless there is nothing that it could change.
    fn next(&mut self, world: &World) -> Option<Op> {
        let random = &mut self.random;
        let forced = self.then.pop_front();
        let (kind, b) = forced.unwrap_or((self.kinds[random.below(self.kinds.len())], random.below(BROKERS) as B));
        if random.one_in(100) {
            self.sleeper = (!random.one_in(3)).then(|| random.below(BROKERS) as B);
        }
        let is_heard = matches!(kind, Kind::Read | Kind::Settle | Kind::Run | Kind::Learn | Kind::Reread | Kind::Start);
        if forced.is_none() && self.sleeper == Some(b) && (is_heard || random.one_in(2)) {
            return None;
        }
        let broker = &world.brokers[usize::from(b)];
        let follows: &[Kind] = match kind {
            _ if forced.is_some() => &[],
            Kind::Backfill if random.one_in(4) => &LATE_REWRITE,
            Kind::Backfill if random.one_in(2) => &[Kind::Break],
            Kind::Expire if random.one_in(2) => &[Kind::Run],
            Kind::Elect if !random.one_in(4) => &[Kind::Learn],
            Kind::Add if random.one_in(2) => &[Kind::Run],
            _ => &[],
        };
        self.then.extend(follows.iter().map(|&kind| (kind, b)));
        Some(match kind {
            Kind::Tick => {
                let seconds = [1, 1, 5, 20, 20, 61, 61, 130, 130, 310, 310, 610, 610, 800, 1900, 1900, 3700, 8000];
                Op::Tick { s: seconds[random.below(seconds.len())] }
            }
            Kind::Read => Op::Read { b, n: [1, 1, 2, 5, 255][random.below(5)] },
            Kind::Deliver if !broker.queue.is_empty() => Op::Deliver { b },
            Kind::Break if !broker.queue.is_empty() => Op::Break { b },
            Kind::Straggle if !world.stragglers.is_empty() => {
                Op::Straggle { i: random.below(world.stragglers.len()) as u8 }
            }
            Kind::Lose if !world.stragglers.is_empty() => Op::Lose { i: random.below(world.stragglers.len()) as u8 },
            Kind::Repeat if broker.arrived.is_some() => Op::Repeat { b },
            Kind::Settle => Op::Settle { b },
            Kind::Elect => Op::Elect { b },
            Kind::Learn => Op::Learn { b, epoch: !random.one_in(6) },
            Kind::Crash => Op::Crash { b },
            Kind::Start if !broker.is_alive => Op::Start { b, checkpoint: random.one_in(2) },
            Kind::Reread => Op::Reread { b },
            Kind::Add if broker.is_alive && broker.leadership.is_some() => {
                let seg = self.next_seg;
                self.next_seg += 1;
                let (start, end) = (random.below(3) as u8, random.below(self.ends) as u8);
                Op::Add { b, seg, start, end, custom: random.one_in(2) }
            }
            Kind::Step => {
                let (at, count) = (random.below(broker.tasks.len()), broker.tasks.len());
                let how = [How::Fails, How::Ambiguous, How::Late].get(random.below(15)).copied().unwrap_or(How::Well);
                let seg = *broker.tasks.keys().nth(at).filter(|_| count > 0)?;
                Op::Step { b, seg, how }
            }
            Kind::Run => {
                let (at, count) = (random.below(broker.tasks.len()), broker.tasks.len());
                Op::Run { b, seg: *broker.tasks.keys().nth(at).filter(|_| count > 0)? }
            }
            Kind::Expire if broker.leadership.is_some() && self.next_seg > 0 => {
                Op::Expire { b, seg: random.below(usize::from(self.next_seg)) as S }
            }
            Kind::Upkeep if broker.leadership.is_some() => {
                self.nonce += 1;
                Op::Upkeep { b, nonce: self.nonce }
            }
            Kind::Backfill if world.level > 0 => Op::Backfill { b, max: [1, 2, 100][random.below(3)] },
            Kind::Tombstones if broker.leadership.is_some() => Op::Tombstones { b, max: [1, 2, 100][random.below(3)] },
            Kind::Convert if !world.is_converted => Op::Convert,
            Kind::Pass => {
                self.nonce += 16;
                let (rounds, s) = (1 + random.below(8) as u8, [1, 1, 20, 100, 700, 700, 2000][random.below(7)]);
                Op::Pass { sleeper: self.sleeper.unwrap_or(B::MAX), rounds, s, nonce: self.nonce }
            }
            Kind::Migrate if world.level == 0 => {
                Op::Migrate { sleeper: self.sleeper.unwrap_or(b), to: 1 + random.below(2) as u8 }
            }
            Kind::Level if world.level < 2 => Op::Level { to: world.level + 1, restart: random.one_in(2) },
            Kind::Compact => Op::Compact {
                dirty: [100, 100, 90, 70, 50][random.below(5)],
                swapped: [100, 100, 100, 60, 30][random.below(5)],
            },
            Kind::StoreDown => Op::StoreDown,
            Kind::StoreUp if world.store.is_down => Op::StoreUp,
            Kind::LandPut if world.store.late() > 0 => Op::LandPut { i: 0 },
            Kind::DeleteTopic if random.one_in(4) => Op::DeleteTopic,
            Kind::Mark if broker.knows_topic_gone => Op::Mark { b, state: random.below(3) as u8 },
            _ => return None,
        })
    }
}
