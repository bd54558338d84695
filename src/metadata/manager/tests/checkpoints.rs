//! Managers one after the other over the same log, with what the earlier ones left.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::metadata::log::{Cleanup, LogShape};
use crate::wire;

fn log() -> Arc<ScriptedLog> {
    let log = ScriptedLog::new(1);
    *log.shape.lock() = LogShape { id: Some(KafkaUuid([9; 16])), cleanup: Cleanup::Delete, ..LogShape::of(1) };
    log
}

fn store(log: &ScriptedLog, key: Option<String>, number: u32) -> i64 {
    let finished = SegmentMetadata { state: CopyFinished, ..segment(1, number) };
    let value = wire::encode_segment(&finished, LeaderEpoch(-1), wire::Version::V0);
    log.store(0, key.map(Into::into), Some(value))
}

fn path(folder: &Path) -> PathBuf {
    folder.join("undercroft-metadata-0.checkpoint")
}

/// A manager that leads topic 1 and is ready.
async fn start(log: &Arc<ScriptedLog>, folder: &Path) -> MetadataManager {
    log.assigns.lock().clear();
    log.is_closed.store(false, std::sync::atomic::Ordering::SeqCst);
    let manager = over(log, &[("undercroft.metadata.checkpoint.path", folder.to_str().expect("text"))]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    manager
}

fn froms(log: &ScriptedLog) -> Vec<i64> {
    log.assigns.lock().iter().map(|&(_, from)| from).collect()
}

fn count(manager: &MetadataManager) -> usize {
    manager.list(&partition(1), None).expect("lists").len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_reads_only_what_is_new() {
    let (log, folder) = (log(), tempfile::tempdir().expect("a folder"));
    for number in 0..10 {
        store(&log, Some(format!("key {number}")), number);
    }
    let manager = start(&log, folder.path()).await;
    assert_eq!(froms(&log), [0]);
    manager.close();
    assert!(path(folder.path()).exists());
    store(&log, Some("key 10".to_owned()), 10);

    let manager = start(&log, folder.path()).await;
    assert_eq!(froms(&log), [9], "from the last record on, which proves the log");
    assert_eq!(count(&manager), 11);
    assert!((metric(&manager, "records-applied-total") - 1.0).abs() < 0.1);
    assert!((metric(&manager, "checkpoints-restored-total") - 1.0).abs() < 0.1);
    assert!((metric(&manager, "segments-live") - 11.0).abs() < 0.1);
    assert_eq!(found(&manager, 1, 105), Some(id(1, 10)));
    add(&manager, 1, 11).await.expect("works");
    update(&manager, 1, 3, DeleteStarted).await.expect("works on what was restored");
    manager.close();
    let manager = start(&log, folder.path()).await;
    assert_eq!((froms(&log), count(&manager)), (vec![12], 12));
    assert_eq!(found(&manager, 1, 35), None);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_restored_answers_nobody_before_the_end_of_the_log_was_met() {
    let (log, folder) = (log(), tempfile::tempdir().expect("a folder"));
    store(&log, Some("key".to_owned()), 0);
    start(&log, folder.path()).await.close();
    log.hold_reading(true);
    log.is_closed.store(false, std::sync::atomic::Ordering::SeqCst);
    let text = folder.path().to_str().expect("text").to_owned();
    let manager = over(&log, &[("undercroft.metadata.checkpoint.path", &text)]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("restored", || metric(&manager, "checkpoints-restored-total") > 0.5).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!manager.is_ready(&partition(1)));
    assert!(!manager.lifetime.core.directory.read().meta[&0].is_current(Duration::from_secs(3600)));
    log.hold_reading(false);
    until("ready", || manager.is_ready(&partition(1))).await;
    assert!(manager.lifetime.core.directory.read().meta[&0].is_current(Duration::from_secs(3600)));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_that_does_not_go_with_the_log_is_discarded() {
    type Spoil = fn(&Arc<ScriptedLog>, &Path);
    let cases: [(&str, Spoil, bool); 6] = [
        ("another topic id", |log, _| log.shape.lock().id = Some(KafkaUuid([8; 16])), true),
        ("torn", |_, path| fs::write(path, &fs::read(path).expect("reads")[..40]).expect("writes"), true),
        ("empty", |_, path| fs::write(path, b"").expect("writes"), true),
        (
            "cleaned away",
            |log, _| {
                store(log, Some("later".to_owned()), 5);
                log.clean(0, &[3]);
            },
            false,
        ),
        (
            "other records",
            |log, _| {
                log.lose_everything();
                (0..6).for_each(|number| {
                    store(log, Some(format!("other {number}")), number);
                });
            },
            false,
        ),
        (
            "shorter",
            |log, _| {
                log.lose_everything();
                store(log, Some("other".to_owned()), 0);
            },
            false,
        ),
    ];
    for (what, spoil, is_seen_at_once) in cases {
        let (log, folder) = (log(), tempfile::tempdir().expect("a folder"));
        for number in 0..4 {
            store(&log, Some(format!("key {number}")), number);
        }
        start(&log, folder.path()).await.close();
        spoil(&log, &path(folder.path()));
        let manager = start(&log, folder.path()).await;
        let expected = if is_seen_at_once { vec![0] } else { vec![3, 0] };
        assert_eq!(froms(&log), expected, "{what}");
        assert_eq!(count(&manager), log.keys(0).len(), "{what}");
        assert!((metric(&manager, "segments-live") - count(&manager) as f64).abs() < 0.1, "{what}");
        manager.close();
        let manager = start(&log, folder.path()).await;
        assert!(froms(&log)[0] > 0 || log.keys(0).len() == 1, "{what}: the next one is good");
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_checkpoint_remembers_that_it_rests_on_records_without_a_key() {
    let (log, folder) = (log(), tempfile::tempdir().expect("a folder"));
    for number in 0..3 {
        store(&log, None, number);
    }
    start(&log, folder.path()).await.close();
    store(&log, Some("key 3".to_owned()), 3);
    store(&log, Some("key 4".to_owned()), 4);
    log.clean(0, &[0, 1, 3]);
    let manager = start(&log, folder.path()).await;
    assert_eq!(froms(&log), [2, 0], "a gap behind it");
    assert_eq!(count(&manager), 2, "what every other reader sees");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_cannot_be_told_from_another_one_has_no_checkpoints_and_off_is_off() {
    let (log, folder) = (log(), tempfile::tempdir().expect("a folder"));
    store(&log, Some("key".to_owned()), 0);
    log.shape.lock().id = None;
    start(&log, folder.path()).await.close();
    assert!(!path(folder.path()).exists());
    log.shape.lock().id = Some(KafkaUuid([9; 16]));
    log.is_closed.store(false, std::sync::atomic::Ordering::SeqCst);
    for (value, is_written) in [("off", false), ("", true)] {
        let env = MetadataEnv { log_dir: Some(folder.path().to_owned()), ..env() };
        let config = config(&[("undercroft.metadata.checkpoint.path", value)]);
        let manager = MetadataManager::open_with_log(&config, env, scripted::handle(&log)).expect("opens");
        manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
        until("ready", || manager.is_ready(&partition(1))).await;
        manager.close();
        assert_eq!(path(folder.path()).exists(), is_written, "{value:?}: in log.dir");
        log.is_closed.store(false, std::sync::atomic::Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_cannot_be_written_costs_a_checkpoint_and_nothing_else() {
    let (log, file) = (log(), tempfile::NamedTempFile::new().expect("a file"));
    let manager = start(&log, &file.path().join("under a file")).await;
    add(&manager, 1, 0).await.expect("works");
    manager.close();
}
