//! Facts of Kafka's cache, the differences that we chose, and a comparison with its algorithm written down again.

mod anything;
mod stock;

use bytes::Bytes;

use super::*;
use crate::metadata::plan::update_key;
use crate::model::SegmentState::{self, CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
use crate::model::{BrokerId, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate};
use crate::wire::{PartitionDeleteRecord, Record, RecordKey, UpdateRecord, WholeSegment};

fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3)
}

fn id(number: u8) -> SegmentId {
    SegmentId { partition: partition(), uuid: KafkaUuid([number; 16]) }
}

fn whole(number: u8, start: i64, end: i64, epochs: &[(i32, i64)], state: SegmentState) -> SegmentMetadata {
    SegmentMetadata {
        id: id(number),
        start_offset: Offset(start),
        end_offset: Offset(end),
        max_timestamp_ms: 1,
        broker_id: BrokerId(0),
        event_timestamp_ms: 2,
        epochs: SegmentEpochs::new(epochs.iter().map(|&(e, o)| (LeaderEpoch(e), Offset(o))).collect()).expect("epochs"),
        size_bytes: 10,
        custom_metadata: None,
        state,
        is_txn_index_empty: false,
    }
}

fn update(number: u8, state: SegmentState) -> SegmentUpdate {
    SegmentUpdate { id: id(number), broker_id: BrokerId(1), event_timestamp_ms: 3, custom_metadata: None, state }
}

fn refused(from: SegmentState, to: SegmentState) -> Outcome {
    Outcome::Refused(Refusal::Step { from, to })
}

struct Subject(PartitionState);

impl Subject {
    fn new() -> Self {
        Self(PartitionState::new(partition()))
    }

    fn take(&mut self, key: Option<&RecordKey>, record: Record) -> Outcome {
        self.0.take(Entry { offset: 0, timestamp_ms: 0, seen_ms: 0, key, body: Some(&record) })
    }

    fn whole(&mut self, metadata: &SegmentMetadata) -> Outcome {
        let leader_epoch = LeaderEpoch::UNKNOWN;
        self.take(None, Record::Segment(WholeSegment { metadata: metadata.clone(), leader_epoch }))
    }

    fn say(&mut self, update: SegmentUpdate) -> Outcome {
        self.take(None, Record::Update(UpdateRecord { update, leader_epoch: LeaderEpoch::UNKNOWN, end_offset: None }))
    }

    fn claim(&mut self, update: SegmentUpdate) -> Outcome {
        let (segment, steps) = (update.id.uuid, (CopyStarted, Dangling));
        let key = update_key(&partition(), Offset(9), segment, Naming::UNKNOWN, steps, 1);
        let record = UpdateRecord { update, leader_epoch: LeaderEpoch::UNKNOWN, end_offset: None };
        self.take(Some(&key), Record::Update(record))
    }

    fn add(&mut self, number: u8, start: i64, end: i64, epochs: &[(i32, i64)]) {
        assert_eq!(self.whole(&whole(number, start, end, epochs, CopyStarted)), Outcome::Applied);
    }

    fn to(&mut self, number: u8, state: SegmentState) -> Outcome {
        self.say(update(number, state))
    }

    fn copied(&mut self, number: u8, start: i64, end: i64, epochs: &[(i32, i64)]) {
        self.add(number, start, end, epochs);
        assert_eq!(self.to(number, CopyFinished), Outcome::Applied);
    }

    fn find(&self, epoch: i32, offset: i64) -> Option<u8> {
        self.0.find(LeaderEpoch(epoch), Offset(offset)).map(|found| found.id.uuid.0[0])
    }

    fn listed(&self, epoch: Option<i32>) -> Vec<u8> {
        self.0.list(epoch.map(LeaderEpoch)).into_iter().map(|found| found.id.uuid.0[0]).collect()
    }

    fn state(&self, number: u8) -> Option<SegmentState> {
        self.0.state_of(&id(number))
    }
}

