use serde_json::{Value, json};

use super::super::super::transform::compressed_length_max;
use super::lengths::decode_lengths;
use super::*;
use crate::model::IndexType;

const FIXTURES: [(&str, &[u8]); 8] = [
    ("kafka38/m0", include_bytes!("../../../../tests/data/aiven/kafka38/m0.rsm-manifest")),
    ("kafka38/m1", include_bytes!("../../../../tests/data/aiven/kafka38/m1.rsm-manifest")),
    ("kafka38/m2", include_bytes!("../../../../tests/data/aiven/kafka38/m2.rsm-manifest")),
    ("kafka38/m3", include_bytes!("../../../../tests/data/aiven/kafka38/m3.rsm-manifest")),
    ("kafka4/m0", include_bytes!("../../../../tests/data/aiven/kafka4/m0.rsm-manifest")),
    ("kafka4/m1", include_bytes!("../../../../tests/data/aiven/kafka4/m1.rsm-manifest")),
    ("kafka4/m2", include_bytes!("../../../../tests/data/aiven/kafka4/m2.rsm-manifest")),
    ("kafka4/m3", include_bytes!("../../../../tests/data/aiven/kafka4/m3.rsm-manifest")),
];

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex")).collect()
}

fn document(of: &str) -> Value {
    let bytes = FIXTURES.iter().find(|(name, _)| *name == of).expect("a fixture").1;
    serde_json::from_slice(bytes).expect("JSON")
}

fn decode(document: &Value) -> Result<Manifest, ManifestError> {
    let manifest = Manifest::decode(document.to_string().as_bytes())?;
    manifest.check(2500).map(|()| manifest)
}

/// Pointers to every field that a reader needs, and to what holds them.
fn fields(of: &str) -> Vec<String> {
    let mut fields = vec!["/version".to_owned(), "/chunkIndex".to_owned(), "/segmentIndexes".to_owned()];
    fields.push("/compression".to_owned());
    let document = document(of);
    for parent in ["chunkIndex", "segmentIndexes", "encryption"] {
        let map = document.get(parent).and_then(Value::as_object);
        fields.extend(map.into_iter().flatten().map(|(key, _)| format!("/{parent}/{key}")));
    }
    for index in ["offset", "timestamp", "producerSnapshot", "leaderEpoch"] {
        fields.extend(["position", "size"].map(|field| format!("/segmentIndexes/{index}/{field}")));
    }
    fields
}

#[test]
fn manifests_of_all_four_modes_are_read() {
    for (name, bytes) in FIXTURES {
        let manifest = Manifest::decode(bytes).expect(name);
        manifest.check(2500).expect(name);
        assert_eq!((manifest.is_compressed, manifest.encryption.is_some()), {
            let mode = name.as_bytes()[name.len() - 1] - b'0';
            (mode & 1 != 0, mode & 2 != 0)
        });
        let (length, indexes) =
            [(2500, 16), (1544, 19), (2584, 131), (1628, 131)][usize::from(name.as_bytes()[name.len() - 1] - b'0')];
        assert_eq!((manifest.chunks.object_length(), manifest.indexes_length()), (length, indexes), "{name}");
        assert_eq!((manifest.chunks.chunk_size(), manifest.chunks.count()), (1000, 3));
        assert_eq!(manifest.index(IndexType::Transaction).is_some(), !name.ends_with("m0"));
        if let Some(envelope) = manifest.encryption {
            assert_eq!((envelope.key_id.as_str(), envelope.wrapped_key.len(), envelope.aad.len()), ("key1", 256, 32));
        }
    }
}

#[test]
fn each_field_that_is_missing_wrong_negative_or_huge_is_named() {
    for of in ["kafka38/m0", "kafka4/m1", "kafka38/m2", "kafka4/m3"] {
        for pointer in fields(of) {
            let (parent, field) = pointer.rsplit_once('/').expect("a path");
            let mut missing = document(of);
            missing.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object").remove(field);
            let error = decode(&missing).expect_err(&pointer);
            assert!(matches!(&error, ManifestError::Corrupt(why) if why.contains(field)), "{pointer}: {error}");
            let is_optional = pointer.ends_with("/transaction");
            let wrong = [json!(null), json!([]), json!({}), json!(1.5), json!(-1), json!(1_u64 << 31), json!("?")];
            for value in wrong {
                if is_optional && value.is_null() {
                    continue;
                }
                let mut broken = document(of);
                *broken.pointer_mut(&pointer).expect("there") = value.clone();
                let is_version = pointer == "/version" || pointer.ends_with("/type");
                match decode(&broken).expect_err(&format!("{pointer} = {value}")) {
                    ManifestError::Corrupt(_) => {}
                    ManifestError::Unsupported(why) => assert!(is_version, "{pointer} = {value}: {why}"),
                }
            }
        }
    }
}

