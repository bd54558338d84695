//! Exports that come into another topic.

use super::*;
use crate::metadata::migration::{ImportError, ImportLine, ImportPlan, plan_import};
use crate::metadata::plan::Level;
use crate::metadata::survey::stock_records;
use crate::model::SegmentState::DeleteStarted;
use crate::wire::{Record, RecordKey, decode, parse_key};

fn exported(topic: &Topic) -> Vec<ImportLine> {
    let evidence = topic.evidence();
    let records = evidence.survey().user_partitions().into_iter().flat_map(stock_records);
    let line = |(record, number): (crate::metadata::survey::StockRecord, usize)| ImportLine {
        number,
        key: record.key,
        record: decode(&record.value).expect("readable"),
    };
    records.zip(1..).map(line).collect()
}

fn source() -> Topic {
    let deleting = segment(3);
    Topic::default()
        .copied(1, true, 0)
        .copied(2, false, 0)
        .whole(&deleting, true, 0)
        .update(&deleting, CopyFinished, true, 1)
        .update(&deleting, DeleteStarted, true, 2)
        .whole(&segment(4), true, 3)
}

fn plan(lines: &[ImportLine], target: &Topic, level: Level) -> Result<ImportPlan, ImportError> {
    plan_import(lines, target.evidence().survey(), PARTITIONS, &|_| level, false)
}

/// The target with what was planned for it.
fn written(mut target: Topic, plan: &ImportPlan) -> Topic {
    for (home, key, value) in &plan.records {
        target.raw(*home, 9, Some(key), Some(value));
    }
    target
}

#[test]
fn an_import_knows_what_was_exported_in_the_form_of_the_level_and_without_facts_that_have_no_key() {
    let lines = exported(&source());
    for (level, version) in [(Level::Zero, 0), (Level::One, 1), (Level::Two, 1)] {
        let plan = plan(&lines, &Topic::default(), level).expect("fits");
        assert!(plan.records.iter().all(|(_, _, value)| value[2] == version));
        let target = written(Topic::default(), &plan).evidence();
        assert_eq!(target.live_by_id(), source().evidence().live_by_id());
        assert_eq!((plan.missing(target.survey()), target.resting()), (vec![], vec![]));
        assert_eq!((plan.segments.len(), plan.known.len(), plan.renamed), (4, 0, 0));
        assert_eq!(plan.missing(Topic::default().evidence().survey()).len(), 4);
    }
}

#[test]
fn a_topic_that_knows_the_segments_is_refused_unless_they_are_to_be_left_out() {
    let lines = exported(&source());
    let target = Topic::default().copied(2, true, 0);
    let refused = plan(&lines, &target, Level::One).expect_err("refused");
    assert!(matches!(refused, ImportError::Known { count: 1, .. }), "{refused}");
    let evidence = target.evidence();
    let plan = plan_import(&lines, evidence.survey(), PARTITIONS, &|_| Level::One, true).expect("fits");
    assert_eq!((plan.segments.len(), plan.known.len(), plan.renamed), (3, 1, 3));
    let after = written(target, &plan).evidence();
    assert_eq!(after.live_by_id(), source().evidence().live_by_id());
}

#[test]
fn segments_of_a_partition_that_the_topic_has_records_of_never_get_a_key_of_another_segment() {
    let lines = exported(&source());
    let other = SegmentMetadata { end_offset: segment(1).end_offset, ..segment(9) };
    let target = Topic::default().whole(&SegmentMetadata { start_offset: Offset(10), ..other }, true, 0);
    let plan = plan(&lines, &target, Level::Two).expect("fits");
    assert_eq!(plan.renamed, 3, "the one without a key had its id in it before");
    let taken: Vec<_> = target.records.iter().filter_map(|(_, key, _)| key.clone()).collect();
    for (_, key, _) in &plan.records {
        assert!(parse_key(key).is_ok() && !taken.iter().any(|other| other == key));
    }
}

#[test]
fn at_level_0_nothing_is_imported_that_ends_a_stock_consumer() {
    let mut lines = exported(&source());
    let at = lines.iter().position(|line| matches!(&line.record, Record::Update(_))).expect("an update");
    if let Record::Update(record) = &mut lines[at].record {
        record.update.state = SegmentState::Dangling;
    }
    let refused = plan(&lines, &Topic::default(), Level::Zero).expect_err("refused");
    assert!(matches!(refused, ImportError::Line { line, .. } if line == lines[at].number), "{refused}");
    assert!(plan(&lines, &Topic::default(), Level::One).is_ok());
}

#[test]
fn lines_that_no_export_has_are_refused_by_number() {
    let lines = exported(&source());
    let mut updates_first = lines.clone();
    updates_first.rotate_left(1);
    let mut foreign = lines.clone();
    foreign[1].key = RecordKey::Level;
    for (lines, number) in [(updates_first, 2), (foreign, 2)] {
        let refused = plan(&lines, &Topic::default(), Level::Zero).expect_err("refused");
        assert!(matches!(refused, ImportError::Line { line, .. } if line == number), "{refused}");
    }
}
