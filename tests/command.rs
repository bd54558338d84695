//! The `undercroft` command, run as a stranger runs it.

#![allow(clippy::expect_used, clippy::panic, reason = "a test's way to fail")]

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bytes::Bytes;
use undercroft::config;
use undercroft::model::{
    BrokerId, IndexType, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState,
    TopicIdPartition,
};
use undercroft::storage::layout::compact::{BlockSize, build_tail, seal_block};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command starts")
}

/// Standard output of a run that must succeed and say nothing on standard error.
fn output(arguments: &[&str]) -> String {
    let output = run(arguments);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && err.is_empty(), "{arguments:?}: {}\n{err}", output.status);
    out.into_owned()
}

/// Exit code and standard error of a run that must print nothing else.
fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn both_ways_to_ask_for_the_version_answer_the_same() {
    let expected = format!("undercroft {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in ["version", "--version", "-V"] {
        assert_eq!(output(&[arguments]), expected);
    }
}

#[test]
fn help_names_each_subcommand_and_has_examples() {
    let help = output(&["--help"]);
    for word in ["version", "config", "object", "metadata", "Examples:", "Usage:"] {
        assert!(help.contains(word), "{word}\n{help}");
    }
    assert!(output(&["object", "inspect", "--help"]).contains("--json"));
}

#[test]
fn arguments_that_make_no_sense_are_a_usage_error() {
    let cases: [&[&str]; 7] = [
        &[],
        &["frobnicate"],
        &["config", "--sied", "storage"],
        &["config", "--side", "both"],
        &["config", "--markdown", "storage.backend.class"],
        &["object"],
        &["object", "inspect"],
    ];
    for arguments in cases {
        let (code, error) = failure(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {error}");
        assert!(error.contains("Usage:") || error.contains("try '--help'"), "{arguments:?}: {error}");
    }
}

#[test]
fn config_lists_every_key_of_the_table() {
    let listed = output(&["config"]);
    for key in config::all() {
        let row = listed.lines().find(|line| line.split_whitespace().next() == Some(key.name));
        let row = row.unwrap_or_else(|| panic!("{} is not listed", key.name));
        assert!(row.contains(&key.kind.to_string()) && row.ends_with(key.range().trim()), "{row}");
        assert!(row.contains(key.default.unwrap_or("none")), "{row}");
        let text = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text(&listed).contains(&text(key.text)), "{}: its text is missing", key.name);
    }
}

#[test]
fn config_of_one_side_has_no_key_of_the_other() {
    for (side, other) in [("storage", config::Side::Metadata), ("metadata", config::Side::Storage)] {
        let listed = output(&["config", "--side", side]);
        for key in config::all().iter().filter(|key| key.side == other) {
            let shared = config::all().iter().any(|k| k.side != other && k.name == key.name);
            let is_listed = listed.lines().any(|line| line.split_whitespace().next() == Some(key.name));
            assert!(shared || !is_listed, "{side}: {}", key.name);
        }
    }
}

#[test]
fn config_prints_the_committed_reference() {
    assert_eq!(output(&["config", "--markdown"]), config::markdown());
    assert_eq!(output(&["config", "--markdown", "--side", "storage"]), config::markdown_of(config::Side::Storage));
}

#[test]
fn config_shows_one_key_with_or_without_its_prefix() {
    let plain = output(&["config", "storage.backend.class"]);
    assert!(
        plain.starts_with("storage.backend.class\n") && plain.contains("rsm.config.storage.backend.class"),
        "{plain}"
    );
    assert_eq!(output(&["config", "rsm.config.storage.backend.class"]), plain);
}

