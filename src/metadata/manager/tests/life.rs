//! A segment from its first record to its last, over an embedded log.

use bytes::Bytes;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_lives_from_its_copy_to_its_deletion() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = embedded(folder.path());
    manager.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    assert_eq!(found(&manager, 1, 5), None);
    end(manager.add(segment(1, 0), PATIENCE)).await.expect("adds");
    assert_eq!(found(&manager, 1, 5), None, "not copied yet");
    assert_eq!(manager.list(&partition(1), None).expect("lists"), [segment(1, 0)]);
    let finish = SegmentUpdate { custom_metadata: Some(Bytes::from_static(b"c")), ..to(1, 0, CopyFinished) };
    end(manager.update(finish, Duration::ZERO)).await.expect("finishes");
    assert_eq!(found(&manager, 1, 5), Some(id(1, 0)));
    assert_eq!(manager.highest_offset(&partition(1), LeaderEpoch(0)).expect("answers"), Some(Offset(9)));
    assert_eq!(manager.size_bytes(&partition(1), LeaderEpoch(0)).expect("answers"), 100);
    let next = manager.next_with_transaction_index(&partition(1), LeaderEpoch(0), Offset(0)).expect("answers");
    assert_eq!(next.map(|next| next.id), Some(id(1, 0)));
    update(&manager, 1, 0, DeleteStarted).await.expect("begins");
    assert_eq!(found(&manager, 1, 5), None);
    let listed = manager.list(&partition(1), Some(LeaderEpoch(0))).expect("lists");
    assert_eq!(listed[0].custom_metadata, Some(Bytes::from_static(b"c")), "an update without it keeps it");
    assert!((metric(&manager, "segments-live") - 1.0).abs() < 0.1);
    update(&manager, 1, 0, DeleteFinished).await.expect("ends");
    assert_eq!(manager.list(&partition(1), None).expect("lists"), []);
    update(&manager, 1, 0, DeleteFinished).await.expect("said again");
    assert!((metric(&manager, "segments-live")).abs() < 0.1);
    assert!((metric(&manager, "write-total") - 4.0).abs() < 0.1);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_is_known_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let topics: Vec<_> = (1..=20).map(|topic| assigned(topic, Some(4))).collect();
    let manager = embedded(folder.path());
    manager.lead_and_follow(&topics, &[]).expect("assigns");
    for topic in 1..=20 {
        until("ready", || manager.is_ready(&partition(topic))).await;
        add(&manager, topic, 0).await.expect("adds");
        update(&manager, topic, 0, CopyFinished).await.expect("finishes");
    }
    manager.close();
    let manager = embedded(folder.path());
    manager.lead_and_follow(&[], &topics).expect("assigns");
    for topic in 1..=20 {
        until("ready", || manager.is_ready(&partition(topic))).await;
        assert_eq!(found(&manager, topic, 5), Some(id(topic, 0)));
    }
    assert!((metric(&manager, "segments-live") - 20.0).abs() < 0.1);
    until("counted", || (metric(&manager, "partitions-ready") - 20.0).abs() < 0.1).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_manager_of_one_folder_waits_and_says_why_and_takes_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = embedded(folder.path());
    first.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    until("ready", || first.is_ready(&partition(1))).await;
    let second = embedded(folder.path());
    second.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    let why = || second.list(&partition(1), None).expect_err("not ready").to_string();
    until("told why", || why().contains("another manager")).await;
    assert!(second.list(&partition(1), None).expect_err("not ready").is_retriable());
    assert!(!second.is_ready(&partition(1)));
    add(&first, 1, 0).await.expect("the first one is not disturbed");
    first.close();
    until("the second one takes over", || second.is_ready(&partition(1))).await;
    assert_eq!(second.list(&partition(1), None).expect("lists").len(), 1);
    second.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_that_the_state_does_not_allow_are_refused_before_anything_is_written() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    let refused =
        |result: Result<(), MetadataError>| matches!(result, Err(MetadataError::Refused { is_written: false, .. }));
    assert!(matches!(update(&manager, 1, 0, CopyFinished).await, Err(MetadataError::UnknownSegment { .. })));
    add(&manager, 1, 0).await.expect("adds");
    add(&manager, 1, 0).await.expect("adds again, as after a lost answer");
    assert!(refused(update(&manager, 1, 0, DeleteFinished).await));
    update(&manager, 1, 0, CopyFinished).await.expect("finishes");
    update(&manager, 1, 0, CopyFinished).await.expect("said already, not written again");
    assert!(refused(add(&manager, 1, 0).await));
    let written = log.keys(0).len();
    assert_eq!(written, 3);
    let invalid = |result: Result<Pending, MetadataError>| matches!(result, Err(MetadataError::InvalidArgument { .. }));
    assert!(invalid(manager.update(to(1, 0, CopyStarted), Duration::ZERO)));
    assert!(
        invalid(manager.update(to(1, 0, SegmentState::Dangling), Duration::ZERO)),
        "a stock reader would die of it"
    );
    let finished = SegmentMetadata { state: CopyFinished, ..segment(1, 1) };
    assert!(invalid(manager.add(finished, Duration::ZERO)));
    for (start, last) in [(-5, 5), (5, 4)] {
        let broken = SegmentMetadata { start_offset: Offset(start), end_offset: Offset(last), ..segment(1, 1) };
        assert!(invalid(manager.add(broken, Duration::ZERO)), "{start}..={last}");
    }
    assert_eq!(log.keys(0).len(), written);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mark_of_a_partitions_deletion_is_written_under_its_own_key() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    let delete = PartitionDelete {
        partition: partition(1),
        broker_id: BrokerId(1),
        event_timestamp_ms: 0,
        state: crate::model::PartitionDeleteState::Marked,
    };
    end(manager.put_partition_delete(delete, Duration::ZERO)).await.expect("writes");
    assert_eq!(log.keys(0), [format!("{}:topic-1:0:PARTITION", KafkaUuid([1; 16]))]);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stamp_of_lists_changes_with_each_record_and_no_sooner() {
    let manager = leading(&ScriptedLog::new(1)).await;
    let stamp = || manager.list_stamp(&partition(1)).expect("is ready");
    let empty = stamp();
    assert!(empty.is_some());
    assert_eq!(stamp(), empty);
    add(&manager, 1, 0).await.expect("adds");
    let one = stamp();
    assert_ne!(one, empty);
    update(&manager, 1, 0, CopyFinished).await.expect("finishes");
    assert_ne!(stamp(), one);
    manager.close();
}
