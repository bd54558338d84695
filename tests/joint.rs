//! Both sides of one process: what fails on the one leaves nothing behind on either.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::{Sample, config, folder_manager, manager, objects_below};
use undercroft::metadata::{AssignedPartition, MetadataEnv, MetadataError, MetadataManager};
use undercroft::model::{
    BrokerId, LeaderEpoch, PartitionDelete, PartitionDeleteState, SegmentMetadata, SegmentState, SegmentUpdate,
};
use undercroft::storage::{StorageError, StorageManager};

const ADMISSION: Duration = Duration::from_secs(5);

/// Two managers that know of each other.
struct Pair {
    storage: StorageManager,
    metadata: MetadataManager,
    _ledger: Arc<dyn undercroft::model::SegmentLedger>,
    log: tempfile::TempDir,
}

impl Pair {
    /// Joined, and leading the samples' partition.
    async fn of(storage: StorageManager) -> Self {
        Self::over(storage, tempfile::tempdir().expect("a folder")).await
    }

    /// Over a log that may have records.
    async fn over(storage: StorageManager, log: tempfile::TempDir) -> Self {
        let settings = config(&[
            ("undercroft.metadata.log", "embedded"),
            ("undercroft.metadata.embedded.path", log.path().to_str().expect("UTF-8")),
            ("undercroft.metadata.upkeep.interval.ms", "50"),
            ("undercroft.metadata.upkeep.grace.ms", "200"),
            ("undercroft.metadata.copy.lease.ms", "1000"),
        ]);
        let env = MetadataEnv {
            runtime: tokio::runtime::Handle::current(),
            broker_id: BrokerId(1),
            log_dir: None,
            cluster_id: Some("tests".to_owned()),
        };
        let metadata = MetadataManager::open(&settings, env).expect("opens");
        let ledger = metadata.ledger();
        metadata.join(storage.objects());
        storage.join(Arc::downgrade(&ledger));
        let pair = Self { storage, metadata, _ledger: ledger, log };
        let partition = Sample::new(1).segment.id.partition;
        let leads = AssignedPartition { partition: partition.clone(), leader_epoch: Some(LeaderEpoch(0)) };
        pair.metadata.lead_and_follow(&[leads], &[]).expect("open");
        soon("ready", || pair.metadata.is_ready(&partition)).await;
        pair
    }

    async fn add(&self, sample: &Sample) -> Result<(), MetadataError> {
        let metadata = self.metadata.clone();
        let segment = SegmentMetadata { event_timestamp_ms: now_ms(), ..sample.segment.clone() };
        tokio::task::spawn_blocking(move || metadata.add(segment, ADMISSION)).await.expect("no panic")?.await
    }

    async fn update(&self, sample: &Sample, state: SegmentState) -> Result<(), MetadataError> {
        let update = SegmentUpdate {
            id: sample.segment.id.clone(),
            broker_id: BrokerId(1),
            event_timestamp_ms: now_ms(),
            custom_metadata: sample.segment.custom_metadata.clone(),
            state,
        };
        self.metadata.update(update, ADMISSION)?.await
    }

    fn count(&self, sample: &Sample) -> usize {
        let all = self.metadata.list(&sample.segment.id.partition, None).expect("ready");
        all.iter().filter(|segment| segment.id == sample.segment.id).count()
    }

    /// As a broker does it from 4.0 on, for expired segments and for failed copies.
    async fn delete(&self, sample: &Sample) -> Result<(), MetadataError> {
        self.update(sample, SegmentState::DeleteStarted).await?;
        self.storage.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted or taken over");
        self.update(sample, SegmentState::DeleteFinished).await
    }

    fn metric(&self, name: &str) -> f64 {
        let (of, registry) = (|info: &undercroft::metrics::MetricInfo| info.name == name, self.metadata.metrics());
        let (all, values) = (registry.describe().0, registry.read().collect::<Vec<_>>());
        all.iter().zip(values).filter(|(described, _)| of(&described.info)).map(|(_, value)| value).sum()
    }

