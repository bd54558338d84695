//! One behaviour for every store. [`run`] is called with each of them: memory and a folder at any time, real servers where
//! their programs are named (`make test-stores` fetches them and takes a missing one for a failure).

#[path = "../../../tests/support/stand_ins.rs"]
mod stand_ins;
#[path = "../../../tests/support/weed.rs"]
mod weed;

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

/// Whether a stand-in knows uploads in parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Known,
    /// Named where it is said, with the reason.
    NotRun,
}

/// Everything that a store promises, below `prefix`, where nothing is yet and nothing is afterwards.
async fn run(store: &dyn ObjectStore, prefix: &str, part_bytes: usize, parts: Parts) {
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
    let size = 3 * part_bytes as u64 + 3;
    match parts {
        Parts::Known => in_parts(store, &many, &key("topic-b/0/gone"), part_bytes).await,
        Parts::NotRun => {
            let body = vec![Bytes::from(vec![7; 3 * part_bytes + 3])];
            store.put(&many, body).await.expect("puts a large one at once");
            assert_eq!(store.get(&many, size - 3..size).await.expect("there").concat(), [7, 7, 7]);
        }
    }

    let expected = vec![(many.to_string(), size), (one.to_string(), 8)];
    assert_eq!(listed(store, prefix).await, expected);
    assert_eq!(listed(store, &format!("{prefix}topic-a/")).await, expected);
    assert_eq!(listed(store, &format!("{prefix}nobody/")).await, []);

    store.delete(&[]).await.expect("nothing to do");
    store.delete(std::slice::from_ref(&none)).await.expect("one that isn't there is deleted");
    store.delete(&[one.clone(), many, none]).await.expect("deletes");
    store.delete(&[one]).await.expect("again");
    assert_eq!(listed(store, prefix).await, []);

    let rows: Vec<_> = (0..70).map(|at| key(&format!("topic-c/0/{at:020}"))).collect();
    for row in &rows {
        store.put(row, vec![Bytes::from_static(b"x")]).await.expect("puts");
    }
    assert_eq!(listed(store, &format!("{prefix}topic-c/")).await.len(), rows.len(), "listed over pages");
    store.delete(&rows).await.expect("deletes many");
    assert_eq!(listed(store, prefix).await, []);
    assert_eq!(store.list_uploads(prefix).await.unwrap_or_default(), [], "no upload is left open");
}

async fn in_parts(store: &dyn ObjectStore, many: &ObjectKey, gone: &ObjectKey, part_bytes: usize) {
    let part =
        |byte: u8| vec![Bytes::from(vec![byte; part_bytes / 2]), Bytes::from(vec![byte; part_bytes - part_bytes / 2])];
    for in_flight in [1, 3] {
        let mut upload = store.upload(many, in_flight).await.expect("begins");
        for byte in 0..3 {
            upload.part(part(byte)).await.expect("sent");
        }
        upload.part(vec![Bytes::from_static(b"end")]).await.expect("sent");
        assert!(in_flight > 1 || matches!(store.size(many).await, Err(StorageError::NotFound { .. })), "seen in parts");
        upload.complete().await.expect("completes");
        // As somebody does whose caller went away just then.
        upload.abort().await.expect("nothing left to abort");
        let size = 3 * part_bytes as u64 + 3;
        assert_eq!(store.size(many).await.expect("there"), size);
        let border = part_bytes as u64;
        assert_eq!(store.get(many, border - 2..border + 2).await.expect("there").concat(), [0, 0, 1, 1]);
        assert_eq!(store.get(many, size - 4..size).await.expect("there").concat(), b"\x02end");
    }

    let mut upload = store.upload(gone, 2).await.expect("begins");
    for byte in 0..3 {
        upload.part(part(byte)).await.expect("sent");
    }
    upload.abort().await.expect("aborts");
    assert!(matches!(store.size(gone).await, Err(StorageError::NotFound { .. })));
    let mut never = store.upload(gone, 2).await.expect("begins");
    never.abort().await.expect("nothing to abort is no failure");
}

/// What a store says to a wrong bucket or login: never "not there".
async fn refuses(missing: Option<&DriverStore>, stranger: Option<&DriverStore>) {
    let key = ObjectKey::new("a/b");
    let all = async |store: &DriverStore| {
        [
            ("get", store.get(&key, 0..1).await.map(|_| ())),
            ("size", store.size(&key).await.map(|_| ())),
            ("delete", store.delete(std::slice::from_ref(&key)).await),
            ("delete two", store.delete(&[key.clone(), ObjectKey::new("a/c")]).await),
        ]
    };
    if let Some(missing) = missing {
        for (what, error) in all(missing).await {
            assert!(matches!(error, Err(StorageError::Misconfigured { .. })), "{what}: {error:?}");
        }
        let put = missing.put(&key, vec![Bytes::from_static(b"x")]).await;
        assert!(matches!(put, Err(StorageError::Misconfigured { .. } | StorageError::Refused { .. })), "{put:?}");
    }
    if let Some(stranger) = stranger {
        for (what, error) in all(stranger).await {
            assert!(matches!(error, Err(StorageError::Refused { .. })), "{what}: {error:?}");
        }
    }
}