#[test]
fn only_a_finished_segment_is_found_but_every_state_is_listed() {
    let mut subject = Subject::new();
    subject.add(1, 0, 99, &[(0, 0)]);
    assert_eq!((subject.find(0, 5), subject.listed(None), subject.listed(Some(0))), (None, vec![1], vec![1]));
    assert_eq!(subject.0.highest_offset(LeaderEpoch(0)), None);
    let _ = subject.to(1, CopyFinished);
    assert_eq!((subject.find(0, 0), subject.find(0, 99), subject.find(0, 100)), (Some(1), Some(1), None));
    assert_eq!(subject.find(1, 5), None, "another epoch");
    let _ = subject.to(1, DeleteStarted);
    assert_eq!((subject.find(0, 5), subject.listed(Some(0))), (None, vec![1]));
    assert_eq!(subject.0.size_bytes(LeaderEpoch(0)), 10);
    let _ = subject.to(1, DeleteFinished);
    assert_eq!((subject.listed(None), subject.listed(Some(0))), (vec![], vec![]));
    assert_eq!(subject.0.highest_offset(LeaderEpoch(0)), Some(Offset(99)), "a broker must not copy it again");
}

#[test]
fn a_segment_of_several_epochs_serves_each_within_its_own_bounds() {
    let mut subject = Subject::new();
    subject.copied(1, 0, 99, &[(0, 0), (2, 40)]);
    assert_eq!((subject.find(0, 39), subject.find(0, 40)), (Some(1), None));
    assert_eq!((subject.find(2, 39), subject.find(2, 40), subject.find(2, 99)), (None, Some(1), Some(1)));
    assert_eq!(subject.0.highest_offset(LeaderEpoch(0)), Some(Offset(39)));
    assert_eq!(subject.listed(Some(2)), [1]);
}

#[test]
fn a_longer_duplicate_takes_over_and_the_first_is_only_listed() {
    let mut subject = Subject::new();
    subject.copied(1, 0, 100, &[(0, 0)]);
    subject.copied(2, 0, 200, &[(0, 0)]);
    assert_eq!((subject.find(0, 50), subject.find(0, 150)), (Some(2), Some(2)));
    assert_eq!(subject.listed(Some(0)), [1, 2]);
}

#[test]
fn an_overlapping_segment_of_a_later_leader_takes_over() {
    let mut subject = Subject::new();
    subject.copied(1, 10, 90, &[(0, 10)]);
    subject.copied(2, 5, 100, &[(0, 5)]);
    assert_eq!((subject.find(0, 50), subject.find(0, 95), subject.find(0, 4)), (Some(2), Some(2), None));
}

#[test]
fn a_shorter_segment_with_the_same_start_hides_nothing() {
    let mut subject = Subject::new();
    subject.add(1, 0, 100, &[(0, 0)]);
    subject.copied(2, 0, 200, &[(0, 0)]);
    let _ = subject.to(1, CopyFinished);
    assert_eq!((subject.find(0, 50), subject.find(0, 150)), (Some(2), Some(2)));
    assert_eq!(subject.listed(Some(0)), [1, 2], "retention sees both");
    let _ = subject.to(1, DeleteStarted);
    let _ = subject.to(1, DeleteFinished);
    assert_eq!((subject.find(0, 150), subject.listed(Some(0))), (Some(2), vec![2]));
}

#[test]
fn a_shorter_segment_serves_reads_once_the_longer_one_goes_whichever_a_reader_met_first() {
    let mut whole_log = Subject::new();
    whole_log.copied(2, 0, 200, &[(0, 0)]);
    let _ = whole_log.to(2, DeleteStarted);
    whole_log.copied(1, 0, 100, &[(0, 0)]);
    let _ = whole_log.to(2, DeleteStarted);
    let mut compacted_log = Subject::new();
    compacted_log.copied(2, 0, 200, &[(0, 0)]);
    compacted_log.copied(1, 0, 100, &[(0, 0)]);
    let _ = compacted_log.to(2, DeleteStarted);
    for subject in [whole_log, compacted_log] {
        assert_eq!((subject.find(0, 50), subject.find(0, 150)), (Some(1), None));
    }
}

