//! The storage side beside a metadata side: what it tells of copies, what it asks at their end, what it hands over.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;
use support::{Sample, folder_manager, manager, metric, object_below, objects_below};
use undercroft::model::{CopyEnd, KafkaUuid, ObjectsError, SegmentId, SegmentLedger, SegmentMetadata};
use undercroft::storage::{StorageError, StorageManager};

/// A metadata side that says what a test wants.
#[derive(Default)]
struct Ledger {
    condemned: Mutex<HashSet<KafkaUuid>>,
    takes_over: bool,
    taken: Mutex<Vec<KafkaUuid>>,
}

impl Ledger {
    fn taking_over() -> Arc<Self> {
        Arc::new(Self { takes_over: true, ..Self::default() })
    }
}

impl SegmentLedger for Ledger {
    fn is_condemned(&self, segment: &SegmentId) -> bool {
        self.condemned.lock().expect("whole").contains(&segment.uuid)
    }

    fn take_over_delete(&self, segment: &SegmentMetadata) -> bool {
        if self.takes_over {
            self.taken.lock().expect("whole").push(segment.id.uuid);
        }
        self.takes_over
    }
}

fn join(storage: &StorageManager, ledger: &Arc<Ledger>) {
    let ledger: Arc<dyn SegmentLedger> = Arc::clone(ledger) as _;
    storage.join(Arc::downgrade(&ledger));
}

/// A store that nobody answers for: `address` refuses connections, or takes them and says nothing.
fn far_away(address: &str, more: &[(&str, &str)]) -> StorageManager {
    let endpoint = format!("http://{address}");
    let own = [
        ("storage.backend.class", "s3"),
        ("storage.s3.bucket.name", "bkt"),
        ("storage.s3.endpoint.url", endpoint.as_str()),
        ("storage.aws.access.key.id", "k"),
        ("storage.aws.secret.access.key", "s"),
        ("storage.retry.attempts.max", "1"),
        ("upload.cleanup.timeout.ms", "100"),
    ];
    manager(&[&own[..], more].concat())
}

async fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_ended_well_is_known_until_it_is_settled() {
    let root = tempfile::tempdir().expect("a folder");
    let storage = folder_manager(root.path(), &[]);
    let objects = storage.objects();
    let mut sample = Sample::new(100_000);
    assert!(!objects.is_copying(&sample.segment.id) && objects.copy_end(&sample.segment.id).is_none());
    sample.copy(&storage).await.expect("copied");
    assert!(objects.is_copying(&sample.segment.id), "the host may not have said yet that it is finished");
    assert_eq!(objects.copy_end(&sample.segment.id), Some(CopyEnd::Done));
    objects.settled(&sample.segment.id);
    assert!(!objects.is_copying(&sample.segment.id) && objects.copy_end(&sample.segment.id).is_none());

    assert!(objects.has_objects(&sample.segment).await.expect("answers"));
    for _ in 0..2 {
        objects.delete_objects(&sample.segment).await.expect("removed");
        assert!(!objects.has_objects(&sample.segment).await.expect("answers"));
    }
    assert!(objects_below(root.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_that_was_condemned_meanwhile_is_not_copied() {
    let root = tempfile::tempdir().expect("a folder");
    let storage = folder_manager(root.path(), &[]);
    let ledger = Arc::new(Ledger::default());
    join(&storage, &ledger);
    for size in [100, 7 << 20] {
        let sample = Sample::new(size);
        ledger.condemned.lock().expect("whole").insert(sample.segment.id.uuid);
        let error = storage.copy(&sample.segment, &sample.files).await.expect_err("condemned");
        assert!(matches!(error, StorageError::Condemned { .. }), "{error:?}");
        assert!(objects_below(root.path()).is_empty());
        assert!(!storage.objects().is_copying(&sample.segment.id));
        let end = storage.objects().copy_end(&sample.segment.id);
        assert!(matches!(end, Some(CopyEnd::Failed { .. })), "{end:?}");
    }
    assert_eq!(metric(&storage, "errors-condemned-total"), 2.0);
    drop(ledger);
    let mut sample = Sample::new(100);
    sample.copy(&storage).await.expect("nobody is joined any more");
    storage.close().await;
}

/// Races the caller's going away against the end of the copy: whoever was not told has nothing in the store.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_whose_caller_went_away_has_failed_and_leaves_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let storage = folder_manager(root.path(), &[("storage.s3.api.call.attempt.timeout", "50")]);
    let (mut told, mut untold) = (0, 0);
    for wait_us in (0..6000).step_by(150) {
        let mut sample = Sample::new(300_000);
        sample.segment.id.uuid = KafkaUuid(*uuid::Uuid::new_v4().as_bytes());
        let copy = storage.copy(&sample.segment, &sample.files);
        let outcome = tokio::time::timeout(Duration::from_micros(wait_us), copy).await;
        let objects = storage.objects();
        let end = soon("an end", || objects.copy_end(&sample.segment.id)).await;
        match outcome {
            Ok(copied) => {
                copied.expect("copied");
                told += 1;
                assert_eq!(end, CopyEnd::Done);
                assert!(objects.has_objects(&sample.segment).await.expect("answers"));
            }
            Err(_) => {
                untold += 1;
                let removed = CopyEnd::Failed { is_removed: true };
                soon("removed", || (objects.copy_end(&sample.segment.id) == Some(removed)).then_some(())).await;
                assert!(!objects.has_objects(&sample.segment).await.expect("answers"));
            }
        }
    }
    assert!(untold > 0, "{told} told, {untold} not");
    storage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_down_holds_back_copies_but_for_one_now_and_then() {
    let storage = far_away(
        "127.0.0.1:9",
        &[("upload.outage.failures", "3"), ("upload.outage.retry.interval.ms", "300"), ("storage.retry.delay.ms", "1")],
    );
    let objects = storage.objects();
    for _ in 0..3 {
        assert_eq!(objects.outage(), None);
        let sample = Sample::new(10);
        let error = storage.copy(&sample.segment, &sample.files).await.expect_err("nobody is there");
        assert!(matches!(error, StorageError::Unreachable { .. }), "{error:?}");
    }
    let why = objects.outage().expect("three in a row");
    assert!(why.contains("127.0.0.1:9") && why.contains("none begins"), "{why}");
    assert_eq!((metric(&storage, "outage"), metric(&storage, "outages-total")), (1.0, 1.0));
    tokio::time::sleep(Duration::from_millis(310)).await;
    assert_eq!(objects.outage(), None, "one is let through");
    assert!(objects.outage().is_some(), "and only one");
    assert_eq!(metric(&storage, "copies-held-back-total"), 2.0);
    storage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_that_takes_too_long_is_handed_over_and_the_third_is_not_even_tried() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = silent.local_addr().expect("bound").to_string();
    let storage = far_away(&address, &[("delete.handover.ms", "200")]);
    let ledger = Ledger::taking_over();
    join(&storage, &ledger);
    let samples: Vec<_> = (0..3).map(|_| Sample::new(10)).collect();
    for (sample, longest_ms) in samples.iter().zip([2000, 2000, 100]) {
        let started = Instant::now();
        storage.delete(std::slice::from_ref(&sample.segment)).await.expect("handed over");
        let took = started.elapsed();
        assert!(took < Duration::from_millis(longest_ms), "{took:?}");
    }
    let taken: Vec<_> = samples.iter().map(|sample| sample.segment.id.uuid).collect();
    assert_eq!(*ledger.taken.lock().expect("whole"), taken);
    assert_eq!(metric(&storage, "delete-handed-over-total"), 3.0);
    assert_eq!(metric(&storage, "delete-segments-total"), 0.0);
    storage.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_takes_over_is_an_error() {
    for ledger in [None, Some(Arc::new(Ledger::default()))] {
        let storage = far_away("127.0.0.1:9", &[]);
        if let Some(ledger) = &ledger {
            join(&storage, ledger);
        }
        let sample = Sample::new(10);
        let error = storage.delete(std::slice::from_ref(&sample.segment)).await.expect_err("nobody is there");
        assert!(matches!(error, StorageError::Unreachable { .. }), "{error:?}");
        let error = storage.objects().delete_objects(&sample.segment).await.expect_err("nobody is there");
        assert!(matches!(&error, ObjectsError::Unreachable(_)) && error.is_retriable(), "{error:?}");
        storage.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_segment_that_cannot_be_deleted_keeps_no_other_from_it() {
    let root = tempfile::tempdir().expect("a folder");
    let storage = folder_manager(root.path(), &[]);
    for is_joined in [false, true] {
        let mut samples: Vec<_> = (0..4).map(|_| Sample::new(1000)).collect();
        for sample in &mut samples {
            sample.copy(&storage).await.expect("copied");
        }
        let mut segments: Vec<_> = samples.iter().map(|sample| sample.segment.clone()).collect();
        // Only a newer version knows what its objects are called.
        segments[1].custom_metadata = Some(Bytes::from_static(&[1, 101, 1, 0]));
        // A folder where the object should be: that is no file and can't be deleted as one.
        let blocked = object_below(root.path(), &segments[2]);
        std::fs::remove_file(&blocked).expect("was there");
        std::fs::create_dir_all(blocked.join("x")).expect("made");
        let ledger = Ledger::taking_over();
        if is_joined {
            join(&storage, &ledger);
        }
        let deleted = storage.delete(&segments).await;
        assert_eq!(deleted.is_ok(), is_joined, "{deleted:?}");
        let left: Vec<_> = segments.iter().map(|segment| object_below(root.path(), segment).is_file()).collect();
        assert_eq!(left, [false, true, false, false], "joined: {is_joined}");
        std::fs::remove_dir_all(&blocked).expect("removed");
        storage.objects().delete_objects(&samples[1].segment).await.expect("removed");
        if is_joined {
            let taken = ledger.taken.lock().expect("whole").clone();
            assert_eq!(taken, [segments[1].id.uuid, segments[2].id.uuid]);
        }
    }
}

/// By the broker's call and by the metadata side's.
#[tokio::test(flavor = "multi_thread")]
async fn a_segment_whose_custom_metadata_is_damaged_is_deleted_by_its_id_and_not_tried_for_ever() {
    let root = tempfile::tempdir().expect("a folder");
    let storage = folder_manager(root.path(), &[("key.prefix", "here/")]);
    for is_by_broker in [true, false] {
        let mut sample = Sample::new(1000);
        sample.copy(&storage).await.expect("copied");
        let aivens = object_below(&root.path().join("here"), &sample.segment).with_extension("rsm-manifest");
        std::fs::write(&aivens, b"{}").expect("written");
        for damaged in [&[255][..], &[1, 100, 2, 1, 1], b"no fields at all"] {
            sample.segment.custom_metadata = Some(Bytes::copy_from_slice(damaged));
            match is_by_broker {
                true => storage.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted"),
                false => storage.objects().delete_objects(&sample.segment).await.expect("deleted"),
            }
            assert!(!aivens.exists() && objects_below(root.path()).is_empty());
            assert!(!storage.objects().has_objects(&sample.segment).await.expect("answers"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_metadata_side_does_not_keep_a_storage_side_that_is_gone() {
    let root = tempfile::tempdir().expect("a folder");
    let storage = folder_manager(root.path(), &[]);
    let (objects, sample) = (storage.objects(), Sample::new(10));
    storage.close().await;
    for _ in 0..2 {
        let error = objects.delete_objects(&sample.segment).await.expect_err("closed");
        assert!(matches!(&error, ObjectsError::Other(_)) && error.to_string().contains("closed"), "{error:?}");
        assert!(objects.outage().is_none() && !objects.is_copying(&sample.segment.id));
        drop(storage.clone());
    }
    drop(storage);
    assert!(objects.has_objects(&sample.segment).await.is_err());
}
