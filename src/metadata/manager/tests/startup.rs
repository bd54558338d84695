//! Logs that are not there, not yet there, or not the right ones.

use std::sync::atomic::Ordering;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_comes_late_costs_nothing_but_time() {
    let log = ScriptedLog::new(1);
    log.ensure_failures.lock().extend((0..4).map(|_| scripted::unreachable()));
    log.reader_failures.lock().extend((0..3).map(|_| scripted::unreachable()));
    let manager = over(&log, &[]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns before the log is there");
    assert!(!manager.is_ready(&partition(1)));
    let error = add(&manager, 1, 0).await.expect_err("not ready");
    assert!(matches!(error, MetadataError::NotReady { .. }) && error.is_retriable(), "{error}");
    until("ready", || manager.is_ready(&partition(1))).await;
    assert_eq!(log.ensures.load(Ordering::SeqCst), 5);
    assert!((metric(&manager, "log-failures-total") - 4.0).abs() < 0.1);
    assert!((metric(&manager, "reader-restarts-total") - 3.0).abs() < 0.1);
    add(&manager, 1, 0).await.expect("works");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_does_not_fit_is_never_written_to_and_told_of() {
    let log = ScriptedLog::new(1);
    log.ensure_failures.lock().extend((0..1_000).map(|_| scripted::mismatch()));
    let manager = over(&log, &[]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("tried", || log.ensures.load(Ordering::SeqCst) > 2).await;
    let error = add(&manager, 1, 0).await.expect_err("not ready");
    assert!(error.to_string().contains("does not fit"), "{error}");
    assert!(!manager.is_ready(&partition(1)));
    assert_eq!(log.keys(0).len(), 0);
    log.ensure_failures.lock().clear();
    until("mended without a restart", || manager.is_ready(&partition(1))).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_refuses_bad_values_and_nothing_else() {
    let log = ScriptedLog::new(1);
    for (key, value) in [
        ("remote.log.metadata.consume.wait.ms", "soon"),
        ("remote.log.metadata.initialization.retry.interval.ms", "0"),
        ("undercroft.metadata.ignore.newer.records", "maybe"),
    ] {
        let opened = MetadataManager::open_with_log(&config(&[(key, value)]), env(), scripted::handle(&log));
        let error = opened.map(|_| ()).expect_err("a bad value");
        assert!(matches!(error, MetadataError::Config(_)) && error.to_string().contains(key), "{error}");
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    let under_a_file = embedded(&file.path().join("folder"));
    under_a_file.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    until("told why", || under_a_file.list(&partition(1), None).expect_err("not ready").to_string().contains("folder"))
        .await;
    under_a_file.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_log_needs_a_folder_outside_of_the_brokers() {
    let root = tempfile::tempdir().expect("a folder");
    let log_dir = root.path().join("kafka-logs");
    std::fs::create_dir(&log_dir).expect("makes it");
    std::os::unix::fs::symlink(&log_dir, root.path().join("link")).expect("links");
    let open = |path: Option<&str>| {
        let mut config = config(&[("undercroft.metadata.log", "embedded")]);
        config.set("log.dir", log_dir.to_str().expect("text"));
        if let Some(path) = path {
            config.set("undercroft.metadata.embedded.path", root.path().join(path).to_str().expect("text"));
        }
        MetadataManager::open(&config, env()).map(|manager| manager.close()).map_err(|error| error.to_string())
    };
    let unset = open(None).expect_err("no folder");
    assert!(unset.contains("undercroft.metadata.embedded.path is not set") && unset.contains("outside"), "{unset}");
    for inside in ["kafka-logs", "kafka-logs/meta", "x/../kafka-logs/meta", "link/meta"] {
        let error = open(Some(inside)).expect_err("inside of log.dir");
        assert!(error.contains("inside of `log.dir`"), "{inside}: {error}");
    }
    open(Some("kafka-logs-meta")).expect("beside it");
}

#[test]
fn no_pause_between_tries_is_longer_than_the_reference_says() {
    let first = |ms: &str| {
        let config = config(&[("remote.log.metadata.initialization.retry.interval.ms", ms)]);
        crate::metadata::manager::env::Options::read(&config).expect("reads").retry_pause
    };
    assert_eq!(first("100"), Duration::from_millis(100));
    assert_eq!(first("60000"), Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_broker_passes_becomes_the_environment() {
    let config = config(&[("node.id", "7"), ("log.dir", "/data"), ("cluster.id", "c")]);
    let env = MetadataEnv::from_config(&config, tokio::runtime::Handle::current()).expect("reads");
    assert_eq!((env.broker_id, env.log_dir, env.cluster_id), (BrokerId(7), Some("/data".into()), Some("c".to_owned())));
}
