//! One behaviour for every store. [`run`] is called with each of them: here with memory and a folder, in the suite over
//! real servers with those.

use bytes::Bytes;

use super::super::layout::ObjectKey;
use super::super::settings::Settings;
use super::super::{StorageError, store::ObjectStore};
use super::{DriverStore, StoreMeters};
use crate::config::Config;

/// A store from pairs of keys and values.
pub(in super::super) fn open(pairs: &[(&str, &str)]) -> DriverStore {
    let mut config = Config::new();
    for (key, value) in pairs {
        config.set(key, value);
    }
    let settings = Settings::parse(&config).expect("valid");
    DriverStore::open(settings.store, tokio::runtime::Handle::current().id(), StoreMeters::default()).expect("opens")
}

async fn listed(store: &dyn ObjectStore, prefix: &str) -> Vec<(String, u64)> {
    let (mut pages, mut found) = (store.list(prefix).await.expect("lists"), Vec::new());
    loop {
        let page = pages.next().await.expect("lists");
        if page.is_empty() {
            break;
        }
        found.extend(page.into_iter().map(|entry| (entry.key.to_string(), entry.size)));
    }
    found.sort();
    found
}

/// Everything that a store promises, below `prefix`, where nothing is yet and nothing is afterwards.
pub(in super::super) async fn run(store: &dyn ObjectStore, prefix: &str, part_bytes: usize) {
    let key = |name: &str| ObjectKey::new(&format!("{prefix}{name}"));
    store.check(&key("check")).await.expect("can be used");

    let (one, none) = (key("topic-a/0/one b+c=d.ucseg"), key("none"));
    store.put(&one, vec![Bytes::from_static(b"hello "), Bytes::from_static(b"world")]).await.expect("puts");
    assert_eq!(store.size(&one).await.expect("there"), 11);
    assert_eq!(store.get(&one, 0..11).await.expect("there").concat(), b"hello world");
    assert_eq!(store.get(&one, 4..7).await.expect("there").concat(), b"o w");
    assert!(store.get(&one, 4..4).await.expect("nothing asked").concat().is_empty());
    for range in [5..12, 11..12, 100..200] {
        let error = store.get(&one, range.clone()).await.expect_err("more than there is");
        assert!(matches!(error, StorageError::Corrupt { .. }), "{range:?}: {error:?}");
    }
    store.put(&one, vec![Bytes::from_static(b"replaced")]).await.expect("puts again");
    assert_eq!(store.get(&one, 0..8).await.expect("there").concat(), b"replaced");

    assert_eq!(store.get_whole(&one, 8).await.expect("there").concat(), b"replaced");
    let error = store.get_whole(&one, 7).await.expect_err("more than the caller wants");
    assert!(matches!(error, StorageError::Corrupt { .. }), "{error:?}");
    let empty = key("topic-a/0/empty");
    store.put(&empty, Vec::new()).await.expect("puts nothing");
    assert!(store.get_whole(&empty, 8).await.expect("there").concat().is_empty());
    store.delete(&[empty]).await.expect("deletes");

    assert!(matches!(store.get(&none, 0..1).await, Err(StorageError::NotFound { .. })));
    assert!(matches!(store.get_whole(&none, 9).await, Err(StorageError::NotFound { .. })));
    assert!(matches!(store.size(&none).await, Err(StorageError::NotFound { .. })));

    let many = key("topic-a/0/many");
    let part =
        |byte: u8| vec![Bytes::from(vec![byte; part_bytes / 2]), Bytes::from(vec![byte; part_bytes - part_bytes / 2])];
    for in_flight in [1, 3] {
        let mut upload = store.upload(&many, in_flight).await.expect("begins");
        for byte in 0..3 {
            upload.part(part(byte)).await.expect("sent");
        }
        upload.part(vec![Bytes::from_static(b"end")]).await.expect("sent");
        assert!(
            in_flight > 1 || matches!(store.size(&many).await, Err(StorageError::NotFound { .. })),
            "seen in parts"
        );
        upload.complete().await.expect("completes");
        // As somebody does whose caller went away just then.
        upload.abort().await.expect("nothing left to abort");
        let size = 3 * part_bytes as u64 + 3;
        assert_eq!(store.size(&many).await.expect("there"), size);
        let border = part_bytes as u64;
        assert_eq!(store.get(&many, border - 2..border + 2).await.expect("there").concat(), [0, 0, 1, 1]);
        assert_eq!(store.get(&many, size - 4..size).await.expect("there").concat(), b"\x02end");
    }

    let gone = key("topic-b/0/gone");
    let mut upload = store.upload(&gone, 2).await.expect("begins");
    for byte in 0..3 {
        upload.part(part(byte)).await.expect("sent");
    }
    upload.abort().await.expect("aborts");
    assert!(matches!(store.size(&gone).await, Err(StorageError::NotFound { .. })));
    let mut never = store.upload(&gone, 2).await.expect("begins");
    never.abort().await.expect("nothing to abort is no failure");

    let expected = vec![(many.to_string(), 3 * part_bytes as u64 + 3), (one.to_string(), 8)];
    assert_eq!(listed(store, prefix).await, expected);
    assert_eq!(listed(store, &format!("{prefix}topic-a/")).await, expected);
    assert_eq!(listed(store, &format!("{prefix}nobody/")).await, []);

    store.delete(&[]).await.expect("nothing to do");
    store.delete(std::slice::from_ref(&none)).await.expect("one that isn't there is deleted");
    store.delete(&[one.clone(), many, none]).await.expect("deletes");
    store.delete(&[one]).await.expect("again");
    assert_eq!(listed(store, prefix).await, []);
}

