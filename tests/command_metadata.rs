//! `undercroft metadata`, run as a stranger runs it, over an embedded log that a manager wrote.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, reason = "a test's way to fail and to wait")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use bytes::Bytes;
use serde_json::Value;
use undercroft::config::Config;
use undercroft::metadata::log::MetadataLog;
use undercroft::metadata::log::embedded::{EmbeddedLog, EmbeddedOptions};
use undercroft::metadata::{AssignedPartition, MetadataEnv, MetadataManager};
use undercroft::model::SegmentState::{self, CopyFinished, CopyStarted, DeleteFinished, DeleteStarted};
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate,
    TopicIdPartition,
};
use undercroft::storage::layout::Place;
use undercroft::storage::layout::compact::{BlockSize, data_length};
use undercroft::wire::{self, Record, Version, encode_segment};

const PATIENCE: Duration = Duration::from_secs(60);

fn metadata(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
    command.arg("metadata").args(arguments).arg("--file").arg(folder);
    command
}

/// Standard output of a run that must end with `code` and say nothing on standard error.
fn output(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = metadata(folder, arguments).output().expect("the command starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code() == Some(code) && err.is_empty(), "{arguments:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

fn json(folder: &Path, arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&output(folder, arguments, code)).expect("JSON")
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("small")
}

fn partition(topic: &str, id: u8, number: i32) -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([id; 16]), topic, number)
}

fn segment(partition: &TopicIdPartition, number: u8, start: i64, end: i64) -> SegmentMetadata {
    SegmentMetadata {
        id: SegmentId { partition: partition.clone(), uuid: KafkaUuid([number; 16]) },
        start_offset: Offset(start),
        end_offset: Offset(end),
        max_timestamp_ms: 5,
        broker_id: BrokerId(1),
        event_timestamp_ms: now_ms(),
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(start))]).expect("epochs"),
        size_bytes: 1 << 20,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: true,
    }
}

/// A manager over the folder, whose partitions it leads.
struct Host {
    manager: MetadataManager,
}