#[test]
fn a_segment_within_another_one_hides_nothing_of_it() {
    let mut subject = Subject::new();
    subject.copied(1, 0, 200, &[(0, 0)]);
    subject.copied(2, 50, 100, &[(0, 50)]);
    assert_eq!((subject.find(0, 75), subject.find(0, 150)), (Some(1), Some(1)));
    let _ = subject.to(1, DeleteStarted);
    assert_eq!((subject.find(0, 75), subject.find(0, 150), subject.find(0, 10)), (Some(2), None, None));
}

#[test]
fn of_two_copies_of_the_same_offsets_the_later_one_serves_reads() {
    let mut subject = Subject::new();
    subject.add(1, 0, 99, &[(0, 0)]);
    subject.copied(2, 0, 99, &[(0, 0)]);
    let _ = subject.say(SegmentUpdate { event_timestamp_ms: 9, ..update(1, CopyFinished) });
    assert_eq!(subject.find(0, 50), Some(1));
    let _ = subject.to(1, DeleteStarted);
    assert_eq!(subject.find(0, 50), Some(2));
}

#[test]
fn the_next_transaction_index_is_looked_for_within_one_unbroken_epoch() {
    let mut subject = Subject::new();
    let empty = |number, start, end| SegmentMetadata {
        is_txn_index_empty: true,
        ..whole(number, start, end, &[(0, start)], CopyFinished)
    };
    for segment in [empty(1, 0, 9), empty(2, 10, 19), whole(3, 20, 29, &[(0, 20)], CopyFinished), empty(4, 30, 39)] {
        let _ = subject.whole(&segment);
    }
    let next = |subject: &Subject, offset| {
        subject.0.next_with_transaction_index(LeaderEpoch(0), Offset(offset)).map(|found| found.id.uuid.0[0])
    };
    assert_eq!((next(&subject, 0), next(&subject, 20), next(&subject, 30)), (Some(3), Some(3), None));
    let _ = subject.to(2, DeleteStarted);
    assert_eq!(next(&subject, 0), None, "a gap ends the search");
}

#[test]
fn the_search_ends_at_the_largest_offset() {
    let mut subject = Subject::new();
    let last = SegmentMetadata { is_txn_index_empty: true, ..whole(1, 0, i64::MAX, &[(0, 0)], CopyFinished) };
    let _ = subject.whole(&last);
    assert_eq!(subject.0.next_with_transaction_index(LeaderEpoch(0), Offset(i64::MAX)), None);
}

#[test]
fn an_update_replaces_custom_metadata_even_by_nothing() {
    let mut subject = Subject::new();
    subject.add(1, 0, 9, &[(0, 0)]);
    let custom = |subject: &Subject| subject.0.list(None)[0].custom_metadata.clone();
    let with = SegmentUpdate { custom_metadata: Some(Bytes::from_static(b"x")), ..update(1, CopyFinished) };
    let _ = subject.say(with);
    assert_eq!(custom(&subject), Some(Bytes::from_static(b"x")));
    let found = subject.0.find(LeaderEpoch(0), Offset(0)).expect("found");
    assert_eq!((found.broker_id, found.event_timestamp_ms), (BrokerId(1), 3));
    let _ = subject.to(1, DeleteStarted);
    assert_eq!(custom(&subject), None);
}

#[test]
fn updates_that_come_before_their_segment_are_replayed_in_log_order() {
    let mut subject = Subject::new();
    assert_eq!(subject.to(1, CopyFinished), Outcome::Kept);
    assert_eq!(subject.to(1, DeleteStarted), Outcome::Kept);
    assert_eq!((subject.state(1), subject.listed(None)), (None, vec![]));
    subject.add(1, 0, 9, &[(0, 0)]);
    assert_eq!(subject.state(1), Some(DeleteStarted));
    assert_eq!(subject.0.highest_offset(LeaderEpoch(0)), Some(Offset(9)), "it was finished in between");
}

