//! Segments that are compressed and encrypted on their way into the compact layout: what is copied is read, what was changed
//! in the store is found, and keys are asked for when they are needed.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

mod support;

use std::path::{Path, PathBuf};

use support::{Sample, assert_indexes, files_below, folder_manager, metric, objects_below, read};
use undercroft::model::IndexType;
use undercroft::storage::StorageError;
use undercroft::storage::layout::compact::Footer;

const MIB: usize = 1 << 20;

fn key(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiven").join(name).to_str().expect("UTF-8").to_owned()
}

/// Settings for each way to transform: name and settings.
fn modes() -> Vec<(&'static str, Vec<(String, String)>)> {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let zstd = vec![pair("compression.enabled", "true")];
    let keys = vec![
        pair("encryption.key.pairs", "k1"),
        pair("encryption.key.pairs.k1.private.key.file", &key("priv.pem")),
        pair("encryption.key.pairs.k1.public.key.file", &key("pub.pem")),
    ];
    let aes = [keys.clone(), vec![pair("encryption.enabled", "true"), pair("encryption.key.pair.id", "k1")]].concat();
    vec![("zstd", zstd.clone()), ("aes", aes.clone()), ("zstd + aes", [zstd, aes].concat()), ("keys only", keys)]
}

fn settings<'a>(mode: &'a [(String, String)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    mode.iter().map(|(key, value)| (key.as_str(), value.as_str())).chain(more.iter().copied()).collect()
}

fn mode(of: &str) -> Vec<(String, String)> {
    modes().into_iter().find(|(name, _)| *name == of).expect("a mode").1
}