impl Host {
    async fn open(folder: &Path, partitions: &[&TopicIdPartition]) -> Self {
        let mut config = Config::new();
        config.set("undercroft.metadata.log", "embedded");
        config.set("undercroft.metadata.embedded.path", folder.to_str().expect("UTF-8"));
        config.set("undercroft.metadata.embedded.partitions", "3");
        let runtime = tokio::runtime::Handle::current();
        let env = MetadataEnv { runtime, broker_id: BrokerId(1), log_dir: None, cluster_id: None };
        let manager = MetadataManager::open(&config, env).expect("opens");
        let leaders: Vec<_> = partitions
            .iter()
            .map(|&partition| AssignedPartition { partition: partition.clone(), leader_epoch: Some(LeaderEpoch(0)) })
            .collect();
        manager.lead_and_follow(&leaders, &[]).expect("assigns");
        let ready = async {
            while !partitions.iter().all(|partition| manager.is_ready(partition)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ready).await.expect("becomes ready");
        Self { manager }
    }

    async fn add(&self, segment: &SegmentMetadata) {
        self.manager.add(segment.clone(), Duration::from_secs(5)).expect("admitted").await.expect("added");
    }

    async fn step(&self, segment: &SegmentMetadata, state: SegmentState, custom_metadata: Option<Bytes>) {
        let update = SegmentUpdate {
            id: segment.id.clone(),
            broker_id: BrokerId(1),
            event_timestamp_ms: segment.event_timestamp_ms,
            custom_metadata,
            state,
        };
        self.manager.update(update, Duration::ZERO).expect("admitted").await.expect("updated");
    }

    async fn copy(&self, segment: &SegmentMetadata) {
        self.add(segment).await;
        self.step(segment, CopyFinished, None).await;
    }

    fn close(self) {
        tokio::task::block_in_place(|| self.manager.close());
    }
}

/// Appends a record as another writer might.
async fn append(folder: &Path, meta: i32, key: Option<&str>, value: Option<Bytes>) {
    let options = EmbeddedOptions { folder: folder.to_owned(), partitions: 3, compact_bytes_min: 1 << 30 };
    let log = Arc::new(EmbeddedLog::new(options));
    log.ensure().await.expect("opens");
    log.append(meta, key.map(|key| Bytes::copy_from_slice(key.as_bytes())), value).await.expect("appends");
    log.close().await;
}

fn meta_of(partition: &TopicIdPartition) -> i32 {
    wire::metadata_partition(&partition.topic_id, partition.partition, 3)
}

/// Every file of a folder with its bytes.
fn bytes_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("lists")
        .map(|entry| entry.expect("lists").path())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("reads")))
        .collect();
    files.sort();
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_order_is_listed_shown_and_verified_while_its_manager_runs_and_stays_as_it_is() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("log");
    let (orders, events) = (partition("orders", 1, 0), partition("events-with-a-längerer-name", 2, 7));
    let host = Host::open(&folder, &[&orders, &events]).await;
    let place = Place::new(BlockSize::default(), data_length(1 << 20, BlockSize::default()), 900, "tier/");
    let (first, second) = (segment(&orders, 1, 0, 99), segment(&orders, 2, 100, 199));
    host.add(&first).await;
    host.step(&first, CopyFinished, Some(place.encode())).await;
    host.copy(&second).await;
    host.add(&segment(&orders, 3, 200, 299)).await;
    let gone = segment(&events, 4, 0, 9);
    host.copy(&gone).await;
    host.step(&gone, DeleteStarted, None).await;
    host.step(&gone, DeleteFinished, None).await;
    let before = bytes_of(&folder);

    let listed = output(&folder, &["list"], 0);
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1][..4], ["events-with-a-längerer-name", "7", "0", "0"], "{listed}");
    assert_eq!(rows[2][..9], ["orders", "0", "2", "1", "0", "0", "2.0", "MiB", "0..199"], "{listed}");
    let column = |line: &str, word: &str| line[..line.find(word).expect(word)].chars().count();
    let table: Vec<_> = listed.lines().collect();
    assert_eq!(column(table[0], "TOPIC ID"), column(table[1], &events.topic_id.to_string()), "{listed}");
    assert!(listed.ends_with("2 partitions in 2 topics, 3 segments, 2.0 MiB in finished segments\n"), "{listed}");

    let list = json(&folder, &["list", "--topic", "orders", "--json"], 0);
    assert_eq!(list["totals"]["segments"], 3);
    assert_eq!(list["partitions"][0]["segments"]["COPY_SEGMENT_FINISHED"], 2);
    assert_eq!(list["partitions"][0]["endOffset"], 199);
    assert_eq!(list["partitions"][0]["metadataPartition"], meta_of(&orders));

    let shown = output(&folder, &["show", "--topic", "orders"], 0);
    let row = shown.lines().find(|line| line.contains("0..99")).expect("a row");
    for part in ["COPY_SEGMENT_FINISHED", "0@0", "base,UPDATE", "undercroft: object of", "prefix \"tier/\""] {
        assert!(row.contains(part), "{part}: {shown}");
    }
    let show = json(&folder, &["show", "--topic", &orders.topic_id.to_string(), "--partition", "0", "--json"], 0);
    let segments = &show["partitions"][0]["segments"];
    assert_eq!(segments[0]["customMetadata"]["objectPrefix"], "tier/");
    assert_eq!(segments[1]["customMetadata"], Value::Null);
    assert_eq!((&segments[2]["state"], &segments[2]["baseKey"]), (&"COPY_SEGMENT_STARTED".into(), &"base".into()));
    assert_eq!(json(&folder, &["show", "--topic", &events.topic, "--json"], 0)["partitions"][0]["deletedSegments"], 1);

    assert!(output(&folder, &["verify"], 0).ends_with("2 partitions checked: no problem.\n"));
    let verdict = json(&folder, &["verify", "--json"], 0);
    assert_eq!((&verdict["ok"], &verdict["findings"]), (&true.into(), &Value::Array(Vec::new())));
    assert_eq!(verdict["records"]["applied"], 9);

    assert_eq!(bytes_of(&folder), before, "nothing was written");
    host.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_names_each_thing_that_is_wrong_and_ends_with_one() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let orders = partition("orders", 1, 0);
    let meta = meta_of(&orders);
    let host = Host::open(folder, &[&orders]).await;
    host.copy(&segment(&orders, 1, 0, 99)).await;
    host.copy(&segment(&orders, 2, 150, 199)).await;
    let day_ago = now_ms() - 86_400_000;
    host.add(&SegmentMetadata { event_timestamp_ms: day_ago, ..segment(&orders, 3, 200, 299) }).await;
    let stuck = SegmentMetadata { event_timestamp_ms: day_ago, ..segment(&orders, 4, 300, 399) };
    host.copy(&stuck).await;
    host.step(&stuck, DeleteStarted, None).await;
    host.close();
    append(folder, meta, None, Some(Bytes::from_static(b"rubbish"))).await;
    let keyless = SegmentMetadata { state: CopyFinished, ..segment(&orders, 5, 400, 499) };
    let value = encode_segment(&keyless, LeaderEpoch::UNKNOWN, Version::V0);
    append(folder, meta, None, Some(value.clone())).await;
    append(folder, (meta + 1) % 3, None, Some(value)).await;
    append(folder, meta, Some("k"), Some(Bytes::from_static(&[1, 0, 2]))).await;

    let verdict = json(folder, &["verify", "--json"], 1);
    let of = |kind: &str| {
        let found = verdict["findings"].as_array().expect("findings").iter().find(|finding| finding["kind"] == kind);
        found.unwrap_or_else(|| panic!("{kind} is not found: {verdict:#}"))
    };
    for kind in
        ["gap", "unfinished-copy", "unfinished-delete", "unreadable-records", "newer-records", "misplaced-records"]
    {
        assert_eq!(of(kind)["severity"], "problem", "{kind}");
    }
    for kind in ["records-without-key", "facts-without-key", "unreadable-keys"] {
        assert_eq!(of(kind)["severity"], "notice", "{kind}");
    }
    assert_eq!((&of("gap")["startOffset"], &of("gap")["endOffset"]), (&100.into(), &149.into()));
    assert_eq!(of("unfinished-copy")["segmentId"], KafkaUuid([3; 16]).to_string());
    assert_eq!(of("facts-without-key")["firstRecords"][0]["metadataPartition"], meta);
    // What is left between the finished segments 150..199 and 400..499 is a gap too.
    assert_eq!(verdict["problems"], 7);
    let text = output(folder, &["verify", "--topic", "orders", "--partition", "0"], 1);
    assert!(text.ends_with("1 partition checked: 7 problems.\n"), "{text}");
    let later = json(folder, &["verify", "--older-than", "2d", "--json"], 1);
    assert_eq!(later["problems"], 5, "younger than two days");

    let refused = metadata(folder, &["export"]).output().expect("starts");
    assert!(refused.status.code() == Some(1) && refused.stdout.is_empty());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--skip-unreadable"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_fills_another_log_with_the_same_segments() {
    let temporary = tempfile::tempdir().expect("a folder");
    let (folder, other) = (temporary.path().join("a"), temporary.path().join("b"));
    let (orders, events) = (partition("orders", 1, 0), partition("events", 2, 0));
    let host = Host::open(&folder, &[&orders, &events]).await;
    host.copy(&segment(&orders, 1, 0, 99)).await;
    host.add(&segment(&orders, 2, 100, 199)).await;
    let deleting = segment(&events, 3, 0, 99);
    host.copy(&deleting).await;
    host.step(&deleting, DeleteStarted, None).await;
    let gone = segment(&events, 4, 100, 199);
    host.copy(&gone).await;
    host.step(&gone, DeleteStarted, None).await;
    host.step(&gone, DeleteFinished, None).await;
    host.close();

    let records = lines(&output(&folder, &["export"], 0));
    assert_eq!(records.len(), 2 + 1 + 3);
    for record in &records {
        let value = record["value"].as_str().expect("text");
        let value = base64::engine::general_purpose::STANDARD.decode(value).expect("base64");
        assert_eq!(value[2], 0, "version 0, which is all that a stock reader takes");
        assert!(matches!(wire::decode(&value), Ok(Record::Segment(_) | Record::Update(_))));
        let meta = i32::try_from(record["partition"].as_i64().expect("a number")).expect("small");
        append(&other, meta, record["key"].as_str(), Some(value.into())).await;
    }
    for topic in ["orders", "events"] {
        let states = |folder: &Path| {
            let shown = json(folder, &["show", "--topic", topic, "--json"], 0);
            let segments = shown["partitions"][0]["segments"].as_array().expect("segments").clone();
            let facts = ["segmentId", "state", "startOffset", "endOffset", "leaderEpochs", "sizeBytes", "brokerId"];
            segments.iter().map(|segment| facts.map(|fact| segment[fact].clone())).collect::<Vec<_>>()
        };
        assert_eq!(states(&folder), states(&other), "{topic}");
    }
    assert_eq!(lines(&output(&folder, &["export", "--topic", "events"], 0)).len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_says_what_it_would_write_then_writes_it_and_does_so_once() {
    let temporary = tempfile::tempdir().expect("a folder");
    let (folder, other) = (temporary.path().join("a"), temporary.path().join("b"));
    let orders = partition("orders", 1, 0);
    let host = Host::open(&folder, &[&orders]).await;
    host.copy(&segment(&orders, 1, 0, 99)).await;
    host.copy(&segment(&orders, 2, 100, 199)).await;
    host.close();
    // With a partition: it is opened in the background, and ready only once the files are there.
    Host::open(&other, &[&orders]).await.close();
    let file = temporary.path().join("export.jsonl");
    fs::write(&file, output(&folder, &["export"], 0)).expect("writes");
    let file = file.to_str().expect("UTF-8");

    let before = bytes_of(&other);
    let said = output(&other, &["import", file], 0);
    assert!(said.contains("4 records of 2 segments, in the form of level 2") && said.contains("Nothing was written"));
    assert_eq!(bytes_of(&other), before, "a dry run writes nothing");
    assert!(output(&other, &["import", file, "--execute"], 0).contains("SUCCESS"));
    let list = |folder: &Path| json(folder, &["list", "--json"], 0)["partitions"][0]["endOffset"].clone();
    assert_eq!((list(&other), list(&folder)), (199.into(), 199.into()));
    assert_eq!(json(&other, &["verify", "--json"], 0)["ok"], true);

    let again = metadata(&other, &["import", file, "--execute"]).output().expect("starts");
    let error = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(1) && error.contains("knows 2 of these segments already"), "{error}");
    assert!(output(&other, &["import", file, "--execute", "--skip-known"], 0).contains("left out"));
    fs::write(file, "{\"key\":1}\n").expect("writes");
    let wrong = metadata(&other, &["import", file]).output().expect("starts");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("line 1: it has no text `key`"));
}