#[test]
fn a_gap_left_by_compaction_is_no_obstacle() {
    let mut subject = Subject::new();
    for (number, to) in [(1, DeleteFinished), (2, DeleteStarted), (3, Dangling)] {
        subject.add(number, 0, 9, &[(0, 0)]);
        assert_eq!(subject.to(number, to), Outcome::Applied);
    }
    assert_eq!(subject.listed(None), [2, 3]);
    subject.copied(4, 10, 19, &[(0, 10)]);
    assert_eq!(subject.to(4, DeleteFinished), Outcome::Applied);
    assert_eq!(subject.find(0, 10), None);
}

#[test]
fn a_step_back_is_refused_and_changes_nothing() {
    let mut subject = Subject::new();
    subject.copied(1, 0, 9, &[(0, 0)]);
    assert_eq!(subject.to(1, CopyStarted), refused(CopyFinished, CopyStarted));
    assert_eq!(subject.find(0, 0), Some(1));
    let _ = subject.to(1, DeleteStarted);
    assert_eq!(subject.to(1, CopyFinished), refused(DeleteStarted, CopyFinished));
    assert_eq!((subject.find(0, 0), subject.state(1)), (None, Some(DeleteStarted)));
}

#[test]
fn nothing_brings_back_a_segment_whose_deletion_has_ended() {
    let mut subject = Subject::new();
    subject.copied(1, 0, 9, &[(0, 0)]);
    let _ = subject.to(1, DeleteFinished);
    let again = whole(1, 0, 9, &[(0, 0)], CopyFinished);
    assert_eq!(subject.whole(&again), refused(DeleteFinished, CopyFinished));
    assert_eq!(subject.to(1, DeleteStarted), refused(DeleteFinished, DeleteStarted));
    assert_eq!(subject.to(1, DeleteFinished), Outcome::Applied, "said already");
    assert_eq!(subject.listed(None), [0_u8; 0]);
}

#[test]
fn log_order_decides_between_a_claim_and_a_late_finish() {
    let mut subject = Subject::new();
    subject.add(1, 0, 9, &[(0, 0)]);
    assert_eq!(subject.claim(update(1, Dangling)), Outcome::Applied);
    assert_eq!(subject.to(1, CopyFinished), refused(Dangling, CopyFinished));
    subject.copied(2, 10, 19, &[(0, 10)]);
    assert_eq!(subject.claim(update(2, Dangling)), refused(CopyFinished, Dangling));
    assert_eq!((subject.find(0, 5), subject.find(0, 15)), (None, Some(2)));
}

#[test]
fn a_whole_record_changes_the_state_of_a_known_segment_only_from_the_first_one() {
    let mut subject = Subject::new();
    let finished = |number| whole(number, 0, 9, &[(0, 0)], CopyFinished);
    subject.add(1, 0, 9, &[(0, 0)]);
    assert_eq!(subject.whole(&finished(1)), Outcome::Applied);
    assert_eq!(subject.find(0, 0), Some(1));
    let _ = subject.to(1, DeleteStarted);
    let gone = whole(1, 0, 9, &[(0, 0)], DeleteFinished);
    assert_eq!(subject.whole(&gone), refused(DeleteStarted, DeleteFinished));
}

#[test]
fn a_whole_finished_record_overrules_a_claim_but_no_other_dangling() {
    let mut subject = Subject::new();
    let finished = |number| whole(number, 0, 9, &[(0, 0)], CopyFinished);
    subject.add(1, 0, 9, &[(0, 0)]);
    let _ = subject.claim(update(1, Dangling));
    assert_eq!(subject.whole(&finished(1)), Outcome::Applied);
    assert_eq!(subject.find(0, 0), Some(1));
    subject.add(2, 10, 19, &[(0, 10)]);
    let _ = subject.to(2, Dangling);
    assert_eq!(subject.whole(&finished(2)), refused(Dangling, CopyFinished));
}

