//! One behaviour over every store, in every layout, with every transform: what is copied is read back, whole and in part, and
//! a delete leaves nothing. A folder and memory at any time; servers where their programs are named (`make test-stores`).
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

#[path = "support/stand_ins.rs"]
mod stand_ins;
mod support;
#[path = "support/weed.rs"]
mod weed;

use std::path::Path;

use support::{Sample, assert_indexes, config, manager, read};
use undercroft::model::IndexType;
use undercroft::storage::survey::{Scope, Surveyor};
use undercroft::storage::{StorageEnv, StorageError};

const MIB: usize = 1 << 20;

type Keys = Vec<(&'static str, String)>;

fn pairs(keys: &Keys) -> Vec<(&str, &str)> {
    keys.iter().map(|(key, value)| (*key, value.as_str())).collect()
}

fn layouts() -> [(&'static str, Keys); 2] {
    [("compact", vec![]), ("aiven", vec![("storage.layout", "aiven".to_owned())])]
}

fn transforms() -> [(&'static str, Keys); 4] {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiven");
    let file = |name: &str| data.join(name).to_str().expect("UTF-8").to_owned();
    let zstd = vec![("compression.enabled", "true".to_owned())];
    let aes = vec![
        ("encryption.enabled", "true".to_owned()),
        ("encryption.key.pair.id", "k1".to_owned()),
        ("encryption.key.pairs", "k1".to_owned()),
        ("encryption.key.pairs.k1.private.key.file", file("priv.pem")),
        ("encryption.key.pairs.k1.public.key.file", file("pub.pem")),
    ];
    let both = [zstd.clone(), aes.clone()].concat();
    [("plain", vec![]), ("zstd", zstd), ("AES", aes), ("zstd + AES", both)]
}

/// Copies, reads and deletes in each of the eight ways. Several parts where `part_bytes` are fewer than the largest segment has.
async fn behaves(store: &str, own: &Keys, is_shared: bool) {
    let mut ways = 0;
    for (layout, as_laid_out) in layouts() {
        for (transform, transformed) in transforms() {
            let keys = [own.clone(), as_laid_out.clone(), transformed].concat();
            let manager = manager(&pairs(&keys));
            manager.check().await.expect("usable");
            for size in [0, 1, 300_007, 6 * MIB + 7] {
                let what = format!("{store}, {layout}, {transform}, {size} bytes");
                let mut sample = Sample::of_topic("every-store", size);
                sample.copy(&manager).await.expect(&what);
                assert!(read(&manager, &sample.segment, 0, None).await.expect(&what) == sample.data, "{what}");
                if size > MIB {
                    let (from, to) = (size - MIB - 11, size - 17);
                    let part = read(&manager, &sample.segment, from as u64, Some(to as u64)).await.expect(&what);
                    assert!(part == sample.data[from..=to], "{what}: in part");
                }
                assert_indexes(&manager, &sample.segment).await;
                for _again in 0..2 {
                    manager.delete(std::slice::from_ref(&sample.segment)).await.expect(&what);
                }
                let gone = manager.fetch_index(&sample.segment, IndexType::Offset).await;
                assert!(matches!(gone, Err(StorageError::NotFound { .. })), "{what}: {gone:?}");
            }
            manager.close().await;
            if is_shared {
                left_nothing(store, &keys).await;
            }
            ways += 1;
        }
    }
    assert_eq!(ways, 8);
}

async fn left_nothing(store: &str, keys: &Keys) {
    let env = StorageEnv { runtime: tokio::runtime::Handle::current() };
    let surveyor = Surveyor::open(&config(&pairs(keys)), env, None).expect("opens");
    let scope = Scope { prefix: surveyor.key_prefix().to_owned(), topic: None };
    let left = surveyor.segments(&scope).await.expect("lists").next().await.expect("lists");
    assert!(left.is_none(), "{store}: {left:?}");
}

fn in_parts_of(keys: Keys) -> Keys {
    [keys, vec![("storage.s3.multipart.upload.part.size", (5 * MIB).to_string())]].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let place = root.path().to_str().expect("UTF-8").to_owned();
    behaves("folder", &vec![("storage.backend.class", "filesystem".to_owned()), ("storage.root", place)], true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory() {
    behaves("memory", &vec![("storage.backend.class", "memory".to_owned())], false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seaweedfs() {
    let Some(weed) = weed::weed() else { return };
    let keys = vec![
        ("storage.backend.class", "s3".to_owned()),
        ("storage.s3.endpoint.url", weed.endpoint()),
        ("storage.s3.bucket.name", weed::BUCKET.to_owned()),
        ("storage.aws.access.key.id", weed::ACCESS_KEY.to_owned()),
        ("storage.aws.secret.access.key", weed::SECRET_KEY.to_owned()),
        ("key.prefix", "every-store/".to_owned()),
    ];
    behaves("SeaweedFS", &in_parts_of(keys), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3s_fs() {
    let Some(server) = stand_ins::s3s() else { return };
    behaves("s3s-fs", &in_parts_of(server.s3_keys()), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn azurite() {
    let Some(server) = stand_ins::azurite() else { return };
    behaves("Azurite", &in_parts_of(server.azure_keys()), true).await;
}

/// In one request each: it doesn't have uploads in parts.
#[tokio::test(flavor = "multi_thread")]
async fn fake_gcs_server() {
    let Some(server) = stand_ins::fake_gcs() else { return };
    behaves("fake-gcs-server", &server.gcs_keys(), true).await;
}
