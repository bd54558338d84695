use std::path::Path;

use super::ground::{Ground, READ, byte, run};
use crate::model::SegmentMetadata;

const MIB: usize = 1 << 20;

/// A segment read by a manager that is closed since.
async fn read_once(folder: &Path) -> (Ground, SegmentMetadata) {
    let path = folder.to_str().expect("a name");
    let ground = Ground::new(&[("fetch.chunk.cache.path", path), ("fetch.chunk.cache.disk.size", "100000000")]);
    let segment = ground.segment(0, 12 * MIB).await;
    ground.disk_is_open().await;
    ground.consume(&segment).await;
    ground.storage.close().await;
    ground.store.gets.lock().clear();
    (ground, segment)
}

#[test]
fn what_a_manager_has_read_the_next_one_finds_on_disk() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("a name");
        let (first, segment) = read_once(folder.path()).await;
        let again = first.again(&[("fetch.chunk.cache.path", path), ("fetch.chunk.cache.disk.size", "100000000")]);
        again.disk_is_open().await;
        for part in 0..12 {
            again.read(&segment, part * MIB, READ).await;
        }
        let asked = again.store.bytes_asked();
        assert!(asked < 3 * MIB as u64, "{asked} bytes of 12 MiB came from the store");
        assert!(again.metrics.disk.hits.get() > 100);
        again.storage.close().await;
    });
}

#[test]
fn damage_on_disk_is_dropped_and_fetched_again() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().to_str().expect("a name");
        let (first, segment) = read_once(folder.path()).await;
        for file in std::fs::read_dir(folder.path().join("undercroft-chunks")).expect("a folder") {
            let file = file.expect("a file").path();
            let mut bytes = std::fs::read(&file).expect("bytes");
            bytes.iter_mut().skip(200_000).step_by(150_000).for_each(|byte| *byte ^= 1);
            if bytes.len() > 200_000 {
                std::fs::write(&file, bytes).expect("written");
            }
        }
        let again = first.again(&[("fetch.chunk.cache.path", path), ("fetch.chunk.cache.disk.size", "100000000")]);
        // Every byte is checked by the ground.
        again.disk_is_open().await;
        for part in 0..12 {
            again.read(&segment, part * MIB, READ).await;
        }
        assert!(again.store.bytes_asked() > 0, "nothing was found to be wrong");
        again.storage.close().await;
    });
}

#[test]
fn chunks_of_an_encrypted_segment_are_encrypted_on_disk() {
    let pem = |name: &str| format!("{}/tests/data/aiven/{name}", env!("CARGO_MANIFEST_DIR"));
    let (private, public) = (pem("priv.pem"), pem("pub.pem"));
    let encryption = [
        ("encryption.enabled", "true"),
        ("encryption.key.pair.id", "k"),
        ("encryption.key.pairs", "k"),
        ("encryption.key.pairs.k.private.key.file", private.as_str()),
        ("encryption.key.pairs.k.public.key.file", public.as_str()),
    ];
    for (pairs, is_plain) in [(&encryption[..], false), (&[], true)] {
        run(async {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().to_str().expect("a name");
            let disk = [("fetch.chunk.cache.path", path), ("fetch.chunk.cache.disk.size", "100000000")];
            let ground = Ground::new(&[pairs, &disk].concat());
            let segment = ground.segment(0, 12 * MIB).await;
            ground.disk_is_open().await;
            ground.consume(&segment).await;
            ground.storage.close().await;
            assert!(ground.metrics.disk.bytes_written.get() > 0, "{pairs:?}: nothing came to the disk");
            // Longer than the pages of its own that the engine writes as it found them in memory, where other tests were.
            let piece: Vec<u8> = (11 * MIB + 10_000..11 * MIB + 18_000).map(|at| byte(0, at)).collect();
            let files = std::fs::read_dir(folder.path().join("undercroft-chunks")).expect("a folder");
            let is_found = files.map(|file| std::fs::read(file.expect("a file").path()).expect("bytes")).any(|bytes| {
                let near = bytes.iter().enumerate().filter(|(_, found)| **found == piece[0]);
                near.map(|(at, _)| at).any(|at| bytes[at..].starts_with(&piece))
            });
            assert_eq!(is_found, is_plain, "{pairs:?}");
        });
    }
}
