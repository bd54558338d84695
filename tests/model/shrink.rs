//! Makes a failing history short: leaves out what is not needed for the same check to fail.

use crate::fault::Faults;
use crate::history::replay;
use crate::op::{BROKERS, Op, Setup};
use crate::world::Violation;

/// The shortest history found that fails the same check, and how it fails.
pub fn shrink(setup: &Setup, ops: &[Op], faults: Faults, found: &Violation) -> (Setup, Vec<Op>, Violation) {
    let check = found.check;
    let fails = |setup: &Setup, ops: &[Op]| replay(setup, ops, faults).filter(|violation| violation.check == check);
    let (mut setup, mut ops) = (*setup, ops.to_vec());
    let mut chunk = ops.len().div_ceil(2).max(1);
    loop {
        let before = ops.len();
        let mut at = 0;
        while at < ops.len() {
            let mut fewer = ops.clone();
            fewer.drain(at..(at + chunk).min(ops.len()));
            if fails(&setup, &fewer).is_some() {
                ops = fewer;
            } else {
                at += chunk;
            }
        }
        if chunk > 1 {
            chunk = chunk.div_ceil(2);
        } else if ops.len() == before {
            break;
        }
    }
    for simpler in [
        Setup { skew_s: [0; BROKERS], ..setup },
        Setup { stock: 0, ..setup },
        Setup { crash_at_end: false, ..setup },
        Setup { skew_s: [0; BROKERS], crash_at_end: false, stock: 0, ..setup },
    ] {
        if fails(&simpler, &ops).is_some() {
            setup = simpler;
        }
    }
    let violation = fails(&setup, &ops).unwrap_or_else(|| found.clone());
    (setup, ops, violation)
}

/// The history as a test for `kept.rs`.
pub fn as_test(setup: &Setup, ops: &[Op], violation: &Violation) -> String {
    let mut text =
        format!("// {}: {}\n#[test]\nfn name_me() {{\n    holds(\n        &", violation.check, violation.detail);
    text += &format!("{setup:?},\n        &[\n");
    for op in ops {
        text += &format!("            {op:?},\n");
    }
    text + "        ],\n    );\n}\n"
}
