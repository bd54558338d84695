//! What a manager does by itself, with a store that a test makes misbehave.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::*;
use crate::metadata::log::{Cleanup, LogShape, TopicPresence};
use crate::model::SegmentState::Dangling;
use crate::model::{CopyEnd, ObjectsError, PartitionDeleteState, SegmentObjects};
use crate::wire;

/// Objects by segment.
#[derive(Default)]
struct Store {
    objects: Mutex<HashSet<SegmentId>>,
    copying: Mutex<HashSet<SegmentId>>,
    ends: Mutex<HashMap<SegmentId, CopyEnd>>,
    is_down: AtomicBool,
    /// Deletes that fail before one succeeds.
    failures: AtomicUsize,
    deletes: AtomicUsize,
    /// What arrives late, right after it was deleted.
    latecomers: Mutex<HashSet<SegmentId>>,
}

#[async_trait::async_trait]
impl SegmentObjects for Store {
    async fn delete_objects(&self, segment: &SegmentMetadata) -> Result<(), ObjectsError> {
        self.deletes.fetch_add(1, Ordering::SeqCst);
        let is_failing = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if is_failing.is_ok() || self.is_down.load(Ordering::SeqCst) {
            return Err(ObjectsError::Unreachable("told to".to_owned()));
        }
        self.objects.lock().remove(&segment.id);
        if self.latecomers.lock().remove(&segment.id) {
            self.objects.lock().insert(segment.id.clone());
        }
        Ok(())
    }

    async fn has_objects(&self, segment: &SegmentMetadata) -> Result<bool, ObjectsError> {
        Ok(self.objects.lock().contains(&segment.id))
    }

    fn is_copying(&self, segment: &SegmentId) -> bool {
        self.copying.lock().contains(segment)
    }

    fn copy_end(&self, segment: &SegmentId) -> Option<CopyEnd> {
        self.ends.lock().get(segment).copied()
    }

    fn settled(&self, segment: &SegmentId) {
        self.ends.lock().remove(segment);
    }

    fn outage(&self) -> Option<String> {
        self.is_down.load(Ordering::SeqCst).then(|| "told so".to_owned())
    }
}

const FAILED: CopyEnd = CopyEnd::Failed { is_removed: false };
const QUICK: &[(&str, &str)] = &[
    ("undercroft.metadata.upkeep.interval.ms", "5"),
    ("undercroft.metadata.upkeep.grace.ms", "20"),
    ("undercroft.metadata.tombstone.delay.ms", "3600000"),
];

fn log_at(level: i32) -> Arc<ScriptedLog> {
    let log = ScriptedLog::new(1);
    *log.shape.lock() = LogShape { is_ours_alone: level > 0, ..LogShape::of(1) };
    log
}

/// A manager that leads topic 1 in epoch 0, and its store.
async fn joined(log: &Arc<ScriptedLog>, more: &[(&str, &str)]) -> (MetadataManager, Arc<Store>) {
    let manager = over(log, &[QUICK, more].concat());
    let store = Arc::new(Store::default());
    manager.join(Arc::clone(&store) as Arc<dyn SegmentObjects>);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    (manager, store)
}

/// Adds a segment whose copy begins and leaves something in the store.
async fn begin(manager: &MetadataManager, store: &Store, number: u32) {
    store.copying.lock().insert(id(1, number));
    add(manager, 1, number).await.expect("adds");
    store.objects.lock().insert(id(1, number));
}

fn end_copy(store: &Store, number: u32, how: CopyEnd) {
    store.ends.lock().insert(id(1, number), how);
    store.copying.lock().remove(&id(1, number));
}

/// The lanes of all keys, without what is the same in each.
fn lanes(log: &ScriptedLog) -> Vec<String> {
    let lane = |key: &String| key.split(':').nth(5).unwrap_or("BASE").to_owned();
    log.keys(0).iter().map(lane).collect()
}

/// Whether the last record says that a deletion has ended.
fn is_ended(log: &ScriptedLog) -> bool {
    lanes(log).last().is_some_and(|lane| lane == "GONE")
}

