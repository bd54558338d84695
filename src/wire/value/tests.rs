//! Bytes from outside in both directions, then laws.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::model::{
    BrokerId, KafkaUuid, PartitionDeleteState, SegmentEpochs, SegmentId, SegmentState, TopicIdPartition,
};
use crate::wire::Malformed;

/// What was written by whom stands in the file.
const GOLDEN: &str = include_str!("../../../tests/data/metadata_records.txt");

fn golden() -> Vec<(&'static str, Vec<u8>)> {
    let lines = GOLDEN.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, hex) = line.split_once(": ").expect("name: hex");
            let byte = |i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal");
            (name, (0..hex.len()).step_by(2).map(byte).collect())
        })
        .collect()
}

fn bytes_of(name: &str) -> Vec<u8> {
    golden().into_iter().find(|&(n, _)| n == name).expect("a line of the file").1
}

fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid::from_halves(0, 0xca), "orders", 7)
}

fn segment_id() -> SegmentId {
    SegmentId { partition: partition(), uuid: KafkaUuid::from_halves(0, 0xfe) }
}

fn added() -> SegmentMetadata {
    SegmentMetadata {
        id: segment_id(),
        start_offset: Offset(0),
        end_offset: Offset(99),
        max_timestamp_ms: 100,
        broker_id: BrokerId(42),
        event_timestamp_ms: 123,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(0)), (LeaderEpoch(1), Offset(50))]).expect("valid"),
        size_bytes: 4096,
        custom_metadata: None,
        state: SegmentState::CopyStarted,
        is_txn_index_empty: false,
    }
}

fn update_to(state: SegmentState) -> SegmentUpdate {
    SegmentUpdate { id: segment_id(), broker_id: BrokerId(42), event_timestamp_ms: 456, custom_metadata: None, state }
}

fn delete(state: PartitionDeleteState) -> PartitionDelete {
    PartitionDelete { partition: partition(), broker_id: BrokerId(42), event_timestamp_ms: 789, state }
}

const NO_EPOCH: LeaderEpoch = LeaderEpoch::UNKNOWN;

fn segment_record(metadata: SegmentMetadata, epoch: LeaderEpoch) -> Record {
    Record::Segment(WholeSegment { metadata, leader_epoch: epoch })
}

fn update_record(state: SegmentState, leader_epoch: LeaderEpoch, end_offset: Option<Offset>) -> Record {
    Record::Update(UpdateRecord { update: update_to(state), leader_epoch, end_offset })
}

fn delete_record(state: PartitionDeleteState, leader_epoch: LeaderEpoch, end_offset: Option<Offset>) -> Record {
    Record::PartitionDelete(PartitionDeleteRecord { delete: delete(state), leader_epoch, end_offset })
}

fn encode(record: &Record, version: Version) -> Option<Bytes> {
    match record {
        Record::Segment(r) => Some(encode_segment(&r.metadata, r.leader_epoch, version)),
        Record::Update(r) => Some(encode_update(&r.update, r.leader_epoch, r.end_offset, version)),
        Record::PartitionDelete(r) => Some(encode_partition_delete(&r.delete, r.leader_epoch, r.end_offset, version)),
        Record::Level(level) => Some(encode_level(*level)),
        Record::Snapshot => None,
    }
}

