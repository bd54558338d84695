//! The storage side over a folder: what is copied is read, what is wrong is said, and nothing is left behind.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

mod support;

use std::path::PathBuf;
use std::time::Duration;

use support::{Sample, assert_indexes, files_below, folder_manager, metric, objects_below, read};
use undercroft::model::{IndexType, Offset};
use undercroft::storage::{SegmentFiles, StorageError};

const MIB: usize = 1 << 20;
const SMALL_PARTS: &[(&str, &str)] = &[("storage.s3.multipart.upload.part.size", "5242880")];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_copied_is_read_back_and_deleted_without_a_trace() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), SMALL_PARTS);
    for size in [0, 1, 65_535, 65_536, 65_537, 3 * MIB, 13 * MIB + 7] {
        let mut sample = Sample::new(size);
        sample.copy(&manager).await.expect("copied");
        assert!(read(&manager, &sample.segment, 0, None).await.expect("read") == sample.data, "{size}");
        for (start, end) in [(0, 0), (17, 16_000), (65_530, 65_540), (size as u64 / 2, u64::MAX - 1)] {
            if start < size as u64 {
                let expected = &sample.data[start as usize..(end.min(size as u64 - 1) + 1) as usize];
                assert_eq!(read(&manager, &sample.segment, start, Some(end)).await.expect("read"), expected);
            }
        }
        assert_eq!(read(&manager, &sample.segment, size as u64, None).await.expect("at the end"), Vec::<u8>::new());
        assert!(matches!(
            manager.fetch(&sample.segment, size as u64 + 1, None),
            Err(StorageError::InvalidArgument { .. })
        ));
        assert_indexes(&manager, &sample.segment).await;
        let objects = objects_below(root.path());
        assert_eq!(objects.len(), 1, "{objects:?}");
        manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
        manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted again");
        assert_eq!(objects_below(root.path()), Vec::<std::path::PathBuf>::new());
    }
    assert_eq!(metric(&manager, "copy-total"), 7.0);
    manager.close().await;
    assert_eq!(files_below(root.path()), Vec::<std::path::PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_prefix_loses_no_segment() {
    let root = tempfile::tempdir().expect("a folder");
    let mut sample = Sample::of_topic(&"t".repeat(230), 100_000);
    let before = folder_manager(root.path(), &[("key.prefix", "before/")]);
    sample.copy(&before).await.expect("copied");
    assert!(sample.segment.custom_metadata.as_ref().expect("some").len() <= 128);
    let after = folder_manager(root.path(), &[("key.prefix", "after/")]);
    assert_eq!(read(&after, &sample.segment, 0, None).await.expect("read"), sample.data);
    after.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
    // Their checks at the start write, too.
    before.close().await;
    after.close().await;
    assert!(files_below(root.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_damage_is_named_and_no_wrong_byte_comes_out() {
    let root = tempfile::tempdir().expect("a folder");
    let mut sample = Sample::new(200_000);
    sample.copy(&folder_manager(root.path(), &[])).await.expect("copied");
    let object = objects_below(root.path()).remove(0);
    let intact = std::fs::read(&object).expect("readable");
    let name = object.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
    for at in (0..intact.len()).step_by(977).chain([intact.len() - 1]) {
        let mut broken = intact.clone();
        broken[at] ^= 0x10;
        std::fs::write(&object, &broken).expect("written");
        let manager = folder_manager(root.path(), &[]);
        let data = read(&manager, &sample.segment, 0, None).await;
        let index = manager.fetch_index(&sample.segment, undercroft::model::IndexType::Offset).await;
        if at < 200_016 {
            let error = data.map(|bytes| bytes.len()).expect_err("damage in the data").to_string();
            assert!(error.contains(&name) && error.contains(&format!("chunk {}", at / 65_540)), "{error}");
        } else {
            assert!(data.expect("damage elsewhere") == sample.data);
            let footer_or_index = index.err().map(|error| error.to_string());
            assert!(
                footer_or_index
                    .is_none_or(|error| error.contains(&name) && error.contains("corrupt") || error.contains("newer"))
            );
        }
    }
    for cut in [0, 1, 65_540, 199_999, 200_016, intact.len() - 1] {
        std::fs::write(&object, &intact[..cut]).expect("written");
        let manager = folder_manager(root.path(), &[]);
        let whole = read(&manager, &sample.segment, 0, None).await;
        assert_eq!(whole.is_err(), cut < 200_016, "cut at {cut}");
        if let Err(error) = whole {
            let text = error.to_string();
            assert!(matches!(&error, StorageError::Corrupt { .. }) && text.contains(&name), "{text}");
            assert!(text.contains(&format!("chunk {} is corrupt: truncated", cut / 65_540)), "{cut}: {text}");
            assert!(text.contains(&format!("has {cut} bytes")), "{text}");
        }
        let error = manager.fetch_index(&sample.segment, undercroft::model::IndexType::Offset).await.expect_err("cut");
        assert!(matches!(error, StorageError::Corrupt { .. }), "{error:?}");
    }
    std::fs::remove_file(&object).expect("removed");
    let manager = folder_manager(root.path(), &[]);
    for error in [
        read(&manager, &sample.segment, 0, None).await.map(|_| ()),
        manager.fetch_index(&sample.segment, undercroft::model::IndexType::Offset).await.map(|_| ()),
    ] {
        assert!(matches!(error, Err(StorageError::NotFound { .. })), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_not_what_the_metadata_says_is_never_completed() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), SMALL_PARTS);
    for size in [100_000, 12 * MIB] {
        for (what, length) in [("shorter", size - 1), ("longer", size + 1)] {
            let sample = Sample::new(size);
            let file = std::fs::OpenOptions::new().write(true).open(&sample.files.log).expect("opens");
            file.set_len(length as u64).expect("cut");
            let error = manager.copy(&sample.segment, &sample.files).await.expect_err(what);
            assert!(matches!(error, StorageError::Source { .. }), "{error:?}");
            assert!(error.to_string().contains(&size.to_string()), "{error}");
        }
        let mut sample = Sample::new(size);
        sample.files.time_index = sample.folder.path().join("nowhere");
        let error = manager.copy(&sample.segment, &sample.files).await.expect_err("no time index");
        assert!(matches!(&error, StorageError::Source { .. }) && error.to_string().contains("nowhere"), "{error}");
        let sample = Sample::new(size);
        std::fs::remove_file(&sample.files.log).expect("removed");
        let error = manager.copy(&sample.segment, &sample.files).await.expect_err("no log");
        assert!(matches!(error, StorageError::Source { .. }), "{error:?}");
    }
    manager.close().await;
    assert!(files_below(root.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_or_no_index_by_its_length_is_refused_without_reading_or_waiting_for_it() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[("upload.memory.bytes.max", "16777216")]);
    let places: [fn(&mut SegmentFiles) -> &mut PathBuf; 5] = [
        |files| &mut files.log,
        |files| &mut files.offset_index,
        |files| &mut files.time_index,
        |files| &mut files.producer_snapshot,
        |files| files.transaction_index.insert(PathBuf::new()),
    ];
    for (at, place) in places.iter().enumerate() {
        let mut sample = Sample::new(100_000);
        let other = sample.folder.path();
        let (pipe, long) = (other.join("pipe"), other.join("long"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        std::fs::File::create(&long).and_then(|file| file.set_len(600 << 20)).expect("a file with a hole");
        let folder = other.to_owned();
        for (path, why) in [
            (pipe, "it is not a file but a pipe"),
            ("/dev/zero".into(), "it is not a file but a device"),
            (folder, "it is not a file but a folder"),
            (long, if at == 0 { "the segment's metadata says 100000" } else { "it has 629145600 bytes" }),
        ] {
            place(&mut sample.files).clone_from(&path);
            let copied = tokio::time::timeout(Duration::from_secs(60), sample.copy(&manager)).await;
            let error = copied.expect("it waits for nobody").expect_err(why);
            let text = error.to_string();
            assert!(matches!(error, StorageError::Source { .. }), "{error:?}");
            assert!(text.contains(why) && text.contains(path.to_str().expect("UTF-8")), "{at}: {text}");
        }
    }
    manager.close().await;
    assert!(files_below(root.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_part_of_the_memory_of_copies() {
    const INDEX: usize = 20 * MIB;
    for more in [&[][..], &[("compression.enabled", "true")], &[("storage.layout", "aiven")]] {
        let root = tempfile::tempdir().expect("a folder");
        let settings = [&[("upload.memory.bytes.max", "16777216")][..], more].concat();
        let manager = std::sync::Arc::new(folder_manager(root.path(), &settings));
        let copies = (0..3).map(|_| {
            let mut sample = Sample::new(100_000);
            std::fs::write(&sample.files.offset_index, vec![1; INDEX]).expect("written");
            let manager = std::sync::Arc::clone(&manager);
            tokio::spawn(async move {
                sample.copy(&manager).await.expect("a large index is one");
                let index = manager.fetch_index(&sample.segment, IndexType::Offset).await.expect("there");
                assert!(index.len() == INDEX && index.iter().all(|byte| *byte == 1));
            })
        });
        let copies: Vec<_> = copies.collect();
        let (mut held, held_now) = (0.0_f64, || metric(&manager, "upload-memory-bytes"));
        while copies.iter().any(|copy| !copy.is_finished()) {
            held = held.max(held_now());
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        for copy in copies {
            copy.await.expect("done");
        }
        let one = if more.is_empty() { INDEX } else { 2 * INDEX } as f64;
        assert!(held >= one && held < one * 1.5, "{more:?}: {held}, so copies ran beside each other or held nothing");
        assert_eq!(held_now(), 0.0);
        manager.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_that_no_segment_has_are_refused_before_anything_is_read_or_written() {
    let root = tempfile::tempdir().expect("a folder");
    for layout in ["compact", "aiven"] {
        let manager = folder_manager(root.path(), &[("storage.layout", layout)]);
        for (start, end, why) in [
            (-1, 5, "its start offset is negative"),
            (i64::MIN, i64::MAX, "its start offset is negative"),
            (-2, -3, "its start offset is negative"),
            (10, 9, "it ends before it starts"),
            (i64::MAX, 0, "it ends before it starts"),
            (0, -1, "it ends before it starts"),
        ] {
            let mut sample = Sample::new(100);
            (sample.segment.start_offset, sample.segment.end_offset) = (Offset(start), Offset(end));
            sample.files.log = "/nowhere".into();
            let error = sample.copy(&manager).await.expect_err(why);
            assert!(matches!(error, StorageError::InvalidArgument { .. }), "{error:?}");
            assert!(error.to_string().contains(why) && error.to_string().contains(&start.to_string()), "{error}");
        }
        let mut one = Sample::new(100);
        (one.segment.start_offset, one.segment.end_offset) = (Offset(0), Offset(0));
        one.copy(&manager).await.expect("one record is a segment");
        manager.delete(std::slice::from_ref(&one.segment)).await.expect("deleted");
        manager.close().await;
    }
    assert!(files_below(root.path()).is_empty());
}

/// Races the copy, so that the change is met at different places: the outcome is an error and nothing, or all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_changes_under_the_copy_leaves_all_or_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), SMALL_PARTS);
    for delay_ms in [0, 2, 5, 10, 20, 40] {
        for change in ["shrink", "grow", "vanish"] {
            let mut sample = Sample::new(24 * MIB);
            let path = sample.files.log.clone();
            let changed = tokio::task::spawn_blocking(move || {
                std::thread::sleep(Duration::from_millis(delay_ms));
                match change {
                    "vanish" => std::fs::remove_file(&path).expect("removed"),
                    _ => {
                        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("opens");
                        file.set_len(if change == "grow" { 30 } else { 10 } * MIB as u64).expect("set");
                    }
                }
            });
            let copied = sample.copy(&manager).await;
            changed.await.expect("changed");
            match copied {
                Ok(()) => {
                    assert!(read(&manager, &sample.segment, 0, None).await.expect("all") == sample.data);
                    manager.delete(std::slice::from_ref(&sample.segment)).await.expect("deleted");
                }
                Err(error) => assert!(matches!(error, StorageError::Source { .. }), "{change}: {error:?}"),
            }
            assert!(objects_below(root.path()).is_empty(), "{change} after {delay_ms} ms");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_copy_and_a_close_leave_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), SMALL_PARTS);
    for wait_ms in [0, 1, 5, 20] {
        let sample = Sample::new(40 * MIB);
        let copy = manager.copy(&sample.segment, &sample.files);
        let _ = tokio::time::timeout(Duration::from_millis(wait_ms), copy).await;
    }
    let sample = Sample::new(40 * MIB);
    let running = tokio::spawn({
        let (manager, segment, files) = (manager.clone(), sample.segment.clone(), sample.files.clone());
        async move { manager.copy(&segment, &files).await }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    manager.close().await;
    let ended = running.await.expect("no panic");
    assert!(matches!(ended, Err(StorageError::Cancelled { .. } | StorageError::Closed { .. }) | Ok(_)), "{ended:?}");
    // The copy that ran on may have ended before the close.
    let left: Vec<_> =
        files_below(root.path()).into_iter().filter(|path| !objects_below(root.path()).contains(path)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(objects_below(root.path()).len(), usize::from(ended.is_ok()));
    for (what, error) in [
        ("copy", manager.copy(&sample.segment, &sample.files).await.map(|_| ())),
        ("delete", manager.delete(std::slice::from_ref(&sample.segment)).await),
        ("check", manager.check().await),
        ("fetch", manager.fetch(&sample.segment, 0, None).map(|_| ())),
    ] {
        assert!(matches!(error, Err(StorageError::Closed { .. })), "{what}: {error:?}");
    }
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumers_way_of_reading_gets_each_byte_once() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[]);
    let mut sample = Sample::new(12 * MIB);
    sample.copy(&manager).await.expect("copied");
    let before = metric(&manager, "store-read-bytes-total");
    let mut position = 0;
    while position < sample.data.len() {
        let mut reader = manager.fetch(&sample.segment, position as u64, None).expect("opens");
        let mut taken = 0;
        while taken < MIB && reader.remaining() > 0 {
            let bytes = reader.read().await.expect("read");
            assert_eq!(bytes, sample.data[position + taken..position + taken + bytes.len()]);
            taken += bytes.len();
        }
        position += taken.min(MIB - 5000);
    }
    let fetched = metric(&manager, "store-read-bytes-total") - before;
    assert!(fetched <= 1.05 * sample.data.len() as f64, "{fetched} bytes for {}", sample.data.len());
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_readers_share_the_memory_there_is_and_all_get_on() {
    let root = tempfile::tempdir().expect("a folder");
    let little = [("fetch.memory.bytes.max", "1048576"), ("fetch.chunk.cache.size", "0")];
    let manager = folder_manager(root.path(), &little);
    let mut sample = Sample::new(12 * MIB);
    sample.copy(&manager).await.expect("copied");
    let readers = (0..60_u64).map(|number| {
        let (manager, segment) = (manager.clone(), sample.segment.clone());
        tokio::spawn(async move { read(&manager, &segment, number * 100_003, None).await })
    });
    for (number, reader) in readers.collect::<Vec<_>>().into_iter().enumerate() {
        assert!(reader.await.expect("runs").expect("read") == sample.data[number * 100_003..], "{number}");
    }
    assert_eq!(metric(&manager, "fetch-in-flight-bytes"), 0.0);
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_of_nothing_costs_memory_only() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[("fetch.chunk.cache.size", "0"), ("fetch.indexes.cache.size", "0")]);
    let mut sample = Sample::new(12 * MIB + 99);
    sample.copy(&manager).await.expect("copied");
    let before = metric(&manager, "store-read-bytes-total");
    assert!(read(&manager, &sample.segment, 0, None).await.expect("read") == sample.data);
    let fetched = metric(&manager, "store-read-bytes-total") - before;
    assert!(fetched <= 1.01 * sample.data.len() as f64, "{fetched}");
    assert_indexes(&manager, &sample.segment).await;
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_indexes_come_with_one_request() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[]);
    let mut sample = Sample::new(1000);
    sample.copy(&manager).await.expect("copied");
    manager.check().await.expect("usable");
    tokio::time::sleep(Duration::from_millis(50)).await;
    let before = metric(&manager, "store-requests-total");
    assert_indexes(&manager, &sample.segment).await;
    assert_eq!(metric(&manager, "store-requests-total") - before, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_version_wrote_is_unsupported_and_not_missing() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[]);
    let mut sample = Sample::new(1000);
    // Layout 2 under our tag, and another tag of ours alone.
    for metadata in [&[1, 100, 2, 2, 1][..], &[1, 101, 1, 0]] {
        sample.segment.custom_metadata = Some(bytes::Bytes::from_static(metadata));
        let error = manager.fetch(&sample.segment, 0, None).expect_err("unreadable");
        assert!(matches!(error, StorageError::Unsupported { .. }), "{error:?}");
        let error = manager.delete(std::slice::from_ref(&sample.segment)).await.expect_err("objects of other names");
        assert!(matches!(error, StorageError::Unsupported { .. }), "{error:?}");
    }
    sample.segment.custom_metadata = None;
    manager.delete(std::slice::from_ref(&sample.segment)).await.expect("an attempt that never finished can be deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_says_no_is_not_asked_again_and_again() {
    let parent = tempfile::tempdir().expect("a folder");
    let file = parent.path().join("file");
    std::fs::write(&file, b"no folder").expect("written");
    for (root, why) in [(parent.path().join("not-mounted"), "does not exist"), (file, "not a folder")] {
        let manager = folder_manager(&root, SMALL_PARTS);
        for size in [1000, 12 * MIB] {
            let mut sample = Sample::new(size);
            let start = std::time::Instant::now();
            let error = sample.copy(&manager).await.expect_err("nowhere to write");
            assert!(matches!(error, StorageError::Misconfigured { .. }), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(root.to_str().expect("UTF-8")) && text.contains(why), "{text}");
            assert!(text.contains("storage.root"), "{text}");
            assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
        }
        let start = std::time::Instant::now();
        manager.close().await;
        assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
        assert_eq!(metric(&manager, "copy-cleanups-failed-total"), 0.0, "nothing was written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_deleted_is_not_served_from_memory() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[]);
    let (mut gone, mut kept) = (Sample::new(3 * MIB), Sample::new(3 * MIB));
    for sample in [&mut gone, &mut kept] {
        sample.copy(&manager).await.expect("copied");
        assert!(read(&manager, &sample.segment, 0, None).await.expect("read") == sample.data);
        assert_indexes(&manager, &sample.segment).await;
    }
    let held = metric(&manager, "block-cache-bytes");
    manager.delete(std::slice::from_ref(&gone.segment)).await.expect("deleted");
    for start in [0, 70_000, 2 * MIB as u64] {
        let error = read(&manager, &gone.segment, start, None).await.expect_err("deleted");
        assert!(matches!(error, StorageError::NotFound { .. }), "{error:?}");
    }
    let error = manager.fetch_index(&gone.segment, undercroft::model::IndexType::Offset).await.expect_err("deleted");
    assert!(matches!(error, StorageError::NotFound { .. }), "{error:?}");
    assert!(metric(&manager, "block-cache-bytes") <= held / 2.0 + 1.0, "its memory is free");
    let before = metric(&manager, "store-requests-total");
    assert!(read(&manager, &kept.segment, 0, None).await.expect("read") == kept.data);
    assert_eq!(metric(&manager, "store-requests-total"), before, "the other one stays");
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_file_can_be_called_or_is_in_its_way_is_said_at_once_and_for_good() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[("storage.retry.delay.ms", "60000")]);
    let sample = Sample::of_topic(&"t".repeat(233), 1000);
    let error = manager.copy(&sample.segment, &sample.files).await.expect_err("no file system has such names");
    assert!(matches!(&error, StorageError::Misconfigured { .. }) && !error.is_retriable(), "{error:?}");
    assert!(error.to_string().contains("a topic's name of 232 bytes"), "{error}");

    for (what, hinder) in [
        ("a file for a folder", (|at| std::fs::write(at, b"")) as fn(&std::path::Path) -> std::io::Result<()>),
        ("a link to itself", |at| std::os::unix::fs::symlink(at.file_name().expect("a name"), at)),
    ] {
        let sample = Sample::of_topic(&what.replace(' ', "-"), 1000);
        let partition = &sample.segment.id.partition;
        hinder(&root.path().join(format!("{}-{}", partition.topic, partition.topic_id))).expect("made");
        let error = manager.copy(&sample.segment, &sample.files).await.expect_err(what);
        assert!(matches!(error, StorageError::Misconfigured { .. }), "{what}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_came_damaged_is_not_kept_with_those_that_came_whole() {
    let root = tempfile::tempdir().expect("a folder");
    let manager = folder_manager(root.path(), &[]);
    let mut sample = Sample::new(100_000);
    sample.copy(&manager).await.expect("copied");
    let object = support::object_below(root.path(), &sample.segment);
    let intact = std::fs::read(&object).expect("there");
    let at = intact.windows(800).position(|bytes| bytes == [1; 800]).expect("the offset index");
    let damage = || {
        let mut damaged = intact.clone();
        damaged[at + 9] ^= 4;
        std::fs::write(&object, damaged).expect("written");
    };
    damage();
    for _ in 0..2 {
        let error = manager.fetch_index(&sample.segment, IndexType::Offset).await.expect_err("damaged");
        assert!(matches!(error, StorageError::Corrupt { .. }), "{error:?}");
        manager.fetch_index(&sample.segment, IndexType::Timestamp).await.expect("whole");
    }
    // The time index keeps in memory what came with it, the damage included.
    std::fs::write(&object, &intact).expect("written");
    assert_indexes(&manager, &sample.segment).await;
    manager.close().await;
}
