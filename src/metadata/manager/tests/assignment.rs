//! Partitions that come and go.

use super::*;
use crate::wire;

fn finished(topic: u8, number: u32) -> bytes::Bytes {
    let whole = SegmentMetadata { state: CopyFinished, ..segment(topic, number) };
    wire::encode_segment(&whole, LeaderEpoch(-1), wire::Version::V0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_answered_before_everything_is_read() {
    let log = ScriptedLog::new(1);
    log.store(0, None, Some(finished(1, 0)));
    log.hold_reading(true);
    let manager = over(&log, &[]);
    let p = partition(1);
    assert!(matches!(manager.list(&p, None), Err(MetadataError::NotAssigned { .. })));
    manager.lead_and_follow(&[], &[assigned(1, None)]).expect("assigns");
    until("reading", || !log.assigns.lock().is_empty()).await;
    let not_ready = |error: MetadataError| matches!(error, MetadataError::NotReady { .. });
    assert!(not_ready(manager.find(&p, LeaderEpoch(0), Offset(0)).expect_err("not read")));
    assert!(not_ready(manager.list(&p, None).expect_err("not read")));
    assert!(not_ready(manager.highest_offset(&p, LeaderEpoch(0)).expect_err("not read")));
    assert!(not_ready(manager.size_bytes(&p, LeaderEpoch(0)).expect_err("not read")));
    assert!(not_ready(manager.next_with_transaction_index(&p, LeaderEpoch(0), Offset(0)).expect_err("not read")));
    log.hold_reading(false);
    until("ready", || manager.is_ready(&p)).await;
    assert_eq!(found(&manager, 1, 5), Some(id(1, 0)));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_more_partition_reads_nothing_again_and_leaves_its_neighbours_ready() {
    let log = ScriptedLog::new(1);
    for topic in [1, 2] {
        log.store(0, None, Some(finished(topic, 0)));
    }
    let manager = leading(&log).await;
    log.hold_reading(true);
    manager.lead_and_follow(&[], &[assigned(2, None)]).expect("assigns");
    until("the end is looked for again", || log.assigns.lock().len() == 2).await;
    assert!(manager.is_ready(&partition(1)));
    assert!(!manager.is_ready(&partition(2)), "a record of the leader before may be on its way");
    log.hold_reading(false);
    until("ready", || manager.is_ready(&partition(2))).await;
    assert_eq!(found(&manager, 2, 5), Some(id(2, 0)));
    assert_eq!(*log.assigns.lock(), [(0, 0), (0, 2)], "from where it was");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_needs_is_dropped_and_read_again_when_somebody_does() {
    let log = ScriptedLog::new(1);
    log.store(0, None, Some(finished(1, 0)));
    let manager = leading(&log).await;
    manager.stop(&[partition(1), partition(9)]).expect("stops");
    assert!(!manager.is_ready(&partition(1)));
    assert!(matches!(manager.list(&partition(1), None), Err(MetadataError::NotAssigned { .. })));
    until("dropped", || *log.unassigns.lock() == [0]).await;
    assert!(metric(&manager, "segments-live").abs() < 0.1);
    assert!(metric(&manager, "partitions-assigned").abs() < 0.1);
    manager.lead_and_follow(&[assigned(1, Some(1))], &[]).expect("leads again");
    until("ready", || manager.is_ready(&partition(1))).await;
    assert_eq!(log.assigns.lock().last(), Some(&(0, 0)));
    assert_eq!(found(&manager, 1, 5), Some(id(1, 0)));
    add(&manager, 1, 1).await.expect("works");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_in_flight_outlives_the_end_of_its_assignment() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    log.hold_reading(true);
    let pending = manager.add(segment(1, 0), Duration::ZERO).expect("is let in");
    manager.stop(&[partition(1)]).expect("stops");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(log.unassigns.lock().len(), 0, "still read for the write");
    log.hold_reading(false);
    end(Ok(pending)).await.expect("is applied");
    until("dropped", || *log.unassigns.lock() == [0]).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_metadata_partitions_that_are_needed_are_read() {
    let log = ScriptedLog::new(50);
    let manager = leading(&log).await;
    let index = wire::metadata_partition(&KafkaUuid([1; 16]), 0, 50);
    assert_eq!(*log.assigns.lock(), [(index, 0)]);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_comes_back_to_another_log_waits_for_its_own_records() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    for number in 0..3 {
        add(&manager, 1, number).await.expect("adds");
    }
    manager.stop(&[partition(1)]).expect("stops");
    until("dropped", || *log.unassigns.lock() == [0]).await;
    log.lose_everything();
    manager.lead_and_follow(&[assigned(1, Some(1))], &[]).expect("leads again");
    until("ready", || manager.is_ready(&partition(1))).await;
    log.hold_reading(true);
    let mut pending = manager.add(segment(1, 5), Duration::ZERO).expect("is let in");
    let early = tokio::time::timeout(Duration::from_millis(50), &mut pending).await;
    assert!(early.is_err(), "stored at offset 0 and not read: {early:?}");
    log.hold_reading(false);
    end(Ok(pending)).await.expect("read");
    manager.close();
}
