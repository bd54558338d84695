//! Each rule broken in turn: how many runs notice, and by which check.

use undercroft::metadata::plan::Laws;

use crate::fault::{Fault, Faults};
use crate::run::{first_failure, number};

/// Switches a rule off.
type Switch = fn(&mut Laws);

/// Rules of the core, each with its switch.
const LAWS: [(&str, Switch); 15] = [
    ("1 early updates are kept", |laws| laws.keeps_early_updates = false),
    ("2 claims only of open attempts", |laws| laws.claims_only_open_attempts = false),
    ("2 whole records change only open attempts", |laws| laws.whole_changes_only_open_attempts = false),
    ("2 a whole finish overrules a claim", |laws| laws.whole_finish_overrules_claim = false),
    ("3 a short key has one owner", |laws| laws.short_key_has_one_owner = false),
    ("4 lanes are apart", |laws| laws.lanes_are_apart = false),
    ("5 claims have keys of their own", |laws| laws.claims_have_own_keys = false),
    ("6 backfill", |laws| laws.backfills = false),
    ("7 an unknown epoch needs the id", |laws| laws.unknown_epoch_needs_id = false),
    ("8 base keys go first", |laws| laws.base_keys_go_first = false),
    ("8 tombstones wait", |laws| laws.tombstones_wait = false),
    ("8 forgets with the last base", |laws| laws.forgets_with_last_base = false),
    ("8 refused records count", |laws| laws.refused_records_count = false),
    ("9 only current leaders decide", |laws| laws.only_current_leaders_decide = false),
    ("14 custom metadata is repeated", |laws| laws.repeats_custom_metadata = false),
];

struct Row {
    name: String,
    tried: u64,
    caught: u64,
    first: Option<u64>,
    checks: Vec<(&'static str, u64)>,
}

fn row(name: String, faults: Faults, seeds: u64, ops: u64) -> Row {
    let mut row = Row { name, tried: seeds, caught: 0, first: None, checks: Vec::new() };
    for seed in 1..=seeds {
        let Some((ran, _)) = first_failure(seed, ops, faults, |_| {}) else { continue };
        let check = ran.violation.expect("it failed").check;
        row.caught += 1;
        row.first = row.first.or(Some(seed));
        match row.checks.iter_mut().find(|(name, _)| *name == check) {
            Some((_, count)) => *count += 1,
            None => row.checks.push((check, 1)),
        }
    }
    row.checks.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    row
}

/// `make test-model-faults`: `SEEDS=` runs of `OPS=` ops for each.
#[test]
#[ignore = "minutes; `make test-model-faults` runs it and shows the table"]
fn every_broken_rule_is_noticed() {
    let (seeds, ops) = (number("SEEDS", 20), number("OPS", 50_000));
    let laws = LAWS.iter().map(|(name, switch)| {
        let mut faults = Faults::default();
        switch(&mut faults.laws);
        ((*name).to_owned(), faults)
    });
    let own =
        Fault::ALL.iter().map(|&fault| (format!("{fault:?}"), Faults { fault: Some(fault), ..Faults::default() }));
    println!("| broken | seeds | caught | first | by |\n|---|---|---|---|---|");
    let mut missed = Vec::new();
    for (name, faults) in laws.chain(own) {
        let row = row(name, faults, seeds, ops);
        let first = row.first.map_or("-".to_owned(), |seed| seed.to_string());
        let checks: Vec<_> = row.checks.iter().map(|(name, count)| format!("{name} ({count})")).collect();
        println!("| {} | {} | {} | {first} | {} |", row.name, row.tried, row.caught, checks.join("; "));
        if row.caught == 0 {
            missed.push(row.name);
        }
    }
    println!("not noticed by random histories: {missed:?}");
}
