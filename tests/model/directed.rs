//! Histories that random ones seldom meet.

use undercroft::metadata::plan::Laws;

use crate::fault::{Fault, Faults};
use crate::history::replay;
use crate::op::Op::*;
use crate::op::{BROKERS, How::*, Op, Setup};

const LEVEL_2: Setup = Setup { level: 2, stock: 0, skew_s: [0; BROKERS], crash_at_end: false };

fn holds(setup: &Setup, ops: &[Op]) {
    assert_eq!(replay(setup, ops, Faults::default()), None);
}

/// A leader's rewrite stays on its way while it writes another, has the segment deleted, and empties its keys.
const LATE_REWRITE: [Op; 25] = [
    Elect { b: 0 },
    Learn { b: 0, epoch: true },
    Settle { b: 0 },
    Add { b: 0, seg: 0, start: 0, end: 0, custom: false },
    Settle { b: 0 },
    Run { b: 0, seg: 0 },
    Convert,
    Crash { b: 0 },
    Level { to: 1, restart: false },
    Elect { b: 1 },
    Learn { b: 1, epoch: true },
    Settle { b: 1 },
    Tick { s: 130 },
    Settle { b: 1 },
    Backfill { b: 1, max: 100 },
    Break { b: 1 },
    Backfill { b: 1, max: 100 },
    Settle { b: 1 },
    Expire { b: 1, seg: 0 },
    Run { b: 1, seg: 0 },
    Tombstones { b: 1, max: 100 },
    Settle { b: 1 },
    Tombstones { b: 1, max: 100 },
    Settle { b: 1 },
    Straggle { i: 0 },
];

#[test]
fn a_rewrite_that_comes_late_meets_the_keys_of_what_is_gone() {
    let level_0 = Setup { level: 0, stock: 1, ..LEVEL_2 };
    holds(&level_0, &LATE_REWRITE);
    let mut laws = Laws::ALL;
    laws.tombstones_wait = false;
    for faults in [Faults { fault: Some(Fault::NoSettling), ..Faults::default() }, Faults { laws, ..Faults::default() }]
    {
        assert!(replay(&level_0, &LATE_REWRITE, faults).is_some());
    }
}

/// A copy that was claimed while it slept, and says all the same that it is done.
#[test]
fn a_refused_finish_is_not_said_in_another_way() {
    let ops = [
        Elect { b: 0 },
        Learn { b: 0, epoch: true },
        Settle { b: 0 },
        Add { b: 0, seg: 0, start: 0, end: 0, custom: false },
        Settle { b: 0 },
        Step { b: 0, seg: 0, how: Well },
        Step { b: 0, seg: 0, how: Well },
        Elect { b: 1 },
        Learn { b: 1, epoch: true },
        Pass { sleeper: 0, rounds: 2, s: 600, nonce: 1 },
        Settle { b: 0 },
        Upkeep { b: 1, nonce: 9 },
        Step { b: 0, seg: 0, how: Well },
        Settle { b: 0 },
        Settle { b: 1 },
    ];
    holds(&LEVEL_2, &ops);
    let faults = Faults { fault: Some(Fault::RefusedFinishIsWritten), ..Faults::default() };
    let violation = replay(&LEVEL_2, &ops, faults).map(|violation| violation.check);
    assert_eq!(violation, Some("a live segment is deleted only on a broker's order"));
}

/// A leader may delete an attempt that another one is still copying.
#[test]
fn an_upload_behind_the_deletion_of_its_attempt_is_not_left_over() {
    let ops = [
        Elect { b: 0 },
        Learn { b: 0, epoch: true },
        Settle { b: 0 },
        Add { b: 0, seg: 0, start: 0, end: 0, custom: false },
        Settle { b: 0 },
        Step { b: 0, seg: 0, how: Well },
        Elect { b: 1 },
        Learn { b: 1, epoch: true },
        Settle { b: 1 },
        Expire { b: 1, seg: 0 },
        Run { b: 1, seg: 0 },
        Pass { sleeper: 0, rounds: 8, s: 60, nonce: 1 },
        Step { b: 0, seg: 0, how: Well },
        Crash { b: 0 },
    ];
    holds(&LEVEL_2, &ops);
}
