//! `undercroft metadata migrate` on a real broker, which each test starts for itself (five seconds, half a gigabyte).
//!
//! Ignored without the broker's jars: `UNDERCROFT_TEST_KAFKA_LIBS=$PWD/target/kafka/4.4.0/libs cargo test --test
//! command_migrate_broker -- --ignored --nocapture`. Prints what the commands print.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, reason = "a test that waits")]

#[path = "support/kafka.rs"]
mod kafka;

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use serde_json::Value;
use undercroft::config::Config;
use undercroft::metadata::log::kafka::{FoundTopic, JavaSettings, TOPIC, TopicOperator};
use undercroft::metadata::{AssignedPartition, MetadataEnv, MetadataManager};
use undercroft::model::SegmentState::{self, CopyFinished, CopyStarted, DeleteFinished, DeleteStarted};
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate,
    TopicIdPartition,
};
use undercroft::wire::{Lane, RecordKey, SegmentKey, Version, encode_segment, encode_update, metadata_partition};

use kafka::Broker;

const PARTITIONS: i32 = 5;
/// Whose copies the manager of this test leaves alone for hours.
const OTHER: BrokerId = BrokerId(2);
const PATIENCE: Duration = Duration::from_secs(60);

fn metadata(broker: &Broker, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_undercroft"));
    command.arg("metadata").args(arguments).args(["--bootstrap-server", &broker.servers]);
    command
}

/// Standard output and error of a run that must end with `code`; printed too.
fn run(broker: &Broker, arguments: &[&str], code: i32) -> String {
    let start = Instant::now();
    let output = metadata(broker, arguments).output().expect("the command starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("$ undercroft metadata {} ({:?}, {})\n{text}", arguments.join(" "), start.elapsed(), output.status);
    assert_eq!(output.status.code(), Some(code), "{}", arguments.join(" "));
    text
}

fn json(broker: &Broker, arguments: &[&str], code: i32) -> Value {
    let output = metadata(broker, arguments).output().expect("the command starts");
    assert_eq!(output.status.code(), Some(code), "{}", arguments.join(" "));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// When all events happened: lately, and always the same.
fn event_ms() -> i64 {
    static START: OnceLock<i64> = OnceLock::new();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    *START.get_or_init(|| i64::try_from(since.as_millis()).expect("small"))
}

fn segment(partition: TopicIdPartition, number: u8) -> SegmentMetadata {
    let of = u8::try_from(partition.partition).expect("small");
    let start = i64::from(number) * 100;
    SegmentMetadata {
        id: SegmentId { partition, uuid: KafkaUuid([number + 50 * of; 16]) },
        start_offset: Offset(start),
        end_offset: Offset(start + 99),
        max_timestamp_ms: 5,
        broker_id: OTHER,
        event_timestamp_ms: event_ms(),
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(start))]).expect("epochs"),
        size_bytes: 4096,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: true,
    }
}

/// States that the segments of a partition have been through, as a stock broker says it.
const HISTORY: &[&[SegmentState]] = &[
    &[CopyFinished],
    &[CopyFinished],
    &[],
    &[CopyFinished, DeleteStarted],
    &[CopyFinished, DeleteStarted, DeleteFinished],
];

struct Topic {
    operator: TopicOperator,
    /// Of the tiered topic.
    id: KafkaUuid,
}

impl Topic {
    /// As a stock broker creates it, and a tiered topic beside it.
    async fn create(broker: &Broker) -> Self {
        Self::create_with(broker, JavaSettings::new("")).await
    }