#[test]
fn an_unknown_key_fails_and_names_the_one_that_was_meant() {
    let (code, error) = failure(&["config", "storage.backnd.class"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        error,
        "undercroft: there is no configuration key `storage.backnd.class`; did you mean `storage.backend.class`?\n"
    );
    let (code, error) = failure(&["config", "nothing.like.it.at.all"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("`undercroft config` lists all of them"), "{error}");
}

#[test]
fn a_key_of_the_other_side_is_told_where_it_belongs() {
    let storage = "undercroft: `storage.root` is a key of the storage side: in a broker's file, write `rsm.config.storage.root`\n";
    for arguments in [&["config", "rlmm.config.storage.root"][..], &["config", "--side", "metadata", "storage.root"]] {
        assert_eq!(failure(arguments), (Some(1), storage.to_owned()));
    }
    let (code, error) = failure(&["config", "rsm.config.remote.log.metadata.consume.wait.ms"]);
    assert!(code == Some(1) && error.contains("key of the metadata side"), "{error}");
}

#[test]
fn config_lists_the_keys_that_have_a_part() {
    for argument in ["fetch", "rsm.config.fetch"] {
        let listed = output(&["config", argument]);
        for key in config::all() {
            let is_listed = listed.lines().any(|line| line.split_whitespace().next() == Some(key.name));
            assert_eq!(is_listed, key.name.contains("fetch"), "{}", key.name);
        }
    }
    assert!(output(&["config", "storage.s3."]).contains("storage.s3.bucket.name"));
    assert_eq!(failure(&["config", "rlmm.config.fetch"]).0, Some(1), "that side has none");
}

#[test]
fn config_explains_the_settings_of_clients() {
    for prefix in config::CLIENT_PREFIXES.iter().map(|prefix| prefix.name) {
        assert!(output(&["config"]).contains(&format!("{prefix}*")), "{prefix}");
        for argument in [prefix.to_owned(), format!("{prefix}bootstrap.servers"), format!("rlmm.config.{prefix}acks")] {
            let text = output(&["config", &argument]);
            assert!(text.contains(&format!("rlmm.config.{prefix}")), "{text}");
        }
    }
    let text = output(&["config", "remote.log.metadata.common.client.ssl.cipher.suites"]);
    assert!(text.contains("`ssl.cipher.suites` is refused."), "{text}");
    let (code, error) = failure(&["config", "rsm.config.remote.log.metadata.producer.linger.ms"]);
    assert!(code == Some(1) && error.contains("metadata side"), "{error}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    // The pipe's other end is closed before anything is written.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child = command(&["config"]).stdout(writer).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut error = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut error).expect("text");
    let status = child.wait().expect("it ends");
    assert!(status.success() && error.is_empty(), "{status}: {error}");
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("there on Linux");
    let output = command(&["config"]).stdout(full).output().expect("the command starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output cannot be written"));
}

fn segment(size_bytes: i32) -> SegmentMetadata {
    let partition = TopicIdPartition::new(KafkaUuid::from_halves(0, 0xca), "orders", 7);
    SegmentMetadata {
        id: SegmentId { partition, uuid: KafkaUuid::from_halves(0, 0xfe) },
        start_offset: Offset(42),
        end_offset: Offset(99),
        max_timestamp_ms: 100,
        broker_id: BrokerId(1),
        event_timestamp_ms: 123,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(42))]).expect("valid"),
        size_bytes,
        custom_metadata: None,
        state: SegmentState::CopyStarted,
        is_txn_index_empty: true,
    }
}

/// An object of one block.
fn object() -> Vec<u8> {
    let data = b"a thousand records";
    let segment = segment(i32::try_from(data.len()).expect("small"));
    let indexes = [
        (IndexType::Offset, Bytes::from_static(b"12345678")),
        (IndexType::Timestamp, Bytes::from_static(b"")),
        (IndexType::LeaderEpoch, Bytes::from_static(b"0\n1\n0 42\n")),
    ];
    let (tail, _) = build_tail(&segment, BlockSize::default(), &indexes).expect("small enough");
    let mut object = data.to_vec();
    object.extend(seal_block(&segment.id.uuid, 0, data));
    tail.iter().for_each(|part| object.extend(part));
    object
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("writable");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn inspect_prints_what_the_object_says_of_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "object", &object());
    let text = output(&["object", "inspect", &file]);
    for (name, value) in [
        ("topic", "orders"),
        ("topic id", "AAAAAAAAAAAAAAAAAAAAyg"),
        ("partition", "7"),
        ("segment id", "AAAAAAAAAAAAAAAAAAAA_g"),
        ("offsets", "42 to 99"),
        ("segment size", "18 bytes"),
        ("data", "22 bytes"),
        ("offset index", "8 bytes at 22"),
        ("leader epoch index", "9 bytes at 30"),
    ] {
        let is_there =
            text.lines().any(|l| l.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(value)));
        assert!(is_there, "{name}: {value}\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&output(&["object", "inspect", "--json", &file])).expect("JSON");
    assert_eq!(json["startOffset"], 42);
    assert_eq!(json["segmentId"], "AAAAAAAAAAAAAAAAAAAA_g");
    assert_eq!(json["indexes"][2]["lengthBytes"], 9);
    assert_eq!(json["objectLengthBytes"], object().len());
}