fn with<'a>(own: &'a [(&'static str, String)], more: &[(&'a str, &'a str)]) -> DriverStore {
    let own: Vec<_> = own.iter().map(|(key, value)| (*key, value.as_str())).collect();
    open(&[&own[..], more].concat())
}

/// Starts Azurite (about 10 s).
#[tokio::test(flavor = "multi_thread")]
async fn azure_behaves() {
    let Some(server) = stand_ins::azurite() else { return };
    let keys = server.azure_keys();
    run(&with(&keys, &[]), "suite/", 1 << 20, Parts::Known).await;
    is_the_same_however_it_is_spelt(&with(&keys, &[])).await;
    // Any key in base64 but the right one.
    let stranger = with(&keys, &[("storage.azure.account.key", "d3Jvbmc=")]);
    refuses(Some(&with(&keys, &[("storage.azure.container.name", "not-there")])), Some(&stranger)).await;
    let connection = format!(
        "DefaultEndpointsProtocol=http;AccountName={};AccountKey={};BlobEndpoint={}/{};",
        stand_ins::ACCOUNT,
        stand_ins::ACCOUNT_KEY,
        server.endpoint(),
        stand_ins::ACCOUNT
    );
    let store = open(&[
        ("storage.backend.class", "azure"),
        ("storage.azure.container.name", stand_ins::PLACE),
        ("storage.azure.connection.string", &connection),
        ("storage.connections.max", "1"),
    ]);
    store.check(&ObjectKey::new("by-connection-string")).await.expect("usable");
}

/// Starts fake-gcs-server. Not run on it, because it doesn't have them: uploads in parts (it answers the XML interface's
/// `POST …?uploads` with "invalid uploadType"), a wrong login (it asks for none), and a missing bucket (it says "not found"
/// in the same words as for an object).
#[tokio::test(flavor = "multi_thread")]
async fn gcs_behaves_as_far_as_its_stand_in_does() {
    let Some(server) = stand_ins::fake_gcs() else { return };
    run(&with(&server.gcs_keys(), &[]), "suite/", 1 << 20, Parts::NotRun).await;
    is_the_same_however_it_is_spelt(&with(&server.gcs_keys(), &[])).await;
}

/// Starts SeaweedFS (about 4 s).
#[tokio::test(flavor = "multi_thread")]
async fn s3_behaves() {
    let Some(server) = weed::weed() else { return };
    let keys = s3_keys(server);
    run(&with(&keys, &[]), "suite/", 5 << 20, Parts::Known).await;
    is_the_same_however_it_is_spelt(&with(&keys, &[])).await;
    run(&with(&keys, &[("storage.aws.checksum.check.enabled", "true")]), "checksummed/", 5 << 20, Parts::Known).await;
    let stranger = with(&keys, &[("storage.aws.secret.access.key", "wrong")]);
    refuses(Some(&with(&keys, &[("storage.s3.bucket.name", "not-there")])), Some(&stranger)).await;
}

/// Starts s3s-fs, a server of S3 of another make. Not run on it: a missing bucket, which it says of that there is no such key.
#[tokio::test(flavor = "multi_thread")]
async fn s3_of_another_make_behaves() {
    let Some(server) = stand_ins::s3s() else { return };
    let keys = server.s3_keys();
    run(&with(&keys, &[]), "suite/", 5 << 20, Parts::Known).await;
    is_the_same_however_it_is_spelt(&with(&keys, &[])).await;
    let stranger = with(&keys, &[("storage.aws.secret.access.key", "wrong")]);
    refuses(None, Some(&stranger)).await;
}

fn s3_keys(server: &weed::Weed) -> Vec<(&'static str, String)> {
    vec![
        ("storage.backend.class", "s3".to_owned()),
        ("storage.s3.endpoint.url", server.endpoint()),
        ("storage.s3.bucket.name", weed::BUCKET.to_owned()),
        ("storage.aws.access.key.id", weed::ACCESS_KEY.to_owned()),
        ("storage.aws.secret.access.key", weed::SECRET_KEY.to_owned()),
    ]
}

/// As after a process that was killed in the middle of a copy: nobody knows how its upload is called.
#[tokio::test(flavor = "multi_thread")]
async fn a_delete_removes_uploads_that_nobody_will_end_and_no_others() {
    let Some(server) = weed::weed() else { return };
    let keys = s3_keys(server);
    let (dead, alive) = (with(&keys, &[]), with(&keys, &[]));
    let names = ["left/0/a b+c=d", "left/0/a b+c=d.longer", "left/1/other", "left/0/second"];
    let [gone, longer, other, second] = names.map(ObjectKey::new);
    for key in [&gone, &gone, &longer, &other, &second] {
        let mut upload = dead.upload(key, 2).await.expect("begins");
        for byte in 0..3 {
            upload.part(vec![Bytes::from(vec![byte; 5 << 20])]).await.expect("sent");
        }
        drop(upload);
    }
    let open = async || {
        let found = alive.list_uploads("left/").await.expect("lists");
        let mut found: Vec<_> = found.into_iter().map(|upload| upload.key.to_string()).collect();
        found.sort();
        found
    };
    assert_eq!(open().await, [names[0], names[0], names[1], names[3], names[2]]);
    alive.delete(std::slice::from_ref(&gone)).await.expect("deletes");
    assert_eq!(open().await, [names[1], names[3], names[2]], "its own, not one with a longer name");
    alive.delete(&[longer, other]).await.expect("deletes");
    assert_eq!(open().await, [names[3]], "the neighbours stay");
    alive.delete(&[second]).await.expect("deletes");
    assert_eq!(open().await, Vec::<String>::new());
    alive.abort_upload(&gone, "0123456789abcdef_none").await.expect("one that isn't there is aborted");
}

/// However a name is spelt, it is that of one object, in the store and not beside it.
async fn is_the_same_however_it_is_spelt(store: &dyn ObjectStore) {
    let key = |name: &str| ObjectKey::new(name);
    for spelt in ["/spelt/a", "//spelt//a", "spelt//a"] {
        store.put(&key(spelt), vec![Bytes::from_static(b"hello")]).await.expect("puts");
        assert_eq!(store.get(&key(spelt), 0..5).await.expect("there").concat(), b"hello", "{spelt}");
        for prefix in ["spelt/", "/spelt/", "//spelt//", "/spelt/a", "spelt//a", "/sp"] {
            assert_eq!(listed(store, prefix).await, [("spelt/a".to_owned(), 5)], "{spelt} below {prefix}");
        }
        store.delete(&[key(spelt)]).await.expect("deletes");
        assert!(listed(store, "spelt/").await.is_empty(), "{spelt}");
    }
}

#[tokio::test]
async fn memory_behaves() {
    run(&open(&[("storage.backend.class", "memory")]), "", 1000, Parts::Known).await;
    is_the_same_however_it_is_spelt(&open(&[("storage.backend.class", "memory")])).await;
}

/// A driver drops what it doesn't know, so that a typing error would pass in silence.
#[tokio::test]
async fn what_a_driver_does_not_know_is_refused_and_what_it_knows_is_passed_on() {
    let store = |more: &[(&str, &str)]| {
        let own = [
            ("storage.backend.class", "s3"),
            ("storage.s3.bucket.name", "bkt"),
            ("storage.s3.region", "eu-west-1"),
            ("storage.aws.access.key.id", "a"),
            ("storage.aws.secret.access.key", "s"),
        ];
        let mut config = Config::new();
        for (key, value) in own.iter().chain(more) {
            config.set(key, value);
        }
        let settings = Settings::parse(&config).expect("valid");
        DriverStore::open(settings.store, tokio::runtime::Handle::current().id(), StoreMeters::default())
    };
    store(&[("storage.opendal.disable_list_objects_v2", "true")]).expect("an option of the driver's");
    store(&[("storage.opendal.enable_virtual_host_style", "false")]).expect("an option at its default");
    store(&[
        ("storage.s3.server.side.encryption", "customer"),
        ("storage.s3.server.side.encryption.customer.key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
        ("storage.aws.checksum.check.enabled", "true"),
        ("storage.s3.requester.pays.enabled", "true"),
        ("storage.aws.role.arn", "arn:aws:iam::1:role/x"),
        ("storage.s3.storage.class", "ANYTHING"),
        ("storage.connections.max", "3"),
    ])
    .expect("known to the driver");
    let empty = tempfile::NamedTempFile::new().expect("a file");
    for (key, value, expected) in [
        ("storage.opendal.defualt_acl", "x", "no such option"),
        ("storage.opendal.role_arn", "x", "use the keys that begin with `storage.aws.`"),
        ("storage.tls.ca.file", "/not/there", "storage.tls.ca.file"),
        ("storage.tls.ca.file", empty.path().to_str().expect("UTF-8"), "no certificate is in it"),
        ("storage.tls.ca.file", "/dev/null", "it is not a file but a device"),
    ] {
        let error = store(&[(key, value)]).err().expect(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_folder_behaves_and_is_left_empty() {
    let root = tempfile::tempdir().expect("makes one");
    let path = root.path().to_str().expect("UTF-8");
    let store = open(&[("storage.backend.class", "filesystem"), ("storage.root", path)]);
    run(&store, "", 1000, Parts::Known).await;
    run(&store, "prefix/", 70_000, Parts::Known).await;
    is_the_same_however_it_is_spelt(&store).await;
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
