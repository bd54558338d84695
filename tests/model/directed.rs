//! Histories that random ones seldom meet.

use crate::fault::Faults;
use crate::history::replay;
use crate::op::Op::*;
use crate::op::{BROKERS, How::*, Op, Setup};

const LEVEL_2: Setup = Setup { level: 2, stock: 0, skew_s: [0; BROKERS], crash_at_end: false };

fn holds(setup: &Setup, ops: &[Op]) {
    assert_eq!(replay(setup, ops, Faults::default()), None);
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
