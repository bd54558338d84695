//! The storage side over real servers and real faults. Starts SeaweedFS itself; `make test-stores` requires it.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

#[path = "support/aiven.rs"]
mod aiven;
#[path = "support/stand_ins.rs"]
mod stand_ins;
mod support;
#[path = "support/weed.rs"]
mod weed;

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use support::{Sample, assert_indexes, manager, metric, read};
use undercroft::config::Config;
use undercroft::model::IndexType;
use undercroft::storage::survey::{Depth, Found, Scope, Severity, Surveyor};
use undercroft::storage::{StorageEnv, StorageError, StorageManager};
use weed::{ACCESS_KEY, BUCKET, Proxy, SECRET_KEY, weed};

const MIB: usize = 1 << 20;

fn s3(endpoint: &str, more: &[(&str, &str)]) -> StorageManager {
    let env = StorageEnv { runtime: tokio::runtime::Handle::current() };
    StorageManager::open(&s3_config(endpoint, more), env).expect("opens")
}

fn s3_config(endpoint: &str, more: &[(&str, &str)]) -> Config {
    let own = [
        ("storage.backend.class", "s3"),
        ("storage.s3.endpoint.url", endpoint),
        ("storage.s3.bucket.name", BUCKET),
        ("storage.aws.access.key.id", ACCESS_KEY),
        ("storage.aws.secret.access.key", SECRET_KEY),
        ("storage.s3.multipart.upload.part.size", "5242880"),
        ("storage.retry.delay.ms", "20"),
    ];
    support::config(&[&own[..], more].concat())
}