#[test]
fn another_version_or_an_unknown_field_is_unsupported_and_not_corrupt() {
    for (pointer, field, value) in [
        ("", "version", json!("2")),
        ("", "version", json!(2)),
        ("", "more", json!(1)),
        ("/chunkIndex", "more", json!(1)),
        ("/chunkIndex", "type", json!("tree")),
        ("/segmentIndexes", "more", json!(null)),
        ("/segmentIndexes/offset", "more", json!(1)),
        ("/encryption", "more", json!(1)),
    ] {
        let mut newer = document("kafka38/m2");
        let parent = newer.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object");
        parent.insert(field.to_owned(), value);
        let error = decode(&newer);
        assert!(matches!(error, Err(ManifestError::Unsupported(_))), "{pointer}/{field}: {error:?}");
    }
}

#[test]
fn what_aivens_reader_takes_is_taken() {
    let mut document = document("kafka38/m0");
    let map = document.as_object_mut().expect("an object");
    map.insert("version".to_owned(), json!(1));
    map.insert("encryption".to_owned(), json!(null));
    map.remove("remoteLogSegmentMetadata");
    assert!(decode(&document).is_ok());
    document["remoteLogSegmentMetadata"] = json!({"anything": [1, 2, "at all"]});
    let spread = serde_json::to_string_pretty(&document).expect("JSON");
    assert!(Manifest::decode(spread.as_bytes()).is_ok());
}

#[test]
fn a_table_that_points_outside_is_corrupt() {
    // Of m1: chunks of 24, 1010 and 510 bytes.
    let table = |lengths: &[u32]| Chunks::variable(1000, 2500, lengths);
    let check = |lengths: &[u32]| {
        let manifest = decode(&document("kafka38/m1")).expect("intact");
        Manifest { chunks: table(lengths).expect("three"), ..manifest }.check(2500)
    };
    assert!(check(&[24, 1010, 510]).is_ok());
    let most = u32::try_from(compressed_length_max(1000)).expect("small");
    assert!(check(&[most, 1010, 510]).is_ok());
    for lengths in [[most + 1, 1010, 510], [24, 1010, 1 << 30], [i32::MAX as u32, 1, 1]] {
        assert!(check(&lengths).is_err(), "{lengths:?}");
    }
    for lengths in [&[24, 1010][..], &[24, 1010, 510, 1], &[], &[24, 0, 510]] {
        assert!(table(lengths).is_err(), "{lengths:?}");
    }
    // Chunks that are only encrypted, or not even that, have one length each.
    for (of, field) in [("kafka38/m0", "transformedChunkSize"), ("kafka38/m2", "finalTransformedChunkSize")] {
        for change in [-1, 1] {
            let mut broken = document(of);
            let length = broken["chunkIndex"][field].as_i64().expect("a number");
            broken["chunkIndex"][field] = json!(length + change);
            assert!(matches!(decode(&broken), Err(ManifestError::Corrupt(_))), "{of} {field}");
        }
    }
    let segment = Manifest::decode(FIXTURES[0].1).expect("intact").check(2499);
    assert!(matches!(segment, Err(ManifestError::Corrupt(why)) if why.contains("2500")));
}

#[test]
fn a_table_that_would_fill_the_memory_is_refused() {
    use base64::Engine as _;
    let mut frame = vec![0; 1 << 20];
    let length = zstd_safe::compress(&mut frame[..], &vec![0; 11 << 20], 3).expect("compressed");
    let mut bomb = document("kafka38/m1");
    let text = base64::engine::general_purpose::STANDARD.encode(&frame[..length]);
    bomb["chunkIndex"]["transformedChunks"] = json!(text);
    let error = decode(&bomb).expect_err("a bomb").to_string();
    assert!(error.contains("11534336") && error.contains("10485760"), "{error}");
}