/// The script of the package, which takes the KIP's options.
fn migration(arguments: &str) -> (Option<i32>, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/kafka-remote-log-metadata-migration.sh");
    let mut command = Command::new(script);
    command.env("UNDERCROFT_COMMAND", env!("CARGO_BIN_EXE_undercroft")).args(arguments.split(' '));
    let output = command.output().expect("the script starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

#[test]
fn the_migration_script_takes_the_options_of_the_kip_and_its_exit_codes_tell_usage_from_failure() {
    // Nobody listens on port 1.
    let at = "--bootstrap-server 127.0.0.1:1 --timeout-ms 500";
    for goal in [
        "--check",
        "--check --json",
        "--upgrade-to-v1 --force --retention-ms 1209600000 --segment-ms 86400000",
        "--upgrade-to-v1 --retention-ms",
        "--upgrade-to-v2 --force --segment-ms 3600000",
        "--auto-upgrade --force",
    ] {
        let (code, text) = migration(&format!("{at} {goal}"));
        assert!(code == Some(1) && text.contains("FAILED: find the topic"), "{goal}: {code:?} {text}");
    }
    for wrong in [
        "",
        "--check --upgrade-to-v1",
        "--upgrade-to-v1 --json",
        "--upgrade-to-v2 --retention-ms 5",
        "--check --retention-ms 0",
    ] {
        assert_eq!(migration(format!("{at} {wrong}").trim()).0, Some(2), "{wrong}");
    }
    assert_eq!(migration("--check").0, Some(2), "no server");
    let (code, text) = migration("--help");
    assert!(code == Some(0) && text.contains("Exit codes:"), "{text}");
}

/// Lines of a child's standard output, as they come.
fn tail(folder: &Path, arguments: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = metadata(folder, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let out = BufReader::new(child.stdout.take().expect("piped"));
    (child, out)
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let status = child.wait().expect("it ends");
    let mut error = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut error).expect("text");
    (status.code(), error)
}

#[tokio::test(flavor = "multi_thread")]
async fn tail_explains_what_was_and_what_comes_and_ends_well() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path();
    let orders = partition("orders", 1, 0);
    let host = Host::open(folder, &[&orders]).await;
    let first = segment(&orders, 1, 0, 99);
    host.copy(&first).await;

    let seen = lines(&output(folder, &["tail", "--from-beginning", "--max-records", "2", "--json"], 0));
    assert_eq!((&seen[0]["record"], &seen[0]["keyForm"]), (&"segment".into(), &"base".into()));
    assert_eq!((&seen[1]["state"], &seen[1]["outcome"]), (&"COPY_SEGMENT_FINISHED".into(), &"applied".into()));
    assert!(output(folder, &["tail", "--from-beginning", "--max-records", "1"], 0).contains("offsets 0..99"));

    // One follows while the manager writes; the first line of the past tells that it has begun.
    let (child, mut out) = tail(folder, &["tail", "--from-beginning"]);
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    host.step(&first, DeleteStarted, None).await;
    host.step(&first, DeleteFinished, None).await;
    while !line.contains("DELETE_SEGMENT_FINISHED") {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "ended early");
    }
    assert!(line.contains("GONE") && line.ends_with("=> applied\n"), "{line}");
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(interrupted.success());
    assert_eq!(ended(child), (Some(0), String::new()), "Ctrl-C is how it ends");

    let (child, out) = tail(folder, &["tail", "--from-beginning"]);
    drop(out);
    host.add(&segment(&orders, 2, 100, 199)).await;
    assert_eq!(ended(child), (Some(0), String::new()), "so is a closed pipe");
    host.close();

    append(folder, meta_of(&orders), None, Some(encode_segment(&first, LeaderEpoch::UNKNOWN, Version::V0))).await;
    let all = output(folder, &["tail", "--from-beginning", "--max-records", "6"], 0);
    let last = all.lines().last().expect("lines");
    assert!(last.contains("none") && last.contains("refused: the segment is DELETE_SEGMENT_FINISHED"), "{last}");
}

