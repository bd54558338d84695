//! Segments that Aiven's plugin wrote, in all four modes (plain, zstd, AES, both), read and deleted over a folder.
//!
//! The objects in `data/aiven` were written by the plugin's own classes on Kafka 3.8 and 4.x, with chunks of 1000 bytes.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

#[path = "support/aiven.rs"]
mod aiven;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use aiven::{MAIN, SUFFIXES, data, plain, says, segment};
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::symm::{Cipher, encrypt_aead};
use support::{Sample, files_below, folder_manager, metric, read};
use undercroft::model::{IndexType, SegmentMetadata};
use undercroft::storage::{StorageError, StorageManager};

const ALL: [&str; 8] =
    ["kafka38/m0", "kafka38/m1", "kafka38/m2", "kafka38/m3", "kafka4/m0", "kafka4/m1", "kafka4/m2", "kafka4/m3"];

/// A folder with the objects of a fixture under a prefix.
fn bucket(of: &str, prefix: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for suffix in SUFFIXES {
        let path = object(root.path(), prefix, suffix);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::copy(data(&format!("{of}.{suffix}")), path).expect("copied");
    }
    root
}

fn object(root: &Path, prefix: &str, suffix: &str) -> PathBuf {
    root.join(format!("{prefix}{MAIN}.{suffix}"))
}

fn manager(root: &Path, prefix: &str) -> StorageManager {
    let (private, public) = (data("priv.pem"), data("pub.pem"));
    let (private, public) = (private.to_str().expect("UTF-8"), public.to_str().expect("UTF-8"));
    let pairs = [
        ("key.prefix", prefix),
        ("encryption.enabled", "false"),
        ("encryption.key.pair.id", "key1"),
        ("encryption.key.pairs", "key1, key2"),
        ("encryption.key.pairs.key1.private.key.file", private),
        ("encryption.key.pairs.key1.public.key.file", public),
    ];
    folder_manager(root, &pairs)
}