#[test]
fn segments_that_cannot_be_are_refused() {
    let mut subject = Subject::new();
    for (start, end) in [(-1, 5), (5, 4), (i64::MIN, i64::MAX)] {
        let outcome = subject.whole(&whole(1, start, end, &[(0, start)], CopyStarted));
        assert!(matches!(outcome, Outcome::Refused(Refusal::Impossible(_))), "{start}..={end}");
    }
    assert_eq!(subject.0.live_segments(), 0);
}

#[test]
fn a_segment_read_without_a_key_is_named_by_its_id() {
    let mut subject = Subject::new();
    subject.add(1, 0, 9, &[(4, 0)]);
    assert_eq!(subject.0.naming_of(&id(1)), Some((Offset(9), Naming::UNKNOWN)));
}

#[test]
fn a_mark_of_the_partitions_deletion_changes_no_segment() {
    let mut subject = Subject::new();
    subject.copied(1, 0, 9, &[(0, 0)]);
    let delete = crate::model::PartitionDelete {
        partition: partition(),
        broker_id: BrokerId(0),
        event_timestamp_ms: 0,
        state: PartitionDeleteState::Finished,
    };
    let (leader_epoch, end_offset) = (LeaderEpoch::UNKNOWN, None);
    let _ = subject.take(None, Record::PartitionDelete(PartitionDeleteRecord { delete, leader_epoch, end_offset }));
    assert_eq!((subject.find(0, 0), subject.0.deletion()), (Some(1), Some(PartitionDeleteState::Finished)));
}

#[test]
fn what_there_is_one_of_for_each_segment_is_small() {
    assert!(size_of::<Option<Segment>>() <= 88, "{}", size_of::<Option<Segment>>());
    assert!(size_of::<Option<Gone>>() <= 40, "{}", size_of::<Option<Gone>>());
}

#[test]
fn a_burst_of_deletions_is_forgotten_an_hour_later_with_its_memory() {
    let (mut state, now_ms) = (PartitionState::new(partition()), 3_600_001);
    let mut say = |number: i64, to: SegmentState, timestamp_ms: i64| {
        let mut metadata = whole(0, number * 10, number * 10 + 9, &[(0, number * 10)], to);
        metadata.id.uuid = KafkaUuid::from_halves(number, number);
        let record = Record::Segment(WholeSegment { metadata, leader_epoch: LeaderEpoch::UNKNOWN });
        let body = Some(&record);
        let _ = state.take(Entry { offset: 0, timestamp_ms, seen_ms: now_ms, key: None, body });
        (state.gone.len(), state.fading.len(), state.fading.capacity())
    };
    for number in 0..1000 {
        say(number, CopyStarted, 0);
        let (gone, fading, capacity) = say(number, DeleteFinished, 0);
        assert_eq!((gone, fading), (usize::try_from(number).expect("small") + 1, gone));
        assert!(capacity <= fading + fading / 8 + 4, "{capacity} for {fading}");
    }
    let (gone, fading, capacity) = say(1000, CopyStarted, now_ms);
    assert_eq!((gone, fading), (0, 0));
    assert!(capacity <= 8, "{capacity}");
}

#[test]
fn a_record_from_the_future_neither_hastens_nor_holds_up_what_is_forgotten() {
    let mut state = PartitionState::new(partition());
    let mut say = |number: u8, to: SegmentState, timestamp_ms: i64, now_ms: i64| {
        let offset = i64::from(number) * 10;
        let mut metadata = whole(0, offset, offset + 9, &[(0, offset)], to);
        metadata.id.uuid = id(number).uuid;
        let record = Record::Segment(WholeSegment { metadata, leader_epoch: LeaderEpoch::UNKNOWN });
        let body = Some(&record);
        let _ = state.take(Entry { offset: 0, timestamp_ms, seen_ms: now_ms, key: None, body });
        (state.gone.len(), state.newest_ms())
    };
    const HOUR: i64 = 3_600_000;
    say(1, CopyStarted, 0, 0);
    assert_eq!(say(1, DeleteFinished, 0, 0), (1, 0));
    say(2, CopyStarted, 1_000 * HOUR, 5);
    assert_eq!(say(2, DeleteFinished, 1_000 * HOUR, 5), (2, 5), "the first is remembered");
    say(3, CopyStarted, 6, 6);
    assert_eq!(say(3, DeleteFinished, 6, 6), (3, 6));
    assert_eq!(say(4, CopyStarted, HOUR + 7, HOUR + 7), (0, HOUR + 7), "all three are forgotten in time");
}