fn topic_folder(sample: &Sample) -> String {
    let partition = &sample.segment.id.partition;
    format!("{}-{}/3/", partition.topic, partition.topic_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_copied_to_s3_is_read_back_and_deleted_without_a_trace() {
    let Some(weed) = weed() else { return };
    let manager = s3(&weed.endpoint(), &[]);
    manager.check().await.expect("usable");
    for size in [0, 1, 65_537, 3 * MIB, 17 * MIB + 7] {
        let mut sample = Sample::of_topic("round-trip", size);
        sample.copy(&manager).await.expect("copied");
        assert_eq!(read(&manager, &sample.segment, 0, None).await.expect("read"), sample.data, "{size}");
        if size > 70_000 {
            let part = read(&manager, &sample.segment, 65_530, Some(65_540)).await.expect("read");
            assert_eq!(part, sample.data[65_530..=65_540]);
        }
        assert_indexes(&manager, &sample.segment).await;
        assert_eq!(weed.names(BUCKET, &topic_folder(&sample)).len(), 1);
        manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
        manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted again");
        assert!(weed.names(BUCKET, &topic_folder(&sample)).is_empty());
        let error = s3(&weed.endpoint(), &[]).fetch(&sample.segment, 0, None).expect("lazy");
        let error = support::drain(error).await;
        assert!(size == 0 || matches!(error, Err(StorageError::NotFound { .. })), "{error:?}");
    }
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_that_aivens_plugin_wrote_to_s3_are_read_in_few_requests_and_deleted() {
    let Some(weed) = weed() else { return };
    let private = aiven::data("priv.pem");
    let keys = [
        ("key.prefix", "after/"),
        ("encryption.key.pairs", "key1"),
        ("encryption.key.pairs.key1.private.key.file", private.to_str().expect("UTF-8")),
    ];
    let folder = format!("before/{}", aiven::MAIN.rsplit_once('/').expect("a name").0);
    for of in ["kafka38/m0", "kafka4/m1", "kafka38/m2", "kafka4/m3"] {
        for suffix in aiven::SUFFIXES {
            let bytes = std::fs::read(aiven::data(&format!("{of}.{suffix}"))).expect("there");
            weed.put(BUCKET, &format!("before/{}.{suffix}", aiven::MAIN), &bytes);
        }
        assert_eq!(weed.names(BUCKET, &format!("{folder}/")).len(), 3);
        let manager = s3(&weed.endpoint(), &keys);
        manager.check().await.expect("usable");
        // Of the check that every manager makes at its start.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let before = metric(&manager, "store-requests-total");
        let segment = aiven::segment(2500, aiven::says(Some("before/"), None));
        assert_eq!(read(&manager, &segment, 0, None).await.expect(of), aiven::plain());
        assert_eq!(metric(&manager, "store-requests-total") - before, 2.0, "manifest and data");
        for index in [IndexType::Offset, IndexType::Timestamp, IndexType::ProducerSnapshot, IndexType::LeaderEpoch] {
            manager.fetch_index(&segment, index).await.expect(of);
        }
        assert_eq!(metric(&manager, "store-requests-total") - before, 3.0, "all indexes at once");
        manager.delete(std::slice::from_ref(&segment)).await.expect("deleted");
        assert!(weed.names(BUCKET, &format!("{folder}/")).is_empty());
        let error = read(&manager, &segment, 0, None).await.expect_err("gone");
        assert!(matches!(error, StorageError::NotFound { .. }), "{error}");
        manager.close().await;
    }
}

/// HEAD requests so far.
fn heads(manager: &StorageManager) -> f64 {
    let text = manager.metrics().prometheus();
    let line = text.lines().find(|line| line.contains("http_requests_total{operation=\"head\"}"));
    line.and_then(|line| line.rsplit_once(' ')).map_or(0.0, |(_, value)| value.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_without_custom_metadata_is_found_with_one_question_for_a_length_and_aivens_with_none() {
    let Some(weed) = weed() else { return };
    for (layout, expected) in [("compact", 1.0), ("aiven", 0.0)] {
        let manager = s3(&weed.endpoint(), &[("storage.layout", layout)]);
        let mut sample = Sample::of_topic(&format!("heads-{layout}"), 100_000);
        sample.copy(&manager).await.expect("copied");
        // Of the check that every manager makes at its start.
        manager.check().await.expect("usable");
        tokio::time::sleep(Duration::from_millis(500)).await;
        sample.segment.custom_metadata = None;
        let before = heads(&manager);
        assert!(read(&manager, &sample.segment, 0, None).await.expect(layout) == sample.data);
        assert_indexes(&manager, &sample.segment).await;
        assert_eq!(heads(&manager) - before, expected, "{layout}");
        assert!(read(&manager, &sample.segment, 0, None).await.expect(layout) == sample.data);
        assert_eq!(heads(&manager) - before, expected, "{layout}, again");
        manager.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_bucket_is_never_a_missing_segment() {
    let Some(weed) = weed() else { return };
    let mut sample = Sample::of_topic("no-bucket", 100_000);
    sample.copy(&s3(&weed.endpoint(), &[])).await.expect("copied");
    let manager = s3(&weed.endpoint(), &[("storage.s3.bucket.name", "not-there"), ("fetch.failure.delay.ms", "0")]);
    for (what, error) in [
        ("read", read(&manager, &sample.segment, 0, None).await.map(|_| ())),
        ("delete", manager.delete(std::slice::from_ref(&sample.segment)).await),
        ("delete two", manager.delete(&[sample.segment.clone(), Sample::new(1).segment]).await),
    ] {
        let text = error.as_ref().map_err(ToString::to_string).expect_err(what);
        assert!(matches!(error, Err(StorageError::Misconfigured { .. })), "{what}: {error:?}");
        assert!(text.contains("not-there") && text.contains("storage.s3.bucket.name"), "{what}: {text}");
    }
    // SeaweedFS lets nobody but an administrator know that a bucket to write into isn't there.
    let error = manager.copy(&sample.segment, &sample.files).await.expect_err("no bucket");
    assert!(matches!(error, StorageError::Misconfigured { .. } | StorageError::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("not-there"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_credentials_are_refused_and_named() {
    let Some(weed) = weed() else { return };
    for (key, value) in [("storage.aws.secret.access.key", "wrong"), ("storage.aws.access.key.id", "nobody")] {
        let manager = s3(&weed.endpoint(), &[(key, value)]);
        let mut sample = Sample::of_topic("refused", 100_000);
        let error = sample.copy(&manager).await.expect_err("refused");
        let text = error.to_string();
        assert!(matches!(error, StorageError::Refused { .. }), "{error:?}");
        assert!(text.contains("storage.aws.access.key.id") && text.contains(&weed.endpoint()), "{text}");
        assert!(!text.contains("wrong\""), "{text}");
        assert!(matches!(manager.check().await, Err(StorageError::Refused { .. })));
        let start = Instant::now();
        sample = Sample::of_topic("refused", 12 * MIB);
        assert!(matches!(sample.copy(&manager).await, Err(StorageError::Refused { .. })));
        manager.close().await;
        assert!(start.elapsed() < Duration::from_secs(15), "a definite no is no reason to wait: {:?}", start.elapsed());
        assert_eq!(metric(&manager, "copy-cleanups-failed-total"), 0.0, "nothing was written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_is_down_is_unreachable_and_named() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let manager = s3(&endpoint, &[("upload.cleanup.timeout.ms", "1000")]);
    let mut sample = Sample::new(1000);
    let error = sample.copy(&manager).await.expect_err("down");
    assert!(matches!(error, StorageError::Unreachable { attempts: 4, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&endpoint) && text.contains("refused") && text.contains("storage.s3.endpoint.url"), "{text}");
    assert!(error.is_retriable());
    tokio::time::timeout(Duration::from_secs(3), manager.close()).await.expect("closes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_answers_does_not_hold_anyone_beyond_the_deadline() {
    let hole = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = format!("http://127.0.0.1:{}", hole.local_addr().expect("bound").port());
    let bounds = [
        ("storage.s3.api.call.timeout", "1500"),
        ("storage.s3.api.call.attempt.timeout", "400"),
        ("upload.cleanup.timeout.ms", "1000"),
    ];
    let manager = s3(&endpoint, &bounds);
    let mut sample = Sample::new(20 * MIB);
    let start = Instant::now();
    let error = sample.copy(&manager).await.expect_err("no answer");
    assert!(matches!(error, StorageError::Unreachable { .. } | StorageError::Timeout { .. }), "{error:?}");
    assert!(start.elapsed() < Duration::from_millis(6000), "{:?}", start.elapsed());
    let folder = tempfile::tempdir().expect("a folder");
    sample.copy(&support::folder_manager(folder.path(), &[])).await.expect("copied elsewhere");
    let start = Instant::now();
    let error = read(&manager, &sample.segment, 0, None).await.expect_err("no answer");
    assert!(error.is_retriable(), "{error:?}");
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
    let index = undercroft::model::IndexType::Offset;
    let segments = std::slice::from_ref(&sample.segment);
    let start = Instant::now();
    let (indexed, deleted, checked) =
        tokio::join!(manager.fetch_index(&sample.segment, index), manager.delete(segments), manager.check());
    for error in [indexed.map(|_| ()), deleted, checked] {
        let error = error.expect_err("no answer");
        let text = error.to_string();
        assert!(error.is_retriable() && text.contains(&endpoint) && text.contains(" ms"), "{text}");
    }
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
    let start = Instant::now();
    manager.close().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_the_middle_of_a_copy_and_comes_back_keeps_nothing_of_it() {
    let Some(weed) = weed() else { return };
    weed.make_bucket("cut");
    for cut_after in [1_u64, 3, 9, 21] {
        let proxy = Proxy::to(weed.s3_port);
        let manager = s3(&proxy.endpoint(), &[("storage.retry.attempts.max", "2"), ("storage.s3.bucket.name", "cut")]);
        let mut sample = Sample::of_topic(&format!("cut-{cut_after}"), 24 * MIB);
        manager.check().await.expect("usable");
        proxy.control.cut_after_bytes.store(cut_after * MIB as u64, Ordering::SeqCst);
        let error = sample.copy(&manager).await.expect_err("cut");
        assert!(matches!(error, StorageError::Unreachable { .. } | StorageError::Timeout { .. }), "{error:?}");
        proxy.control.cut_after_bytes.store(0, Ordering::SeqCst);
        proxy.control.is_cut.store(false, Ordering::SeqCst);
        manager.close().await;
        assert!(weed.names("cut", &topic_folder(&sample)).is_empty(), "no object after {cut_after} MiB");
        assert_eq!(weed.open_uploads("cut"), Vec::<String>::new(), "no upload after {cut_after} MiB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_dropped_in_the_middle_keeps_nothing_on_the_server() {
    let Some(weed) = weed() else { return };
    let proxy = Proxy::to(weed.s3_port);
    weed.make_bucket("dropped");
    proxy.control.delay_ms.store(150, Ordering::SeqCst);
    let manager = s3(&proxy.endpoint(), &[("upload.parts.in.flight", "1"), ("storage.s3.bucket.name", "dropped")]);
    let sample = Sample::of_topic("dropped", 30 * MIB);
    let copy = manager.copy(&sample.segment, &sample.files);
    let begun = async {
        while weed.open_uploads("dropped").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        copied = copy => panic!("too fast for this test: {copied:?}"),
        () = begun => {}
    }
    assert_eq!(weed.open_uploads("dropped").len(), 1, "an upload was under way");
    manager.close().await;
    assert!(weed.names("dropped", &topic_folder(&sample)).is_empty());
    assert_eq!(weed.open_uploads("dropped"), Vec::<String>::new());
}

/// Waits for what a server shows by and by.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(25);
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

const HASTY: &[(&str, &str)] = &[("storage.s3.api.call.attempt.timeout", "4000"), ("storage.retry.attempts.max", "1")];

/// Whatever step is done by the server after the client has given up: nothing of the copy stays.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_does_after_its_client_has_gone_is_removed_too() {
    let Some(weed) = weed() else { return };
    weed.make_bucket("late");
    // The first write into a bucket takes long.
    s3(&weed.endpoint(), &[("storage.s3.bucket.name", "late")]).check().await.expect("usable");
    let steps = [
        ("put", "PUT ", 100_000),
        ("create", "?uploads", 12 * MIB),
        ("part", "partNumber=2", 12 * MIB),
        ("complete", "?uploadId", 12 * MIB),
    ];
    let cases = steps.into_iter().flat_map(|step| [(step, false), (step, true)]);
    let cases = cases.map(|((what, request, size), is_dropped)| {
        tokio::spawn(a_step_comes_late(weed, what, request, size, is_dropped))
    });
    for case in cases.collect::<Vec<_>>() {
        case.await.expect("holds");
    }
    // Nobody knows how an upload is called whose beginning was never answered, but the store lists it.
    eventually("no upload is left", || weed.open_uploads("late").is_empty()).await;
}

async fn a_step_comes_late(weed: &weed::Weed, what: &str, request: &'static str, size: usize, is_dropped: bool) {
    let proxy = Proxy::to(weed.s3_port);
    let manager = s3(&proxy.endpoint(), &[HASTY, &[("storage.s3.bucket.name", "late")]].concat());
    let _ = manager.check().await;
    *proxy.control.late.lock().expect("unharmed") = Some((request, if is_dropped { 1300 } else { 6000 }));
    let sample = Sample::of_topic(&format!("late-{what}-{is_dropped}"), size);
    let copy = manager.copy(&sample.segment, &sample.files);
    if is_dropped {
        tokio::select! {
            ended = copy => panic!("{what}: too fast: {ended:?}"),
            () = eventually("the request is sent", || proxy.control.held.load(Ordering::SeqCst) > 0) => {}
        }
    } else {
        let error = copy.await.expect_err("late");
        assert!(error.is_retriable(), "{what}: {error:?}");
    }
    *proxy.control.late.lock().expect("unharmed") = None;
    eventually("the request arrives", || proxy.control.arrived.load(Ordering::SeqCst) > 0).await;
    let folder = topic_folder(&sample);
    if what == "put" {
        eventually("the object is there", || !weed.names("late", &folder).is_empty()).await;
    }
    eventually("nothing is left", || weed.names("late", &folder).is_empty()).await;
    // Not at once, so that what is removed late is not removed because of the close.
    tokio::time::sleep(Duration::from_millis(5000)).await;
    manager.close().await;
    assert!(weed.names("late", &folder).is_empty(), "{what}, dropped: {is_dropped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_in_the_middle_of_a_check_leaves_no_object_and_does_not_wait_long() {
    let Some(weed) = weed() else { return };
    weed.make_bucket("checked");
    let first = s3(&weed.endpoint(), &[("storage.s3.bucket.name", "checked")]);
    first.check().await.expect("usable");
    first.close().await;
    for (late_ms, cut) in [(0, false), (300, false), (900, false), (0, true)] {
        let proxy = Proxy::to(weed.s3_port);
        *proxy.control.late.lock().expect("unharmed") = Some(("PUT ", late_ms));
        let manager = s3(&proxy.endpoint(), &[HASTY, &[("storage.s3.bucket.name", "checked")]].concat());
        tokio::time::sleep(Duration::from_millis(if late_ms == 0 { 120 } else { 50 })).await;
        proxy.control.is_cut.store(cut, Ordering::SeqCst);
        let start = Instant::now();
        manager.close().await;
        assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
        if !cut {
            assert_eq!(weed.names("checked", ""), Vec::<String>::new(), "late by {late_ms} ms");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_gives_up_early_still_gets_on_with_a_slow_store() {
    let Some(weed) = weed() else { return };
    let mut sample = Sample::of_topic("slow", 4 * MIB);
    sample.copy(&s3(&weed.endpoint(), &[])).await.expect("copied");
    // Without a cache, too.
    for more in [&[][..], &[("fetch.chunk.cache.size", "0")]] {
        gives_up_early(weed, &sample, more).await;
    }
}

async fn gives_up_early(weed: &weed::Weed, sample: &Sample, more: &[(&str, &str)]) {
    let proxy = Proxy::to(weed.s3_port);
    let manager = s3(&proxy.endpoint(), more);
    manager.check().await.expect("usable");
    // The start checks the store, too, and reads before it deletes.
    let deletes = || requests(&manager, "delete").1 + requests(&manager, "delete-batch").1;
    eventually("both checks have read", || deletes() >= 2).await;
    let before = requests(&manager, "get").0;
    proxy.control.delay_ms.store(1500, Ordering::SeqCst);
    for round in 0_u64..2 {
        let start = round * 2 * MIB as u64;
        let mut tries = 0;
        let bytes = loop {
            tries += 1;
            assert!(tries <= 5, "no progress");
            let mut reader = manager.fetch(&sample.segment, start, None).expect("opens");
            match tokio::time::timeout(Duration::from_millis(500), reader.read()).await {
                Ok(bytes) => break bytes.expect("read"),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        };
        assert_eq!(bytes, sample.data[start as usize..start as usize + bytes.len()]);
    }
    assert_eq!(requests(&manager, "get").0 - before, 2, "every try joined the first one's request");
    assert!(metric(&manager, "block-cache-joins-total") >= 2.0);
    manager.close().await;
}

/// Requests of an operation, and how many of them were answered well.
fn requests(manager: &StorageManager, operation: &str) -> (u64, u64) {
    let text = manager.metrics().prometheus();
    let value = |name: &str| {
        let line = format!("undercroft_storage_http_{name}_total{{operation=\"{operation}\"}} ");
        let found = text.lines().find_map(|found| found.strip_prefix(&line)?.parse().ok());
        found.unwrap_or_else(|| panic!("no {line}"))
    };
    (value("requests"), value("2xx"))
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_what_they_are_for_and_how_they_were_answered() {
    let Some(weed) = weed() else { return };
    let manager = s3(&weed.endpoint(), &[]);
    let mut sample = Sample::of_topic("counted", 12 * MIB);
    sample.copy(&manager).await.expect("copied");
    read(&manager, &sample.segment, 0, Some(9)).await.expect("read");
    for operation in ["create-upload", "put-part", "complete-upload", "get"] {
        let (all, good) = requests(&manager, operation);
        assert!(all > 0 && all == good, "{operation}: {good} of {all}");
    }
    assert_eq!(requests(&manager, "abort-upload"), (0, 0));
    manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
    let (deletes, batches) = (requests(&manager, "delete"), requests(&manager, "delete-batch"));
    assert!(deletes.1 + batches.1 > 0, "{deletes:?} {batches:?}");
    let gone = read(&manager, &sample.segment, 0, None).await.expect_err("gone");
    assert!(matches!(gone, StorageError::NotFound { .. }), "{gone}");
    let (all, good) = requests(&manager, "get");
    assert!(all > good, "a 404 is an answer, and none of the good ones: {good} of {all}");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_surveyed_without_a_write_and_a_refusal_is_never_a_loss() {
    let Some(weed) = weed() else { return };
    let manager = s3(&weed.endpoint(), &[("key.prefix", "survey/")]);
    for size in [0, 70_000, 3 * MIB] {
        Sample::of_topic("surveyed", size).copy(&manager).await.expect("copied");
    }
    manager.close().await;
    let surveyor = |more: &[(&str, &str)]| {
        let env = StorageEnv { runtime: tokio::runtime::Handle::current() };
        Surveyor::open(&s3_config(&weed.endpoint(), more), env, None).expect("opens")
    };
    let scope = Scope { prefix: "survey/".to_owned(), topic: None };
    let before = weed.names(BUCKET, "").len();
    for depth in [Depth::Light, Depth::Heavy] {
        let tally = surveyor(&[]).verify_all(&scope, depth, 2, &Arc::default(), |_, _| {}).await;
        assert_eq!((tally.segments, tally.good, &tally.cut_short), (3, 3, &None), "{tally:?}");
    }
    assert_eq!(weed.names(BUCKET, "").len(), before, "nothing was written");

    let listed = surveyor(&[]).segments(&scope).await.expect("listed").next().await.expect("one");
    let Some(Found::Segment(found)) = listed else { panic!("{listed:?}") };
    for more in [("storage.aws.secret.access.key", "wrong"), ("storage.s3.bucket.name", "not-there")] {
        let blind = surveyor(&[more]);
        let tally = blind.verify_all(&scope, Depth::Light, 2, &Arc::default(), |_, _| {}).await;
        assert!(tally.segments == 0 && tally.cut_short.is_some(), "{more:?}: {tally:?}");
        let checked = blind.verify(&found, Depth::Heavy).await;
        assert_eq!(checked.severity(), Some(Severity::Untold), "{more:?}: {checked:?}");
    }
}

/// Azurite and fake-gcs-server (which has no uploads in parts: segments there go up in one request).
#[tokio::test(flavor = "multi_thread")]
async fn what_is_copied_to_azure_and_gcs_is_read_back_and_deleted_without_a_trace() {
    let (azure, gcs) = (stand_ins::azurite(), stand_ins::fake_gcs());
    let azure = azure.as_ref().map(|server| (server.azure_keys(), [0, 65_537, 20 * MIB + 7]));
    let gcs = gcs.as_ref().map(|server| (server.gcs_keys(), [0, 65_537, 6 * MIB + 7]));
    for (keys, sizes) in azure.into_iter().chain(gcs) {
        let keys: Vec<_> = keys.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let manager = manager(&keys);
        manager.check().await.expect("usable");
        for size in sizes {
            let mut sample = Sample::of_topic("round-trip", size);
            sample.copy(&manager).await.expect("copied");
            assert!(read(&manager, &sample.segment, 0, None).await.expect("read") == sample.data, "{size}");
            assert_indexes(&manager, &sample.segment).await;
            manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
            manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted again");
        }
        manager.close().await;
    }
}

fn config_of(keys: &[(&str, &str)]) -> undercroft::config::Config {
    let mut config = undercroft::config::Config::new();
    for (key, value) in keys {
        config.set(key, value);
    }
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_used_is_explained_before_a_broker_finds_out() {
    let Some(weed) = weed() else { return };
    let endpoint = weed.endpoint();
    let own = [
        ("storage.backend.class", "s3"),
        ("storage.s3.endpoint.url", endpoint.as_str()),
        ("storage.s3.bucket.name", BUCKET),
        ("storage.aws.access.key.id", ACCESS_KEY),
        ("storage.aws.secret.access.key", SECRET_KEY),
        ("storage.retry.attempts.max", "1"),
        ("key.prefix", "preflight/"),
    ];
    let tried = undercroft::storage::preflight(&config_of(&own)).await.expect("valid");
    assert!(tried.is_usable() && tried.steps.iter().all(|step| step.outcome.is_ok()), "{tried:?}");
    assert_eq!(tried.steps.len(), 7);
    assert!(weed.names(BUCKET, "preflight/").is_empty());
    let closed = {
        let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
        format!("http://127.0.0.1:{port}")
    };
    let https = endpoint.replace("http:", "https:");
    for (key, value, expected) in [
        ("storage.aws.secret.access.key", "wrong", "doesn't accept the key"),
        ("storage.s3.endpoint.url", closed.as_str(), "Nothing listens there"),
        ("storage.s3.endpoint.url", "http://no-such-host.invalid", "DNS"),
        ("storage.s3.endpoint.url", https.as_str(), "doesn't speak TLS"),
        ("storage.s3.bucket.name", "not-there", "There is no such bucket"),
    ] {
        let tried =
            undercroft::storage::preflight(&config_of(&[&own[..], &[(key, value)]].concat())).await.expect("valid");
        let advice: Vec<_> = tried.steps.iter().flat_map(|step| step.advice.clone()).collect();
        assert!(!tried.is_usable() && advice.iter().any(|words| words.contains(expected)), "{value}: {tried:?}");
    }
}

/// A proxy that speaks HTTP's CONNECT or is asked for whole URLs: here it only has to be asked.
#[tokio::test(flavor = "multi_thread")]
async fn requests_go_through_the_proxy_that_is_set() {
    let Some(weed) = weed() else { return };
    let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = proxy.local_addr().expect("bound").port().to_string();
    let asked = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = proxy.accept().expect("asked");
        let mut bytes = [0; 3];
        stream.read_exact(&mut bytes).expect("greeted");
        let _ = stream.write_all(&[5, 0xff]);
        bytes
    });
    let keys = [
        ("storage.proxy.host", "127.0.0.1"),
        ("storage.proxy.port", port.as_str()),
        ("storage.retry.attempts.max", "1"),
        // Requests to this machine go to it directly.
        ("storage.s3.endpoint.url", "http://store.example.org"),
    ];
    let manager = s3(&weed.endpoint(), &keys);
    let error = manager.check().await.expect_err("the proxy refuses");
    assert_eq!(asked.join().expect("asked")[0], 5, "SOCKS, version 5");
    assert!(error.is_retriable(), "{error:?}");
    manager.close().await;
}
