//! What may be written to a partition, and how fresh what is known of it is.

use std::sync::atomic::Ordering;

use super::*;
use crate::metadata::log::{Cleanup, LogShape};
use crate::metadata::plan::Level;
use crate::wire::{self, LevelRecord};

const COMPACTED: LogShape = LogShape { cleanup: Cleanup::Compact, ..LogShape::of(3) };

fn level(manager: &MetadataManager, index: i32) -> Level {
    manager.lifetime.core.directory.read().meta[&index].level()
}

fn level_record(level: i8) -> Option<bytes::Bytes> {
    Some(wire::encode_level(LevelRecord { level, timestamp_ms: 1 }))
}

/// The metadata partition of topic 1 among three.
fn index() -> i32 {
    let partition = partition(1);
    wire::metadata_partition(&partition.topic_id, partition.partition, 3)
}

fn at(index: i32) -> usize {
    usize::try_from(index).expect("small")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_compacted_log_gets_its_level_in_all_partitions_before_anything_else() {
    let log = ScriptedLog::new(3);
    *log.shape.lock() = LogShape { is_new: true, ..COMPACTED };
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    assert_eq!(level(&manager, index()), Level::Two);
    for partition in 0..3 {
        assert_eq!(log.keys(partition).first().map(String::as_str), Some(wire::LEVEL_KEY), "partition {partition}");
    }
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compacted_partition_that_is_empty_is_not_ready_before_its_level_is_there() {
    let log = ScriptedLog::new(3);
    *log.shape.lock() = COMPACTED;
    log.append_failures.lock().extend((0..20).map(|_| scripted::unreachable()));
    let manager = over(&log, &[]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("tried", || log.append_failures.lock().len() < 18).await;
    let error = manager.list(&partition(1), None).expect_err("not ready");
    assert!(error.is_retriable() && error.to_string().contains("its first record: "), "{error}");
    log.append_failures.lock().clear();
    until("ready", || manager.is_ready(&partition(1))).await;
    assert_eq!(level(&manager, index()), Level::Two);
    let others: Vec<usize> = (0..3).filter(|&other| other != at(index())).collect();
    assert!(others.iter().all(|&other| log.keys(other).is_empty()), "partitions that nobody here reads");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_found_keeps_level_0_until_a_record_says_otherwise() {
    for shape in [LogShape { cleanup: Cleanup::Delete, ..COMPACTED }, LogShape::of(3), COMPACTED] {
        let log = ScriptedLog::new(3);
        *log.shape.lock() = shape;
        if shape.cleanup.is_compacted() {
            log.store(index(), Some("some:key".into()), None);
        }
        let manager = leading(&log).await;
        assert_eq!(level(&manager, index()), Level::Zero);
        assert!(!log.keys(at(index())).contains(&wire::LEVEL_KEY.to_owned()));
        for (number, expected) in [(1, Level::One), (2, Level::Two)] {
            log.store(index(), Some(wire::LEVEL_KEY.into()), level_record(number));
            until("met", || level(&manager, index()) == expected).await;
        }
        assert!(manager.is_ready(&partition(1)));
        log.store(index(), Some(wire::LEVEL_KEY.into()), level_record(3));
        until("too new", || !manager.is_ready(&partition(1))).await;
        let error = manager.list(&partition(1), None).expect_err("not ready").to_string();
        assert!(error.contains("newer version"), "{error}");
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_level_says_nothing_about_the_records_before_it() {
    let log = ScriptedLog::new(3);
    let finished = SegmentMetadata { state: CopyFinished, ..segment(1, 0) };
    log.store(index(), None, Some(wire::encode_segment(&finished, LeaderEpoch(3), wire::Version::V1)));
    log.store(index(), Some(wire::LEVEL_KEY.into()), level_record(2));
    log.store(index(), Some(wire::LEVEL_KEY.into()), level_record(1));
    let finished = SegmentMetadata { state: CopyFinished, ..segment(1, 1) };
    log.store(index(), None, Some(wire::encode_segment(&finished, LeaderEpoch(-1), wire::Version::V0)));
    let manager = leading(&log).await;
    assert_eq!((found(&manager, 1, 5), found(&manager, 1, 15)), (Some(id(1, 0)), Some(id(1, 1))));
    assert_eq!(level(&manager, index()), Level::One, "the last one counts");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_log_is_at_level_2_from_its_first_record_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = embedded(folder.path());
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    assert_eq!(level(&manager, index()), Level::Two);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_is_current_while_the_end_is_met_and_only_then() {
    let log = ScriptedLog::new(1);
    let manager = over(&log, &[("undercroft.metadata.decide.ms", "1000")]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    let is_current = || manager.lifetime.core.directory.read().meta[&0].is_current(Duration::from_secs(1));
    assert!(is_current());
    let rounds = log.assigns.lock().len();
    until("looked for the end by itself", || log.assigns.lock().len() >= rounds + 3).await;
    assert!(manager.is_ready(&partition(1)), "nobody notices");
    log.hold_reading(true);
    until("old", || !is_current()).await;
    assert!(manager.is_ready(&partition(1)), "lookups answer");
    log.hold_reading(false);
    until("current again", is_current).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_changes_is_noticed_though_nobody_reads_or_writes() {
    let log = ScriptedLog::new(3);
    let manager = over(&log, &[("undercroft.metadata.decide.ms", "1000")]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    log.shape.lock().partitions = 4;
    until("noticed", || !manager.is_ready(&partition(1))).await;
    let error = add(&manager, 1, 0).await.expect_err("not ready");
    assert!(error.is_retriable(), "{error}");
    until("told why", || {
        let error = manager.list(&partition(1), None).expect_err("not ready");
        error.to_string().contains("has 4 partitions and had 3")
    })
    .await;
    assert!((0..3).all(|partition| log.keys(partition).is_empty()), "nothing was written");
    log.shape.lock().partitions = 3;
    until("mended", || manager.is_ready(&partition(1))).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_while_the_log_is_opened_or_looked_at_again_costs_time_only() {
    let log = ScriptedLog::new(1);
    log.is_ensure_panic_due.store(true, Ordering::SeqCst);
    let manager = leading(&log).await;
    log.is_ensure_panic_due.store(true, Ordering::SeqCst);
    log.troubles.lock().push_back((None, scripted::mismatch()));
    until("looked at again", || log.ensures.load(Ordering::SeqCst) >= 4).await;
    until("ready", || manager.is_ready(&partition(1))).await;
    add(&manager, 1, 0).await.expect("works");
    manager.close();
}

#[test]
fn whoever_compacts_a_log_with_records_without_a_key_is_told_once_what_will_be_lost() {
    let meta = crate::metadata::manager::directory::MetaPartition::new(0, Level::Zero);
    let mut is_said = false;
    let warn = |is_said: &mut bool, shape| super::super::levels::warn_of_loss(&meta, Some(&shape), is_said);
    warn(&mut is_said, COMPACTED);
    assert!(!is_said, "nothing rests on them");
    let record =
        wire::decode(&wire::encode_segment(&segment(1, 0), LeaderEpoch(-1), wire::Version::V0)).expect("reads");
    let entry =
        crate::metadata::partition::Entry { offset: 0, timestamp_ms: 1, seen_ms: 1, key: None, body: Some(&record) };
    let _ = meta.state(&partition(1)).write().take(entry);
    warn(&mut is_said, LogShape { cleanup: Cleanup::Delete, ..COMPACTED });
    assert!(!is_said, "nothing drops them");
    warn(&mut is_said, COMPACTED);
    assert!(is_said);
}
