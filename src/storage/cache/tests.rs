//! Law: what comes out is what went in, or nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::disk::POISON;
use super::{ChunkKey, DiskCache, DiskMeters, DiskPatience, DiskSettings};
use crate::model::KafkaUuid;

const MIB: u64 = 1 << 20;

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(test)
}

/// For what has nothing to do with how quick the disk is, as other tests use it, too.
const PATIENT: DiskPatience = DiskPatience { read: Duration::from_secs(30), close: Duration::from_secs(30) };

fn open(path: &Path, bytes: u64) -> DiskCache {
    open_with(path, bytes, PATIENT)
}

fn open_with(path: &Path, bytes: u64, patience: DiskPatience) -> DiskCache {
    let settings = DiskSettings { path: path.into(), bytes, patience };
    DiskCache::open(settings, &tokio::runtime::Handle::current(), DiskMeters::default())
}

fn key(chunk: u64) -> ChunkKey {
    ChunkKey { segment: KafkaUuid([7; 16]), chunk, object_length: 12_345 }
}

fn chunk(number: u64) -> Bytes {
    Bytes::from((0..65_540_u64).map(|at| (at * 31 + number) as u8).collect::<Vec<_>>())
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < Duration::from_secs(60), "it never came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Puts chunks until they stay.
async fn fill(cache: &DiskCache, chunks: u64) {
    until(async || {
        cache.put(key(0), chunk(0));
        cache.may_have(&key(0))
    })
    .await;
    for number in 1..chunks {
        cache.put(key(number), chunk(number));
    }
}

/// Changes every byte in the middle of the files that are longer than that.
fn damage(path: &Path, how: impl Fn(&Path)) {
    let files = std::fs::read_dir(path.join("undercroft-chunks")).expect("a folder");
    for file in files.map(|file| file.expect("a file").path()) {
        if file.to_string_lossy().contains("foyer") {
            how(&file);
        }
    }
}

#[test]
fn a_disk_that_does_not_answer_holds_nobody_and_is_let_alone() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = open_with(folder.path(), 64 * MIB, DiskPatience { read: Duration::from_secs(5), ..PATIENT });
        fill(&cache, 2).await;
        assert_eq!(cache.get(&key(0)).await, Some(chunk(0)));
        let stalled = cache.stall().await;
        let started = Instant::now();
        assert_eq!(cache.get(&key(0)).await, None, "the store has it, too");
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(!cache.may_have(&key(0)), "so that the next read loses no time");
        drop(stalled);
        assert_eq!(cache.get(&key(0)).await, Some(chunk(0)));
        cache.close().await;
    });
}

/// Files in the cache's folder that this process has open.
fn open_files(path: &Path) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("a folder");
    open.filter_map(|file| std::fs::read_link(file.expect("a file").path()).ok())
        .filter(|file| file.starts_with(path))
        .count()
}

#[test]
fn no_file_of_a_cache_stays_open_once_it_is_closed_or_dropped() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        for is_closed in [true, true, false, true] {
            let cache = open(folder.path(), 64 * MIB);
            fill(&cache, 20).await;
            assert!(open_files(folder.path()) >= 4);
            if is_closed {
                cache.close().await;
                assert_eq!(open_files(folder.path()), 0, "and the closed one is still held");
            }
            drop(cache);
            until(async || open_files(folder.path()) == 0).await;
        }
        // One that is closed before it is open.
        let cache = open(folder.path(), 64 * MIB);
        cache.close().await;
        until(async || open_files(folder.path()) == 0).await;
    });
}

#[test]
fn a_cache_whose_engine_died_is_switched_off_and_counts_nothing_more() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = DiskSettings { path: folder.path().into(), bytes: 64 * MIB, patience: PATIENT };
        let meters = DiskMeters::default();
        let cache = DiskCache::open(settings, &tokio::runtime::Handle::current(), meters.clone());
        fill(&cache, 5).await;
        assert_eq!(cache.get(&key(0)).await, Some(chunk(0)));
        cache.put(key(POISON), chunk(1));
        until(async || !cache.may_have(&key(0))).await;
        let written = meters.bytes_written.get();
        for number in 0..100 {
            cache.put(key(number), chunk(number));
            cache.discard(&key(number));
            assert_eq!(cache.get(&key(number)).await, None);
        }
        assert_eq!((meters.bytes_written.get(), meters.dropped.get()), (written, 0));
        until(async || open_files(folder.path()) == 0).await;
        // Its folder is free for the next one.
        let next = open(folder.path(), 64 * MIB);
        fill(&next, 2).await;
        cache.close().await;
        assert_eq!(next.get(&key(0)).await, Some(chunk(0)));
        next.close().await;
    });
}