#[test]
fn tables_of_aivens_encoder_are_read() {
    // Source: written by Aiven's own encoder.
    for (encoded, lengths) in [
        ("00000000", &[][..]),
        ("00000001000000d5", &[213]),
        ("000000030000000a01000a0000001e", &[10, 20, 30]),
        ("000000050000000002000003e80002abe200000171", &[0, 1000, 2, 44002, 369]),
        ("000000030000001802000003da000001fe", &[24, 1010, 510]),
        ("0000000400000001030000000100080100127fffffff", &[1, 65545, 65555, 2_147_483_647]),
        ("0000000200000007010000000007", &[7, 7]),
        ("000000030000000504000000000100000000000009", &[5, 16_777_221, 9]),
    ] {
        let bytes = hex(encoded);
        assert_eq!(decode_lengths(&bytes).as_deref(), Ok(lengths), "{encoded}");
        for cut in 0..bytes.len() {
            assert!(decode_lengths(&bytes[..cut]).is_err(), "{encoded} cut at {cut}");
        }
        assert!(decode_lengths(&[&bytes[..], &[0]].concat()).is_err(), "{encoded} and more");
    }
    for bad in ["00000002000000070000000007", "0000000200000007050000000000000000000007", "ffffffff0000000001"] {
        assert!(decode_lengths(&hex(bad)).is_err(), "{bad}");
    }
    assert!(decode_lengths(&hex("0000000180000000")).is_err(), "no Java int");
}

#[test]
fn chunks_lie_where_aivens_tests_say() {
    // Source: Aiven's tests of its chunk indexes: 250 bytes in chunks of 100.
    let fixed = Chunks::fixed(100, 250, 110, 30).expect("valid");
    let variable = Chunks::variable(100, 250, &[10, 20, 30]).expect("valid");
    let places =
        |chunks: &Chunks| (0..4).map(|n| (chunks.plain_length(n), chunks.stored_range(n..n + 1))).collect::<Vec<_>>();
    assert_eq!(places(&fixed), [(100, 0..110), (100, 110..220), (50, 220..250), (0, 250..250)]);
    assert_eq!(places(&variable), [(100, 0..10), (100, 10..30), (50, 30..60), (0, 60..60)]);
    for chunks in [&fixed, &variable] {
        for number in 0..3 {
            let range = chunks.stored_range(number..number + 1);
            assert_eq!((chunks.chunk_at(range.start), chunks.chunk_at(range.end - 1)), (number, number));
        }
        assert_eq!(chunks.chunk_at(u64::MAX), 2);
    }
}

#[test]
fn the_largest_segment_has_a_place_for_every_chunk_size() {
    // Aiven's reader counts in Java's ints, and loses the last chunk of such a segment.
    let size = i32::MAX as u32;
    for chunk_size in [1, 1000, 65_536, 4 << 20, 1 << 30, (1 << 30) - 1, size] {
        let last = size % chunk_size;
        let last = if last == 0 { chunk_size } else { last };
        let chunks = Chunks::fixed(chunk_size, size, chunk_size + 28, last + 28).expect("valid");
        let count = chunks.count();
        assert_eq!(chunks.object_length(), u64::from(size) + 28 * count, "{chunk_size}");
        assert_eq!(chunks.stored_length(count - 1), u64::from(last) + 28);
        assert_eq!(chunks.plain_length(count - 1), u64::from(last));
        assert!(chunks.of_every_length().count() <= 2);
    }
    let empty = Chunks::fixed(1000, 0, 1000, 0).expect("an empty segment");
    assert_eq!((empty.count(), empty.object_length(), empty.chunk_at(7)), (0, 0, 0));
    assert_eq!(Chunks::plain(65_536, 0).object_length(), 0);
    assert_eq!(Chunks::plain(65_536, 70_000).object_length(), 70_000);
}

/// The segment of the examples, as their writer knew it.
fn example_segment(size: i32) -> crate::model::SegmentMetadata {
    use crate::model::*;
    let id = |text: &str| text.parse::<KafkaUuid>().expect("an id");
    SegmentMetadata {
        id: SegmentId {
            partition: TopicIdPartition::new(id("lZ6vvmajTWKDBUTV6SQAtQ"), "topic1", 42),
            uuid: id("adh9f8BMS4anaUnD8KWfWg"),
        },
        start_offset: Offset(23),
        end_offset: Offset(1000),
        max_timestamp_ms: 1_000_000_000,
        broker_id: BrokerId(2),
        event_timestamp_ms: 2_000_000_000,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(23)), (LeaderEpoch(1), Offset(200))]).expect("two"),
        size_bytes: size,
        custom_metadata: None,
        state: SegmentState::CopyStarted,
        is_txn_index_empty: true,
    }
}

fn example(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiven");
    std::fs::read(folder.join(name)).expect("there")
}