fn only_object(root: &Path) -> PathBuf {
    let objects = objects_below(root);
    assert_eq!(objects.len(), 1, "{objects:?}");
    objects[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mode_size_and_chunk_size_is_read_back_and_deleted() {
    for (name, mode) in &modes()[..3] {
        let root = tempfile::tempdir().expect("a folder");
        for chunk_size in ["4096", "131072", "1048576"] {
            let manager = folder_manager(root.path(), &settings(mode, &[("chunk.size", chunk_size)]));
            let chunk: usize = chunk_size.parse().expect("a number");
            for size in [0, 1, chunk - 1, chunk, chunk + 1, 3 * MIB + 7] {
                let what = format!("{name}, {size} bytes in chunks of {chunk_size}");
                let mut sample = Sample::new(size);
                sample.copy(&manager).await.expect(&what);
                assert!(sample.segment.custom_metadata.as_ref().expect("some").len() <= 128);
                // Another process, which knows the metadata only.
                let reader = folder_manager(root.path(), &settings(mode, &[]));
                assert!(read(&reader, &sample.segment, 0, None).await.expect(&what) == sample.data, "{what}");
                for (start, end) in [(0, 0), (17, 16_000), (4090, 4100), (size as u64 / 2, u64::MAX - 1)] {
                    if start < size as u64 {
                        let expected = &sample.data[start as usize..(end.min(size as u64 - 1) + 1) as usize];
                        let found = read(&reader, &sample.segment, start, Some(end)).await.expect(&what);
                        assert!(found == expected, "{what}");
                    }
                }
                assert_indexes(&reader, &sample.segment).await;
                let stored = std::fs::metadata(only_object(root.path())).expect("there").len();
                if name.starts_with("zstd") && size > MIB {
                    assert!(stored < size as u64 / 2, "{what}: {stored}");
                }
                manager.delete(std::slice::from_ref(&sample.segment)).await.expect(&what);
                assert!(objects_below(root.path()).is_empty(), "{what}");
            }
            manager.close().await;
        }
        assert!(files_below(root.path()).iter().all(|path| path.extension().is_none()), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_read_costs_one_request_for_the_tail_and_one_for_data() {
    for (name, mode) in &modes()[..3] {
        let root = tempfile::tempdir().expect("a folder");
        let mut sample = Sample::new(MIB);
        sample.copy(&folder_manager(root.path(), &settings(mode, &[]))).await.expect("copied");
        let manager = folder_manager(root.path(), &settings(mode, &[]));
        manager.check().await.expect("the one at the start is over, too");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let before = metric(&manager, "store-requests-total");
        assert_indexes(&manager, &sample.segment).await;
        let _ = read(&manager, &sample.segment, 0, Some(1000)).await.expect("read");
        assert_eq!(metric(&manager, "store-requests-total") - before, 2.0, "{name}");
        assert_eq!(metric(&manager, "index-cache-misses-total"), 0.0, "{name}: they came with the table");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_metadata_a_segment_is_found_by_its_footer() {
    for (name, mode) in &modes()[..3] {
        let root = tempfile::tempdir().expect("a folder");
        let manager = folder_manager(root.path(), &settings(mode, &[]));
        let mut sample = Sample::new(300_000);
        sample.copy(&manager).await.expect("copied");
        sample.segment.custom_metadata = None;
        assert!(read(&manager, &sample.segment, 0, None).await.expect(name) == sample.data);
        assert_indexes(&manager, &sample.segment).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_is_found_wherever_it_is() {
    for (name, mode) in &modes()[..3] {
        let root = tempfile::tempdir().expect("a folder");
        let small = settings(mode, &[("chunk.size", "16384")]);
        let mut sample = Sample::new(100_000);
        sample.copy(&folder_manager(root.path(), &small)).await.expect("copied");
        let object = only_object(root.path());
        let intact = std::fs::read(&object).expect("readable");
        let data = data_length(&intact);
        let spots = (0..intact.len()).step_by(1009).chain([data - 1, data, intact.len() - 20, intact.len() - 1]);
        for at in spots {
            let mut broken = intact.clone();
            broken[at] ^= 0x10;
            std::fs::write(&object, &broken).expect("written");
            let manager = folder_manager(root.path(), &small);
            let found = read(&manager, &sample.segment, 0, None).await;
            match found {
                Ok(bytes) => assert!(at >= data && bytes == sample.data, "{name}: byte {at}"),
                Err(StorageError::Corrupt { place, .. }) if at < data => {
                    assert!(place.starts_with("chunk "), "{name}: byte {at}: {place}");
                }
                // In the trailer it may be the version.
                Err(StorageError::Corrupt { .. } | StorageError::Unsupported { .. }) => {}
                Err(other) => panic!("{name}: byte {at}: {other}"),
            }
            if at >= data {
                let mut wrong = 0;
                for index in
                    [IndexType::Offset, IndexType::Timestamp, IndexType::ProducerSnapshot, IndexType::LeaderEpoch]
                {
                    wrong += i32::from(manager.fetch_index(&sample.segment, index).await.is_err());
                }
                assert!(wrong > 0, "{name}: byte {at} belongs to an index or the footer");
            }
        }
    }
}

fn data_length(object: &[u8]) -> usize {
    usize::try_from(Footer::decode(object, object.len() as u64).expect("whole").data_length).expect("small")
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_that_changed_places_or_segments_are_found() {
    for (name, mode) in &modes()[..3] {
        let root = tempfile::tempdir().expect("a folder");
        let small = settings(mode, &[("chunk.size", "4096")]);
        let manager = folder_manager(root.path(), &small);
        // Every chunk of the same bytes, so that all are of one stored length.
        let sample_of = |byte: u8| {
            let mut sample = Sample::new(5 * 4096);
            sample.data.fill(byte);
            std::fs::write(&sample.files.log, &sample.data).expect("written");
            sample
        };
        let (mut one, mut other) = (sample_of(7), sample_of(7));
        one.copy(&manager).await.expect("copied");
        let object = only_object(root.path());
        let intact = std::fs::read(&object).expect("readable");
        other.copy(&manager).await.expect("copied");
        let another = objects_below(root.path()).into_iter().find(|path| *path != object).expect("two");
        let another = std::fs::read(another).expect("readable");
        let data = data_length(&intact);
        let chunk = data / 5;
        let mut swapped = intact.clone();
        swapped[..chunk].copy_from_slice(&intact[chunk..2 * chunk]);
        swapped[chunk..2 * chunk].copy_from_slice(&intact[..chunk]);
        let mut repeated = intact.clone();
        repeated[chunk..2 * chunk].copy_from_slice(&intact[..chunk]);
        let mut foreign = intact.clone();
        foreign[..chunk].copy_from_slice(&another[..chunk]);
        for (what, bytes) in [("swapped", swapped), ("repeated", repeated), ("foreign", foreign)] {
            std::fs::write(&object, bytes).expect("written");
            let fresh = folder_manager(root.path(), &small);
            let error = read(&fresh, &one.segment, 0, None).await.expect_err(what);
            assert!(matches!(error, StorageError::Corrupt { .. }), "{name}, {what}: {error}");
        }
        std::fs::write(&object, &another).expect("written");
        let fresh = folder_manager(root.path(), &small);
        let error = read(&fresh, &one.segment, 0, None).await.expect_err("the object of another segment").to_string();
        assert!(error.contains("belongs to segment"), "{name}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_cut_at_any_byte_of_its_tail_is_corrupt() {
    for (name, mode) in &modes()[..3] {
        let root = tempfile::tempdir().expect("a folder");
        let all = settings(mode, &[]);
        let mut sample = Sample::new(20_000);
        sample.copy(&folder_manager(root.path(), &all)).await.expect("copied");
        let object = only_object(root.path());
        let intact = std::fs::read(&object).expect("readable");
        let manager = folder_manager(root.path(), &all);
        for cut in (data_length(&intact) + 1900..intact.len()).chain([0, 1, 100]) {
            std::fs::write(&object, &intact[..cut]).expect("written");
            let error = read(&manager, &sample.segment, 0, None).await.expect_err("cut");
            assert!(matches!(error, StorageError::Corrupt { .. }), "{name}, {cut}: {error}");
            // And for who has no metadata.
            assert!(Footer::decode(&intact[..cut], cut as u64).is_err(), "{name}, {cut}");
        }
        std::fs::remove_file(&object).expect("removed");
        let error = read(&manager, &sample.segment, 0, None).await.expect_err("gone");
        assert!(matches!(error, StorageError::NotFound { .. }), "{name}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn encryption_can_be_switched_off_and_each_trouble_with_keys_is_told_apart() {
    let root = tempfile::tempdir().expect("a folder");
    let (aes, keys) = (mode("zstd + aes"), mode("keys only"));
    let mut sample = Sample::new(300_000);
    sample.copy(&folder_manager(root.path(), &settings(&aes, &[]))).await.expect("copied");
    let off = folder_manager(root.path(), &settings(&keys, &[]));
    assert!(read(&off, &sample.segment, 0, None).await.expect("keys are enough") == sample.data);
    let mut plain = Sample::new(300_000);
    plain.copy(&off).await.expect("copied");
    assert!(read(&off, &plain.segment, 0, None).await.expect("side by side") == plain.data);

    let folder = tempfile::tempdir().expect("a folder");
    let other = openssl_key(folder.path());
    for (pairs, expected) in [
        (vec![], "is not among the configured ones (none)"),
        (
            vec![("encryption.key.pairs", "k2"), ("encryption.key.pairs.k2.private.key.file", other.as_str())],
            "is not among the configured ones (k2)",
        ),
        (
            vec![("encryption.key.pairs", "k1"), ("encryption.key.pairs.k1.private.key.file", other.as_str())],
            "is not opened by the private key",
        ),
        (vec![("encryption.key.pairs", "k1")], "can't be used"),
    ] {
        let manager = folder_manager(root.path(), &pairs);
        let error = read(&manager, &sample.segment, 0, None).await.expect_err(expected);
        assert!(matches!(error, StorageError::Misconfigured { .. }), "{error:?}");
        let error = error.to_string();
        assert!(error.contains(expected) && error.contains("encryption.key.pairs"), "{error}");
        manager.delete(std::slice::from_ref(&plain.segment)).await.expect("deleting needs no key");
    }
}

/// A private key that nothing here was encrypted for.
fn openssl_key(folder: &Path) -> String {
    let key = openssl::pkey::PKey::from_rsa(openssl::rsa::Rsa::generate(2048).expect("a key")).expect("a key");
    let path = folder.join("other.pem");
    std::fs::write(&path, key.private_key_to_pem_pkcs8().expect("PEM")).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_that_producers_compressed_are_not_compressed_again() {
    let root = tempfile::tempdir().expect("a folder");
    for (codec, heuristic, is_smaller) in [(0, "true", true), (4, "true", false), (4, "false", true)] {
        let all = settings(&[], &[("compression.enabled", "true"), ("compression.heuristic.enabled", heuristic)]);
        let manager = folder_manager(root.path(), &all);
        let mut sample = Sample::new(200_000);
        sample.data[8..12].copy_from_slice(&199_988_u32.to_be_bytes());
        sample.data[16] = 2;
        sample.data[21..23].copy_from_slice(&[0, codec]);
        std::fs::write(&sample.files.log, &sample.data).expect("written");
        std::fs::write(&sample.files.offset_index, [0; 80]).expect("written");
        sample.copy(&manager).await.expect("copied");
        let stored = std::fs::metadata(only_object(root.path())).expect("there").len();
        assert_eq!(stored < 200_000, is_smaller, "codec {codec}, heuristic {heuristic}: {stored}");
        assert!(read(&manager, &sample.segment, 0, None).await.expect("read") == sample.data);
        manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_changes_under_the_copy_leaves_no_object() {
    for (name, mode) in &modes()[..3] {
        let root = tempfile::tempdir().expect("a folder");
        let manager = folder_manager(root.path(), &settings(mode, &[]));
        for size in [100_000, 12 * MIB] {
            for length in [size - 1, size + 1] {
                let sample = Sample::new(size);
                let file = std::fs::OpenOptions::new().write(true).open(&sample.files.log).expect("opens");
                file.set_len(length as u64).expect("cut");
                let error = manager.copy(&sample.segment, &sample.files).await.expect_err("of another size");
                assert!(matches!(error, StorageError::Source { .. }), "{name}: {error}");
            }
            for what in ["cut", "removed"] {
                let sample = Sample::new(size);
                let (path, owned) = (sample.files.log.clone(), what.to_owned());
                let change = tokio::spawn(async move {
                    if owned == "cut" {
                        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("opens");
                        file.set_len(50_000).expect("cut");
                    } else {
                        std::fs::remove_file(&path).expect("removed");
                    }
                });
                let copied = manager.copy(&sample.segment, &sample.files).await;
                change.await.expect("changed");
                match copied {
                    Err(error) => assert!(matches!(error, StorageError::Source { .. }), "{name}, {what}: {error}"),
                    // It was quicker.
                    Ok(_) => manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted"),
                }
            }
        }
        manager.close().await;
        assert!(objects_below(root.path()).is_empty(), "{name}: {:?}", objects_below(root.path()));
    }
}
