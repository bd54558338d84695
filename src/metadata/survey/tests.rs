//! Surveys of logs that a test makes up.

use proptest::prelude::*;

use super::*;
use crate::metadata::partition::Naming;
use crate::metadata::plan::{add_key, update_key};
use crate::model::SegmentState::{self, CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate,
};
use crate::wire::RecordKey;
use crate::wire::{LEVEL_KEY, Lane, LevelRecord, SegmentKey, Version, encode_level, encode_segment, encode_update};

const SHORT: Naming = Naming { epoch: LeaderEpoch(3), has_segment_id: false };

fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 2)
}

/// A segment of epoch `epoch` in state COPY_SEGMENT_STARTED.
fn segment(number: u8, epoch: i32, start: i64, end: i64) -> SegmentMetadata {
    SegmentMetadata {
        id: SegmentId { partition: partition(), uuid: KafkaUuid([number; 16]) },
        start_offset: Offset(start),
        end_offset: Offset(end),
        max_timestamp_ms: 1,
        broker_id: BrokerId(4),
        event_timestamp_ms: 1_000,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(epoch), Offset(start))]).expect("epochs"),
        size_bytes: 10,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: true,
    }
}

/// A log of one metadata partition, and a survey that reads it.
struct Log {
    survey: Survey,
    next: i64,
}

impl Log {
    fn new() -> Self {
        Self { survey: Survey::new(1), next: 0 }
    }

    fn raw(&mut self, key: Option<&[u8]>, value: Option<&[u8]>) -> Verdict {
        let place = Place { partition: 0, offset: self.next, timestamp_ms: 1 };
        self.next += 1;
        self.survey.take(place, key, value).verdict
    }

    fn add(&mut self, segment: &SegmentMetadata, is_keyed: bool) -> Verdict {
        let key = add_key(&partition(), segment.end_offset, segment.id.uuid, SHORT).to_string();
        let value = encode_segment(segment, LeaderEpoch::UNKNOWN, Version::V0);
        self.raw(is_keyed.then_some(key.as_bytes()), Some(&value))
    }

    fn update(&mut self, segment: &SegmentMetadata, to: SegmentState, is_keyed: bool) -> Verdict {
        let id = segment.id.clone();
        let update =
            SegmentUpdate { id, broker_id: BrokerId(4), event_timestamp_ms: 1_000, custom_metadata: None, state: to };
        let steps = (CopyFinished, to);
        let key = update_key(&partition(), segment.end_offset, segment.id.uuid, SHORT, steps, 0).to_string();
        let value = encode_update(&update, LeaderEpoch::UNKNOWN, None, Version::V0);
        self.raw(is_keyed.then_some(key.as_bytes()), Some(&value))
    }

    fn finished(&mut self, segment: &SegmentMetadata) {
        self.add(segment, true);
        self.update(segment, CopyFinished, true);
    }

    fn user(&self) -> &UserPartition {
        self.survey.user_partitions()[0]
    }

    /// Kinds of findings, an hour after the segments' events.
    fn findings(&self) -> Vec<&'static str> {
        let found = check(&self.survey, 3_601_000, 3_600_000, &|_| true);
        found.iter().map(|finding| finding.kind.name()).collect()
    }
}

#[test]
fn a_whole_log_has_no_findings() {
    let mut log = Log::new();
    log.finished(&segment(1, 0, 0, 9));
    log.finished(&segment(2, 0, 10, 19));
    log.finished(&segment(3, 1, 20, 29));
    assert_eq!(log.findings(), Vec::<&str>::new());
    let covered = coverage(&log.user().segments());
    assert_eq!((covered.offsets, covered.gap_count()), (Some((Offset(0), Offset(29))), 0));
}

#[test]
fn gaps_within_an_epoch_and_between_two_are_problems_and_overlaps_are_not() {
    let mut log = Log::new();
    log.finished(&segment(1, 0, 5, 9));
    log.finished(&segment(2, 0, 12, 19));
    log.finished(&segment(3, 2, 25, 29));
    log.finished(&segment(4, 2, 28, 35));
    let covered = coverage(&log.user().segments());
    let gaps: Vec<_> = covered.epochs.iter().flat_map(|epoch| epoch.gaps.clone()).collect();
    assert_eq!(gaps, [(Offset(10), Offset(11)), (Offset(20), Offset(24))]);
    assert_eq!(covered.epochs[1].overlaps, [(Offset(28), Offset(29))]);
    assert_eq!(log.findings(), ["gap", "gap", "overlap"]);
}

#[test]
fn a_lost_branch_that_a_later_epoch_began_before_is_no_gap() {
    let mut log = Log::new();
    log.finished(&segment(1, 0, 0, 99));
    log.finished(&segment(2, 1, 50, 120));
    assert_eq!(log.findings(), Vec::<&str>::new());
}