#[tokio::test]
async fn memory_behaves() {
    run(&open(&[("storage.backend.class", "memory")]), "", 1000).await;
}

/// Against a server of yours: `UNDERCROFT_TEST_S3_ENDPOINT`, its bucket `segments`, credentials `undercroft` and
/// `undercroft-secret`. Any S3 server that has these will do.
#[tokio::test]
#[ignore = "needs an S3 server"]
async fn s3_behaves() {
    let endpoint = std::env::var("UNDERCROFT_TEST_S3_ENDPOINT").expect("UNDERCROFT_TEST_S3_ENDPOINT is set");
    let store = open(&[
        ("storage.backend.class", "s3"),
        ("storage.s3.endpoint.url", &endpoint),
        ("storage.s3.bucket.name", "segments"),
        ("storage.aws.access.key.id", "undercroft"),
        ("storage.aws.secret.access.key", "undercroft-secret"),
    ]);
    run(&store, "suite/", 5 << 20).await;
}

#[tokio::test]
async fn a_folder_behaves_and_is_left_empty() {
    let root = tempfile::tempdir().expect("makes one");
    let path = root.path().to_str().expect("UTF-8");
    let store = open(&[("storage.backend.class", "filesystem"), ("storage.root", path)]);
    run(&store, "", 1000).await;
    run(&store, "prefix/", 70_000).await;
    let left: Vec<_> = walk(root.path());
    assert_eq!(left, [root.path().join(super::folder::TEMPORARY)], "only the folder for temporary files stays");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").path());
    entries
        .flat_map(|path| if path.is_dir() { [vec![path.clone()], walk(&path)].concat() } else { vec![path] })
        .collect()
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_never_made_and_never_taken_for_an_empty_store() {
    let parent = tempfile::tempdir().expect("makes one");
    let root = parent.path().join("not-mounted");
    let store = open(&[("storage.backend.class", "filesystem"), ("storage.root", root.to_str().expect("UTF-8"))]);
    let key = ObjectKey::new("a/b");
    let errors = [
        store.get(&key, 0..1).await.map(|_| ()),
        store.get_whole(&key, 1).await.map(|_| ()),
        store.put(&key, vec![Bytes::from_static(b"x")]).await,
        store.delete(std::slice::from_ref(&key)).await,
        store.size(&key).await.map(|_| ()),
        store.check(&key).await,
    ];
    for error in errors {
        let text = error.as_ref().map_err(ToString::to_string).expect_err("fails");
        assert!(matches!(error, Err(StorageError::Misconfigured { .. })), "{error:?}");
        assert!(
            text.contains("not-mounted") && text.contains("does not exist") && text.contains("storage.root"),
            "{text}"
        );
    }
    assert!(!root.exists());
    std::fs::create_dir(&root).expect("makes it");
    store.check(&key).await.expect("usable once it is there");
    std::fs::remove_dir_all(&root).expect("goes");
    assert!(matches!(store.get(&key, 0..1).await, Err(StorageError::Misconfigured { .. })), "gone again");
    std::fs::write(&root, b"a file").expect("written");
    assert!(matches!(store.get(&key, 0..1).await, Err(StorageError::Misconfigured { .. })), "no folder");
}

#[tokio::test]
async fn a_delete_of_the_last_neighbour_does_not_break_a_write_under_way() {
    let root = tempfile::tempdir().expect("makes one");
    let path = root.path().to_str().expect("UTF-8");
    let store = open(&[("storage.backend.class", "filesystem"), ("storage.root", path)]);
    let (old, new) = (ObjectKey::new("t/0/old"), ObjectKey::new("t/0/new"));
    store.put(&old, vec![Bytes::from_static(b"old")]).await.expect("puts");
    let mut upload = store.upload(&new, 2).await.expect("begins");
    for _ in 0..4 {
        upload.part(vec![Bytes::from(vec![1; 5000])]).await.expect("sent");
    }
    store.delete(&[old]).await.expect("deletes");
    assert!(!root.path().join("t").exists(), "the empty folders went");
    upload.complete().await.expect("completes all the same");
    assert_eq!(store.size(&new).await.expect("there"), 20_000);
}