async fn reread(root: &Path, segment: &SegmentMetadata) -> Result<Vec<u8>, StorageError> {
    read(&manager(root, "prefix/"), segment, 0, None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_and_indexes_of_all_four_modes_are_read_and_all_objects_deleted() {
    let plain = plain();
    for of in ALL {
        let root = bucket(of, "prefix/");
        let manager = manager(root.path(), "prefix/");
        let segment = segment(plain.len(), None);
        for (start, end) in
            [(0, None), (0, Some(0)), (999, Some(1000)), (1000, Some(1999)), (2499, None), (17, Some(2400))]
        {
            let expected = &plain[start as usize..end.map_or(plain.len(), |end: u64| end as usize + 1)];
            let got = read(&manager, &segment, start, end).await.expect(of);
            assert!(got == expected, "{of}: {start} to {end:?}");
        }
        assert_eq!(read(&manager, &segment, 2500, None).await.expect("at the end"), Vec::<u8>::new());
        assert!(matches!(manager.fetch(&segment, 2501, None), Err(StorageError::InvalidArgument { .. })));
        for (index, expected) in [
            (IndexType::Offset, &b"offset"[..]),
            (IndexType::Timestamp, b""),
            (IndexType::ProducerSnapshot, b"snap"),
            (IndexType::LeaderEpoch, b"leader"),
        ] {
            assert_eq!(manager.fetch_index(&segment, index).await.expect(of), expected, "{of}: {}", index.name());
        }
        match manager.fetch_index(&segment, IndexType::Transaction).await {
            Ok(bytes) => assert_eq!(bytes, &b"txn"[..], "{of}"),
            Err(error) => {
                assert!(of.ends_with("m0") && matches!(error, StorageError::NotFound { .. }), "{of}: {error}")
            }
        }
        assert_eq!(metric(&manager, "manifest-cache-misses-total"), 1.0, "one manifest for all of it");
        assert_eq!(metric(&manager, "index-cache-misses-total"), 1.0, "one request for all indexes");
        let objects = manager.objects();
        assert!(objects.has_objects(&segment).await.expect("looked"));
        manager.delete(std::slice::from_ref(&segment)).await.expect("deleted");
        manager.delete(std::slice::from_ref(&segment)).await.expect("deleted again");
        assert!(!objects.has_objects(&segment).await.expect("looked"));
        let gone = read(&manager, &segment, 0, None).await.expect_err("nothing is left in memory either");
        assert!(matches!(gone, StorageError::NotFound { .. }), "{gone}");
        manager.close().await;
        assert_eq!(files_below(root.path()), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_one_object_that_is_left_is_seen_and_removed() {
    for suffix in SUFFIXES {
        let root = bucket("kafka4/m3", "p");
        SUFFIXES.iter().filter(|other| **other != suffix).for_each(|other| {
            fs::remove_file(object(root.path(), "p", other)).expect("removed");
        });
        let (manager, segment) = (manager(root.path(), "p"), segment(2500, None));
        let objects = manager.objects();
        assert!(objects.has_objects(&segment).await.expect("looked"), "{suffix}");
        objects.delete_objects(&segment).await.expect("deleted");
        assert!(!objects.has_objects(&segment).await.expect("looked"), "{suffix}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_prefix_loses_no_segment_whose_metadata_has_it() {
    for (told, is_kept) in [
        (says(Some("before/"), None), true),
        (says(Some("before/"), Some(MAIN)), true),
        (says(None, Some(&format!("before/{MAIN}"))), false),
        (says(None, None), false),
        (None, false),
    ] {
        let root = bucket("kafka38/m3", "before/");
        let (after, segment) = (manager(root.path(), "after/"), segment(2500, told));
        let got = read(&after, &segment, 0, None).await;
        let found = after.objects().has_objects(&segment).await.expect("looked");
        assert_eq!((got.is_ok(), found), (is_kept, is_kept), "{:?}", segment.custom_metadata);
        after.delete(std::slice::from_ref(&segment)).await.expect("deleted");
        after.close().await;
        assert_eq!(files_below(root.path()).len(), if is_kept { 0 } else { 3 });
        if let Err(error) = got {
            assert!(matches!(error, StorageError::NotFound { .. }), "{error}");
        }
    }
    // Objects that were moved together with the prefix.
    let root = bucket("kafka38/m1", "after/");
    let moved = segment(2500, says(Some("before/"), Some(MAIN)));
    assert_eq!(read(&manager(root.path(), "after/"), &moved, 0, None).await.expect("read"), plain());
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_lead_out_of_the_store_are_not_followed() {
    let root = bucket("kafka38/m0", "prefix/");
    let manager = manager(root.path(), "prefix/");
    for told in [says(Some("../prefix/"), None), says(None, Some("../../etc/passwd")), says(Some("a/./"), None)] {
        let segment = segment(2500, told);
        assert!(matches!(read(&manager, &segment, 0, None).await, Err(StorageError::Corrupt { .. })));
        // What its id alone leads to.
        manager.delete(std::slice::from_ref(&segment)).await.expect("deleted");
        let mut left = files_below(root.path());
        // The check at the start writes an object of its own.
        left.retain(|path| !path.to_string_lossy().contains("undercroft-check"));
        assert!(left.is_empty(), "{left:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_segment_of_the_compact_layout_is_found_without_its_metadata() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[]);
    let mut sample = Sample::new(200_000);
    sample.copy(&manager).await.expect("copied");
    sample.segment.custom_metadata = None;
    assert!(read(&manager, &sample.segment, 0, None).await.expect("read") == sample.data);
    support::assert_indexes(&manager, &sample.segment).await;
    sample.segment.size_bytes -= 1;
    let other = folder_manager(root.path(), &[]);
    let error = read(&other, &sample.segment, 0, None).await.expect_err("another size");
    assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_cut_and_of_another_size_are_told_apart() {
    for of in ["kafka38/m0", "kafka38/m1", "kafka38/m2", "kafka4/m3"] {
        let segment = segment(2500, None);
        for missing in ["rsm-manifest", "log"] {
            let root = bucket(of, "prefix/");
            fs::remove_file(object(root.path(), "prefix/", missing)).expect("removed");
            let error = reread(root.path(), &segment).await.expect_err("missing");
            assert!(matches!(&error, StorageError::NotFound { object, .. } if object.ends_with(missing)), "{error}");
        }
        let root = bucket(of, "prefix/");
        fs::remove_file(object(root.path(), "prefix/", "indexes")).expect("removed");
        let other = manager(root.path(), "prefix/");
        let error = other.fetch_index(&segment, IndexType::Offset).await.expect_err("missing");
        assert!(matches!(&error, StorageError::NotFound { object, .. } if object.ends_with("indexes")), "{error}");
        // "Not found" would mean that there is no such index, and a consumer would see aborted records.
        let error = other.fetch_index(&segment, IndexType::Transaction).await.expect_err("missing");
        assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
        for cut in ["log", "indexes", "rsm-manifest"] {
            let root = bucket(of, "prefix/");
            let path = object(root.path(), "prefix/", cut);
            let whole = fs::read(&path).expect("readable");
            fs::write(&path, &whole[..whole.len() - 1]).expect("written");
            let other = manager(root.path(), "prefix/");
            let error = match cut {
                "indexes" => other.fetch_index(&segment, IndexType::Offset).await.map(drop),
                _ => read(&other, &segment, 0, None).await.map(drop),
            };
            assert!(matches!(&error, Err(StorageError::Corrupt { .. })), "{of} {cut}: {error:?}");
        }
        let root = bucket(of, "prefix/");
        for size in [2499, 2501, 0, i32::MAX as usize] {
            let other = aiven::segment(size, None);
            let error = manager(root.path(), "prefix/").fetch_index(&other, IndexType::Offset).await;
            assert!(matches!(&error, Err(StorageError::Corrupt { why, .. }) if why.contains("2500")), "{error:?}");
        }
    }
    let root = tempfile::tempdir().expect("a folder");
    let other = manager(&root.path().join("not-mounted"), "prefix/");
    let error = read(&other, &segment(2500, None), 0, None).await.expect_err("no folder");
    assert!(matches!(error, StorageError::Misconfigured { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_answer_is_never_taken_for_one_without_the_segment() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let manager = support::manager(&[
        ("storage.backend.class", "s3"),
        ("storage.s3.endpoint.url", &endpoint),
        ("storage.s3.bucket.name", "segments"),
        ("storage.aws.access.key.id", "key"),
        ("storage.aws.secret.access.key", "secret"),
        ("storage.retry.attempts.max", "2"),
        ("storage.retry.delay.ms", "1"),
        ("fetch.failure.delay.ms", "0"),
    ]);
    for told in [None, says(Some("before/"), None)] {
        let segment = segment(2500, told);
        let errors = [
            read(&manager, &segment, 0, None).await.map(drop),
            manager.fetch_index(&segment, IndexType::Transaction).await.map(drop),
            manager.delete(std::slice::from_ref(&segment)).await,
        ];
        for error in errors {
            assert!(matches!(error, Err(StorageError::Unreachable { .. })), "{error:?}");
        }
        assert!(manager.objects().has_objects(&segment).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_is_found_wherever_a_transform_can_tell() {
    let plain = plain();
    for (of, is_sealed) in [("kafka38/m1", false), ("kafka38/m2", true), ("kafka4/m3", true)] {
        let root = bucket(of, "prefix/");
        let segment = segment(2500, None);
        for suffix in ["log", "indexes"] {
            let path = object(root.path(), "prefix/", suffix);
            let intact = fs::read(&path).expect("readable");
            for at in (0..intact.len()).step_by(if suffix == "log" { 61 } else { 7 }) {
                let mut broken = intact.clone();
                broken[at] ^= 0x10;
                fs::write(&path, &broken).expect("written");
                let other = manager(root.path(), "prefix/");
                let error = match suffix {
                    "log" => read(&other, &segment, 0, None).await.map(|bytes| bytes == plain),
                    _ => other.fetch_index(&segment, IndexType::Offset).await.map(|bytes| bytes == b"offset"[..]),
                };
                match error {
                    Err(StorageError::Corrupt { place, .. }) => {
                        assert!(suffix != "log" || place.starts_with("chunk "), "{of} {suffix} {at}: {place}");
                    }
                    // A frame of zstd has no checksum, and an index that isn't encrypted neither.
                    Ok(_) if !is_sealed => {}
                    other => panic!("{of} {suffix} {at}: {other:?}"),
                }
            }
            fs::write(&path, &intact).expect("written");
        }
        assert!(reread(root.path(), &segment).await.expect("intact again") == plain);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_an_unknown_and_a_missing_key_are_told_apart_from_damage() {
    let root = bucket("kafka38/m3", "prefix/");
    let keys = tempfile::tempdir().expect("a folder");
    let other = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let other_file = keys.path().join("other.pem");
    fs::write(&other_file, other.private_key_to_pem_pkcs8().expect("PEM")).expect("written");
    let segment = segment(2500, None);
    for (ids, file, expected) in [
        ("key1", other_file.clone(), "another key, or what the store has is damaged"),
        ("key1", keys.path().join("gone.pem"), "gone.pem"),
        ("key2", data("priv.pem"), "is not among the configured ones (key2)"),
        ("", data("priv.pem"), "(none)"),
    ] {
        let private = format!("encryption.key.pairs.{ids}.private.key.file");
        let pairs = [
            ("key.prefix", "prefix/"),
            ("encryption.key.pairs", ids),
            (private.as_str(), file.to_str().expect("UTF-8")),
        ];
        let manager = folder_manager(root.path(), &pairs);
        let error = read(&manager, &segment, 0, None).await.expect_err("no key");
        assert!(matches!(error, StorageError::Misconfigured { .. }), "{error}");
        assert!(error.to_string().contains(expected) && error.to_string().contains("encryption.key.pairs"), "{error}");
        manager.delete(&[]).await.expect("deleting needs no key");
    }
    // Rotated: the old pair still reads, beside a new one that is active.
    let (old, new) = (data("priv.pem"), other_file);
    let pairs = [
        ("key.prefix", "prefix/"),
        ("encryption.key.pair.id", "key2"),
        ("encryption.key.pairs", "key2,key1"),
        ("encryption.key.pairs.key1.private.key.file", old.to_str().expect("UTF-8")),
        ("encryption.key.pairs.key2.private.key.file", new.to_str().expect("UTF-8")),
    ];
    assert_eq!(read(&folder_manager(root.path(), &pairs), &segment, 0, None).await.expect("read"), plain());
}

/// Objects as the plugin writes them, of a segment larger than the fixtures'.
fn write_large(root: &Path, plain: &[u8], chunk_size: usize, is_compressed: bool, is_encrypted: bool) {
    let (key, aad) = ([5_u8; 32], [6_u8; 32]);
    let seal = |bytes: &[u8]| {
        let mut tag = [0; 16];
        let sealed = encrypt_aead(Cipher::aes_256_gcm(), &key, Some(&[7; 12]), &aad, bytes, &mut tag).expect("sealed");
        if is_encrypted { [&[7; 12], &sealed[..], &tag].concat() } else { bytes.to_vec() }
    };
    let squeeze = |bytes: &[u8]| {
        let mut frame = vec![0; bytes.len() + 1000];
        let length = zstd_safe::compress(&mut frame[..], bytes, 3).expect("compressed");
        if is_compressed { frame[..length].to_vec() } else { bytes.to_vec() }
    };
    let chunks: Vec<_> = plain.chunks(chunk_size).map(|chunk| seal(&squeeze(chunk))).collect();
    let base64 = |bytes: &[u8]| openssl::base64::encode_block(bytes);
    let int = |number: usize| u32::try_from(number).expect("small").to_be_bytes();
    let chunk_index = if is_compressed {
        let mut table = int(chunks.len()).to_vec();
        if chunks.len() > 1 {
            table.extend([0, 0, 0, 0, 4]);
        }
        chunks.iter().for_each(|chunk| table.extend(int(chunk.len())));
        format!(
            r#"{{"type":"variable","originalChunkSize":{chunk_size},"originalFileSize":{},"transformedChunks":"{}"}}"#,
            plain.len(),
            base64(&squeeze(&table)),
        )
    } else {
        format!(
            r#"{{"type":"fixed","originalChunkSize":{chunk_size},"originalFileSize":{},"transformedChunkSize":{},"finalTransformedChunkSize":{}}}"#,
            plain.len(),
            chunks[0].len(),
            chunks[chunks.len() - 1].len(),
        )
    };
    let indexes: Vec<_> = [&[1; 5000][..], b"", b"snap", b"leader"]
        .iter()
        .map(|bytes| if bytes.is_empty() { Vec::new() } else { seal(bytes) })
        .collect();
    let mut position = 0;
    let places: Vec<_> = ["offset", "timestamp", "producerSnapshot", "leaderEpoch"]
        .iter()
        .zip(&indexes)
        .map(|(name, bytes)| {
            position += bytes.len();
            format!(r#""{name}":{{"position":{},"size":{}}}"#, position - bytes.len(), bytes.len())
        })
        .collect();
    let encryption = if is_encrypted {
        let public = PKey::public_key_from_pem(&fs::read(data("pub.pem")).expect("there")).expect("a key");
        let mut context = openssl::pkey_ctx::PkeyCtx::new(&public).expect("a context");
        context.encrypt_init().expect("set");
        context.set_rsa_padding(openssl::rsa::Padding::PKCS1_OAEP).expect("set");
        context.set_rsa_oaep_md(openssl::md::Md::sha3_512()).expect("set");
        context.set_rsa_mgf1_md(openssl::md::Md::sha3_512()).expect("set");
        let mut wrapped = Vec::new();
        context.encrypt_to_vec(&key, &mut wrapped).expect("wrapped");
        format!(r#","encryption":{{"dataKey":"key1:{}","aad":"{}"}}"#, base64(&wrapped), base64(&aad))
    } else {
        String::new()
    };
    let manifest = format!(
        r#"{{"version":"1","chunkIndex":{chunk_index},"segmentIndexes":{{{},"transaction":null}},"compression":{is_compressed}{encryption}}}"#,
        places.join(","),
    );
    for (suffix, bytes) in [("log", chunks.concat()), ("indexes", indexes.concat()), ("rsm-manifest", manifest.into())]
    {
        let path = object(root, "prefix/", suffix);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, bytes).expect("written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn larger_segments_are_read_with_read_ahead_in_every_mode_and_chunk_size() {
    let plain: Vec<u8> = (0..5_000_001_usize).map(|i| (i ^ (i >> 9) ^ (i.wrapping_mul(i) >> 7)) as u8).collect();
    for chunk_size in [30_000, 1 << 20, 8 << 20] {
        for mode in 0..4 {
            let root = tempfile::tempdir().expect("a folder");
            write_large(root.path(), &plain, chunk_size, mode & 1 != 0, mode & 2 != 0);
            let manager = manager(root.path(), "prefix/");
            let segment = segment(plain.len(), None);
            assert!(read(&manager, &segment, 0, None).await.expect("read") == plain, "{chunk_size} {mode}");
            let (start, end) = (1_048_570, 3_000_000);
            let got = read(&manager, &segment, start, Some(end)).await.expect("read");
            assert!(got == plain[start as usize..=end as usize], "{chunk_size} {mode}");
            let index = manager.fetch_index(&segment, IndexType::Offset).await.expect("there");
            assert_eq!(index, &[1; 5000][..]);
            manager.close().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_that_would_become_more_than_its_size_is_corrupt() {
    let plain = vec![0; 3_000_000];
    let root = tempfile::tempdir().expect("a folder");
    write_large(root.path(), &plain, 1_000_000, true, false);
    // Of the first chunk, its frame's content size: magic, descriptor (4 bytes of size), size.
    let path = object(root.path(), "prefix/", "log");
    let mut log = fs::read(&path).expect("readable");
    let size = log[5..].iter().take(4).rev().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
    assert_eq!((size, log[4] >> 6), (1_000_000, 2));
    log[8] = 0x7f;
    fs::write(&path, &log).expect("written");
    let error = reread(root.path(), &segment(plain.len(), None)).await.expect_err("a bomb");
    assert!(matches!(&error, StorageError::Corrupt { place, .. } if &**place == "chunk 0"), "{error}");
    assert!(error.to_string().contains("instead of 1000000"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_readers_of_one_segment_get_its_manifest_once() {
    let root = bucket("kafka4/m3", "prefix/");
    let (manager, segment, plain) = (manager(root.path(), "prefix/"), segment(2500, None), plain());
    let reads: Vec<_> = (0..50)
        .map(|_| {
            let (manager, segment) = (manager.clone(), segment.clone());
            tokio::spawn(async move { read(&manager, &segment, 0, None).await })
        })
        .collect();
    for got in reads {
        assert_eq!(got.await.expect("no panic").expect("read"), plain);
    }
    assert_eq!(metric(&manager, "manifest-cache-misses-total"), 1.0);
}