#[test]
fn arguments_that_make_no_sense_are_a_usage_error() {
    let cases: [&[&str]; 9] = [
        &[],
        &["list"],
        &["list", "--file", "x", "--bootstrap-server", "h:1"],
        &["list", "--file", "x", "--command-config", "y"],
        &["list", "--file", "x", "--partition", "1"],
        &["show", "--file", "x"],
        &["verify", "--file", "x", "--older-than", "soon"],
        &["tail", "--file", "x", "--max-records", "0"],
        &["list", "--file", "x", "--topic", "t", "--partition=-1"],
    ];
    for arguments in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_undercroft")).arg("metadata").args(arguments).output();
        let output = output.expect("the command starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn failure(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the command starts");
    let error = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.code() == Some(1) && stdout.is_empty() && error.starts_with("undercroft: "), "{status}: {error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_named_with_a_remedy_and_not_created() {
    let temporary = tempfile::tempdir().expect("a folder");
    for command in ["list", "verify", "export", "tail"] {
        let error = failure(metadata(&temporary.path().join("none"), &[command]));
        assert!(error.contains("none") && error.contains("undercroft.metadata.embedded.path"), "{error}");
    }
    assert_eq!(bytes_of(temporary.path()), []);
    let orders = partition("orders", 1, 0);
    let host = Host::open(temporary.path(), &[&orders]).await;
    host.copy(&segment(&orders, 1, 0, 9)).await;
    host.close();
    for arguments in [&["show", "--topic", "order"][..], &["list", "--topic", "orders", "--partition", "1"]] {
        let error = failure(metadata(temporary.path(), arguments));
        assert!(error.contains("no records of topic order") && error.contains("metadata list"), "{error}");
    }
}

#[test]
fn a_broker_that_is_not_there_and_a_wrong_client_file_are_told_by_name() {
    let temporary = tempfile::tempdir().expect("a folder");
    let list = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
        command.args(["metadata", "list", "--bootstrap-server", "127.0.0.1:1", "--timeout-ms", "1000"]).args(more);
        failure(command)
    };
    let error = list(&[]);
    assert!(error.contains("127.0.0.1:1") && error.contains("cannot be reached"), "{error}");
    let file = temporary.path().join("client.properties");
    let path = file.to_str().expect("UTF-8");
    for (text, expected) in [
        ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n", "sasl.mechanism = `GSSAPI`"),
        ("a=\\u1", "line 1: \\u without four hexadecimal digits"),
        ("config.providers=file\n", "config.providers"),
    ] {
        fs::write(&file, text).expect("writes");
        let error = list(&["--command-config", path]);
        assert!(error.contains(expected), "{error}");
    }
    let error = list(&["--command-config", "/no/such/file"]);
    assert!(error.contains("/no/such/file"), "{error}");
}
