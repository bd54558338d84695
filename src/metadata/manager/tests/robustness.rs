//! Records and troubles that a reader has to live with.

use super::*;
use crate::metadata::log::LogError;
use crate::wire;

fn value(metadata: &SegmentMetadata) -> Option<bytes::Bytes> {
    Some(wire::encode_segment(metadata, LeaderEpoch(-1), wire::Version::V0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_cannot_be_read_are_counted_and_passed_over() {
    let log = ScriptedLog::new(1);
    let bad: [&'static [u8]; 4] = [b"", b"\x01", b"\xff\xff\xff\xff\xff\xff", b"\x01\x09\x00"];
    for bytes in bad {
        log.store(0, Some(bytes.into()), Some(bytes.into()));
    }
    log.store(0, Some("no:key".into()), None);
    let level = wire::encode_level(wire::LevelRecord { level: 1, timestamp_ms: 5 });
    log.store(0, Some(wire::LEVEL_KEY.into()), Some(level));
    log.store(0, None, Some(wire::encode_update(&to(1, 9, DeleteStarted), LeaderEpoch(-1), None, wire::Version::V0)));
    log.store(0, Some("no key of ours".into()), value(&SegmentMetadata { state: CopyFinished, ..segment(1, 1) }));
    log.store(0, None, Some(wire::encode_update(&to(1, 1, CopyStarted), LeaderEpoch(-1), None, wire::Version::V0)));
    let manager = leading(&log).await;
    assert_eq!(found(&manager, 1, 15), Some(id(1, 1)));
    for (name, expected) in [
        ("records-unparsable-total", 4.0),
        ("records-skipped-total", 2.0),
        ("records-refused-total", 1.0),
        ("records-kept-total", 1.0),
        ("records-applied-total", 1.0),
    ] {
        assert!((metric(&manager, name) - expected).abs() < 0.1, "{name}: {}", metric(&manager, name));
    }
    add(&manager, 1, 2).await.expect("works");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_of_a_newer_version_makes_its_partitions_not_ready_unless_told_otherwise() {
    let mut newer = wire::encode_segment(&segment(1, 0), LeaderEpoch(0), wire::Version::V1).to_vec();
    newer[2] = 2;
    for (is_ignored, is_ready) in [("false", false), ("true", true)] {
        let log = ScriptedLog::new(1);
        log.store(0, None, Some(newer.clone().into()));
        let manager = over(&log, &[("undercroft.metadata.ignore.newer.records", is_ignored)]);
        manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
        until("read", || metric(&manager, "records-newer-total") > 0.5).await;
        if is_ready {
            until("ready", || manager.is_ready(&partition(1))).await;
        } else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let error = manager.list(&partition(1), None).expect_err("not ready").to_string();
            assert!(error.contains("newer version"), "{error}");
        }
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_goes_away_leaves_what_is_known_readable() {
    let log = ScriptedLog::new(1);
    log.store(0, None, value(&SegmentMetadata { state: CopyFinished, ..segment(1, 0) }));
    let manager = leading(&log).await;
    log.troubles.lock().extend((0..5).map(|_| (None, scripted::unreachable())));
    until("told", || metric(&manager, "log-failures-total") > 4.5).await;
    assert!(manager.is_ready(&partition(1)));
    assert_eq!(found(&manager, 1, 5), Some(id(1, 0)));
    add(&manager, 1, 1).await.expect("and it comes back");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_breaks_is_made_anew_and_goes_on_where_it_was() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    log.poll_failures.lock().push_back(scripted::unreachable());
    until("broke", || metric(&manager, "reader-restarts-total") > 0.5).await;
    assert!(manager.is_ready(&partition(1)));
    update(&manager, 1, 0, CopyFinished).await.expect("finishes");
    assert_eq!(log.assigns.lock().last(), Some(&(0, 1)));
    assert!((metric(&manager, "records-applied-total") - 2.0).abs() < 0.1, "nothing is applied twice");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_no_longer_the_right_one_is_not_written_to() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    log.ensure_failures.lock().extend((0..3).map(|_| scripted::mismatch()));
    log.troubles.lock().push_back((None, scripted::mismatch()));
    until("not ready", || !manager.is_ready(&partition(1))).await;
    let error = add(&manager, 1, 0).await.expect_err("not ready");
    assert!(error.to_string().contains("does not fit"), "{error}");
    assert_eq!(log.keys(0).len(), 0);
    until("looked at again", || log.ensure_failures.lock().is_empty()).await;
    log.store(0, None, value(&segment(1, 5)));
    until("mended", || manager.is_ready(&partition(1))).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_defect_that_ends_the_reader_makes_everything_not_ready_and_closes_well() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    log.is_panic_due.store(true, std::sync::atomic::Ordering::SeqCst);
    until("not ready", || !manager.is_ready(&partition(1))).await;
    let error = manager.list(&partition(1), None).expect_err("not ready").to_string();
    assert!(error.contains("panic"), "{error}");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_lost_its_records_is_not_taken_for_an_empty_one() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    log.lose_everything();
    until("not ready", || !manager.is_ready(&partition(1))).await;
    let why = || manager.list(&partition(1), None).expect_err("not ready").to_string();
    until("told why", || why().contains("was the log deleted?")).await;
    assert!(matches!(add(&manager, 1, 1).await, Err(MetadataError::NotReady { .. })));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_lost_its_records_stays_out_of_use_when_it_has_grown_again() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    add(&manager, 1, 1).await.expect("adds");
    log.lose_everything();
    until("not ready", || !manager.is_ready(&partition(1))).await;
    for number in 10..20 {
        // Those behind the end that was known would be applied, those before it never.
        log.store(0, None, value(&SegmentMetadata { state: CopyFinished, ..segment(1, number) }));
    }
    manager.lead_and_follow(&[], &[assigned(2, None)]).expect("makes it look for the end once more");
    until("looked for", || log.assigns.lock().len() >= 2).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    for topic in [1, 2] {
        assert!(!manager.is_ready(&partition(topic)), "topic {topic}: half of the new records were passed over");
    }
    let why = manager.list(&partition(1), None).expect_err("not ready").to_string();
    assert!(why.contains("was the log deleted?") && why.to_lowercase().contains("restart this broker"), "{why}");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_lands_where_another_record_was_is_not_said_to_be_done() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    log.hold_reading(true);
    log.lose_everything();
    let answer = add(&manager, 1, 1).await;
    assert!(matches!(&answer, Err(MetadataError::Log(LogError::Mismatch { .. }))), "{answer:?}");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_made_anew_and_outgrew_the_old_one_is_noticed_when_it_is_read_again() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    add(&manager, 1, 1).await.expect("adds");
    log.hold_reading(true);
    log.lose_everything();
    for number in 10..20 {
        log.store(0, None, value(&SegmentMetadata { state: CopyFinished, ..segment(1, number) }));
    }
    log.is_start_due.store(true, std::sync::atomic::Ordering::SeqCst);
    log.hold_reading(false);
    until("not ready", || !manager.is_ready(&partition(1))).await;
    let why = manager.list(&partition(1), None).expect_err("not ready").to_string();
    assert!(why.contains("was the log deleted?"), "{why}");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_comes_too_early_is_forgiven_when_the_same_records_come_after_it() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    for number in 0..3 {
        add(&manager, 1, number).await.expect("adds");
    }
    // A new leader shows its followers less than the old one did, for a moment.
    log.show_only(Some(2));
    log.is_start_due.store(true, std::sync::atomic::Ordering::SeqCst);
    until("not ready", || !manager.is_ready(&partition(1))).await;
    log.show_only(None);
    until("ready again", || manager.is_ready(&partition(1))).await;
    assert_eq!(manager.list(&partition(1), None).expect("lists").len(), 3);
    add(&manager, 1, 3).await.expect("works");
    manager.close();
}
