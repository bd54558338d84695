use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::model::{
    BrokerId, IndexType, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState,
    TopicIdPartition,
};

const SMALL: u8 = 9;

fn segment(topic: &str, size: usize) -> SegmentMetadata {
    SegmentMetadata {
        id: SegmentId { partition: TopicIdPartition::new(KafkaUuid([7; 16]), topic, 3), uuid: KafkaUuid([9; 16]) },
        start_offset: Offset(100),
        end_offset: Offset(199),
        max_timestamp_ms: 0,
        broker_id: BrokerId(1),
        event_timestamp_ms: 0,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(100))]).expect("one"),
        size_bytes: i32::try_from(size).expect("small"),
        custom_metadata: None,
        state: SegmentState::CopyStarted,
        is_txn_index_empty: true,
    }
}

/// A whole object, built from nothing but the specification's pieces.
fn object(data: &[u8], block_size: BlockSize, indexes: &[(IndexType, Bytes)]) -> (Vec<u8>, usize) {
    let segment = segment("orders", data.len());
    let mut object = Vec::new();
    for (number, block) in data.chunks(usize::try_from(block_size.bytes()).expect("small")).enumerate() {
        object.extend(block);
        object.extend(seal_block(&segment.id.uuid, u32::try_from(number).expect("few"), block));
    }
    assert_eq!(object.len() as u64, data_length(data.len() as u64, block_size));
    let (parts, length) = build_tail(&segment, block_size, indexes).expect("small");
    let tail_position = object.len();
    for part in parts {
        object.extend(part);
    }
    assert_eq!(object.len(), tail_position + length as usize);
    (object, tail_position)
}

fn indexes() -> Vec<(IndexType, Bytes)> {
    vec![
        (IndexType::Offset, Bytes::from(vec![1; 40])),
        (IndexType::Timestamp, Bytes::from(vec![2; 24])),
        (IndexType::ProducerSnapshot, Bytes::new()),
        (IndexType::LeaderEpoch, Bytes::from_static(b"0\n1\n0 100\n")),
    ]
}

/// Everything that a reader does to an object; `Err` names the first part that is wrong.
fn read_all(object: &[u8], tail_position: usize, size: u64) -> Result<(Vec<u8>, Vec<Option<Bytes>>), String> {
    let block_size = BlockSize::from_exponent(SMALL).expect("valid");
    let (id, mut data) = (KafkaUuid([9; 16]), Vec::new());
    for number in 0..block_count(size, block_size) {
        let range = stored_range(number..number + 1, size, block_size);
        let stored = object
            .get(usize::try_from(range.start).expect("small")..usize::try_from(range.end).expect("small"))
            .ok_or("cut")?;
        let length = verify_block(&id, u32::try_from(number).expect("few"), stored)
            .map_err(|error| format!("block {number}: {error}"))?;
        data.extend(&stored[..length]);
    }
    let tail = Bytes::copy_from_slice(object.get(tail_position..).ok_or("cut")?);
    let footer = Footer::decode(&tail, object.len() as u64).map_err(|error| format!("footer: {error}"))?;
    let all =
        IndexType::ALL.map(|index| footer.index(&tail, index).map_err(|error| format!("{}: {error}", index.name())));
    Ok((data, all.into_iter().collect::<Result<_, _>>()?))
}

fn small_object() -> (Vec<u8>, usize, Vec<u8>) {
    let data: Vec<u8> = (0..1300_u32).map(|i| (i % 251) as u8).collect();
    let (object, tail) = object(&data, BlockSize::from_exponent(SMALL).expect("valid"), &indexes());
    (object, tail, data)
}

#[test]
fn what_is_written_is_read() {
    let (object, tail, data) = small_object();
    let (read, found) = read_all(&object, tail, 1300).expect("intact");
    assert_eq!(read, data);
    assert_eq!(found[IndexType::Offset as usize].as_deref(), Some(&[1; 40][..]));
    assert_eq!(found[IndexType::ProducerSnapshot as usize].as_deref(), Some(&[][..]), "empty is not absent");
    assert_eq!(found[IndexType::Transaction as usize], None);
    let footer = Footer::decode(&object[tail..], object.len() as u64).expect("intact");
    assert_eq!((footer.topic.as_deref(), footer.partition, footer.end_offset), (Some("orders"), 3, 199));
}