/// The same add comes twice, as a writer that was not told may send it: the state stands in the update's own key.
#[test]
fn an_add_that_is_repeated_behind_its_keyed_finish_leaves_nothing_to_rewrite() {
    let mut subject = Subject::new();
    let add = || {
        Record::Segment(WholeSegment { metadata: whole(1, 0, 9, &[(0, 0)], CopyStarted), leader_epoch: LeaderEpoch(0) })
    };
    let (segment, naming) = (id(1).uuid, Naming { epoch: LeaderEpoch(0), has_segment_id: false });
    let key = |steps| update_key(&partition(), Offset(9), segment, naming, steps, 1);
    let (base, in_update_lane) = (key((CopyStarted, CopyStarted)), key((CopyStarted, CopyFinished)));
    let finished = UpdateRecord { update: update(1, CopyFinished), leader_epoch: LeaderEpoch(0), end_offset: None };
    let _ = subject.take(Some(&base), add());
    let _ = subject.take(Some(&in_update_lane), Record::Update(finished));
    assert_eq!(subject.0.work().unkeyed_facts, 0);
    let _ = subject.take(Some(&base), add());
    assert_eq!((subject.0.work().unkeyed_facts, subject.find(0, 0)), (0, Some(1)));
}

#[test]
fn a_partition_is_spent_when_nothing_is_left_of_it_and_it_has_been_quiet_for_an_hour() {
    const HOUR: i64 = 3_600_000;
    let (segment, naming) = (id(1).uuid, Naming { epoch: LeaderEpoch(0), has_segment_id: false });
    let key = |steps| update_key(&partition(), Offset(9), segment, naming, steps, 1);
    let mark = crate::metadata::plan::partition_delete_key(&partition());
    let mut state = PartitionState::new(partition());
    assert!(state.is_spent(0), "nothing was ever known");
    let mut take = |key: &RecordKey, body: Option<Record>| {
        let _ = state.take(Entry { offset: 0, timestamp_ms: 5, seen_ms: 5, key: Some(key), body: body.as_ref() });
        (state.is_spent(HOUR + 5), state.is_spent(HOUR + 6))
    };
    let base = key((CopyStarted, CopyStarted));
    let gone = key((DeleteStarted, DeleteFinished));
    let says = |state| {
        let (update, leader_epoch) = (update(1, state), LeaderEpoch(0));
        Some(Record::Update(UpdateRecord { update, leader_epoch, end_offset: None }))
    };
    let add = WholeSegment { metadata: whole(1, 0, 9, &[(0, 0)], CopyStarted), leader_epoch: LeaderEpoch(0) };
    let delete = crate::model::PartitionDelete {
        partition: partition(),
        broker_id: BrokerId(0),
        event_timestamp_ms: 0,
        state: PartitionDeleteState::Finished,
    };
    let marked = PartitionDeleteRecord { delete, leader_epoch: LeaderEpoch(0), end_offset: None };
    for (key, body) in [
        (&base, Some(Record::Segment(add))),
        (&key((CopyStarted, DeleteStarted)), says(DeleteStarted)),
        (&gone, says(DeleteFinished)),
        (&mark, Some(Record::PartitionDelete(marked))),
        (&base, None),
        (&key((CopyStarted, DeleteStarted)), None),
        (&gone, None),
    ] {
        assert_eq!(take(key, body), (false, false), "{key}");
    }
    assert_eq!(take(&mark, None), (false, true));
}
