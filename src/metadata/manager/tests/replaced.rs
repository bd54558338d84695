//! A log that was deleted while it was read, and another one in its place.

use super::*;
use crate::metadata::log::{Cleanup, LogError, LogShape};
use crate::wire;

fn shape(id: u8) -> LogShape {
    LogShape { id: Some(KafkaUuid([id; 16])), cleanup: Cleanup::Delete, is_kept: true, ..LogShape::of(1) }
}

fn finished(number: u32) -> Option<bytes::Bytes> {
    let finished = SegmentMetadata { state: CopyFinished, ..segment(1, number) };
    Some(wire::encode_segment(&finished, LeaderEpoch(-1), wire::Version::V0))
}

fn starts(manager: &MetadataManager) -> Vec<i64> {
    let list = manager.list(&partition(1), None).unwrap_or_default();
    list.iter().map(|segment| segment.start_offset.0).collect()
}

async fn leading_with(log: &Arc<ScriptedLog>, pairs: &[(&str, &str)]) -> MetadataManager {
    *log.shape.lock() = shape(1);
    let manager = over(log, pairs);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    manager
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_log_is_read_from_its_start_and_written_to_without_a_restart() {
    let log = ScriptedLog::new(1);
    let manager = leading_with(&log, &[]).await;
    for number in 0..3 {
        add(&manager, 1, number).await.expect("adds");
    }
    // It is gone for a while.
    log.ensure_failures.lock().extend((0..3).map(|_| scripted::mismatch()));
    log.troubles.lock().push_back((None, scripted::mismatch()));
    until("not ready", || !manager.is_ready(&partition(1))).await;
    log.lose_everything();
    log.store(0, None, finished(7));
    *log.shape.lock() = shape(2);
    until("ready", || manager.is_ready(&partition(1))).await;
    assert_eq!(starts(&manager), [70], "what the log before had is forgotten");
    assert!((metric(&manager, "segments-live") - 1.0).abs() < 0.1);
    add(&manager, 1, 0).await.expect("works, also with what was known before");
    update(&manager, 1, 0, CopyFinished).await.expect("works");
    assert_eq!(starts(&manager), [0, 70]);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_log_that_has_outgrown_the_one_before_is_noticed_by_its_id() {
    let log = ScriptedLog::new(1);
    let manager = leading_with(&log, &[("undercroft.metadata.decide.ms", "1000")]).await;
    add(&manager, 1, 0).await.expect("adds");
    log.hold_reading(true);
    log.lose_everything();
    (0..5).for_each(|number| _ = log.store(0, None, finished(number + 5)));
    *log.shape.lock() = shape(2);
    log.hold_reading(false);
    until("taken up", || starts(&manager) == [50, 60, 70, 80, 90]).await;
    assert!(manager.is_ready(&partition(1)));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_log_that_is_empty_and_compacted_gets_its_level_anew() {
    let log = ScriptedLog::new(1);
    let manager = leading_with(&log, &[("undercroft.metadata.decide.ms", "1000")]).await;
    log.store(
        0,
        Some(wire::LEVEL_KEY.into()),
        Some(wire::encode_level(wire::LevelRecord { level: 1, timestamp_ms: 1 })),
    );
    add(&manager, 1, 0).await.expect("adds");
    log.lose_everything();
    *log.shape.lock() = LogShape { cleanup: Cleanup::Compact, ..shape(2) };
    until("ready", || manager.is_ready(&partition(1)) && !log.keys(0).is_empty()).await;
    assert_eq!(log.keys(0), [wire::LEVEL_KEY]);
    add(&manager, 1, 1).await.expect("works");
    assert_eq!(starts(&manager), [10]);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_under_way_to_the_log_before_is_not_said_to_be_done_and_ends() {
    let log = ScriptedLog::new(1);
    let manager = leading_with(&log, &[("undercroft.metadata.decide.ms", "1000")]).await;
    log.hold_reading(true);
    let landed = manager.add(segment(1, 0), Duration::ZERO).expect("is let in");
    log.are_appends_held.send_replace(true);
    let under_way = manager.add(segment(1, 1), Duration::ZERO).expect("is let in");
    until("both in the log", || log.keys(0).len() == 2).await;
    log.lose_everything();
    *log.shape.lock() = shape(2);
    log.store(0, None, finished(7));
    log.store(0, None, finished(8));
    let core = &manager.lifetime.core;
    until("noticed", || core.shape().is_some_and(|shape| shape.id == Some(KafkaUuid([2; 16])))).await;
    until("forgotten", || core.log_to_take_up().is_none()).await;
    log.hold_reading(false);
    until("taken up", || starts(&manager) == [70, 80]).await;
    log.are_appends_held.send_replace(false);
    for write in [landed, under_way] {
        let answer = end(Ok(write)).await;
        assert!(matches!(&answer, Err(MetadataError::Log(LogError::Mismatch { .. }))), "{answer:?}");
    }
    add(&manager, 1, 2).await.expect("works");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_log_that_lost_its_records_is_not_taken_for_another_one() {
    let log = ScriptedLog::new(1);
    let manager = leading_with(&log, &[("undercroft.metadata.decide.ms", "1000")]).await;
    add(&manager, 1, 0).await.expect("adds");
    log.lose_everything();
    until("not ready", || !manager.is_ready(&partition(1))).await;
    let looks = log.ensures.load(std::sync::atomic::Ordering::SeqCst);
    until("looked at", || log.ensures.load(std::sync::atomic::Ordering::SeqCst) > looks + 2).await;
    let why = manager.list(&partition(1), None).expect_err("not ready").to_string();
    assert!(why.contains("restart this broker") && why.contains("was the log deleted?"), "{why}");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_compacted_over_records_without_a_key_is_noticed_though_nobody_writes() {
    let log = ScriptedLog::new(1);
    log.store(0, None, finished(0));
    let manager = leading_with(&log, &[("undercroft.metadata.decide.ms", "1000")]).await;
    let is_said = || *manager.lifetime.core.is_loss_said.lock();
    assert!(!is_said());
    log.shape.lock().cleanup = Cleanup::Compact;
    until("said", is_said).await;
    assert!(manager.is_ready(&partition(1)), "nothing is lost yet");
    log.shape.lock().cleanup = Cleanup::Delete;
    until("another time", || !is_said()).await;
    manager.close();
}
