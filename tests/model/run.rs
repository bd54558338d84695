//! Runs of many histories.

#![allow(clippy::disallowed_methods, reason = "says how fast a run was")]

use std::time::Instant;

use crate::fault::Faults;
use crate::history::{Ran, fingerprint, generate};
use crate::random::Random;
use crate::shrink::{as_test, shrink};
use crate::world::Counts;

/// Ops of a run if `OPS` says nothing: a second or two, unoptimised.
const OPS: u64 = 60_000;

pub fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The first history of a run that fails, and how many ops came before its end.
pub fn first_failure(seed: u64, ops: u64, faults: Faults, mut each: impl FnMut(&Ran)) -> Option<(Ran, u64)> {
    let mut done = 0;
    for index in 0.. {
        let ran = generate(Random::history_seed(seed, index), faults);
        done += ran.ops.len() as u64;
        each(&ran);
        if ran.violation.is_some() {
            return Some((ran, done));
        }
        if done >= ops {
            break;
        }
    }
    None
}

#[test]
fn no_history_breaks_the_law() {
    let (seed, ops) = (number("SEED", 1), number("OPS", OPS));
    let began = Instant::now();
    let (mut total, mut histories, mut segments, mut done) = (Counts::default(), 0, 0, 0);
    let counts_kinds = std::env::var("KINDS").is_ok();
    let mut kinds = std::collections::BTreeMap::new();
    let failure = first_failure(seed, ops, Faults::default(), |ran| {
        total.add(&ran.counts);
        histories += 1;
        segments += ran.segments;
        done += ran.ops.len();
        for op in ran.ops.iter().filter(|_| counts_kinds) {
            let text = format!("{op:?}");
            *kinds.entry(text.split(' ').next().unwrap_or_default().to_owned()).or_insert(0_u64) += 1;
        }
    });
    if counts_kinds {
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        eprintln!("{kinds:?}");
    }
    let seconds = began.elapsed().as_secs_f64();
    eprintln!(
        "SEED={seed} OPS={ops}: {histories} histories, {done} ops, {segments} segments in {seconds:.1} s ({:.0} ops/s)\n{total:?}",
        done as f64 / seconds
    );
    if let Some((ran, after)) = failure {
        let violation = ran.violation.clone().expect("it failed");
        let (setup, ops, violation) = shrink(&ran.setup, &ran.ops, Faults::default(), &violation);
        panic!(
            "SEED={seed}: after {after} ops: {}: {}\n{}",
            violation.check,
            violation.detail,
            as_test(&setup, &ops, &violation)
        );
    }
}

#[test]
fn the_same_seed_makes_the_same_history() {
    let run = |seed| {
        let mut prints = Vec::new();
        let _ = first_failure(seed, 5000, Faults::default(), |ran| prints.push(fingerprint(ran)));
        prints
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