/// Name in the file, the record, and the version whose encoder writes exactly these bytes.
fn readable() -> Vec<(&'static str, Record, Option<Version>)> {
    use PartitionDeleteState::{Finished, Marked};
    use SegmentState::{CopyFinished, Dangling};
    let (epoch, end) = (LeaderEpoch(5), Some(Offset(99)));
    let txn_empty = || SegmentMetadata { is_txn_index_empty: true, ..added() };
    let custom = SegmentMetadata { custom_metadata: Some(Bytes::from_static(&[1, 2, 3, 4])), ..added() };
    vec![
        ("add v0", segment_record(added(), NO_EPOCH), Some(Version::V0)),
        ("add v0 txnIndexEmpty=true", segment_record(txn_empty(), NO_EPOCH), Some(Version::V0)),
        ("add v0 custom 01020304", segment_record(custom, NO_EPOCH), Some(Version::V0)),
        ("update v0 COPY_SEGMENT_FINISHED", update_record(CopyFinished, NO_EPOCH, None), Some(Version::V0)),
        ("partition delete MARKED v0", delete_record(Marked, NO_EPOCH, None), Some(Version::V0)),
        ("snapshot v0", Record::Snapshot, None),
        ("add v1 epoch=5", segment_record(added(), epoch), Some(Version::V1)),
        ("add v1 epoch=5 txnEmpty", segment_record(txn_empty(), epoch), Some(Version::V1)),
        ("update v1 COPY_FINISHED epoch=5 endOffset=99", update_record(CopyFinished, epoch, end), Some(Version::V1)),
        ("partition delete FINISHED v1 epoch=5 endOffset=99", delete_record(Finished, epoch, end), Some(Version::V1)),
        ("update v0 + tags 0,1", update_record(CopyFinished, NO_EPOCH, None), None),
        ("add v0 + tag 1", segment_record(added(), NO_EPOCH), None),
        ("update v0 + tags 10000,10001", update_record(CopyFinished, NO_EPOCH, None), None),
        ("add v0 + txnEmpty + tag 10000", segment_record(txn_empty(), NO_EPOCH), None),
        ("update v0 state=4 (DANGLING)", update_record(Dangling, NO_EPOCH, None), Some(Version::V0)),
    ]
}

#[test]
fn golden_bytes_are_read_as_the_records_that_they_are() {
    for (name, record, _) in readable() {
        assert_eq!(decode(&bytes_of(name)), Ok(record), "{name}");
    }
}

#[test]
fn the_forms_that_we_write_are_the_golden_bytes() {
    let written: Vec<_> = readable().into_iter().filter_map(|(n, r, version)| Some((n, r, version?))).collect();
    assert_eq!(written.len(), 10);
    for (name, record, version) in written {
        assert_eq!(encode(&record, version).as_deref(), Some(&bytes_of(name)[..]), "{name}");
    }
}

#[test]
fn golden_bytes_that_kafka_refuses_are_refused() {
    let malformed = |position, field, why| DecodeError::Malformed(Malformed { position, field, why });
    let refused = [
        ("update v0 + 1 garbage byte", malformed(63, "record", "bytes are left behind the end")),
        ("frame version 0", malformed(0, "frame version", "not 1")),
        ("api key 9", DecodeError::UnknownApiKey { api_key: 9 }),
    ];
    for (name, error) in &refused {
        assert_eq!(decode(&bytes_of(name)).as_ref(), Err(error), "{name}");
    }
    assert_eq!(golden().len(), refused.len() + readable().len(), "each line of the file is in one of the tables");
}