#[test]
fn chunks_survive_a_restart() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = open(folder.path(), 64 * MIB);
        fill(&cache, 40).await;
        assert_eq!(cache.get(&key(11)).await, Some(chunk(11)), "also while it is being written");
        assert_eq!(cache.get(&key(40)).await, None);
        cache.close().await;
        drop(cache);

        let cache = open(folder.path(), 64 * MIB);
        until(async || cache.may_have(&key(0))).await;
        for number in 0..40 {
            assert_eq!(cache.get(&key(number)).await, Some(chunk(number)), "chunk {number}");
        }
        let other = ChunkKey { object_length: 1, ..key(3) };
        assert_eq!(cache.get(&other).await, None, "of the same segment in another object");
        cache.discard(&key(3));
        until(async || cache.get(&key(3)).await.is_none()).await;
        cache.close().await;
    });
}

#[test]
fn a_flipped_or_torn_file_gives_nothing_wrong() {
    let flip = |file: &Path| {
        let mut bytes = std::fs::read(file).expect("a file");
        bytes.iter_mut().skip(100).step_by(9973).for_each(|byte| *byte ^= 0x55);
        std::fs::write(file, bytes).expect("written");
    };
    let tear = |file: &Path| {
        let file = std::fs::File::options().write(true).open(file).expect("a file");
        file.set_len(500_000).expect("cut");
    };
    let empty = |file: &Path| std::fs::write(file, b"").expect("written");
    for (what, how) in [("flipped", &flip as &dyn Fn(&Path)), ("torn", &tear), ("empty", &empty)] {
        run(async {
            let folder = tempfile::tempdir().expect("a folder");
            let cache = open(folder.path(), 64 * MIB);
            fill(&cache, 30).await;
            cache.close().await;
            drop(cache);
            damage(folder.path(), how);
            let cache = open(folder.path(), 64 * MIB);
            let mut right = 0;
            until(async || {
                cache.put(key(1000), chunk(1000));
                cache.may_have(&key(1000))
            })
            .await;
            for number in 0..30 {
                if let Some(found) = cache.get(&key(number)).await {
                    assert_eq!(found, chunk(number), "{what}: chunk {number}");
                    right += 1;
                }
            }
            assert!(right < 30, "{what}: the damage hit nothing");
            assert_eq!(cache.get(&key(1000)).await, Some(chunk(1000)), "{what}: it still takes chunks");
            cache.close().await;
        });
    }
}

#[test]
fn its_size_holds() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = open(folder.path(), 64 * MIB);
        fill(&cache, 1).await;
        for number in 0..2000 {
            cache.put(key(number), chunk(number));
            if number % 50 == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        cache.close().await;
        let mut bytes = 0;
        damage(folder.path(), |file| assert!(file.metadata().expect("a file").len() <= 16 * MIB));
        for file in std::fs::read_dir(folder.path().join("undercroft-chunks")).expect("a folder") {
            bytes += file.expect("a file").metadata().expect("a file").len();
        }
        assert!(bytes < 64 * MIB + 1000, "{bytes}");
    });
}

#[test]
fn a_folder_that_is_in_use_or_unusable_is_done_without() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let first = open(folder.path(), 64 * MIB);
        fill(&first, 3).await;
        let file = folder.path().join("file");
        std::fs::write(&file, "no folder").expect("written");
        for path in [folder.path(), &file] {
            let second = open(path, 64 * MIB);
            for _ in 0..20 {
                second.put(key(1), chunk(1));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert!(!second.may_have(&key(1)) && second.get(&key(1)).await.is_none());
            second.close().await;
        }
        assert_eq!(first.get(&key(2)).await, Some(chunk(2)));
        first.close().await;
        // A closed one no longer holds the folder, though somebody may still hold the closed one.
        let third = open(folder.path(), 64 * MIB);
        until(async || third.may_have(&key(2))).await;
        third.close().await;
    });
}

#[test]
fn what_another_version_left_is_removed_and_what_isnt_ours_is_not() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = open(folder.path(), 64 * MIB);
        fill(&cache, 3).await;
        cache.close().await;
        drop(cache);
        let own = folder.path().join("undercroft-chunks");
        std::fs::write(own.join("format"), "undercroft chunk cache 0").expect("written");
        std::fs::write(folder.path().join("notes"), "theirs").expect("written");
        let cache = open(folder.path(), 64 * MIB);
        until(async || {
            cache.put(key(9), chunk(9));
            cache.may_have(&key(9))
        })
        .await;
        assert_eq!(cache.get(&key(1)).await, None);
        assert_eq!(std::fs::read_to_string(folder.path().join("notes")).expect("still there"), "theirs");
        cache.close().await;
    });
}
