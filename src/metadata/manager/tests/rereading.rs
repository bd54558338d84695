//! What makes a reader begin again from the start of a partition.

use super::*;
use crate::metadata::log::{Cleanup, LogShape};
use crate::wire;

fn finished(topic: u8, number: u32) -> Option<bytes::Bytes> {
    let finished = SegmentMetadata { state: CopyFinished, ..segment(topic, number) };
    Some(wire::encode_segment(&finished, LeaderEpoch(-1), wire::Version::V0))
}

fn segments(manager: &MetadataManager) -> usize {
    manager.list(&partition(1), None).map_or(0, |list| list.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_behind_a_record_without_a_key_makes_its_partition_be_read_again() {
    let log = ScriptedLog::new(1);
    for number in 0..3 {
        log.store(0, None, finished(1, number));
    }
    let manager = leading(&log).await;
    assert_eq!(segments(&manager), 3);
    log.hold_reading(true);
    // Somebody writes, and the cleaner drops what has no key, and what it wrote.
    for number in 3..6 {
        log.store(0, Some(format!("key {number}").into()), finished(1, number));
    }
    log.clean(0, &[0, 1, 3]);
    log.hold_reading(false);
    until("read again", || log.assigns.lock().iter().filter(|&&from| from == (0, 0)).count() == 2).await;
    until("as every other reader sees it", || manager.is_ready(&partition(1)) && segments(&manager) == 3).await;
    assert_eq!((found(&manager, 1, 5), found(&manager, 1, 25)), (None, Some(id(1, 2))));
    assert!((metric(&manager, "segments-live") - 3.0).abs() < 0.1);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(log.assigns.lock().iter().filter(|&&from| from == (0, 0)).count(), 2, "once");
    add(&manager, 1, 7).await.expect("works");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gap_where_everything_has_a_key_is_nothing() {
    let log = ScriptedLog::new(1);
    for number in 0..6 {
        log.store(0, Some(format!("key {number}").into()), finished(1, number));
    }
    log.clean(0, &[1, 3]);
    let manager = leading(&log).await;
    assert_eq!((segments(&manager), log.assigns.lock().len()), (4, 1));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_away_for_too_long_reads_again_and_is_not_ready_meanwhile() {
    let log = ScriptedLog::new(1);
    let shape =
        LogShape { cleanup: Cleanup::Compact, delete_retention: Some(Duration::from_secs(2)), ..LogShape::of(1) };
    *log.shape.lock() = shape;
    log.store(0, Some("key 0".into()), finished(1, 0));
    log.store(0, Some("key 1".into()), finished(1, 1));
    let manager = leading(&log).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(log.assigns.lock().iter().all(|&(_, from)| from == 0 || from == 2));
    assert_eq!(log.assigns.lock().iter().filter(|&&from| from == (0, 0)).count(), 1, "it meets the end all the time");
    log.hold_reading(true);
    tokio::time::sleep(Duration::from_millis(1600)).await;
    assert_eq!(segments(&manager), 2, "what is known is readable as long as nothing new comes");
    // Meanwhile a segment is deleted, tombstones for it come and go, and something else is written.
    log.store(0, Some("key 2".into()), finished(1, 2));
    log.clean(0, &[0]);
    log.hold_reading(false);
    until("read again", || log.assigns.lock().iter().filter(|&&from| from == (0, 0)).count() == 2).await;
    until("without what is gone", || manager.is_ready(&partition(1)) && segments(&manager) == 2).await;
    assert_eq!(found(&manager, 1, 5), None);
    manager.close();
}