/// What Aiven's classes wrote of what is read here is written again byte for byte.
#[test]
fn manifests_are_written_as_aivens_classes_write_them() {
    for of in ["kafka38/m0", "kafka38/m1", "kafka38/m2", "kafka38/m3"] {
        let expected = String::from_utf8(example(&format!("{of}.rsm-manifest"))).expect("text");
        let manifest = Manifest::decode(expected.as_bytes()).expect("valid");
        let written = String::from_utf8(manifest.encode(&example_segment(2500)).expect("small")).expect("text");
        assert_eq!(written, expected, "{of}");
    }
}

/// Chunks and indexes, given the data key, the additional data and the nonces, are those of Aiven's classes.
#[test]
fn chunks_are_written_as_aivens_classes_write_them() {
    use super::super::super::transform::{Contexts, DataKey};

    let plain = example("segment.bin");
    let mut contexts = Contexts::new(3).expect("made");
    for of in ["kafka38/m1", "kafka38/m2", "kafka38/m3", "kafka4/m1", "kafka4/m2", "kafka4/m3"] {
        let manifest = Manifest::decode(&example(&format!("{of}.rsm-manifest"))).expect("valid");
        let (log, mut out) = (example(&format!("{of}.log")), vec![0; 4096]);
        let key = manifest.encryption.as_ref().map(|envelope| {
            let key = hex(String::from_utf8(example(&format!("{of}.dk"))).expect("text").trim());
            DataKey::new(key.try_into().expect("32 bytes"), &envelope.aad)
        });
        for (number, chunk) in (0..).zip(plain.chunks(1000)) {
            let range = manifest.chunks.stored_range(number..number + 1);
            let expected =
                &log[usize::try_from(range.start).expect("small")..usize::try_from(range.end).expect("small")];
            let length = match (&key, manifest.is_compressed) {
                (None, _) => contexts.compress(chunk, &mut out),
                (Some(key), compressed) => {
                    let nonce = *expected.first_chunk::<12>().expect("a nonce");
                    match compressed {
                        true => contexts.compress_and_seal(key, &nonce, key.additional(), chunk, &mut out),
                        false => contexts.seal(key, &nonce, key.additional(), chunk, &mut out),
                    }
                }
            };
            assert!(out[..length.expect("fits")] == *expected, "{of}, chunk {number}");
        }
    }
}

#[test]
fn tables_are_written_as_aivens_codec_writes_them() {
    // Source: Aiven's own encoder.
    for (encoded, lengths) in [
        ("00000000", &[][..]),
        ("00000001000000d5", &[213]),
        ("000000030000000a01000a0000001e", &[10, 20, 30]),
        ("000000050000000002000003e80002abe200000171", &[0, 1000, 2, 44_002, 369]),
        ("000000030000001802000003da000001fe", &[24, 1010, 510]),
        ("0000000400000001030000000100080100127fffffff", &[1, 65_545, 65_555, 2_147_483_647]),
        ("0000000200000007010000000007", &[7, 7]),
        ("000000030000000504000000000100000000000009", &[5, 16_777_221, 9]),
    ] {
        assert_eq!(super::lengths::encode_lengths(lengths), Ok(hex(encoded)), "{lengths:?}");
    }
    assert!(super::lengths::encode_lengths(&[1 << 31, 1]).is_err(), "no Java int");
    assert!(super::lengths::encode_lengths(&[1, 1 << 31]).is_err(), "no Java int");
}

#[test]
fn chunks_of_any_size_add_up_and_a_table_that_no_reader_takes_is_refused() {
    let size = i32::MAX as u32;
    for chunk_size in [1, 1000, 4096, 65_537, 4 << 20, (1 << 30) - 1] {
        for is_encrypted in [false, true] {
            let sealer = Sealer::new(chunk_size, false, is_encrypted).expect("random");
            let chunks = sealer.chunks(size, &[]).expect("valid");
            let overhead = if is_encrypted { 28 } else { 0 };
            assert_eq!(chunks.object_length(), u64::from(size) + overhead * chunks.count(), "{chunk_size}");
        }
    }
    let few = Chunks::variable(1, 4, &[3_000, 90, 90, 90]).expect("valid");
    let of = |chunks| Manifest { chunks, indexes: Vec::new(), is_compressed: true, encryption: None };
    assert!(of(few).encode(&example_segment(4)).is_ok());
    let many = Chunks::variable(1, 11 << 20, &vec![10; 11 << 20]).expect("valid");
    let error = of(many).encode(&example_segment(11 << 20)).expect_err("too long").to_string();
    assert!(error.contains("10485760 is the most"), "{error}");
}
