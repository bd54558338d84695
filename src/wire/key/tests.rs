use proptest::prelude::*;

use super::*;

const ID: &str = "AAAAAAAAAAAAAAAAAAAAyg";
const SEGMENT: &str = "AAAAAAAAAAAAAAAAAAAA_g";

fn segment_key(attempt: Option<KafkaUuid>, lane: Lane) -> RecordKey {
    RecordKey::Segment(SegmentKey {
        partition: PartitionKey { topic_id: ID.parse().expect("an id"), topic: "orders".into(), partition: 7 },
        end_offset: Offset(99),
        leader_epoch: LeaderEpoch(5),
        attempt,
        lane,
    })
}

#[test]
fn every_form_has_its_spelling() {
    let segment: KafkaUuid = SEGMENT.parse().expect("an id");
    let base = format!("{ID}:orders:7:99:5");
    let lanes = [
        (Lane::Base, String::new()),
        (Lane::Update, ":UPDATE".to_owned()),
        (Lane::Delete { segment }, format!(":DEL:{SEGMENT}")),
        (Lane::Gone { segment }, format!(":GONE:{SEGMENT}")),
        (Lane::Claim { segment, nonce: 0xab }, format!(":CLAIM:{SEGMENT}:00000000000000ab")),
        (Lane::Rewrite { segment, writer_epoch: LeaderEpoch(6) }, format!(":REWRITE:{SEGMENT}:6")),
    ];
    for (lane, suffix) in lanes {
        for (attempt, infix) in [(None, String::new()), (Some(segment), format!(":{SEGMENT}"))] {
            let (key, text) = (segment_key(attempt, lane), format!("{base}{infix}{suffix}"));
            assert_eq!(key.to_string(), text);
            assert_eq!(parse_key(text.as_bytes()), Ok(key));
        }
    }
    let partition = PartitionKey { topic_id: ID.parse().expect("an id"), topic: "orders".into(), partition: 7 };
    assert_eq!(RecordKey::Partition(partition.clone()).to_string(), format!("{ID}:orders:7:PARTITION"));
    assert_eq!(parse_key(format!("{ID}:orders:7:PARTITION").as_bytes()), Ok(RecordKey::Partition(partition)));
    assert_eq!(RecordKey::Level.to_string(), "remote.log.metadata.version");
    assert_eq!(parse_key(b"remote.log.metadata.version"), Ok(RecordKey::Level));
}

#[test]
fn keys_of_the_kips_draft_are_read() {
    // The draft gives a partition delete `:UPDATE` too, with -1 for what it doesn't know.
    let Ok(RecordKey::Segment(key)) = parse_key(format!("{ID}:orders:7:-1:-1:UPDATE").as_bytes()) else {
        panic!("no segment key");
    };
    assert_eq!((key.end_offset, key.leader_epoch, key.lane), (Offset(-1), LeaderEpoch(-1), Lane::Update));
}

#[test]
fn an_error_points_at_the_field_that_is_wrong() {
    for (key, position) in [
        (String::new(), 0),
        ("remote.log.metadata.versions".to_owned(), 0),
        (ID.to_owned(), 22),
        (format!("{ID}::7:99:5"), 23),
        (format!("{ID}:orders:x:99:5"), 30),
        (format!("{ID}:orders:7"), 31),
        (format!("{ID}:orders:7:PARTITION:"), 32),
        (format!("{ID}:orders:7:99"), 34),
        (format!("{ID}:7:99:5"), 29), // an early draft had no topic name: `7` is taken for it
        (format!("{ID}:orders:7:99:5:"), 37),
        (format!("{ID}:orders:7:99:5:update"), 37),
        (format!("{ID}:orders:7:99:5:UPDATE:x"), 44),
        (format!("{ID}:orders:7:99:5:{SEGMENT}:{SEGMENT}"), 60),
        (format!("{ID}:orders:7:99:5:DEL"), 40),
        (format!("{ID}:orders:7:99:5:CLAIM:{SEGMENT}:AB"), 66),
    ] {
        assert_eq!(parse_key(key.as_bytes()).map_err(|e| e.position), Err(position), "{key}");
    }
    assert_eq!(parse_key(b"AAAA\xff").map_err(|e| e.position), Err(4));
}

#[test]
fn a_second_spelling_of_a_number_is_no_key() {
    for number in ["+5", "05", "-0", "-05", " 5", "5 ", "", "-", "99999999999999999999", "٥"] {
        assert!(parse_key(format!("{ID}:orders:7:{number}:5").as_bytes()).is_err(), "{number}");
        assert!(parse_key(format!("{ID}:orders:{number}:99:5").as_bytes()).is_err(), "{number}");
    }
}

fn any_key() -> impl Strategy<Value = RecordKey> {
    let id = || any::<[u8; 16]>().prop_map(KafkaUuid);
    let partition = (id(), "[a-zA-Z0-9._-]{1,40}", 0..i32::MAX).prop_map(|(topic_id, topic, partition)| PartitionKey {
        topic_id,
        topic: topic.into(),
        partition,
    });
    let lane = prop_oneof![
        Just(Lane::Base),
        Just(Lane::Update),
        id().prop_map(|segment| Lane::Delete { segment }),
        id().prop_map(|segment| Lane::Gone { segment }),
        (id(), any::<u64>()).prop_map(|(segment, nonce)| Lane::Claim { segment, nonce }),
        (id(), any::<i32>()).prop_map(|(segment, epoch)| Lane::Rewrite { segment, writer_epoch: LeaderEpoch(epoch) }),
    ];
    let segment = (partition.clone(), any::<i64>(), any::<i32>(), proptest::option::of(id()), lane).prop_map(
        |(partition, end, epoch, attempt, lane)| {
            let (end_offset, leader_epoch) = (Offset(end), LeaderEpoch(epoch));
            RecordKey::Segment(SegmentKey { partition, end_offset, leader_epoch, attempt, lane })
        },
    );
    prop_oneof![8 => segment, 1 => partition.prop_map(RecordKey::Partition), 1 => Just(RecordKey::Level)]
}

proptest! {
    /// Parsing undoes printing.
    #[test]
    fn keys_survive_the_way_there_and_back(key in any_key()) {
        prop_assert_eq!(parse_key(&key.to_bytes()), Ok(key));
    }

    /// Printing undoes parsing: no two byte strings are the same key.
    #[test]
    fn a_damaged_key_is_refused_or_another_key(key in any_key(), at: prop::sample::Index, to: u8) {
        let mut bytes = key.to_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(parsed) = parse_key(&bytes) {
            prop_assert_eq!(&parsed.to_bytes()[..], &bytes[..]);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_key(&bytes);
    }
}