fn listed(manager: &MetadataManager) -> Vec<SegmentState> {
    manager.list(&partition(1), None).expect("lists").into_iter().map(|segment| segment.state).collect()
}

fn is_metric(manager: &MetadataManager, name: &str, value: f64) -> bool {
    (metric(manager, name) - value).abs() < 0.1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_failed_here_is_claimed_deleted_looked_for_again_and_ended() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[]).await;
    begin(&manager, &store, 0).await;
    begin(&manager, &store, 1).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(listed(&manager), [CopyStarted, CopyStarted], "they run");
    end_copy(&store, 0, FAILED);
    until("ended", || is_ended(&log)).await;
    assert_eq!(lanes(&log), ["BASE", "BASE", "CLAIM", "DEL", "GONE"]);
    until("applied", || listed(&manager) == [CopyStarted]).await;
    assert!(!store.objects.lock().contains(&id(1, 0)) && store.objects.lock().contains(&id(1, 1)));
    until("counted", || is_metric(&manager, "upkeep-deletes-total", 1.0)).await;
    assert!(is_metric(&manager, "claims-total", 1.0));
    update(&manager, 1, 1, CopyFinished).await.expect("finishes");
    end_copy(&store, 1, CopyEnd::Done);
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(listed(&manager), [CopyFinished]);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_arrives_after_the_delete_is_found_and_deleted_before_the_end() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[]).await;
    begin(&manager, &store, 0).await;
    store.latecomers.lock().insert(id(1, 0));
    end_copy(&store, 0, FAILED);
    until("ended", || is_ended(&log)).await;
    assert!(store.objects.lock().is_empty());
    assert!(is_metric(&manager, "upkeep-deletes-late-total", 1.0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delete_that_fails_goes_back_and_is_tried_again() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[]).await;
    store.failures.store(3, Ordering::SeqCst);
    begin(&manager, &store, 0).await;
    end_copy(&store, 0, FAILED);
    until("ended", || is_ended(&log)).await;
    // Claimed; three times begun and given back; begun and ended.
    assert_eq!(lanes(&log).len(), 1 + 1 + 6 + 2, "{:?}", lanes(&log));
    assert!(store.objects.lock().is_empty());
    assert!(is_metric(&manager, "upkeep-deletes-failed-total", 3.0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_level_0_only_own_failed_copies_are_deleted_and_nothing_is_written_that_stock_brokers_do_not_know() {
    let log = log_at(0);
    let old = wire::encode_segment(&segment(1, 7), LeaderEpoch(-1), wire::Version::V0);
    log.store(0, None, Some(old));
    let (manager, store) = joined(&log, &[("undercroft.metadata.copy.lease.ms", "1")]).await;
    store.failures.store(2, Ordering::SeqCst);
    begin(&manager, &store, 0).await;
    end_copy(&store, 0, FAILED);
    until("ended", || is_ended(&log)).await;
    assert_eq!(lanes(&log)[1..], ["BASE", "DEL", "GONE"], "retried without a word");
    assert!(store.objects.lock().is_empty() && is_metric(&manager, "claims-total", 0.0));
    assert!(is_metric(&manager, "rewrites-total", 0.0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_level_0_a_copy_that_was_given_up_cannot_finish() {
    let log = log_at(0);
    let (manager, store) = joined(&log, &[]).await;
    store.failures.store(usize::MAX, Ordering::SeqCst);
    begin(&manager, &store, 0).await;
    end_copy(&store, 0, FAILED);
    until("given up", || manager.ledger().is_condemned(&id(1, 0))).await;
    let late = update(&manager, 1, 0, CopyFinished).await;
    assert!(matches!(late, Err(MetadataError::Refused { is_written: false, .. })), "{late:?}");
    assert!(is_metric(&manager, "late-finishes-refused-total", 1.0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempt_of_another_broker_is_claimed_when_its_lease_is_over_and_not_before() {
    let log = log_at(2);
    let now = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().expect("later").as_millis()).expect("fits");
    for (number, age_ms) in [(0, 3_600_000), (1, 60_000)] {
        let attempt =
            SegmentMetadata { broker_id: BrokerId(2), event_timestamp_ms: now - age_ms, ..segment(1, number) };
        let key = format!("{}:topic-1:0:{}:0", KafkaUuid([1; 16]), attempt.end_offset);
        log.store(0, Some(key.into()), Some(wire::encode_segment(&attempt, LeaderEpoch(0), wire::Version::V1)));
    }
    let (manager, store) = joined(&log, &[("undercroft.metadata.copy.lease.ms", "600000")]).await;
    store.objects.lock().extend([id(1, 0), id(1, 1)]);
    until("ended", || is_ended(&log)).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(store.objects.lock().iter().cloned().collect::<Vec<_>>(), [id(1, 1)]);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_cleaned_that_is_only_followed() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[]).await;
    begin(&manager, &store, 0).await;
    manager.lead_and_follow(&[], &[assigned(1, None)]).expect("follows");
    end_copy(&store, 0, FAILED);
    tokio::time::sleep(Duration::from_millis(80)).await;
    assert_eq!(listed(&manager), [CopyStarted]);
    manager.lead_and_follow(&[assigned(1, Some(1))], &[]).expect("leads again");
    until("cleaned", || listed(&manager).is_empty()).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delete_that_the_store_did_not_do_is_owed_hidden_and_done_later() {
    for level in [2, 0] {
        let log = log_at(level);
        let (manager, store) = joined(&log, &[]).await;
        begin(&manager, &store, 0).await;
        update(&manager, 1, 0, CopyFinished).await.expect("finishes");
        end_copy(&store, 0, CopyEnd::Done);
        let ledger = manager.ledger();
        assert!(!ledger.take_over_delete(&segment(1, 0)), "nobody wants it deleted");
        assert!(!ledger.is_condemned(&id(1, 0)) && !ledger.is_condemned(&id(2, 0)));
        store.is_down.store(true, Ordering::SeqCst);
        update(&manager, 1, 0, DeleteStarted).await.expect("begins");
        assert!(ledger.take_over_delete(&segment(1, 0)) && ledger.is_condemned(&id(1, 0)));
        assert_eq!(listed(&manager), [DeleteStarted]);
        update(&manager, 1, 0, DeleteFinished).await.expect("is told that it is done");
        assert_eq!(listed(&manager), [], "the broker sees it no longer");
        assert_eq!(manager.size_bytes(&partition(1), LeaderEpoch(0)).expect("sums up"), 0);
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(store.objects.lock().contains(&id(1, 0)));
        let lanes_before = lanes(&log);
        assert_eq!(lanes_before[..3], ["BASE", "UPDATE", "DEL"], "level {level}");
        assert!(!lanes_before.contains(&"GONE".to_owned()), "not ended, level {level}");
        assert_eq!(lanes_before.len() > 3, level > 0, "what dangles is said only where it can be read");
        store.is_down.store(false, Ordering::SeqCst);
        until("ended", || is_ended(&log)).await;
        assert!(store.objects.lock().is_empty());
        assert!(is_metric(&manager, "deletes-taken-over-total", 1.0));
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_down_no_copy_begins_and_nothing_is_written() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[]).await;
    store.is_down.store(true, Ordering::SeqCst);
    let error = add(&manager, 1, 0).await.expect_err("held back");
    assert!(matches!(error, MetadataError::StoreDown { .. }) && error.is_retriable(), "{error}");
    assert!(log.keys(0).is_empty() && is_metric(&manager, "attempts-held-back-total", 1.0));
    store.is_down.store(false, Ordering::SeqCst);
    add(&manager, 1, 0).await.expect("adds");
    assert!(log.keys(0)[0].ends_with(":9:0"), "the short key was not used up: {:?}", log.keys(0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_storage_side_abandoned_copies_are_claimed_and_shown() {
    let log = log_at(2);
    let attempt = SegmentMetadata { broker_id: BrokerId(2), event_timestamp_ms: 1, ..segment(1, 0) };
    let key = format!("{}:topic-1:0:9:0", KafkaUuid([1; 16]));
    log.store(0, Some(key.into()), Some(wire::encode_segment(&attempt, LeaderEpoch(0), wire::Version::V1)));
    let manager = over(&log, QUICK);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("claimed", || manager.is_ready(&partition(1)) && listed(&manager) == [Dangling]).await;
    until("shown", || manager.metrics().prometheus().contains("dangling_remote_log_count{topic=\"topic-1\"} 1")).await;
    update(&manager, 1, 0, DeleteStarted).await.expect("the broker begins");
    update(&manager, 1, 0, DeleteFinished).await.expect("and ends");
    assert_eq!(listed(&manager), []);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn once_the_storage_side_is_gone_copies_are_let_be_and_what_it_owed_is_shown_again() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[("undercroft.metadata.upkeep.interval.ms", "3600000")]).await;
    begin(&manager, &store, 0).await;
    end_copy(&store, 0, CopyEnd::Done);
    for state in [CopyFinished, DeleteStarted] {
        update(&manager, 1, 0, state).await.expect("goes on");
    }
    let whole = SegmentMetadata { state: DeleteStarted, ..segment(1, 0) };
    assert!(manager.ledger().take_over_delete(&whole));
    update(&manager, 1, 0, DeleteFinished).await.expect("is told so");
    assert_eq!(listed(&manager), [], "hidden");
    let now = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().expect("later").as_millis()).expect("fits");
    let attempt = SegmentMetadata { event_timestamp_ms: now, ..segment(1, 1) };
    manager.part();
    end(manager.add(attempt, Duration::ZERO)).await.expect("another storage side copies this one");
    assert_eq!(listed(&manager).len(), 2);
    tokio::time::sleep(Duration::from_millis(60)).await;
    let core = manager.core().expect("open");
    crate::metadata::manager::upkeep::round(core, None).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert!(!lanes(&log).contains(&"CLAIM".to_owned()), "{:?}", lanes(&log));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_deleted_segment_no_record_is_left_when_its_time_has_come() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[("undercroft.metadata.tombstone.delay.ms", "30")]).await;
    begin(&manager, &store, 0).await;
    end_copy(&store, 0, FAILED);
    until("emptied", || log.has_no_values(0)).await;
    // A writer counts what it was told, and that is later than what stands in the log.
    until("counted", || is_metric(&manager, "tombstones-total", 4.0)).await;
    manager.close();
}

/// A broker's delete took long, and upkeep was faster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_ends_a_deletion_after_upkeep_did_is_told_that_it_is_so() {
    for tombstone_delay_ms in ["3600000", "30"] {
        let log = log_at(2);
        let (manager, store) = joined(&log, &[("undercroft.metadata.tombstone.delay.ms", tombstone_delay_ms)]).await;
        begin(&manager, &store, 0).await;
        update(&manager, 1, 0, CopyFinished).await.expect("finishes");
        end_copy(&store, 0, CopyEnd::Done);
        update(&manager, 1, 0, DeleteStarted).await.expect("begins");
        match tombstone_delay_ms {
            "30" => until("emptied", || log.has_no_values(0)).await,
            _ => until("ended", || is_ended(&log)).await,
        }
        until("applied", || listed(&manager).is_empty()).await;
        update(&manager, 1, 0, DeleteFinished).await.expect("ended already");
        manager.close();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_gone_twice_ends_without_an_object_and_without_a_record() {
    let log = log_at(2);
    let known = TopicPresence::Known(KafkaUuid([1; 16]));
    log.presence.lock().replace((known, vec![0]));
    // Its leader was down when it was deleted, and had left everything that there is to leave.
    for (number, state) in [(0, CopyStarted), (1, CopyFinished), (2, DeleteStarted), (3, Dangling), (4, DeleteFinished)]
    {
        let left = SegmentMetadata { state, broker_id: BrokerId(2), ..segment(1, number) };
        let key = format!("{}:topic-1:0:{}:0", KafkaUuid([1; 16]), left.end_offset);
        log.store(0, Some(key.into()), Some(wire::encode_segment(&left, LeaderEpoch(0), wire::Version::V1)));
    }
    let more = [("undercroft.metadata.tombstone.delay.ms", "30"), ("undercroft.metadata.copy.lease.ms", "100")];
    let manager = over(&log, &[QUICK, &more].concat());
    let store = Arc::new(Store::default());
    store.objects.lock().extend((0..4).map(|number| id(1, number)));
    manager.join(Arc::clone(&store) as Arc<dyn SegmentObjects>);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(store.objects.lock().len(), 4, "the topic is there, and somebody else leads it");
    log.presence.lock().replace((TopicPresence::Unknown, vec![0]));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(store.objects.lock().len(), 4, "nobody says that it is not");
    log.presence.lock().replace((TopicPresence::Known(KafkaUuid([9; 16])), vec![0]));
    until("no object", || store.objects.lock().is_empty()).await;
    until("no record", || log.has_no_values(0)).await;
    let mark = format!("{}:topic-1:0:PARTITION", KafkaUuid([1; 16]));
    assert!(log.keys(0).contains(&mark), "{:?}", log.keys(0));
    // By the log's clock, that was in 1970.
    let core = manager.core().expect("open");
    let states = || core.directory.read().meta.values().map(|meta| meta.states.lock().len()).sum::<usize>();
    until("no memory", || states() == 0).await;
    // A zombie writes once more: it is read as by somebody who never knew the topic, and cleaned up after.
    let late = SegmentMetadata { state: CopyFinished, broker_id: BrokerId(2), ..segment(1, 1) };
    let key = format!("{}:topic-1:0:{}:0", KafkaUuid([1; 16]), late.end_offset);
    store.objects.lock().insert(id(1, 1));
    log.store(0, Some(key.into()), Some(wire::encode_segment(&late, LeaderEpoch(0), wire::Version::V1)));
    until("no object again", || store.objects.lock().is_empty()).await;
    until("no record again", || log.has_no_values(0)).await;
    until("no memory again", || states() == 0).await;
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_gone_is_left_alone_by_who_does_not_lead_its_log() {
    let log = log_at(2);
    log.presence.lock().replace((TopicPresence::Missing, Vec::new()));
    let key = format!("{}:topic-1:0:9:0", KafkaUuid([1; 16]));
    let left = SegmentMetadata { state: CopyFinished, ..segment(1, 0) };
    log.store(0, Some(key.into()), Some(wire::encode_segment(&left, LeaderEpoch(0), wire::Version::V1)));
    let (manager, _store) = {
        let manager = over(&log, QUICK);
        let store = Arc::new(Store::default());
        manager.join(Arc::clone(&store) as Arc<dyn SegmentObjects>);
        (manager, store)
    };
    manager.lead_and_follow(&[assigned(2, Some(0))], &[]).expect("assigns");
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(log.keys(0).len(), 1, "{:?}", log.keys(0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_mark_of_a_deletion_condemns_copies_that_still_run() {
    let log = log_at(2);
    let (manager, store) = joined(&log, &[]).await;
    begin(&manager, &store, 0).await;
    assert!(!manager.ledger().is_condemned(&id(1, 0)));
    let delete = PartitionDelete {
        partition: partition(1),
        broker_id: BrokerId(1),
        event_timestamp_ms: 3,
        state: PartitionDeleteState::Marked,
    };
    end(manager.put_partition_delete(delete, Duration::ZERO)).await.expect("marks");
    assert!(manager.ledger().is_condemned(&id(1, 0)));
    let ledger = manager.ledger();
    manager.close();
    assert!(!ledger.is_condemned(&id(1, 0)), "closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_partition_of_a_compacted_log_gets_one_record_more_from_who_leads_it() {
    let log = ScriptedLog::new(2);
    *log.shape.lock() = LogShape { cleanup: Cleanup::Compact, ..LogShape::of(2) };
    log.presence.lock().replace((TopicPresence::Unknown, vec![1]));
    let settings = || vec![("segment.ms", "90000".to_owned()), ("max.compaction.lag.ms", "40".to_owned())];
    log.topic_settings.lock().push_back(Ok(settings()));
    for partition in 0..2 {
        let level = wire::encode_level(wire::LevelRecord { level: 2, timestamp_ms: 0 });
        log.store(partition, Some(wire::RecordKey::Level.to_bytes()), Some(level));
    }
    let manager = over(&log, QUICK);
    until("rolled", || log.keys(1).len() == 2).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(log.keys(1), ["remote.log.metadata.version"; 2], "once");
    assert_eq!(log.keys(0).len(), 1, "somebody else leads it");
    log.store(1, None, Some(bytes::Bytes::from_static(b"anything")));
    until("rolled again", || log.keys(1).len() == 4).await;
    assert!(is_metric(&manager, "log-rolls-total", 2.0));
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_an_embedded_log_a_failed_copy_ends_as_well_and_is_known_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let open = || {
        let own = [("undercroft.metadata.log", "embedded"), ("undercroft.metadata.embedded.path", path)];
        let manager = MetadataManager::open(&config(&[QUICK, &own].concat()), env()).expect("opens");
        manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
        manager
    };
    let manager = open();
    until("ready", || manager.is_ready(&partition(1))).await;
    let store = Arc::new(Store::default());
    begin(&manager, &store, 0).await;
    begin(&manager, &store, 1).await;
    manager.close();
    // The process that copied is dead: earlier events of its broker are nobody's.
    store.copying.lock().clear();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let manager = open();
    manager.join(Arc::clone(&store) as Arc<dyn SegmentObjects>);
    until("no object", || store.objects.lock().is_empty()).await;
    until("ended", || is_metric(&manager, "upkeep-deletes-total", 2.0)).await;
    assert_eq!(listed(&manager), []);
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_over_five_thousand_idle_partitions_costs_next_to_nothing() {
    let log = log_at(2);
    let uuid = |number: u32| {
        let mut uuid = [7; 16];
        uuid[..4].copy_from_slice(&number.to_be_bytes());
        KafkaUuid(uuid)
    };
    let partitions: Vec<_> = (0..5_000_u32)
        .map(|number| {
            let topic = number / 50;
            TopicIdPartition::new(uuid(topic), &format!("topic-{topic}"), i32::try_from(number % 50).expect("small"))
        })
        .collect();
    for (number, partition) in (0..).zip(&partitions) {
        let id = SegmentId { partition: partition.clone(), uuid: uuid(number) };
        let whole = SegmentMetadata { id, state: CopyFinished, ..segment(1, 0) };
        let key = format!("{}:{}:{}:9:0", partition.topic_id, partition.topic, partition.partition);
        log.store(0, Some(key.into()), Some(wire::encode_segment(&whole, LeaderEpoch(0), wire::Version::V1)));
    }
    let manager = over(&log, &[]);
    let assign = |partition| AssignedPartition { partition, leader_epoch: Some(LeaderEpoch(0)) };
    let leaders: Vec<_> = partitions.into_iter().map(assign).collect();
    manager.lead_and_follow(&leaders, &[]).expect("assigns");
    until("ready", || leaders.iter().all(|leader| manager.is_ready(&leader.partition))).await;
    let core = manager.core().expect("open");
    let mut took = Vec::new();
    for _ in 0..10 {
        let start = Instant::now();
        crate::metadata::manager::upkeep::round(core, None).await;
        took.push(start.elapsed());
    }
    took.sort_unstable();
    println!("a round over 5,000 idle partitions: {:?} at best, {:?} in the middle", took[0], took[5]);
    assert!(took[0] < Duration::from_millis(100), "{took:?}");
    assert_eq!(log.keys(0).len(), 5_000, "nothing was written");
    manager.close();
}