#[test]
fn what_is_not_finished_is_a_problem_only_when_it_is_old() {
    let mut log = Log::new();
    log.add(&segment(1, 0, 0, 9), true);
    for (number, state) in [(2, DeleteStarted), (3, Dangling)] {
        let segment = segment(number, 0, 0, i64::from(number) * 10);
        log.add(&segment, true);
        log.update(&segment, state, true);
    }
    let mut kinds = log.findings();
    kinds.sort_unstable();
    assert_eq!(kinds, ["dangling", "unfinished-copy", "unfinished-delete"]);
    assert_eq!(check(&log.survey, 3_600_999, 3_600_000, &|_| true), []);
}

#[test]
fn facts_without_a_key_are_those_that_no_later_record_with_a_key_repeats() {
    let mut log = Log::new();
    let (a, b, c) = (segment(1, 0, 0, 9), segment(2, 0, 10, 19), segment(3, 0, 20, 29));
    log.add(&a, false);
    log.update(&a, CopyFinished, true);
    log.add(&b, true);
    log.update(&b, CopyFinished, false);
    log.add(&c, false);
    log.update(&c, CopyFinished, false);
    let rests = |log: &Log, segment: &SegmentMetadata| {
        log.user().trace(segment.id.uuid).expect("known").rests_on_a_record_without_key()
    };
    assert!(rests(&log, &a) && rests(&log, &b) && rests(&log, &c));
    log.update(&b, CopyFinished, true);
    assert!(!rests(&log, &b), "said again with a key");
    log.add(&SegmentMetadata { state: CopyFinished, ..c.clone() }, true);
    log.update(&c, CopyFinished, true);
    assert!(!rests(&log, &c), "the first record too, though as a step it changes nothing");
    let found = check(&log.survey, 0, 1, &|_| true);
    let facts = found.iter().find(|finding| finding.kind == FindingKind::FactsWithoutKey).expect("found");
    assert_eq!((facts.count, facts.records.first[0].offset), (1, 0));
}

#[test]
fn updates_of_a_segment_that_never_came_are_a_problem_unless_it_is_deleted() {
    let mut log = Log::new();
    let (lost, gone, emptied, late) =
        (segment(1, 0, 0, 9), segment(2, 0, 10, 19), segment(3, 0, 20, 29), segment(4, 0, 0, 39));
    assert_eq!(log.update(&lost, CopyFinished, true), Verdict::Judged(Outcome::Kept));
    log.update(&gone, DeleteStarted, true);
    log.update(&gone, DeleteFinished, true);
    log.update(&emptied, CopyFinished, true);
    let key = add_key(&partition(), emptied.end_offset, emptied.id.uuid, SHORT).to_string();
    assert_eq!(log.raw(Some(key.as_bytes()), None), Verdict::Skipped);
    log.update(&late, CopyFinished, true);
    log.add(&late, true);
    assert_eq!(log.findings(), ["missing-segment", "leftover-updates", "leftover-updates"]);
    let trace = log.user().trace(late.id.uuid).expect("known");
    assert_eq!((trace.state.offset, trace.base.offset, trace.state_key), (5, 6, KeyForm::Update));
}

#[test]
fn records_that_nobody_can_use_are_counted_by_what_is_wrong_with_them() {
    let mut log = Log::new();
    assert_eq!(log.raw(Some(b"k"), Some(b"\x01\x00\x02")), Verdict::Unreadable);
    assert_eq!(log.raw(None, Some(b"rubbish")), Verdict::Unreadable);
    let level = encode_level(LevelRecord { level: 2, timestamp_ms: 1 });
    assert_eq!(log.raw(Some(LEVEL_KEY.as_bytes()), Some(&level)), Verdict::Skipped);
    assert_eq!(log.raw(Some(LEVEL_KEY.as_bytes()), Some(b"2")), Verdict::Unreadable);
    let tally = log.survey.tally();
    let counts = [tally.newer.count, tally.unreadable.count, tally.bad_keys.count, tally.without_key.count];
    assert_eq!(counts, [1, 2, 1, 1]);
    assert_eq!(log.findings()[..2], ["unreadable-records", "newer-records"]);
    let mut survey = Survey::new(50);
    let value = encode_segment(&segment(1, 0, 0, 9), LeaderEpoch::UNKNOWN, Version::V0);
    let belongs = metadata_partition(&partition().topic_id, 2, 50);
    let place = Place { partition: (belongs + 1) % 50, offset: 0, timestamp_ms: 0 };
    assert_eq!(survey.take(place, None, Some(&value)).verdict, Verdict::Misplaced { belongs });
    assert!(survey.user_partitions().is_empty());
}