#[test]
fn a_level_record_is_the_bytes_that_the_formats_page_shows() {
    let level = LevelRecord { level: 2, timestamp_ms: 0x018f_0000_0000 };
    let bytes = [1, 100, 0, 2, 0, 0, 1, 0x8f, 0, 0, 0, 0, 0];
    assert_eq!(encode_level(level)[..], bytes);
    assert_eq!(decode(&bytes), Ok(Record::Level(level)));
    let tagged = [&bytes[..12], &[1, 7, 1, 9]].concat();
    assert_eq!(decode(&tagged), Ok(Record::Level(level)), "fields of a later release are passed over");
    let newer = DecodeError::NewerVersion { api_key: 100, version: 1 };
    assert_eq!(decode(&[1, 100, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Err(newer));
}

#[test]
fn version_0_says_neither_epoch_nor_end_offset() {
    for (name, record, version) in readable() {
        if version == Some(Version::V1) {
            let again = encode(&record, Version::V0).map(|value| decode(&value));
            let expected = match record {
                Record::Segment(r) => Record::Segment(WholeSegment { leader_epoch: NO_EPOCH, ..r }),
                Record::Update(r) => Record::Update(UpdateRecord { leader_epoch: NO_EPOCH, end_offset: None, ..r }),
                Record::PartitionDelete(r) => {
                    Record::PartitionDelete(PartitionDeleteRecord { leader_epoch: NO_EPOCH, end_offset: None, ..r })
                }
                same @ (Record::Snapshot | Record::Level(_)) => same,
            };
            assert_eq!(again, Some(Ok(expected)), "{name}");
        }
    }
}

/// `name`'s bytes with those from `at` on replaced by `by`.
fn patched(name: &str, at: usize, by: &[u8]) -> Result<Record, DecodeError> {
    let mut bytes = bytes_of(name);
    bytes[at..at + by.len()].copy_from_slice(by);
    decode(&bytes)
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    type Error = (usize, &'static str, &'static str);
    let malformed = |result: Result<Record, DecodeError>| match result {
        Err(DecodeError::Malformed(Malformed { position, field, why })) => (position, field, why),
        other => panic!("{other:?}"),
    };
    let table: [(usize, &[u8], Error); 9] = [
        (3, &[0], (3, "topic name", "null")),
        (3, &[0xff, 0xff, 0x7f], (6, "topic name", "the bytes end inside of it")),
        (4, &[0xff], (3, "topic name", "not UTF-8")),
        (26, &[0xff], (26, "partition", "negative")),
        (48, &[0xff], (48, "start offset", "negative")),
        (56, &[0xff], (56, "end offset", "before the start offset")),
        (84, &[0], (84, "leader epochs", "null")),
        (84, &[1], (84, "leader epochs", "empty")),
        (84, &[0xff, 0xff, 0xff, 0x0f], (84, "leader epochs", "more elements than the bytes can hold")),
    ];
    for (at, by, expected) in table {
        // `empty` shifts the rest, so it is met before anything behind it is looked at.
        assert_eq!(malformed(patched("add v0", at, by)), expected, "{at}");
    }
    assert_eq!(malformed(patched("add v0", 98, &[0, 0, 0, 0])), (84, "leader epochs", "do not ascend"));
    assert_eq!(malformed(decode(&[])), (0, "frame version", "the bytes end inside of it"));
}

#[test]
fn a_newer_version_is_told_from_damage() {
    assert_eq!(patched("add v0", 2, &[2]), Err(DecodeError::NewerVersion { api_key: 0, version: 2 }));
    assert_eq!(patched("snapshot v0", 2, &[9]), Err(DecodeError::NewerVersion { api_key: 3, version: 9 }));
    assert_eq!(patched("api key 9", 2, &[9]), Err(DecodeError::UnknownApiKey { api_key: 9 }));
}

#[test]
fn a_state_that_nobody_knows_is_told_from_damage() {
    let state = bytes_of("add v0").len() - 2;
    assert_eq!(patched("add v0", state, &[5]), Err(DecodeError::UnknownState { api_key: 0, state: 5 }));
    assert_eq!(
        patched("update v0 COPY_SEGMENT_FINISHED", 61, &[0xff]),
        Err(DecodeError::UnknownState { api_key: 1, state: -1 })
    );
    assert_eq!(
        patched("partition delete MARKED v0", 43, &[3]),
        Err(DecodeError::UnknownState { api_key: 2, state: 3 })
    );
}

#[test]
fn empty_custom_metadata_is_not_none() {
    for custom_metadata in [None, Some(Bytes::new())] {
        let record = segment_record(SegmentMetadata { custom_metadata, ..added() }, NO_EPOCH);
        let value = encode(&record, Version::V0).expect("written");
        assert_eq!(decode(&value), Ok(record));
    }
}

fn any_segment_id() -> impl Strategy<Value = SegmentId> {
    (any::<[u8; 16]>(), "[a-zA-Z0-9._-]{1,249}", 0..=i32::MAX, any::<[u8; 16]>()).prop_map(
        |(topic_id, topic, partition, uuid)| SegmentId {
            partition: TopicIdPartition::new(KafkaUuid(topic_id), &topic, partition),
            uuid: KafkaUuid(uuid),
        },
    )
}

fn any_custom_metadata() -> impl Strategy<Value = Option<Bytes>> {
    proptest::option::of(prop::collection::vec(any::<u8>(), 0..200).prop_map(Bytes::from))
}

fn any_state() -> impl Strategy<Value = SegmentState> {
    prop::sample::select(&SegmentState::ALL[..])
}

fn any_epoch() -> impl Strategy<Value = LeaderEpoch> {
    (-1..i32::MAX).prop_map(LeaderEpoch)
}

fn any_end_offset() -> impl Strategy<Value = Option<Offset>> {
    proptest::option::of((0..=i64::MAX).prop_map(Offset))
}

fn any_epochs() -> impl Strategy<Value = SegmentEpochs> {
    (prop::collection::btree_set(any::<i32>(), 1..20), any::<i64>()).prop_map(|(epochs, from)| {
        let entries = epochs.into_iter().zip(0..).map(|(e, i)| (LeaderEpoch(e), Offset(from.saturating_add(i))));
        SegmentEpochs::new(entries.collect()).expect("ascending")
    })
}

fn any_segment() -> impl Strategy<Value = SegmentMetadata> {
    let numbers = (any::<i64>(), any::<i32>(), any::<i64>(), any::<i32>());
    let offsets = (0..=i64::MAX).prop_flat_map(|start| (Just(start), start..=i64::MAX));
    (any_segment_id(), offsets, numbers, any_epochs(), any_custom_metadata(), any_state(), any::<bool>()).prop_map(
        |(
            id,
            (start, end),
            (max_timestamp_ms, broker, event_timestamp_ms, size_bytes),
            epochs,
            custom,
            state,
            empty,
        )| {
            SegmentMetadata {
                id,
                start_offset: Offset(start),
                end_offset: Offset(end),
                max_timestamp_ms,
                broker_id: BrokerId(broker),
                event_timestamp_ms,
                epochs,
                size_bytes,
                custom_metadata: custom,
                state,
                is_txn_index_empty: empty,
            }
        },
    )
}

fn any_record() -> impl Strategy<Value = Record> {
    let segment = (any_segment(), any_epoch()).prop_map(|(metadata, epoch)| segment_record(metadata, epoch));
    let update = (
        any_segment_id(),
        any::<i32>(),
        any::<i64>(),
        any_custom_metadata(),
        any_state(),
        any_epoch(),
        any_end_offset(),
    )
        .prop_map(|(id, broker, event_timestamp_ms, custom_metadata, state, leader_epoch, end_offset)| {
            let broker_id = BrokerId(broker);
            let update = SegmentUpdate { id, broker_id, event_timestamp_ms, custom_metadata, state };
            Record::Update(UpdateRecord { update, leader_epoch, end_offset })
        });
    let delete = (any_segment_id(), any::<i32>(), any::<i64>(), 0..3, any_epoch(), any_end_offset()).prop_map(
        |(id, broker, event_timestamp_ms, state, leader_epoch, end_offset)| {
            let state = PartitionDeleteState::from_number(state).expect("a state");
            let broker_id = BrokerId(broker);
            let delete = PartitionDelete { partition: id.partition, broker_id, event_timestamp_ms, state };
            Record::PartitionDelete(PartitionDeleteRecord { delete, leader_epoch, end_offset })
        },
    );
    let level = (any::<i8>(), any::<i64>())
        .prop_map(|(level, timestamp_ms)| Record::Level(LevelRecord { level, timestamp_ms }));
    prop_oneof![segment, update, delete, level]
}

proptest! {
    /// Decoding undoes encoding, names included.
    #[test]
    fn records_survive_the_way_there_and_back(record in any_record()) {
        let value = encode(&record, Version::V1).expect("written");
        let again = decode(&value);
        // Partitions are equal whatever their names are; the printed form has the names.
        prop_assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, DecodeError>(&record)));
        prop_assert_eq!(again, Ok(record));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn damaged_records_neither_panic_nor_grow(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let golden = golden();
        let mut bytes = which.get(&golden).1.clone();
        for (at, to) in damage {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        for bytes in [&bytes[..], &bytes[..cut.index(bytes.len())]] {
            if let Ok(Record::Segment(segment)) = decode(bytes) {
                prop_assert!(segment.metadata.epochs.entries().len() * 13 <= bytes.len());
            }
        }
    }
}
