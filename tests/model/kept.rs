//! Histories that failed once, made short.

use crate::fault::Faults;
use crate::history::replay;
use crate::op::Op::*;
use crate::op::{Op, Setup};

/// The history breaks no rule.
fn holds(setup: &Setup, ops: &[Op]) {
    assert_eq!(replay(setup, ops, Faults::default()), None);
}

/// A reader that met the cleaner half way keeps updates without a key whose segment it never sees. They held the mark of the
/// partition's deletion up for ever.
#[test]
fn the_mark_of_a_deletion_goes_though_updates_without_a_key_were_kept() {
    holds(
        &Setup { level: 0, stock: 5, skew_s: [0, 40, 0], crash_at_end: false },
        &[
            Convert,
            Settle { b: 0 },
            Elect { b: 0 },
            Learn { b: 0, epoch: true },
            Add { b: 0, seg: 0, start: 0, end: 2, custom: false },
            Settle { b: 0 },
            Run { b: 0, seg: 0 },
            Expire { b: 0, seg: 0 },
            Run { b: 0, seg: 0 },
            DeleteTopic,
            Crash { b: 2 },
            Start { b: 2, checkpoint: false },
            Crash { b: 0 },
            Elect { b: 2 },
            Level { to: 1, restart: true },
            Learn { b: 2, epoch: false },
            Mark { b: 2, state: 0 },
            Settle { b: 2 },
            Tick { s: 310 },
            Level { to: 2, restart: true },
            Compact { dirty: 70, swapped: 60 },
        ],
    );
}
