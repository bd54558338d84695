//! `undercroft metadata` against a real broker, whose address stands in `UNDERCROFT_TEST_KAFKA` (broker id 1, alone, with
//! no other user of its metadata topic, which is deleted).
//!
//! Ignored without it, as a broker takes seconds to start and half a gigabyte: `cargo test --test command_metadata_broker
//! -- --ignored --nocapture`. Prints what the commands print.
#![allow(clippy::disallowed_methods, clippy::expect_used, reason = "a test that waits")]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use serde_json::Value;
use undercroft::config::Config;
use undercroft::metadata::log::MetadataLog;
use undercroft::metadata::log::kafka::{KafkaLog, TOPIC};
use undercroft::metadata::{AssignedPartition, MetadataEnv, MetadataManager};
use undercroft::model::SegmentState::{CopyFinished, CopyStarted};
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate,
    TopicIdPartition,
};
use undercroft::wire::{Version, encode_segment};

const PATIENCE: Duration = Duration::from_secs(60);

fn servers() -> String {
    std::env::var("UNDERCROFT_TEST_KAFKA").expect("UNDERCROFT_TEST_KAFKA: host:port of a broker with id 1")
}

fn metadata(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
    command.arg("metadata").args(arguments).args(["--bootstrap-server", &servers()]);
    command
}

/// Standard output, standard error and exit code; printed too.
fn run(arguments: &[&str]) -> (String, String, Option<i32>) {
    let start = Instant::now();
    let output = metadata(arguments).output().expect("the command starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("$ undercroft metadata {} ({:?}, {})\n{out}{err}", arguments.join(" "), start.elapsed(), output.status);
    (out.into_owned(), err.into_owned(), output.status.code())
}

fn json(arguments: &[&str], code: i32) -> Value {
    let (out, err, found) = run(arguments);
    assert_eq!((found, err.as_str()), (Some(code), ""));
    serde_json::from_str(&out).expect("JSON")
}

/// Whether the cluster has the topic, asked without creating it.
fn has_topic(name: &str) -> bool {
    let mut client = ClientConfig::new();
    let client: BaseConsumer = client.set("bootstrap.servers", servers()).create().expect("a client");
    let metadata = client.fetch_metadata(None, PATIENCE).expect("metadata");
    metadata.topics().iter().any(|topic| topic.name() == name)
}

async fn delete_topic() {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", servers()).create().expect("an admin client");
    admin.delete_topics(&[TOPIC], &AdminOptions::new()).await.expect("deletes");
    while has_topic(TOPIC) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.set("remote.log.metadata.common.client.bootstrap.servers", &servers());
    config.set("remote.log.metadata.topic.num.partitions", "5");
    config.set("remote.log.metadata.topic.replication.factor", "1");
    config
}

fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([5; 16]), "orders", 3)
}

fn segment(number: u8, start: i64, end: i64) -> SegmentMetadata {
    SegmentMetadata {
        id: SegmentId { partition: partition(), uuid: KafkaUuid([number; 16]) },
        start_offset: Offset(start),
        end_offset: Offset(end),
        max_timestamp_ms: 5,
        broker_id: BrokerId(1),
        event_timestamp_ms: 1_700_000_000_000,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(start))]).expect("epochs"),
        size_bytes: 4096,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: true,
    }
}

async fn manager() -> MetadataManager {
    let runtime = tokio::runtime::Handle::current();
    let env = MetadataEnv { runtime, broker_id: BrokerId(1), log_dir: None, cluster_id: None };
    let manager = MetadataManager::open(&config(), env).expect("opens");
    let leader = AssignedPartition { partition: partition(), leader_epoch: Some(LeaderEpoch(0)) };
    manager.lead_and_follow(&[leader], &[]).expect("assigns");
    let start = Instant::now();
    while !manager.is_ready(&partition()) {
        assert!(start.elapsed() < PATIENCE, "not ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    manager
}

async fn copy(manager: &MetadataManager, segment: &SegmentMetadata) {
    manager.add(segment.clone(), Duration::from_secs(5)).expect("admitted").await.expect("added");
    let update = SegmentUpdate {
        id: segment.id.clone(),
        broker_id: BrokerId(1),
        event_timestamp_ms: segment.event_timestamp_ms,
        custom_metadata: None,
        state: CopyFinished,
    };
    manager.update(update, Duration::ZERO).expect("admitted").await.expect("updated");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn a_live_topic_is_read_and_never_created() {
    if has_topic(TOPIC) {
        delete_topic().await;
    }
    for command in ["list", "verify", "export", "tail"] {
        let (out, err, code) = run(&[command]);
        assert_eq!((out.as_str(), code), ("", Some(1)));
        assert!(err.contains("there is no such topic"), "{err}");
    }
    assert!(!has_topic(TOPIC), "reading created it");

    let manager = manager().await;
    copy(&manager, &segment(1, 0, 99)).await;
    copy(&manager, &segment(2, 100, 199)).await;
    let list = json(&["list", "--json"], 0);
    assert_eq!(list["partitions"][0]["endOffset"], 199);
    run(&["list"]);
    run(&["show", "--topic", "orders"]);
    let show = json(&["show", "--topic", "orders", "--json"], 0);
    assert_eq!(show["partitions"][0]["segments"][1]["stateKey"], "UPDATE");
    assert_eq!(json(&["verify", "--json"], 0)["ok"], true);
    let (exported, _, code) = run(&["export"]);
    assert_eq!((exported.lines().count(), code), (4, Some(0)));

    // From now on, while the manager goes on.
    let mut child = metadata(&["tail", "--max-records", "2", "--json"]).stdout(Stdio::piped()).spawn().expect("starts");
    tokio::time::sleep(Duration::from_secs(4)).await;
    copy(&manager, &segment(3, 250, 299)).await;
    let out = BufReader::new(child.stdout.take().expect("piped"));
    let lines: Vec<String> = out.lines().map(|line| line.expect("a line")).collect();
    lines.iter().for_each(|line| println!("{line}"));
    assert!(lines.len() == 2 && lines[0].contains("offsets 250..299") && lines[1].contains("\"applied\""));
    assert!(child.wait().expect("it ends").success());
    tokio::task::block_in_place(|| manager.close());

    // As a stock broker writes: without a key, here a segment that was begun long ago.
    let log = KafkaLog::open(&config(), BrokerId(1)).expect("opens");
    log.ensure().await.expect("the topic");
    let meta = i32::try_from(list["partitions"][0]["metadataPartition"].as_i64().expect("a number")).expect("small");
    let value = encode_segment(&segment(4, 300, 399), LeaderEpoch::UNKNOWN, Version::V0);
    log.append(meta, None, Some(value)).await.expect("lands");
    log.append(meta, None, Some(Bytes::from_static(b"rubbish"))).await.expect("lands");
    log.close().await;
    let (text, _, code) = run(&["verify"]);
    assert_eq!(code, Some(1));
    for part in ["offsets 200 to 249", "never finished", "cannot be read", "rest on records without a key"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!has_topic("__consumer_offsets"), "a group was made");
}
