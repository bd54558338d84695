//! Delayed upload: what is held back, until when, and that nothing is written meanwhile.

use std::sync::atomic::Ordering;
use std::time::SystemTime;

use super::*;
use crate::metadata::log::LogError;

const MS: (&str, &str) = ("remote.copy.lag.ms", "600000");

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("small")
}

/// The first segment, whose newest record is so old.
fn aged(age_ms: i64) -> SegmentMetadata {
    SegmentMetadata { max_timestamp_ms: now_ms() - age_ms, ..segment(1, 0) }
}

fn retention(local_ms: i64, local_bytes: i64) -> scripted::Told {
    Ok(vec![
        ("local.retention.ms", local_ms.to_string()),
        ("local.retention.bytes", local_bytes.to_string()),
        ("retention.ms", "604800000".to_owned()),
        ("retention.bytes", "-1".to_owned()),
    ])
}

fn refused() -> LogError {
    LogError::Refused { what: "try".to_owned(), log: "scripted log".to_owned(), why: "told so".to_owned() }
}

async fn leading_with(log: &Arc<ScriptedLog>, pairs: &[(&str, &str)]) -> MetadataManager {
    let manager = over(log, pairs);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    manager
}

/// Adds until the answer is no longer that settings are being asked for.
async fn settled(manager: &MetadataManager, segment: &SegmentMetadata) -> Result<(), MetadataError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match end(manager.add(segment.clone(), Duration::ZERO)).await {
            Err(MetadataError::TooYoung { why, .. }) if why.contains("being asked") => {
                assert!(Instant::now() < deadline, "{why}");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            answer => return answer,
        }
    }
}

fn is_held_back(answer: &Result<(), MetadataError>) -> bool {
    matches!(answer, Err(error @ MetadataError::TooYoung { .. }) if error.is_retriable())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_young_segment_is_held_back_without_a_record_and_an_old_one_is_let_in() {
    let log = ScriptedLog::new(1);
    log.topic_settings.lock().push_back(retention(-2, -2));
    let manager = leading_with(&log, &[MS]).await;
    for times in 1..=3 {
        let answer = settled(&manager, &aged(599_000)).await;
        assert!(is_held_back(&answer), "{answer:?}");
        assert!(answer.expect_err("held back").to_string().contains("ms old of 600000 ms"));
        assert!(metric(&manager, "copies-held-back-total") >= f64::from(times));
    }
    assert_eq!(log.keys(0), Vec::<String>::new(), "nothing was written");
    assert!((metric(&manager, "partitions-held-back") - 1.0).abs() < 0.1);
    assert!(metric(&manager, "writes-failed-total").abs() < 0.1);
    settled(&manager, &aged(600_000)).await.expect("is let in");
    assert_eq!(log.keys(0).len(), 1);
    assert!(metric(&manager, "partitions-held-back").abs() < 0.1);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_lag_nothing_is_asked_and_nothing_held_back() {
    let itself = ("undercroft.broker.has.copy.lag", "true");
    for pairs in [&[][..], &[("remote.copy.lag.bytes", "5")], &[MS, itself]] {
        let log = ScriptedLog::new(1);
        let manager = leading_with(&log, pairs).await;
        end(manager.add(aged(0), Duration::ZERO)).await.expect("is let in");
        assert_eq!(log.settings_questions.load(Ordering::SeqCst), 0, "{pairs:?}");
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_has_its_own_lag() {
    let log = ScriptedLog::new(1);
    log.topic_settings.lock().push_back(retention(-1, -1));
    let manager = leading_with(&log, &[("undercroft.topic.topic-1.remote.copy.lag.ms", "1000")]).await;
    assert!(is_held_back(&settled(&manager, &aged(0)).await));
    settled(&manager, &aged(1_000)).await.expect("is let in");
    manager.lead_and_follow(&[assigned(2, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(2))).await;
    let other = SegmentMetadata { max_timestamp_ms: now_ms(), ..segment(2, 0) };
    end(manager.add(other, Duration::ZERO)).await.expect("the other topic has none");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_delay_is_longer_than_the_local_retention() {
    let log = ScriptedLog::new(1);
    log.topic_settings.lock().push_back(retention(5_000, -1));
    let manager = leading_with(&log, &[MS]).await;
    assert!(is_held_back(&settled(&manager, &aged(4_000)).await));
    settled(&manager, &aged(5_000)).await.expect("is let in");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_behind_are_counted_in_the_log_folder_that_the_broker_tells() {
    let (log, dir) = (ScriptedLog::new(1), tempfile::tempdir().expect("a folder"));
    log.topic_settings.lock().push_back(retention(-1, -1));
    let dirs = format!("/nowhere/at/all,{}", dir.path().display());
    log.broker_settings.lock().push_back(Ok(vec![("log.dirs", dirs), ("log.dir", "/nowhere/else".to_owned())]));
    let folder = dir.path().join("topic-1-0");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("00000000000000000000.log"), [0; 100]).expect("writes");
    std::fs::write(folder.join("00000000000000000010.log"), [0; 49]).expect("writes");
    let manager = leading_with(&log, &[("remote.copy.lag.ms", "-1"), ("remote.copy.lag.bytes", "50")]).await;
    let answer = settled(&manager, &aged(1_000)).await;
    assert!(is_held_back(&answer), "{answer:?}");
    assert!(answer.expect_err("held back").to_string().contains("49 of 50 bytes"));
    std::fs::write(folder.join("00000000000000000010.log"), [0; 50]).expect("writes");
    settled(&manager, &aged(1_000)).await.expect("is let in");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_known_holds_nothing_back() {
    let by_bytes = [("remote.copy.lag.ms", "-1"), ("remote.copy.lag.bytes", "50")];
    // No right to ask; an answer without retention; a log folder that nobody tells.
    for (topic, pairs) in [(Err(refused()), &[MS][..]), (Ok(Vec::new()), &[MS]), (retention(-1, -1), &by_bytes)] {
        let log = ScriptedLog::new(1);
        log.topic_settings.lock().push_back(topic);
        log.broker_settings.lock().push_back(Err(refused()));
        let manager = leading_with(&log, pairs).await;
        settled(&manager, &aged(0)).await.expect("is let in");
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_does_not_answer_yet_is_asked_again_and_the_segment_waits() {
    let log = ScriptedLog::new(1);
    log.topic_settings.lock().extend([Err(scripted::unreachable()), Err(scripted::unreachable()), retention(-1, -1)]);
    let manager = leading_with(&log, &[MS]).await;
    assert!(is_held_back(&settled(&manager, &aged(0)).await), "the third answer counts");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_is_stopped_or_only_followed_holds_nothing_back() {
    for is_stopped in [true, false] {
        let log = ScriptedLog::new(1);
        log.topic_settings.lock().push_back(retention(-1, -1));
        let manager = leading_with(&log, &[MS]).await;
        assert!(is_held_back(&settled(&manager, &aged(0)).await));
        match is_stopped {
            true => manager.stop(&[partition(1)]).expect("stops"),
            false => manager.lead_and_follow(&[], &[assigned(1, None)]).expect("follows"),
        }
        assert!(metric(&manager, "partitions-held-back").abs() < 0.1);
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lag_out_of_range_is_refused_at_the_start() {
    let pair = ("undercroft.topic.t.remote.copy.lag.ms", "-2");
    let opened = MetadataManager::open_with_log(&config(&[pair]), env(), scripted::handle(&ScriptedLog::new(1)));
    let error = opened.err().expect("does not open");
    assert!(matches!(error, MetadataError::Config(_)) && error.to_string().contains(pair.0), "{error}");
}
