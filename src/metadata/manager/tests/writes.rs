//! Writes in flight: order, loss, late answers.

use std::sync::atomic::Ordering;

use super::*;
use crate::model::SegmentState::Dangling;
use crate::wire;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_updates_in_flight_all_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = embedded(folder.path());
    manager.lead_and_follow(&[assigned(1, Some(3))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    for state in [CopyStarted, CopyFinished, DeleteStarted, DeleteFinished] {
        let pending: Vec<_> = (0..5_000)
            .map(|number| match state {
                CopyStarted => manager.add(segment(1, number), Duration::ZERO).expect("is let in"),
                _ => manager.update(to(1, number, state), Duration::ZERO).expect("is let in"),
            })
            .collect();
        for pending in pending {
            end(Ok(pending)).await.expect("is applied");
        }
    }
    assert!((metric(&manager, "records-applied-total") - 20_000.0).abs() < 0.1);
    assert!(metric(&manager, "writes-in-flight").abs() < 0.1);
    assert_eq!(manager.list(&partition(1), None).expect("lists").len(), 0);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_the_reader_meets_before_its_writer_hears_of_it_is_answered_truly() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    log.hold_reading(true);
    log.are_appends_held.send_replace(true);
    let claim_first = wire::encode_update(&to(1, 0, DeleteStarted), LeaderEpoch(-1), None, wire::Version::V0);
    log.store(0, None, Some(claim_first));
    let late = manager.update(to(1, 0, CopyFinished), Duration::ZERO).expect("is let in");
    let fine = manager.add(segment(1, 1), Duration::ZERO).expect("is let in");
    log.hold_reading(false);
    until("all are read", || manager.list(&partition(1), None).expect("lists").len() == 2).await;
    log.are_appends_held.send_replace(false);
    let answer = end(Ok(late)).await;
    assert!(
        matches!(answer, Err(MetadataError::Refused { from: DeleteStarted, to: CopyFinished, is_written: true, .. })),
        "{answer:?}"
    );
    end(Ok(fine)).await.expect("its own outcome");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_ends_only_when_our_own_reader_has_met_it() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    log.hold_reading(true);
    let mut pending = manager.add(segment(1, 0), Duration::ZERO).expect("is let in");
    assert!(tokio::time::timeout(Duration::from_millis(50), &mut pending).await.is_err(), "stored, not read");
    assert_eq!(log.keys(0).len(), 1);
    log.hold_reading(false);
    end(Ok(pending)).await.expect("read");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_stays_behind_ends_the_wait_and_not_the_record() {
    let log = ScriptedLog::new(1);
    let manager = over(&log, &[("remote.log.metadata.consume.wait.ms", "50")]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    log.hold_reading(true);
    let answer = add(&manager, 1, 0).await;
    assert!(matches!(answer, Err(MetadataError::Timeout { waited_ms: 50, .. })), "{answer:?}");
    log.hold_reading(false);
    until("read at last", || manager.list(&partition(1), None).expect("lists").len() == 1).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_the_log_did_not_take_fails_and_the_next_one_works() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    log.append_failures.lock().push_back(scripted::unreachable());
    let answer = add(&manager, 1, 0).await.expect_err("told to fail");
    assert!(matches!(&answer, MetadataError::Log(_)) && answer.is_retriable(), "{answer}");
    assert_eq!(manager.list(&partition(1), None).expect("lists").len(), 0);
    add(&manager, 1, 0).await.expect("works again");
    assert!((metric(&manager, "writes-failed-total") - 1.0).abs() < 0.1);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_within_one_epoch_gets_a_key_of_its_own() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    let again = |number: u32| SegmentMetadata { id: id(1, number), ..segment(1, 0) };
    end(manager.add(again(70), Duration::ZERO)).await.expect("adds");
    let (second, third) = (manager.add(again(71), Duration::ZERO), manager.add(again(72), Duration::ZERO));
    end(second).await.expect("adds");
    end(third).await.expect("adds");
    update(&manager, 1, 71, CopyFinished).await.expect("finishes");
    update(&manager, 1, 70, DeleteStarted).await.expect("begins");
    update(&manager, 1, 70, DeleteFinished).await.expect("ends");
    end(manager.add(again(73), Duration::ZERO)).await.expect("adds");
    manager.lead_and_follow(&[assigned(1, Some(1))], &[]).expect("leads again");
    end(manager.add(again(74), Duration::ZERO)).await.expect("adds");
    let base = format!("{}:topic-1:0:9", KafkaUuid([1; 16]));
    let uuid = |number| id(1, number).uuid;
    assert_eq!(
        log.keys(0),
        [
            format!("{base}:0"),
            format!("{base}:0:{}", uuid(71)),
            format!("{base}:0:{}", uuid(72)),
            format!("{base}:0:{}:UPDATE", uuid(71)),
            format!("{base}:0:DEL:{}", uuid(70)),
            format!("{base}:0:GONE:{}", uuid(70)),
            format!("{base}:0:{}", uuid(73)),
            format!("{base}:1"),
        ]
    );
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_epoch_of_the_add_stays_in_the_keys_of_a_later_leader() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    manager.lead_and_follow(&[assigned(1, Some(9))], &[]).expect("a new leadership");
    update(&manager, 1, 0, CopyFinished).await.expect("finishes");
    assert!(log.keys(0)[1].ends_with(":9:0:UPDATE"), "{:?}", log.keys(0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_of_a_stock_broker_is_updated_under_keys_with_its_id() {
    let log = ScriptedLog::new(1);
    log.store(0, None, Some(wire::encode_segment(&segment(1, 0), LeaderEpoch(-1), wire::Version::V0)));
    let manager = leading(&log).await;
    update(&manager, 1, 0, CopyFinished).await.expect("finishes");
    assert!(log.keys(0)[1].ends_with(&format!(":9:-1:{}:UPDATE", id(1, 0).uuid)), "{:?}", log.keys(0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_somebody_else_claims_are_told_apart() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    add(&manager, 1, 0).await.expect("adds");
    let key = format!("{}:topic-1:0:9:0:CLAIM:{}:0000000000000001", KafkaUuid([1; 16]), id(1, 0).uuid);
    let claim = wire::encode_update(&to(1, 0, Dangling), LeaderEpoch(0), None, wire::Version::V1);
    log.store(0, Some(key.into()), Some(claim));
    until("claimed", || manager.list(&partition(1), None).expect("lists")[0].state == Dangling).await;
    assert!(matches!(
        update(&manager, 1, 0, CopyFinished).await,
        Err(MetadataError::Refused { from: Dangling, is_written: false, .. })
    ));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_add_waits_for_its_epoch_no_longer_than_it_may() {
    let log = ScriptedLog::new(1);
    log.epochs.lock().extend([Err(scripted::unreachable()), Err(scripted::unreachable()), Ok(6)]);
    let manager = over(&log, &[("remote.log.metadata.initialization.retry.interval.ms", "200")]);
    manager.lead_and_follow(&[assigned(1, None)], &[assigned(2, None)]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1)) && manager.is_ready(&partition(2))).await;
    until("asked", || log.epoch_questions.load(Ordering::SeqCst) > 0).await;
    let error = add(&manager, 1, 0).await.expect_err("no epoch yet");
    assert!(matches!(&error, MetadataError::NotReady { why, .. } if why.contains("epoch")), "{error}");
    end(manager.add(segment(1, 0), PATIENCE)).await.expect("waits");
    assert!(log.keys(0)[0].ends_with(":9:6"), "{:?}", log.keys(0));
    let questions = log.epoch_questions.load(Ordering::SeqCst);
    add(&manager, 1, 1).await.expect("needs no question");
    assert_eq!(log.epoch_questions.load(Ordering::SeqCst), questions);
    let error = add(&manager, 2, 0).await.expect_err("only followed");
    assert!(matches!(error, MetadataError::NotReady { .. }), "{error}");
    log.epochs.lock().extend([Ok(8)]);
    log.epochs.lock().pop_front();
    manager.lead_and_follow(&[assigned(1, None)], &[]).expect("a new leadership");
    end(manager.add(segment(1, 2), PATIENCE)).await.expect("waits");
    assert!(log.keys(0)[2].ends_with(":29:8"), "{:?}", log.keys(0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn epochs_are_asked_for_together_and_again_where_the_answer_failed() {
    let log = ScriptedLog::new(1);
    log.epochs.lock().extend([Err(scripted::unreachable()), Err(scripted::unreachable()), Ok(6)]);
    let manager = over(&log, &[("remote.log.metadata.initialization.retry.interval.ms", "20")]);
    let led: Vec<_> = (0..200).map(|number| assigned(number, None)).collect();
    manager.lead_and_follow(&led, &[]).expect("assigns");
    until("ready", || led.iter().all(|led| manager.is_ready(&led.partition))).await;
    for number in 0..200 {
        end(manager.add(segment(number, 0), PATIENCE)).await.expect("the epoch is known in the end");
    }
    let counts = [&log.epoch_questions, &log.epoch_requests].map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts[0], 202, "two were asked for again, and they alone");
    assert!(counts[1] <= 8, "not one by one: {counts:?}");
    assert!(log.keys(0).iter().all(|key| key.ends_with(":9:6")), "{:?}", log.keys(0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_anybody_who_knows_the_epoch_keys_carry_the_segments_id() {
    let log = ScriptedLog::new(1);
    let manager = over(&log, &[]);
    manager.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    end(manager.add(segment(1, 0), PATIENCE)).await.expect("adds");
    assert!(log.keys(0)[0].ends_with(&format!(":9:-1:{}", id(1, 0).uuid)), "{:?}", log.keys(0));
    manager.close();
}
