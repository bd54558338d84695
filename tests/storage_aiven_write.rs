//! Segments written in Aiven's layout: a reader as strict as Aiven's takes them, ours too, and a failure leaves nothing.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

#[path = "support/aiven.rs"]
mod aiven;
#[path = "support/strict.rs"]
mod strict;
mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::{Sample, assert_indexes, files_below, folder_manager, read};
use undercroft::config::Config;
use undercroft::model::IndexType;
use undercroft::storage::StorageEnv;
use undercroft::storage::survey::{Depth, Finding, Found, Scope, Severity, Surveyor};
use undercroft::storage::{StorageError, StorageManager};
use undercroft::wire::CustomMetadata;

const MIB: usize = 1 << 20;

fn manager(root: &Path, is_compressed: bool, is_encrypted: bool, more: &[(&str, &str)]) -> StorageManager {
    let (private, public) = (aiven::data("priv.pem"), aiven::data("pub.pem"));
    let mut pairs = vec![
        ("storage.layout", "aiven"),
        ("compression.enabled", if is_compressed { "true" } else { "false" }),
        ("encryption.enabled", if is_encrypted { "true" } else { "false" }),
        ("encryption.key.pair.id", "key1"),
        ("encryption.key.pairs", "key1"),
        ("encryption.key.pairs.key1.private.key.file", private.to_str().expect("UTF-8")),
        ("encryption.key.pairs.key1.public.key.file", public.to_str().expect("UTF-8")),
    ];
    pairs.extend(more);
    folder_manager(root, &pairs)
}

/// Objects of segments, without what the check at the start writes.
fn objects(root: &Path) -> Vec<PathBuf> {
    let mut found = files_below(root);
    found.retain(|path| {
        path.extension().is_some_and(|end| ["log", "indexes", "rsm-manifest", "ucseg"].iter().any(|of| end == *of))
    });
    found.sort();
    found
}