#[test]
fn every_flipped_bit_of_an_object_is_found() {
    let (object, tail, _) = small_object();
    for at in 0..object.len() {
        for bit in 0..8 {
            let mut broken = object.clone();
            broken[at] ^= 1 << bit;
            let error = read_all(&broken, tail, 1300).expect_err(&format!("byte {at} bit {bit} went unnoticed"));
            assert!(at >= tail || error.starts_with(&format!("block {}:", at / 516)), "byte {at}: {error}");
        }
    }
}

#[test]
fn an_object_cut_anywhere_is_found() {
    let (object, tail, _) = small_object();
    for cut in 0..object.len() {
        assert!(read_all(&object[..cut], tail, 1300).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_footer_cut_at_every_byte_from_the_front_is_found() {
    let (object, tail, _) = small_object();
    let footer_length = Trailer::decode(&object).expect("intact").footer_length as usize + TRAILER_LENGTH;
    let footer_position = object.len() - footer_length;
    assert!(footer_position > tail);
    for cut in footer_position + 1..object.len() {
        assert!(Footer::decode(&object[cut..], object.len() as u64).is_err(), "{cut}");
    }
    assert!(Footer::decode(&object[footer_position..], object.len() as u64).is_ok());
    assert!(
        Footer::decode(&object[footer_position..], object.len() as u64 - 1).is_err(),
        "an object of another length"
    );
}

/// Footers with a right checksum and wrong contents: only our own writer could make them, and still nothing follows them.
#[test]
fn positions_that_point_outside_are_refused() {
    let (object, tail, _) = small_object();
    let footer_length = Trailer::decode(&object).expect("intact").footer_length as usize;
    let footer_position = object.len() - TRAILER_LENGTH - footer_length;
    let forge = |at: usize, bytes: &[u8]| {
        let mut forged = object[footer_position..].to_vec();
        forged[at..at + bytes.len()].copy_from_slice(bytes);
        let (footer, trailer) = forged.split_at(footer_length);
        let crc = super::super::crc::crc32c_of(&[footer, &trailer[4..]]);
        forged[footer_length..footer_length + 4].copy_from_slice(&crc.to_be_bytes());
        Footer::decode(&forged, object.len() as u64)
    };
    const FIRST_ENTRY: usize = 4 + 32 + 4 + 16 + 8 + 8 + 1;
    for (what, at, bytes) in [
        ("segment size", 56, &u64::MAX.to_be_bytes()[..]),
        ("data length", 64, &u64::MAX.to_be_bytes()),
        ("data length 0", 64, &0_u64.to_be_bytes()),
        ("index count", 72, &[5]),
        ("index count 0", 72, &[0]),
        ("index type", FIRST_ENTRY, &[200]),
        ("position", FIRST_ENTRY + 1, &u64::MAX.to_be_bytes()),
        ("length", FIRST_ENTRY + 9, &u32::MAX.to_be_bytes()),
        ("block size", 3, &[63]),
        ("second type", FIRST_ENTRY + 21, &[0]),
        ("section count", FIRST_ENTRY + 4 * 21, &[255]),
        ("section length", FIRST_ENTRY + 4 * 21 + 2, &u32::MAX.to_be_bytes()),
    ] {
        assert!(matches!(forge(at, bytes), Err(FooterError::Corrupt(_))), "{what}");
    }
    for (what, at) in [("checksum", 0), ("compression", 1), ("encryption", 2)] {
        assert!(matches!(forge(at, &[9]), Err(FooterError::Unsupported(_))), "{what}");
    }
    assert!(forge(0, &[1]).is_ok());
    assert!(tail < footer_position);
}

#[test]
fn a_tail_shorter_than_the_footer_says_gives_no_index() {
    let (object, tail, _) = small_object();
    let footer = Footer::decode(&object[tail..], object.len() as u64).expect("intact");
    let cut = Bytes::copy_from_slice(&object[tail..tail + 10]);
    assert!(footer.index(&cut, IndexType::Offset).is_err());
}

#[test]
fn a_block_of_another_place_is_corrupt() {
    let id = KafkaUuid([9; 16]);
    let mut stored = b"payload".to_vec();
    stored.extend(seal_block(&id, 4, b"payload"));
    assert_eq!(verify_block(&id, 4, &stored), Ok(7));
    assert!(verify_block(&id, 5, &stored).is_err());
    assert!(verify_block(&KafkaUuid([8; 16]), 4, &stored).is_err());
    assert!(verify_block(&id, 4, b"abc").is_err());
}

#[test]
fn ranges_of_stored_blocks_follow_each_other() {
    let size = BlockSize::from_exponent(SMALL).expect("valid");
    assert_eq!(stored_range(0..1, 1300, size), 0..516);
    assert_eq!(stored_range(2..3, 1300, size), 1032..1312);
    assert_eq!(stored_range(1..9, 1300, size), 516..1312);
    assert_eq!(stored_range(5..9, 1300, size), 1312..1312);
    assert_eq!(stored_length_of(2, 1300, size), 280);
    assert_eq!(stored_length_of(u64::MAX, 1300, size), 0);
    assert_eq!(data_length(0, size), 0);
    assert_eq!(blocks_for(0, 0, 0, size), 0..0);
    assert_eq!(blocks_for(9, 8, 1300, size), 3..3);
}

proptest! {
    /// Whatever is put in comes out, for every size around block borders.
    #[test]
    fn roundtrip(
        data in prop::collection::vec(any::<u8>(), 0..2100),
        lengths in prop::array::uniform5(0_usize..600),
        has_transactions: bool,
    ) {
        let block_size = BlockSize::from_exponent(SMALL).expect("valid");
        let written: Vec<_> = IndexType::ALL
            .into_iter()
            .filter(|&index| has_transactions || index != IndexType::Transaction)
            .map(|index| (index, Bytes::from(vec![index as u8; lengths[index as usize]])))
            .collect();
        let (object, tail) = object(&data, block_size, &written);
        let (read, found) = read_all(&object, tail, data.len() as u64).expect("intact");
        prop_assert_eq!(read, data);
        for index in IndexType::ALL {
            let expected = written.iter().find(|(written, _)| *written == index).map(|(_, bytes)| bytes);
            prop_assert_eq!(found[index as usize].as_ref(), expected);
        }
    }

    /// Any bytes are decoded or refused, and nothing else.
    #[test]
    fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300), length: u64) {
        let _ = Footer::decode(&bytes, length);
        let mut dressed = bytes.clone();
        let mut end = u32::try_from(bytes.len()).expect("small").to_be_bytes().to_vec();
        end.push(1);
        end.extend(b"UCSEG\r\n");
        dressed.extend(super::super::crc::crc32c_of(&[&bytes, &end]).to_be_bytes());
        dressed.extend(end);
        let _ = Footer::decode(&dressed, length);
        let _ = Footer::decode(&dressed, dressed.len() as u64);
    }

    /// The blocks of a range hold all of it and begin and end with something of it.
    #[test]
    fn blocks_cover_a_range_exactly(from in 0_u64..5000, length in 0_u64..5000, size in 1_u64..5000) {
        let block_size = BlockSize::from_exponent(SMALL).expect("valid");
        let blocks = blocks_for(from, from + length, size, block_size);
        if from >= size {
            prop_assert!(blocks.is_empty());
        } else {
            prop_assert!(blocks.start * 512 <= from && from < (blocks.start + 1) * 512);
            let last = (from + length).min(size - 1);
            prop_assert!((blocks.end - 1) * 512 <= last && last < blocks.end * 512);
        }
    }
}