#[test]
fn inspect_refuses_what_is_no_whole_object_and_names_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = object();
    let mut flipped = whole.clone();
    let at = whole.len() - 30;
    flipped[at] ^= 1;
    let mut huge = whole.clone();
    let at = whole.len() - 12;
    huge[at..at + 4].copy_from_slice(&[0xff; 4]);
    for (name, bytes) in [
        ("empty", &[][..]),
        ("text", b"this is a file of some other kind"),
        ("cut", &whole[..whole.len() - 1]),
        ("headless", &whole[1..]),
        ("flipped", &flipped),
        ("huge", &huge),
    ] {
        let file = write(folder.path(), name, bytes);
        let (code, error) = failure(&["object", "inspect", &file]);
        assert_eq!(code, Some(1), "{name}");
        let start = format!("undercroft: {file}: not a whole object of the compact layout: ");
        assert!(error.starts_with(&start) && error.lines().count() == 1, "{name}: {error}");
    }
    let (code, error) = failure(&["object", "inspect", "/no/such/file"]);
    assert!(code == Some(1) && error.starts_with("undercroft: /no/such/file: No such file"), "{error}");
    // Whether it is whole can't be told.
    let (code, error) = failure(&["object", "inspect", folder.path().to_str().expect("UTF-8")]);
    assert!(code == Some(2) && error.ends_with("it is not a file but a folder\n"), "{error}");
}

/// Standard output and exit code of `undercroft config check` over a file of these lines.
fn checked(lines: &str, more: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("server.properties");
    std::fs::write(&file, lines).expect("written");
    let output = run(&[&["config", "check", file.to_str().expect("UTF-8")], more].concat());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

#[test]
fn a_file_of_aivens_plugin_is_explained_key_by_key_and_its_store_is_tried() {
    let root = tempfile::tempdir().expect("a folder");
    let lines = format!(
        "log.dirs=/data\n\
         remote.log.storage.manager.class.name=io.aiven.kafka.tieredstorage.RemoteStorageManager\n\
         rsm.config.storage.backend.class=io.aiven.kafka.tieredstorage.storage.filesystem.FileSystemStorage\n\
         rsm.config.storage.root={}\n\
         rsm.config.storage.overwrite.enabled=true\n\
         rsm.config.storage.rot=/x\n\
         rsm.config.storage.aws.secret.access.key=very-secret\n",
        root.path().display()
    );
    let (text, code) = checked(&lines, &[]);
    assert_eq!(code, Some(0), "{text}");
    for words in [
        "the two to change",
        "storage.overwrite.enabled",
        "ignored",
        "did you mean `storage.root`?",
        "write in parts",
        "The store can be used.",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("very-secret") && !text.contains("FAILED"), "{text}");
    let (json, _) = checked(&lines, &["--json"]);
    let found: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(found["store"]["outcome"], "usable");
    assert_eq!(found["keys"][4]["is"], "ignored");
    let (text, code) = checked(&lines, &["--no-store"]);
    assert!(code == Some(0) && text.contains("was not tried"), "{text}");
}

#[test]
fn what_is_wrong_with_a_configuration_or_a_store_is_said_and_told_apart_by_the_exit_code() {
    let (text, code) = checked("storage.backend.class=s3\nstorage.s3.bucket.name=bkt\n", &[]);
    assert!(code == Some(3) && text.contains("storage.s3.region is not set"), "{code:?} {text}");
    let (text, code) = checked("storage.backend.class=filesystem\nstorage.root=/x\nsegment.format=iceberg\n", &[]);
    assert!(code == Some(3) && text.contains("refused"), "{code:?} {text}");
    let (text, code) = checked("storage.backend.class=filesystem\nstorage.root=/not/there\n", &[]);
    assert!(code == Some(4) && text.contains("mount its disk"), "{code:?} {text}");
    let (text, code) = checked("storage.backend.class=filesystem\nstorage.root=${env:ROOT}\n", &[]);
    assert!(code == Some(0) && text.contains("placeholder"), "{code:?} {text}");
    let (code, error) = failure(&["config", "check", "/not/there"]);
    assert!(code == Some(1) && error.contains("/not/there"), "{error}");
}