    /// Gives the log for another pair.
    async fn close(self) -> tempfile::TempDir {
        let metadata = self.metadata;
        tokio::task::spawn_blocking(move || metadata.close()).await.expect("no panic");
        self.storage.close().await;
        self.log
    }
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    i64::try_from(now.as_millis()).expect("small")
}

async fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn lost(root: &Path) -> std::path::PathBuf {
    let aside = root.with_extension("aside");
    std::fs::rename(root, &aside).expect("renamed");
    aside
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_well_stays_and_is_deleted_as_ever() {
    let root = tempfile::tempdir().expect("a folder");
    let pair = Pair::of(folder_manager(root.path(), &[])).await;
    let mut sample = Sample::new(100_000);
    pair.add(&sample).await.expect("added");
    sample.copy(&pair.storage).await.expect("copied");
    pair.update(&sample, SegmentState::CopyFinished).await.expect("finished");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!((pair.count(&sample), objects_below(root.path()).len()), (1, 1), "nothing cleans up what is alive");
    pair.delete(&sample).await.expect("deleted");
    assert!(objects_below(root.path()).is_empty());
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_while_the_store_is_away_is_done_when_it_is_back() {
    let root = tempfile::tempdir().expect("a folder");
    let store = root.path().join("store");
    std::fs::create_dir(&store).expect("made");
    let pair = Pair::of(folder_manager(&store, &[])).await;
    let mut samples: Vec<_> = (0..3).map(|_| Sample::new(1000)).collect();
    for sample in &mut samples {
        pair.add(sample).await.expect("added");
        sample.copy(&pair.storage).await.expect("copied");
        pair.update(sample, SegmentState::CopyFinished).await.expect("finished");
    }
    let aside = lost(&store);
    for sample in &samples {
        pair.delete(sample).await.expect("the broker's loop goes on");
        assert_eq!(pair.count(sample), 0, "the broker is not shown it again");
    }
    soon("counted", || pair.metric("dangling-remote-log-count") == 3.0).await;
    assert_eq!(objects_below(&aside).len(), 3);
    std::fs::rename(&aside, &store).expect("back");
    soon("deleted", || objects_below(&store).is_empty()).await;
    soon("counted", || pair.metric("dangling-remote-log-count") == 0.0).await;
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_was_given_up_without_a_word_is_cleaned_up() {
    let root = tempfile::tempdir().expect("a folder");
    let pair = Pair::of(folder_manager(root.path(), &[("upload.rate.limit.bytes.per.second", "65536")])).await;
    let sample = Sample::new(3 << 20);
    pair.add(&sample).await.expect("added");
    // An interrupted thread of a broker says nothing more of the segment.
    let copy = pair.storage.copy(&sample.segment, &sample.files);
    assert!(tokio::time::timeout(Duration::from_millis(300), copy).await.is_err());
    soon("forgotten", || pair.count(&sample) == 0).await;
    assert!(objects_below(root.path()).is_empty());
    pair.close().await;
}

/// The copy was given up and its last write is still on its way when the broker deletes what there is of it; then the
/// process dies, and the write arrives.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_arrives_behind_the_brokers_delete_and_the_death_of_its_process_is_removed() {
    let root = tempfile::tempdir().expect("a folder");
    let slow = [("upload.rate.limit.bytes.per.second", "1048576")];
    let pair = Pair::of(folder_manager(root.path(), &slow)).await;
    let sample = Sample::new(7 << 20);
    pair.add(&sample).await.expect("added");
    // Before its first part is in the folder, nothing could arrive late.
    let has_begun =
        || support::files_below(root.path()).iter().any(|file| file.metadata().is_ok_and(|of| of.len() > 1000));
    tokio::select! {
        copied = pair.storage.copy(&sample.segment, &sample.files) => panic!("too fast for this test: {copied:?}"),
        () = soon("begun", has_begun) => {}
    }
    pair.delete(&sample).await.expect("deleted, as far as the broker knows");
    assert_eq!(pair.count(&sample), 0, "the broker is not shown it again");
    soon("counted", || pair.metric("dangling-remote-log-count") == 1.0).await;
    let log = pair.close().await;

    let object = support::object_below(root.path(), &sample.segment);
    std::fs::create_dir_all(object.parent().expect("a folder")).expect("made");
    std::fs::write(&object, &sample.data).expect("arrives");
    let pair = Pair::over(folder_manager(root.path(), &[]), log).await;
    soon("removed", || !object.exists()).await;
    soon("forgotten", || pair.count(&sample) == 0).await;
    pair.close().await;
}

/// A broker that does not take the custom metadata deletes the copy; before 4.0 it says nothing to the metadata side.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_succeeded_and_was_given_up_is_cleaned_up_at_once() {
    let root = tempfile::tempdir().expect("a folder");
    let pair = Pair::of(folder_manager(root.path(), &[])).await;
    for says_so in [false, true] {
        let mut sample = Sample::new(1000);
        pair.add(&sample).await.expect("added");
        sample.copy(&pair.storage).await.expect("copied");
        sample.segment.custom_metadata = None;
        match says_so {
            true => pair.delete(&sample).await.expect("deleted"),
            false => pair.storage.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted"),
        }
        soon("forgotten", || pair.count(&sample) == 0).await;
        assert!(objects_below(root.path()).is_empty());
    }
    soon("counted", || pair.metric("dangling-remote-log-count") == 0.0).await;
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_failed_for_good_ends_with_the_brokers_own_delete() {
    let root = tempfile::tempdir().expect("a folder");
    let pair = Pair::of(folder_manager(root.path(), &[])).await;
    let sample = Sample::new(1000);
    pair.add(&sample).await.expect("added");
    std::fs::remove_file(&sample.files.log).expect("was there");
    let error = pair.storage.copy(&sample.segment, &sample.files).await.expect_err("no file");
    assert!(matches!(error, StorageError::Source { .. }), "{error:?}");
    pair.delete(&sample).await.expect("deleted");
    assert_eq!(pair.metric("deletes-taken-over-total"), 0.0, "nothing can come late");
    assert_eq!(pair.count(&sample), 0);
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_ends_behind_its_partitions_deletion_leaves_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let pair = Pair::of(folder_manager(root.path(), &[("upload.rate.limit.bytes.per.second", "1048576")])).await;
    let sample = Sample::new(2 << 20);
    pair.add(&sample).await.expect("added");
    let copy = tokio::spawn({
        let (storage, segment, files) = (pair.storage.clone(), sample.segment.clone(), sample.files.clone());
        async move { storage.copy(&segment, &files).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!copy.is_finished(), "it runs");
    let delete = PartitionDelete {
        partition: sample.segment.id.partition.clone(),
        broker_id: BrokerId(1),
        event_timestamp_ms: now_ms(),
        state: PartitionDeleteState::Marked,
    };
    pair.metadata.put_partition_delete(delete, ADMISSION).expect("taken").await.expect("written");
    let copied = copy.await.expect("no panic");
    assert!(matches!(copied, Err(StorageError::Condemned { .. })), "{copied:?}");
    assert!(objects_below(root.path()).is_empty());
    pair.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_store_is_away_no_copy_begins_and_no_record_is_written() {
    let storage = manager(&[
        ("storage.backend.class", "s3"),
        ("storage.s3.bucket.name", "bkt"),
        ("storage.s3.endpoint.url", "http://127.0.0.1:9"),
        ("storage.aws.access.key.id", "k"),
        ("storage.aws.secret.access.key", "s"),
        ("storage.retry.attempts.max", "1"),
        ("upload.cleanup.timeout.ms", "50"),
        ("upload.outage.failures", "2"),
        ("upload.outage.retry.interval.ms", "3600000"),
    ]);
    let pair = Pair::of(storage).await;
    for _ in 0..2 {
        let sample = Sample::new(10);
        pair.add(&sample).await.expect("added");
        pair.storage.copy(&sample.segment, &sample.files).await.expect_err("nobody is there");
    }
    for _ in 0..100 {
        let sample = Sample::new(10);
        let refused = pair.add(&sample).await.expect_err("the store is away");
        assert!(matches!(refused, MetadataError::StoreDown { .. }) && refused.is_retriable(), "{refused:?}");
        assert!(refused.to_string().contains("127.0.0.1:9"), "{refused}");
        assert_eq!(pair.count(&sample), 0);
    }
    pair.close().await;
}