    async fn create_with(broker: &Broker, mut client: JavaSettings) -> Self {
        let mut native = ClientConfig::new();
        native.set("bootstrap.servers", &broker.servers);
        if client.value("sasl.mechanism").is_some() {
            let login = [("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", "PLAIN")];
            let user = [("sasl.username", "admin"), ("sasl.password", "a")];
            native.extend(login.iter().chain(&user).map(|&(name, value)| (name.to_owned(), value.to_owned())));
        }
        let admin: AdminClient<DefaultClientContext> = native.create().expect("an admin client");
        let metadata = NewTopic::new(TOPIC, PARTITIONS, TopicReplication::Fixed(1))
            .set("cleanup.policy", "delete")
            .set("retention.ms", "-1");
        let orders = NewTopic::new("orders", 2, TopicReplication::Fixed(1));
        for created in admin.create_topics(&[metadata, orders], &AdminOptions::new()).await.expect("an answer") {
            created.expect("created");
        }
        client.set("", "bootstrap.servers", &broker.servers);
        let operator = TopicOperator::open(&client, Duration::from_secs(10)).expect("opens");
        let start = Instant::now();
        while operator.shape().expect("an answer").is_none_or(|shape| shape.partitions != PARTITIONS) {
            assert!(start.elapsed() < PATIENCE, "no topic");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let FoundTopic::Is(id) = operator.find("orders").expect("an answer") else { panic!("no id") };
        Self { operator, id }
    }

    fn partition(&self, number: i32) -> TopicIdPartition {
        TopicIdPartition::new(self.id, "orders", number)
    }

    fn append(&self, records: Vec<(i32, Option<Bytes>, Bytes)>) {
        let meta = |of| metadata_partition(&self.id, of, PARTITIONS);
        let records = records.into_iter().map(|(of, key, value)| (meta(of), key, Some(value))).collect();
        tokio::task::block_in_place(|| self.operator.append(records).expect("lands"));
    }

    /// Without a key, as a stock broker does.
    fn write_history(&self) {
        let mut records = Vec::new();
        for (of, (number, states)) in (0..2).flat_map(|of| (0..).zip(HISTORY).map(move |row| (of, row))) {
            let segment = segment(self.partition(of), number);
            records.push((of, None, encode_segment(&segment, LeaderEpoch::UNKNOWN, Version::V0)));
            for &state in *states {
                let update = SegmentUpdate {
                    id: segment.id.clone(),
                    broker_id: OTHER,
                    event_timestamp_ms: event_ms(),
                    custom_metadata: None,
                    state,
                };
                records.push((of, None, encode_update(&update, LeaderEpoch::UNKNOWN, None, Version::V0)));
            }
        }
        self.append(records);
    }

    /// What the leader of the partition does at level 1.
    fn write_again(&self, of: i32) {
        let mut records = Vec::new();
        for (number, states) in (0..).zip(HISTORY) {
            let segment = segment(self.partition(of), number);
            let state = states.last().copied().unwrap_or(CopyStarted);
            if state == DeleteFinished {
                continue;
            }
            let key = RecordKey::Segment(SegmentKey {
                partition: (&self.partition(of)).into(),
                end_offset: segment.end_offset,
                leader_epoch: LeaderEpoch::UNKNOWN,
                attempt: Some(segment.id.uuid),
                lane: Lane::Rewrite { segment: segment.id.uuid, writer_epoch: LeaderEpoch(1) },
            });
            let whole = SegmentMetadata { state, ..segment };
            records.push((of, Some(key.to_bytes()), encode_segment(&whole, LeaderEpoch::UNKNOWN, Version::V1)));
        }
        self.append(records);
    }

    /// Settings that let the cleaner come at once, and a record that closes the segment with the history.
    fn let_the_cleaner_come(&self) {
        let settings =
            [("segment.ms", "100"), ("max.compaction.lag.ms", "100"), ("min.cleanable.dirty.ratio", "0.001")];
        let settings = settings.map(|(name, value)| (name, value.to_owned()));
        tokio::task::block_in_place(|| self.operator.alter(&settings).expect("altered"));
        std::thread::sleep(Duration::from_secs(1));
        let key = Bytes::from_static(b"nothing of ours");
        let records = (0..PARTITIONS).map(|meta| (meta, Some(key.clone()), None)).collect();
        tokio::task::block_in_place(|| self.operator.append(records).expect("lands"));
    }
}

/// Everything that is known of live segments, without where it stands.
fn segments(broker: &Broker) -> Vec<Value> {
    let show = json(broker, &["show", "--topic", "orders", "--json"], 0);
    let partitions = show["partitions"].as_array().expect("an array").clone();
    let segments = partitions.iter().flat_map(|partition| partition["segments"].as_array().expect("an array").clone());
    segments
        .map(|mut segment| {
            for name in ["baseKey", "baseRecord", "stateKey", "stateRecord"] {
                segment.as_object_mut().expect("an object").remove(name);
            }
            segment
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a broker"]
async fn a_history_without_keys_comes_to_level_2_with_the_same_segments_though_the_cleaner_drops_it() {
    let broker = Broker::start("");
    let missing = run(&broker, &["migrate", "--check"], 4);
    assert!(missing.contains("there is no such topic"), "{missing}");
    let topic = Topic::create(&broker).await;
    topic.write_history();
    let before = segments(&broker);
    assert_eq!(before.len(), 8);

    // A bare broker: tiered storage is off, and the class would be the stock one.
    let refused = run(&broker, &["migrate", "--upgrade-to-v1"], 4);
    assert!(refused.contains("broker 1: tiered storage is off") && refused.contains("--force"), "{refused}");
    let skips = run(&broker, &["migrate", "--upgrade-to-v2", "--force"], 4);
    assert!(skips.contains("level 2 comes after level 1"), "{skips}");
    assert!(run(&broker, &["migrate", "--check", "--force"], 0).contains("READY: level 1"));
    let done = run(&broker, &["migrate", "--upgrade-to-v1", "--force"], 0);
    assert!(done.contains("SUCCESS: the topic is at level 1 in all 5 partitions"), "{done}");
    assert!(run(&broker, &["migrate", "--upgrade-to-v1", "--force"], 0).contains("already"));

    let wait = json(&broker, &["migrate", "--check", "--force", "--json"], 3);
    assert_eq!((&wait["verdict"], wait["restingFacts"].as_array().map(Vec::len)), (&"not-yet".into(), Some(8)));
    assert_eq!((&wait["recordsWithoutKey"]["count"], &wait["remainingWaitMs"]), (&24.into(), &Value::Null));
    run(&broker, &["migrate", "--upgrade-to-v2", "--force"], 3);
    topic.write_again(0);
    assert_eq!(json(&broker, &["migrate", "--check", "--force", "--json"], 3)["restingFacts"][3]["partition"], 1);
    topic.write_again(1);
    assert!(run(&broker, &["migrate", "--check", "--force"], 0).contains("READY: level 2"));
    let done = run(&broker, &["migrate", "--upgrade-to-v2", "--force"], 0);
    assert!(done.contains("SUCCESS: the topic is at level 2") && done.contains("reads the topic again"), "{done}");
    assert!(run(&broker, &["migrate", "--upgrade-to-v1", "--force"], 4).contains("no way leads down"));
    assert_eq!(segments(&broker), before);
    let settings = topic.operator.settings().expect("told");
    for (name, value) in
        [("cleanup.policy", "compact"), ("segment.ms", "3600000"), ("max.compaction.lag.ms", "21600000")]
    {
        assert_eq!(settings[name], value);
    }

    topic.let_the_cleaner_come();
    let start = Instant::now();
    while json(&broker, &["migrate", "--check", "--force", "--json"], 0)["recordsWithoutKey"]["count"] != 0 {
        assert!(start.elapsed() < PATIENCE, "the cleaner does not come:\n{}", broker.log());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    println!("the cleaner dropped all records without a key after {:?}", start.elapsed());
    assert_eq!(segments(&broker), before, "what the cleaner left says the same");
    run(&broker, &["list"], 0);

    // The way back, and that of a topic that was lost: another topic, here with another number of partitions, at level 0.
    let file = broker.file("export.jsonl", &run(&broker, &["export"], 0));
    assert!(run(&broker, &["import", &file, "--execute"], 1).contains("knows 8 of these segments already"));
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", &broker.servers).create().expect("an admin client");
    admin.delete_topics(&[TOPIC], &AdminOptions::new()).await.expect("deletes");
    let start = Instant::now();
    let new = NewTopic::new(TOPIC, 3, TopicReplication::Fixed(1));
    while admin.create_topics([&new], &AdminOptions::new()).await.expect("an answer")[0].is_err() {
        assert!(start.elapsed() < PATIENCE, "no new topic");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    while topic.operator.shape().expect("an answer").is_none_or(|shape| shape.partitions != 3) {
        assert!(start.elapsed() < PATIENCE, "the new topic is not known");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(run(&broker, &["import", &file], 0).contains("Nothing was written"));
    assert!(run(&broker, &["import", &file, "--execute"], 0).contains("knows all 8 segments"));
    assert_eq!(segments(&broker), before);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a broker"]
async fn auto_upgrade_waits_for_the_leaders_and_a_changed_number_of_partitions_ends_it() {
    let broker = Broker::start("");
    let topic = Topic::create(&broker).await;
    topic.write_history();
    let before = segments(&broker);
    let arguments = ["migrate", "--auto-upgrade", "--force", "--poll-ms", "300", "--stall-ms", "60000"];
    let mut child = metadata(&broker, &arguments).stdout(Stdio::piped()).spawn().expect("starts");
    let mut text = String::new();
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        let line = line.expect("a line") + "\n";
        print!("{line}");
        for (left, of) in [("waiting: 8 facts left", 0), ("waiting: 4 facts left", 1)] {
            if line.contains(left) {
                topic.write_again(of);
            }
        }
        text.push_str(&line);
    }
    assert!(child.wait().expect("it ends").success());
    for part in ["waiting: 8 facts left", "waiting: 4 facts left", "SUCCESS: the topic is at level 2"] {
        assert!(text.contains(part), "{part}");
    }
    assert_eq!(segments(&broker), before);

    // Somebody adds partitions: records of most user partitions are looked for elsewhere now.
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", &broker.servers).create().expect("an admin client");
    let more = rdkafka::admin::NewPartitions::new(TOPIC, 7);
    for result in admin.create_partitions([&more], &AdminOptions::new()).await.expect("an answer") {
        result.expect("made");
    }
    let start = Instant::now();
    while topic.operator.shape().expect("an answer").is_none_or(|shape| shape.partitions != 7) {
        assert!(start.elapsed() < PATIENCE, "no more partitions");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let text = run(&broker, &["migrate", "--check"], 4);
    assert!(text.contains("partitions 5 to 6 have no level record, all before them have"), "{text}");
}

/// A manager that leads both partitions, as a broker with Undercroft has it.
async fn manager(broker: &Broker, topic: &Topic) -> MetadataManager {
    let mut config = Config::new();
    for (key, value) in [
        ("remote.log.metadata.common.client.bootstrap.servers", broker.servers.as_str()),
        ("remote.log.metadata.topic.num.partitions", "5"),
        ("remote.log.metadata.topic.replication.factor", "1"),
        ("undercroft.metadata.upkeep.interval.ms", "500"),
    ] {
        config.set(key, value);
    }
    let runtime = tokio::runtime::Handle::current();
    let env = MetadataEnv { runtime, broker_id: BrokerId(1), log_dir: None, cluster_id: None };
    let manager = MetadataManager::open(&config, env).expect("opens");
    let leaders = [0, 1].map(|of| AssignedPartition { partition: topic.partition(of), leader_epoch: None });
    manager.lead_and_follow(&leaders, &[]).expect("assigns");
    let start = Instant::now();
    while !leaders.iter().all(|leader| manager.is_ready(&leader.partition)) {
        assert!(start.elapsed() < PATIENCE, "not ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    manager
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a broker"]
async fn brokers_with_undercroft_write_again_what_has_no_key_and_go_on_through_the_cleaning() {
    let broker = Broker::start("");
    let topic = Topic::create(&broker).await;
    topic.write_history();
    let before = segments(&broker);
    let running = manager(&broker, &topic).await;
    let arguments = ["migrate", "--auto-upgrade", "--force", "--poll-ms", "300", "--stall-ms", "60000"];
    assert!(run(&broker, &arguments, 0).contains("SUCCESS: the topic is at level 2"));
    assert_eq!(segments(&broker), before);
    run(&broker, &["tail", "--from-beginning", "--max-records", "40"], 0);

    topic.let_the_cleaner_come();
    let start = Instant::now();
    while json(&broker, &["migrate", "--check", "--force", "--json"], 0)["recordsWithoutKey"]["count"] != 0 {
        assert!(start.elapsed() < PATIENCE, "the cleaner does not come:\n{}", broker.log());
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(segments(&broker), before);
    // The one that was there all the time, and one that sees only what the cleaner left.
    let fresh = manager(&broker, &topic).await;
    for manager in [&running, &fresh] {
        for of in 0..2 {
            let found = manager.find(&topic.partition(of), LeaderEpoch(0), Offset(150)).expect("ready").expect("found");
            assert_eq!(found.id.uuid, segment(topic.partition(of), 1).id.uuid);
        }
    }
    let new = segment(topic.partition(0), 7);
    running.add(new.clone(), Duration::from_secs(10)).expect("admitted").await.expect("added");
    assert!(run(&broker, &["show", "--topic", "orders"], 0).contains(&new.id.uuid.to_string()));
    tokio::task::block_in_place(|| [running, fresh].iter().for_each(MetadataManager::close));
}

const SECURED: &str = "\
sasl.enabled.mechanisms=PLAIN
sasl.mechanism.inter.broker.protocol=PLAIN
listener.name.client.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"admin\" password=\"a\" user_admin=\"a\" user_reader=\"r\";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "starts a broker"]
async fn a_missing_right_is_named_and_a_wrong_password_is_told() {
    let broker = Broker::start(SECURED);
    let login = |user: &str, password: &str| {
        format!(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.\
             plain.PlainLoginModule required username=\"{user}\" password=\"{password}\";\n"
        )
    };
    let wrong = broker.file("wrong.properties", &login("admin", "b"));
    let text = run(&broker, &["migrate", "--check", "--timeout-ms", "3000", "--command-config", &wrong], 4);
    assert!(text.contains("REFUSED") && text.lines().count() == 1, "{text}");
    let reader = broker.file("reader.properties", &login("reader", "r"));
    let admin = broker.file("admin.properties", &login("admin", "a"));
    let as_reader = |arguments: &[&str], code, right: &str| {
        let all = [&["migrate", "--force", "--timeout-ms", "5000", "--command-config", &reader], arguments].concat();
        let text = run(&broker, &all, code);
        assert!(text.contains(right), "{right}: {text}");
    };
    let admin_client = |config: &str| {
        let mut client = JavaSettings::new("");
        for line in config.lines() {
            let (name, value) = line.split_once('=').expect("a pair");
            client.set("", name, value);
        }
        client
    };
    let topic = Topic::create_with(&broker, admin_client(&login("admin", "a"))).await;
    topic.write_history();
    as_reader(&["--check"], 4, "Topic authorization failed");
    broker.allow(&admin, "reader", &["DESCRIBE", "READ"], Some(TOPIC));
    as_reader(&["--check"], 4, "it takes the right DescribeConfigs on the cluster");
    broker.allow(&admin, "reader", &["DESCRIBE_CONFIGS"], None);
    as_reader(&["--check"], 4, "it takes the right DescribeConfigs on the topic");
    broker.allow(&admin, "reader", &["DESCRIBE_CONFIGS"], Some(TOPIC));
    as_reader(&["--check"], 0, "READY: level 1");
    as_reader(&["--upgrade-to-v1"], 4, "it takes the right Write on the topic");
    broker.allow(&admin, "reader", &["WRITE"], Some(TOPIC));
    as_reader(&["--upgrade-to-v1"], 0, "SUCCESS");
    topic.write_again(0);
    topic.write_again(1);
    as_reader(&["--upgrade-to-v2"], 4, "it takes the right AlterConfigs on the topic");
    broker.allow(&admin, "reader", &["ALTER_CONFIGS"], Some(TOPIC));
    as_reader(&["--upgrade-to-v2"], 0, "SUCCESS");
}
