//! What may happen: the steps of a history. An op that does not apply where it stands changes nothing, so any part of a
//! history is a history too. That is what makes shrinking simple, and what is printed can be pasted into `kept.rs`.

/// Number of a broker.
pub type B = u8;
/// Number of an attempt to copy a segment.
pub type S = u16;

/// How a step of a task ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum How {
    Well,
    /// It fails and nothing was done.
    Fails,
    /// It fails though it was done.
    Ambiguous,
    /// It fails, and is done later.
    Late,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// The clock goes on by so many seconds.
    Tick {
        s: u32,
    },
    /// The broker reads up to `n` records.
    Read {
        b: B,
        n: u8,
    },
    /// The oldest record that the broker sent reaches the log.
    Deliver {
        b: B,
    },
    /// The broker's producer breaks: its callers are told that their records failed. Each is lost or arrives later.
    Break {
        b: B,
    },
    /// A record of a producer that broke arrives after all.
    Straggle {
        i: u8,
    },
    /// One of them will never arrive.
    Lose {
        i: u8,
    },
    /// The broker's last record that arrived, if a stock broker sent it, arrives a second time.
    Repeat {
        b: B,
    },
    /// All that the broker sent arrives, and it reads to the end.
    Settle {
        b: B,
    },
    /// The controller makes the broker the leader. Nobody knows yet.
    Elect {
        b: B,
    },
    /// The broker hears who leads; whether it can tell the epoch.
    Learn {
        b: B,
        epoch: bool,
    },
    Crash {
        b: B,
    },
    Start {
        b: B,
        checkpoint: bool,
    },
    /// The broker reads from the start again, without a restart.
    Reread {
        b: B,
    },
    /// A leader begins to copy a segment.
    Add {
        b: B,
        seg: S,
        start: u8,
        end: u8,
        custom: bool,
    },
    /// The next step of what the broker does with a segment.
    Step {
        b: B,
        seg: S,
        how: How,
    },
    /// The broker goes through with a segment at once: all steps, and what it sends arrives.
    Run {
        b: B,
        seg: S,
    },
    /// A leader orders a segment to be deleted.
    Expire {
        b: B,
        seg: S,
    },
    /// A round of cleaning up after attempts that failed.
    Upkeep {
        b: B,
        nonce: u16,
    },
    Backfill {
        b: B,
        max: u8,
    },
    Tombstones {
        b: B,
        max: u8,
    },
    /// All brokers run Undercroft from their next start on.
    Convert,
    /// The administrator raises the level, if what must come first has come.
    Level {
        to: u8,
        restart: bool,
    },
    /// Quiet times: every `s` seconds all brokers but one do what they do by their timers, and the cleaner runs.
    Pass {
        sleeper: B,
        rounds: u8,
        s: u16,
        nonce: u16,
    },
    /// From level 0 up at once, while one broker sleeps; to 1 only, or with backfill and check to 2.
    Migrate {
        sleeper: B,
        to: u8,
    },
    /// The log cleaner goes over the log up to `dirty` per cent, and gets as far as `swapped` per cent.
    Compact {
        dirty: u8,
        swapped: u8,
    },
    StoreDown,
    StoreUp,
    /// An upload that was given up is completed by the store.
    LandPut {
        i: u8,
    },
    DeleteTopic,
    /// A leader marks the partition as deleted.
    Mark {
        b: B,
        state: u8,
    },
}

/// What a history starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Setup {
    /// Level of the metadata topic; at 2 the cleaner runs.
    pub level: u8,
    /// Brokers that run the stock manager, a bit each. Only at level 0.
    pub stock: u8,
    /// Seconds by which each broker's clock is wrong.
    pub skew_s: [i16; BROKERS],
    /// Whether the brokers crash before the end, so that nobody ends what he began.
    pub crash_at_end: bool,
}

pub const BROKERS: usize = 3;