fn base(root: &Path) -> String {
    let found = objects(root);
    assert_eq!(found.len(), 3, "{found:?}");
    let log = found.iter().find(|path| path.extension().is_some_and(|end| end == "log")).expect("a log");
    log.with_extension("").to_str().expect("UTF-8").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_reader_takes_all_four_modes_and_ours_too() {
    for (is_compressed, is_encrypted) in [(false, false), (true, false), (false, true), (true, true)] {
        let root = tempfile::tempdir().expect("a folder");
        for chunk_size in ["1000", "65536", "1000003", "4194304"] {
            let manager = manager(root.path(), is_compressed, is_encrypted, &[("chunk.size", chunk_size)]);
            let chunk: usize = chunk_size.parse().expect("a number");
            for size in [1, chunk - 1, chunk, chunk + 1, (3 * chunk + 7).min(3 * MIB + 7)] {
                let what = format!("{is_compressed} {is_encrypted}, {size} bytes in chunks of {chunk_size}");
                let mut sample = Sample::new(size);
                let transactions = sample.folder.path().join("00.txnindex");
                fs::write(&transactions, b"aborted").expect("written");
                if size == chunk {
                    sample.files.transaction_index = Some(transactions);
                    fs::write(&sample.files.time_index, b"").expect("written");
                }
                sample.copy(&manager).await.expect(&what);
                assert_eq!(sample.segment.custom_metadata, None, "nothing was asked for");
                let found = strict::read(&base(root.path()), "key1", &aiven::data("priv.pem"));
                assert!(found.log == sample.data, "{what}");
                assert_eq!(found.manifest["chunkIndex"]["originalChunkSize"], chunk, "{what}");
                assert_eq!(found.manifest.get("encryption").is_some(), is_encrypted);
                let [offset, time, snapshot, epochs, transaction] = found.indexes;
                assert_eq!(offset.as_deref(), Some(&[1; 800][..]));
                assert_eq!(snapshot.as_deref(), Some(&b"snapshot"[..]));
                assert_eq!(epochs.as_deref(), Some(&b"0\n1\n0 100\n"[..]));
                assert_eq!(transaction.as_deref(), (size == chunk).then_some(&b"aborted"[..]));
                assert_eq!(time.map(|bytes| bytes.len()), Some(if size == chunk { 0 } else { 1200 }));

                let reader = self::manager(root.path(), false, false, &[]);
                assert!(read(&reader, &sample.segment, 0, None).await.expect(&what) == sample.data, "{what}");
                if size == chunk {
                    let index = reader.fetch_index(&sample.segment, IndexType::Transaction).await.expect("there");
                    assert_eq!(index, "aborted");
                } else {
                    assert_indexes(&reader, &sample.segment).await;
                }
                manager.delete(std::slice::from_ref(&sample.segment)).await.expect(&what);
                assert_eq!(objects(root.path()), Vec::<PathBuf>::new(), "{what}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_metadata_has_the_fields_asked_for_as_far_as_they_fit() {
    let root = tempfile::tempdir().expect("a folder");
    let all = "REMOTE_SIZE, OBJECT_PREFIX,OBJECT_KEY";
    for (topic, fields, has_prefix, has_key) in [
        ("orders", all, true, true),
        ("orders", "OBJECT_PREFIX", true, false),
        (&"t".repeat(200)[..], all, true, false),
    ] {
        let before =
            manager(root.path(), true, false, &[("key.prefix", "before/"), ("custom.metadata.fields.include", fields)]);
        let mut sample = Sample::of_topic(topic, 100_000);
        sample.copy(&before).await.expect("copied");
        let bytes = sample.segment.custom_metadata.clone().expect("some");
        assert!(bytes.len() <= 128);
        let says = CustomMetadata::decode(&bytes).expect("readable");
        let size: u64 = objects(root.path()).iter().map(|path| fs::metadata(path).expect("there").len()).sum();
        assert_eq!(says.remote_size_bytes, (fields == all).then_some(size));
        assert_eq!(says.object_prefix.as_deref(), has_prefix.then_some("before/"));
        assert_eq!(says.object_key.is_some(), has_key);
        if let Some(key) = &says.object_key {
            assert!(base(root.path()).ends_with(&format!("before/{key}")));
        }
        let after = manager(root.path(), true, false, &[("key.prefix", "after/")]);
        assert!(read(&after, &sample.segment, 0, None).await.expect("read") == sample.data);
        after.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
        assert_eq!(objects(root.path()), Vec::<PathBuf>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_layout_may_change_at_any_time() {
    let root = tempfile::tempdir().expect("a folder");
    let aiven = manager(root.path(), true, true, &[]);
    let compact = manager(root.path(), true, true, &[("storage.layout", "compact")]);
    let plain = manager(root.path(), false, false, &[("storage.layout", "compact")]);
    let mut samples = Vec::new();
    for writer in [&aiven, &compact, &plain] {
        let mut sample = Sample::new(400_000);
        sample.copy(writer).await.expect("copied");
        samples.push(sample);
    }
    assert_eq!(objects(root.path()).len(), 5);
    for reader in [&aiven, &compact, &plain] {
        for sample in &samples {
            assert!(read(reader, &sample.segment, 0, None).await.expect("read") == sample.data);
            assert_indexes(reader, &sample.segment).await;
        }
    }
    let segments: Vec<_> = samples.iter().map(|sample| sample.segment.clone()).collect();
    plain.delete(&segments).await.expect("deleted");
    assert_eq!(objects(root.path()), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_at_any_of_the_three_objects_leaves_none() {
    for size in [50_000, 5 * MIB] {
        for suffix in ["log", "indexes", "rsm-manifest"] {
            let root = tempfile::tempdir().expect("a folder");
            let manager = manager(root.path(), false, true, &[]);
            let sample = Sample::new(size);
            // A folder stands where the object must.
            let names = undercroft::storage::layout::aiven::Names::new("", None, &sample.segment);
            let in_its_way = root.path().join(names.log().as_str()).with_extension(suffix);
            fs::create_dir_all(in_its_way.join("something")).expect("made");
            let error = manager.copy(&sample.segment, &sample.files).await.expect_err("it is in the way");
            assert!(!matches!(error, StorageError::Internal { .. }), "{suffix}: {error}");
            manager.close().await;
            assert_eq!(objects(root.path()), Vec::<PathBuf>::new(), "{suffix}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_of_another_size_is_never_completed() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = manager(root.path(), true, true, &[]);
    for size in [100_000, 6 * MIB] {
        for length in [size - 1, size + 1] {
            let sample = Sample::new(size);
            let file = fs::OpenOptions::new().write(true).open(&sample.files.log).expect("opens");
            file.set_len(length as u64).expect("cut");
            let error = manager.copy(&sample.segment, &sample.files).await.expect_err("of another size");
            assert!(matches!(error, StorageError::Source { .. }), "{error}");
        }
    }
    manager.close().await;
    assert_eq!(objects(root.path()), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_too_small_for_a_manifest_are_said_so() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = manager(root.path(), true, false, &[("chunk.size", "1")]);
    let sample = Sample::new(11 * MIB);
    let error = manager.copy(&sample.segment, &sample.files).await.expect_err("a table of 11 MiB").to_string();
    assert!(error.contains("raise `chunk.size`"), "{error}");
    manager.close().await;
    assert_eq!(objects(root.path()), Vec::<PathBuf>::new());
}

/// Record batches of words, which compress well, with right checksums.
fn record_batches(count: u32) -> Vec<u8> {
    let batch = |number: u32| {
        let words = (0..300_u32).map(|at| format!("{:x} ", (number * 7 + at).wrapping_mul(2_654_435_761) >> 14));
        let mut body = vec![0; 40];
        body.extend(words.collect::<String>().bytes());
        let length = 9 + u32::try_from(body.len()).expect("small");
        let head = [&[0; 8][..], &length.to_be_bytes(), &[0, 0, 0, 5, 2]].concat();
        [head, crc_fast::crc32_iscsi(&body).to_be_bytes().to_vec(), body].concat()
    };
    (0..count).flat_map(batch).collect()
}

/// A segment of record batches; where each begins.
fn batch_sample(count: u32) -> (Sample, Vec<usize>) {
    let data = record_batches(count);
    let (mut starts, mut at) = (Vec::new(), 0);
    while at < data.len() {
        starts.push(at);
        at += 12 + u32::from_be_bytes(data[at + 8..at + 12].try_into().expect("four")) as usize;
    }
    let mut sample = Sample::new(data.len());
    std::fs::write(&sample.files.log, &data).expect("written");
    sample.data = data;
    (sample, starts)
}

/// What a check of every byte has to say of the one segment that there is.
async fn findings(root: &Path, is_encrypted: bool) -> Vec<Finding> {
    let mut config = Config::new();
    config.set("storage.backend.class", "filesystem");
    config.set("storage.root", root.to_str().expect("UTF-8"));
    if is_encrypted {
        for (key, value) in [
            ("encryption.enabled", "true"),
            ("encryption.key.pair.id", "key1"),
            ("encryption.key.pairs", "key1"),
            ("encryption.key.pairs.key1.private.key.file", aiven::data("priv.pem").to_str().expect("UTF-8")),
            ("encryption.key.pairs.key1.public.key.file", aiven::data("pub.pem").to_str().expect("UTF-8")),
        ] {
            config.set(key, value);
        }
    }
    let env = StorageEnv { runtime: tokio::runtime::Handle::current() };
    let surveyor = Surveyor::open(&config, env, None).expect("opened");
    let mut segments = surveyor.segments(&Scope::default()).await.expect("listed");
    loop {
        match segments.next().await.expect("listed").expect("a segment") {
            Found::Segment(found) => return surveyor.verify(&found, Depth::Heavy).await.findings,
            Found::Foreign { .. } => {}
        }
    }
}

/// Law: what a reader would take for the segment, and isn't, a check of every byte finds.
#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_that_reaches_a_reader_is_found_by_a_check_of_every_byte() {
    for is_compressed in [false, true] {
        let root = tempfile::tempdir().expect("a folder");
        let more = [("chunk.size", "10000"), ("compression.heuristic.enabled", "false")];
        let writer = manager(root.path(), is_compressed, false, &more);
        let (mut sample, starts) = batch_sample(20);
        sample.copy(&writer).await.expect("copied");
        writer.close().await;
        assert_eq!(findings(root.path(), false).await, []);
        let path = base(root.path()) + ".log";
        let intact = std::fs::read(&path).expect("there");
        let mut wrong = 0;
        for at in (0..intact.len()).step_by(137) {
            let mut broken = intact.clone();
            broken[at] ^= 1 << (at % 8);
            std::fs::write(&path, broken).expect("written");
            let reader = manager(root.path(), is_compressed, false, &more);
            let read = support::read(&reader, &sample.segment, 0, None).await;
            reader.close().await;
            // Base offset and leader epoch of a batch are in no checksum.
            let is_covered = |place: usize| {
                let of_batch = place - starts.iter().rev().find(|start| **start <= place).expect("the first is 0");
                of_batch >= 16 || (8..12).contains(&of_batch)
            };
            let is_wrong = read.is_ok_and(|read| {
                read.len() != sample.data.len()
                    || read.iter().zip(&sample.data).enumerate().any(|(place, (a, b))| a != b && is_covered(place))
            });
            if is_wrong {
                wrong += 1;
                let found = findings(root.path(), false).await;
                assert!(found.iter().any(|finding| finding.severity == Severity::Corrupt), "{at}: {found:?}");
            }
        }
        assert!(wrong > 20, "{wrong} readers were wrong: no proof of anything");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_of_an_encrypted_segment_that_changed_places_are_found_by_a_check_of_every_byte() {
    let root = tempfile::tempdir().expect("a folder");
    let more = [("chunk.size", "10000")];
    let (mut sample, _) = batch_sample(30);
    let writer = manager(root.path(), false, true, &more);
    sample.copy(&writer).await.expect("copied");
    writer.close().await;
    assert_eq!(findings(root.path(), true).await, []);
    let path = base(root.path()) + ".log";
    let mut bytes = std::fs::read(&path).expect("there");
    let chunk = 10_000 + 28;
    let (one, two) = bytes[chunk..3 * chunk].split_at_mut(chunk);
    one.swap_with_slice(two);
    std::fs::write(&path, &bytes).expect("written");
    let found = findings(root.path(), true).await;
    assert!(found.iter().any(|finding| finding.severity == Severity::Corrupt), "{found:?}");
    // The first one in another place looks like a segment that no broker wrote.
    let (one, two) = bytes[..2 * chunk].split_at_mut(chunk);
    one.swap_with_slice(two);
    std::fs::write(&path, &bytes).expect("written");
    let found = findings(root.path(), true).await;
    assert!(found.iter().any(|finding| finding.why.contains("in their places")), "{found:?}");
}