/// An export, read by a stock reader's rules, gives the same segments.
#[test]
fn exported_records_lead_to_the_same_segments_and_a_stock_reader_takes_each() {
    let mut log = Log::new();
    let custom = SegmentMetadata { custom_metadata: Some(vec![1, 2].into()), ..segment(6, 0, 90, 99) };
    log.finished(&segment(1, 0, 0, 200));
    log.finished(&segment(2, 1, 100, 150));
    log.add(&segment(3, 1, 201, 300), true);
    let (dangling, deleting, gone) = (segment(4, 1, 301, 400), segment(5, 1, 401, 500), segment(7, 1, 501, 502));
    log.add(&dangling, true);
    log.update(&dangling, Dangling, true);
    log.finished(&deleting);
    log.update(&deleting, DeleteStarted, true);
    log.finished(&gone);
    log.update(&gone, DeleteFinished, true);
    log.add(&custom, false);

    let records = stock_records(log.user());
    let mut imported = Log::new();
    for record in &records {
        assert_eq!(record.value[2], 0, "version 0");
        let verdict = imported.raw(Some(&record.key.to_bytes()), Some(&record.value));
        assert_eq!(verdict, Verdict::Judged(Outcome::Applied), "{}", record.key);
    }
    let said: Vec<_> = log
        .user()
        .segments()
        .into_iter()
        .map(|segment| match segment.state {
            Dangling => SegmentMetadata { state: DeleteStarted, ..segment },
            _ => segment,
        })
        .collect();
    assert_eq!(imported.user().segments(), said);
    assert_eq!(records.len(), 2 + 2 + 1 + 2 + 3 + 1);
    let highest = |log: &Log| log.user().state.highest_offset(LeaderEpoch(1));
    assert_eq!(highest(&imported), Some(Offset(500)), "a segment that was finished is said to have been");
    assert_ne!(highest(&log), None);
}

/// What levels 1 and 2 write, after the cleaner: rewrites, claims, tombstones, values of version 1.
#[test]
fn an_export_of_a_cleaned_log_of_level_2_has_nothing_that_a_stock_reader_dies_of() {
    let mut log = Log::new();
    let key = |of: &SegmentMetadata, lane| {
        let naming = SHORT;
        let (partition, leader_epoch) = ((&partition()).into(), naming.epoch);
        RecordKey::Segment(SegmentKey { partition, end_offset: of.end_offset, leader_epoch, attempt: None, lane })
            .to_bytes()
    };
    let level = encode_level(LevelRecord { level: 2, timestamp_ms: 1 });
    log.raw(Some(LEVEL_KEY.as_bytes()), Some(&level));
    let rewritten = SegmentMetadata { state: CopyFinished, ..segment(1, 0, 0, 9) };
    let lane = Lane::Rewrite { segment: rewritten.id.uuid, writer_epoch: LeaderEpoch(4) };
    log.raw(Some(&key(&rewritten, lane)), Some(&encode_segment(&rewritten, SHORT.epoch, Version::V1)));
    let claimed = segment(2, 0, 10, 19);
    log.raw(Some(&key(&claimed, Lane::Base)), Some(&encode_segment(&claimed, SHORT.epoch, Version::V1)));
    let claim = SegmentUpdate {
        id: claimed.id.clone(),
        broker_id: BrokerId(4),
        event_timestamp_ms: 1_000,
        custom_metadata: None,
        state: Dangling,
    };
    let lane = Lane::Claim { segment: claimed.id.uuid, nonce: 9 };
    let value = encode_update(&claim, SHORT.epoch, Some(claimed.end_offset), Version::V1);
    log.raw(Some(&key(&claimed, lane)), Some(&value));
    let gone = segment(3, 0, 20, 29);
    log.finished(&gone);
    log.update(&gone, DeleteFinished, true);
    log.raw(Some(&key(&gone, Lane::Base)), None);
    assert_eq!(log.findings(), ["dangling"]);

    let records = stock_records(log.user());
    let said: Vec<_> = records
        .iter()
        .map(|record| match wire::decode(&record.value) {
            Ok(Record::Segment(whole)) => (whole.metadata.id.uuid.0[0], whole.metadata.state),
            Ok(Record::Update(record)) => (record.update.id.uuid.0[0], record.update.state),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(said, [(1, CopyStarted), (1, CopyFinished), (2, CopyStarted), (2, DeleteStarted)]);
    assert!(records.iter().all(|record| record.value[2] == 0), "version 0");
}

/// Bytes that are often near a record or a key.
fn near(whole: Vec<u8>) -> impl Strategy<Value = Option<Vec<u8>>> {
    let flipped = (0..whole.len(), any::<u8>()).prop_map(move |(at, byte)| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    });
    proptest::option::of(prop_oneof![flipped, proptest::collection::vec(any::<u8>(), 0..80)])
}

proptest! {
    /// Whatever bytes records have, each is counted once by what became of it.
    #[test]
    fn every_record_is_counted_once(
        records in proptest::collection::vec(
            (
                near(add_key(&partition(), Offset(9), KafkaUuid([1; 16]), SHORT).to_bytes().to_vec()),
                near(encode_segment(&segment(1, 0, 0, 9), LeaderEpoch(1), Version::V1).to_vec()),
            ),
            0..8,
        ),
    ) {
        let mut log = Log::new();
        for (key, value) in &records {
            log.raw(key.as_deref(), value.as_deref());
        }
        let t = log.survey.tally();
        let places = t.refused.count + t.unreadable.count + t.newer.count + t.misplaced.count;
        prop_assert_eq!(t.applied + t.kept + t.tombstones + t.skipped + places, t.records);
        prop_assert_eq!(t.records, records.len() as u64);
        check(&log.survey, i64::MAX, 0, &|_| true);
        log.survey.user_partitions().into_iter().for_each(|user| drop(stock_records(user)));
    }
}
