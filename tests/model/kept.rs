//! Histories that failed once, made short.

use crate::fault::Faults;
use crate::history::replay;
use crate::op::{Op, Setup};

/// The history breaks no rule.
fn holds(setup: &Setup, ops: &[Op]) {
    assert_eq!(replay(setup, ops, Faults::default()), None);
}
