//! The Kafka log against a real broker, whose address stands in `UNDERCROFT_TEST_KAFKA` (broker id 1, alone).
//!
//! Ignored without it, as a broker takes seconds to start and half a gigabyte: `cargo test --test kafka_log_broker --
//! --ignored --nocapture --test-threads 1`. Prints what it measures.
#![allow(clippy::disallowed_methods, clippy::expect_used, reason = "a test that measures")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use undercroft::config::Config;
use undercroft::metadata::log::kafka::{KafkaLog, TOPIC};
use undercroft::metadata::log::{Cleanup, LogError, LogEvent, LogReader, MetadataLog, TopicPresence};
use undercroft::metadata::{AssignedPartition, MetadataEnv, MetadataManager};
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, TopicIdPartition,
};
use undercroft::wire::{self, LEVEL_KEY, Lane, RecordKey, SegmentKey};

fn servers() -> String {
    std::env::var("UNDERCROFT_TEST_KAFKA").expect("UNDERCROFT_TEST_KAFKA: host:port of a broker with id 1")
}

fn config(more: &[(&str, &str)]) -> Config {
    let mut config = Config::new();
    config.set("remote.log.metadata.common.client.bootstrap.servers", &servers());
    config.set("remote.log.metadata.topic.num.partitions", "5");
    config.set("remote.log.metadata.topic.replication.factor", "1");
    // Lines `name=value` of a Java client, for a listener with TLS or logins.
    let client = std::env::var("UNDERCROFT_TEST_KAFKA_CLIENT").unwrap_or_default();
    for (name, value) in client.lines().filter_map(|line| line.split_once('=')) {
        config.set(&format!("remote.log.metadata.common.client.{name}"), value);
    }
    for (key, value) in more {
        config.set(key, value);
    }
    config
}

fn open(more: &[(&str, &str)]) -> KafkaLog {
    KafkaLog::open(&config(more), BrokerId(1)).expect("opens")
}

fn admin() -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", servers()).create().expect("an admin client")
}

async fn delete_topic() {
    admin().delete_topics(&[TOPIC], &AdminOptions::new()).await.expect("deletes");
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// As a person or a broker makes it.
async fn create_topic(partitions: i32, configs: &[(&str, &str)]) {
    let mut topic = NewTopic::new(TOPIC, partitions, TopicReplication::Fixed(1));
    for (name, value) in configs {
        topic = topic.set(name, value);
    }
    let made = admin().create_topics(&[topic], &AdminOptions::new()).await.expect("creates");
    assert!(made.iter().all(Result::is_ok), "{made:?}");
    tokio::time::sleep(Duration::from_secs(1)).await;
}

fn value() -> Option<Bytes> {
    Some(Bytes::from(vec![7; 140]))
}

/// Reads partition 0 until its end is at `end` or behind; gives the number of records and the time of each.
fn read_to(reader: &mut dyn LogReader, partition: i32, end: i64) -> usize {
    let (mut records, mut done) = (0, false);
    let deadline = Instant::now() + Duration::from_secs(120);
    while !done {
        assert!(Instant::now() < deadline, "{records} records in two minutes");
        let mut sink = |event: LogEvent<'_>| match event {
            LogEvent::Record { .. } => records += 1,
            LogEvent::End { partition: of, next_offset } => done |= of == partition && next_offset >= end,
            LogEvent::Trouble { error, .. } => println!("trouble: {error}"),
        };
        reader.poll(Duration::from_millis(100), &mut sink).expect("polls");
    }
    records
}

async fn topic_settings() -> HashMap<String, String> {
    let described = admin().describe_configs(&[ResourceSpecifier::Topic(TOPIC)], &AdminOptions::new()).await;
    let described = described.expect("describes").remove(0).expect("describes");
    described.entries.into_iter().map(|entry| (entry.name, entry.value.unwrap_or_default())).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn a_topic_that_is_missing_is_created_compacted_or_as_the_stock_manager_does() {
    let log = open(&[]);
    let start = Instant::now();
    log.ensure().await.expect("the topic");
    println!("first ensure {:?}", start.elapsed());
    log.close().await;
    for (level, policy, cleanup) in [("0", "delete", Cleanup::Delete), ("2", "compact", Cleanup::Compact)] {
        delete_topic().await;
        let log = open(&[("undercroft.metadata.topic.create.level", level)]);
        let start = Instant::now();
        let shape = log.ensure().await.expect("created");
        println!("ensure with creation {:?}", start.elapsed());
        assert_eq!((shape.partitions, shape.cleanup, shape.is_new), (5, cleanup, true));
        assert!(shape.id.is_some());
        let day = Duration::from_secs(24 * 60 * 60);
        assert_eq!(shape.delete_retention, (level == "2").then_some(day));
        assert_eq!(log.ensure().await.expect("again"), shape);
        let configs = topic_settings().await;
        assert_eq!(configs["cleanup.policy"], policy);
        assert_eq!(configs["retention.ms"], "-1");
        assert_eq!(configs["remote.storage.enable"], "false");
        assert_eq!(configs["min.insync.replicas"], "1", "two of one replica could never be written");
        if level == "2" {
            assert_eq!(
                (configs["segment.ms"].as_str(), configs["min.cleanable.dirty.ratio"].as_str()),
                ("3600000", "0.1")
            );
            assert_eq!(configs["max.compaction.lag.ms"], "21600000");
        }
        log.append(0, value(), value()).await.expect("lands");
        log.close().await;

        let found = open(&[("undercroft.metadata.topic.create.level", if level == "0" { "2" } else { "0" })]);
        let shape = found.ensure().await.expect("the topic as it is");
        assert_eq!((shape.cleanup, shape.is_new), (cleanup, false));
        found.close().await;
        let other = open(&[("remote.log.metadata.topic.num.partitions", "6")]);
        assert!(matches!(other.ensure().await, Err(LogError::Mismatch { .. })));
        other.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn topics_are_told_from_missing_ones_and_from_those_that_took_their_name() {
    let log = open(&[]);
    log.ensure().await.expect("the topic");
    let names: Vec<Arc<str>> = ["here", "missing", "made-anew"].map(Arc::from).to_vec();
    let create = async |name: &str| {
        let topic = NewTopic::new(name, 1, TopicReplication::Fixed(1));
        admin().create_topics(&[topic], &AdminOptions::new()).await.expect("creates");
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    admin().delete_topics(&["here", "made-anew"], &AdminOptions::new()).await.expect("deletes");
    tokio::time::sleep(Duration::from_secs(1)).await;
    create("here").await;
    create("made-anew").await;
    let start = Instant::now();
    let before = log.presence(&names).await.expect("answers");
    println!("presence of three topics {:?}: {before:?}", start.elapsed());
    assert_eq!(before.led_here, [0, 1, 2, 3, 4]);
    let TopicPresence::Known(id) = before.topics[2] else { panic!("{before:?}") };
    assert!(matches!(before.topics[0], TopicPresence::Known(_)) && before.topics[1] == TopicPresence::Missing);
    admin().delete_topics(&["made-anew"], &AdminOptions::new()).await.expect("deletes");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let between = log.presence(&names).await.expect("answers");
    assert_eq!(between.topics[2], TopicPresence::Missing);
    create("made-anew").await;
    let after = log.presence(&names).await.expect("answers");
    assert!(matches!(after.topics[2], TopicPresence::Known(other) if other != id), "{after:?}");
    assert_eq!(after.topics[0], before.topics[0]);
    assert_eq!(log.presence(&[]).await.expect("answers").led_here.len(), 5);
    log.close().await;
    assert!(matches!(log.presence(&names).await, Err(LogError::Closed { .. })));
}

/// Key and value of a record.
type Contents = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What a partition has.
fn contents(log: &KafkaLog, partition: i32) -> Vec<Contents> {
    let mut reader = log.reader().expect("a reader");
    reader.assign(partition, 0).expect("assigns");
    let (mut contents, mut is_done) = (Vec::new(), false);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_done {
        assert!(Instant::now() < deadline);
        let mut sink = |event: LogEvent<'_>| match event {
            LogEvent::Record { key, value, .. } => {
                contents.push((key.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec)));
            }
            LogEvent::End { .. } => is_done = true,
            LogEvent::Trouble { error, .. } => println!("trouble: {error}"),
        };
        reader.poll(Duration::from_millis(100), &mut sink).expect("polls");
    }
    contents
}

/// A manager makes the topic, and its level stands in every partition, whichever of them it reads.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn a_topic_that_a_manager_creates_has_its_level_in_every_partition() {
    open(&[]).ensure().await.expect("the topic");
    delete_topic().await;
    let env = MetadataEnv {
        runtime: tokio::runtime::Handle::current(),
        broker_id: BrokerId(1),
        log_dir: None,
        cluster_id: None,
    };
    let manager = MetadataManager::open(&config(&[]), env).expect("opens");
    let partition = TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 0);
    let assigned = AssignedPartition { partition: partition.clone(), leader_epoch: Some(LeaderEpoch(0)) };
    let start = Instant::now();
    manager.lead_and_follow(&[assigned], &[]).expect("assigns");
    while !manager.is_ready(&partition) {
        assert!(start.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("created and ready after {:?}", start.elapsed());
    let log = open(&[]);
    log.ensure().await.expect("the topic");
    for partition in 0..5 {
        let contents = contents(&log, partition);
        assert!(!contents.is_empty(), "partition {partition}");
        for (key, value) in contents {
            assert_eq!(key.as_deref(), Some(LEVEL_KEY.as_bytes()), "partition {partition}");
            let record = wire::decode(&value.expect("a value")).expect("reads");
            assert!(matches!(record, wire::Record::Level(level) if level.level == 2), "{record:?}");
        }
    }
    log.close().await;
    manager.close();
}

const SEGMENTS: u32 = 86_000;

fn tiered() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 0)
}

/// Key and value of the one record of a finished segment.
fn record_of(number: u32) -> (Option<Bytes>, Option<Bytes>) {
    let mut uuid = [3; 16];
    uuid[..4].copy_from_slice(&number.to_be_bytes());
    let (start, end) = (i64::from(number) * 100, i64::from(number) * 100 + 99);
    let metadata = SegmentMetadata {
        id: SegmentId { partition: tiered(), uuid: KafkaUuid(uuid) },
        start_offset: Offset(start),
        end_offset: Offset(end),
        max_timestamp_ms: 1_700_000_000_000,
        broker_id: BrokerId(1),
        event_timestamp_ms: 1_700_000_000_000,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(3), Offset(start))]).expect("epochs"),
        size_bytes: 100_000_000,
        custom_metadata: Some(Bytes::from(vec![5; 40])),
        state: SegmentState::CopyFinished,
        is_txn_index_empty: true,
    };
    let key = RecordKey::Segment(SegmentKey {
        partition: (&tiered()).into(),
        end_offset: Offset(end),
        leader_epoch: LeaderEpoch(3),
        attempt: None,
        lane: Lane::Base,
    });
    (Some(key.to_bytes()), Some(wire::encode_segment(&metadata, LeaderEpoch(3), wire::Version::V1)))
}

/// Time from opening a manager until its partition is ready, and the time of its end.
async fn start_and_end(folder: &std::path::Path) -> (Duration, Duration, usize) {
    let env = MetadataEnv {
        runtime: tokio::runtime::Handle::current(),
        broker_id: BrokerId(1),
        log_dir: None,
        cluster_id: Some("cluster".to_owned()),
    };
    let config = config(&[("undercroft.metadata.checkpoint.path", folder.to_str().expect("text"))]);
    let begin = Instant::now();
    let manager = MetadataManager::open(&config, env).expect("opens");
    let assigned = AssignedPartition { partition: tiered(), leader_epoch: Some(LeaderEpoch(3)) };
    manager.lead_and_follow(&[assigned], &[]).expect("assigns");
    while !manager.is_ready(&tiered()) {
        let why = || manager.list(&tiered(), None).map(|_| ()).expect_err("not ready");
        assert!(begin.elapsed() < Duration::from_secs(300), "{}", why());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let ready = begin.elapsed();
    let count = manager.list(&tiered(), None).expect("lists").len();
    let begin = Instant::now();
    tokio::task::spawn_blocking(move || manager.close()).await.expect("closes");
    (ready, begin.elapsed(), count)
}

/// Prints what a start costs without and with a checkpoint.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn a_restart_with_a_checkpoint_reads_next_to_nothing() {
    open(&[]).ensure().await.expect("the topic");
    delete_topic().await;
    let log = open(&[]);
    log.ensure().await.expect("the topic");
    let index = wire::metadata_partition(&tiered().topic_id, 0, 5);
    // Each segment as often as a broker writes of it, and once more.
    for _ in 0..1 {
        let appends = (0..SEGMENTS).map(|number| {
            let (key, value) = record_of(number);
            log.append(index, key, value)
        });
        for appended in futures_util::future::join_all(appends).await {
            appended.expect("lands");
        }
    }
    log.close().await;
    let folder = tempfile::tempdir().expect("a folder");
    for what in ["without a checkpoint", "with one", "with one again"] {
        let (ready, closed, count) = start_and_end(folder.path()).await;
        let file = folder.path().join(format!("undercroft-metadata-{index}.checkpoint"));
        let len = std::fs::metadata(file).expect("a checkpoint").len();
        println!("{what}: {count} segments, ready after {ready:?}, closed in {closed:?}, the file has {len} bytes");
        assert_eq!(count, usize::try_from(SEGMENTS).expect("small"));
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn too_few_brokers_for_the_replicas_are_told_with_the_key() {
    open(&[]).ensure().await.expect("the topic");
    delete_topic().await;
    let log = open(&[("remote.log.metadata.topic.replication.factor", "3")]);
    let error = log.ensure().await.expect_err("one broker");
    println!("{error}");
    assert!(matches!(error, LogError::TooFewBrokers { .. }), "{error}");
    log.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn the_epoch_of_an_own_partition_is_told() {
    let name = format!("orders-{}", std::process::id());
    let topic = NewTopic::new(&name, 300, TopicReplication::Fixed(1));
    admin().create_topics(&[topic], &AdminOptions::new()).await.expect("creates");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let log = open(&[]);
    for _ in 0..3 {
        let start = Instant::now();
        let epoch = log.leader_epoch(&name, 0).await.expect("leads it");
        println!("epoch {epoch} in {:?}", start.elapsed());
        assert!(epoch.is_known());
    }
    let missing = log.leader_epoch("missing", 0).await.expect_err("missing");
    println!("{missing}");
    assert!(missing.is_retriable(), "{missing}");
    let asked: Vec<_> =
        (0..300).map(|partition| (name.as_str().into(), partition)).chain([("missing".into(), 0)]).collect();
    let start = Instant::now();
    let mut answers = log.leader_epochs(&asked).await;
    println!("{} epochs in {:?}", answers.len(), start.elapsed());
    answers.pop().expect("an answer").expect_err("missing");
    assert_eq!(answers.len(), 300);
    for answer in answers {
        assert!(answer.expect("leads it").is_known());
    }
    log.close().await;
    admin().delete_topics(&[&name], &AdminOptions::new()).await.expect("deletes");
}

/// User and system time of this process so far.
fn cpu_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit(')').next().expect("fields").split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("ticks") * 10).sum()
}

/// The topic vanishes and comes again, as after a mistake of a person, or because a broker creates what it is asked for.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn a_topic_that_was_deleted_is_neither_created_again_nor_is_one_written_to_that_brokers_create() {
    let log = open(&[]);
    log.ensure().await.expect("the topic");
    let mut end = 0;
    for _ in 0..10 {
        end = log.append(3, value(), value()).await.expect("lands") + 1;
    }
    let mut reader = log.reader().expect("a reader");
    reader.assign(3, 0).expect("assigns");
    read_to(&mut *reader, 3, end);
    delete_topic().await;
    let mut mismatches = 0;
    let mut read_for = |reader: &mut dyn LogReader, time| {
        let until = Instant::now() + time;
        while Instant::now() < until {
            let mut sink = |event: LogEvent<'_>| {
                if let LogEvent::Trouble { partition, error } = event {
                    println!("trouble {partition:?}: {error}");
                    mismatches += i32::from(matches!(error, LogError::Mismatch { .. }));
                }
            };
            reader.poll(Duration::from_millis(100), &mut sink).expect("polls");
        }
    };
    read_for(&mut *reader, Duration::from_secs(10));
    let start = Instant::now();
    let refused = log.append(3, value(), value()).await.expect_err("nothing is written");
    println!("append after {:?}: {refused}", start.elapsed());
    for _ in 0..1 {
        let gone = log.ensure().await.expect_err("is not created again");
        println!("{gone}");
        assert!(matches!(&gone, LogError::Mismatch { why, .. } if why.contains("is gone")), "{gone}");
    }
    create_topic(5, &[]).await;
    let other = open(&[]);
    let shape = other.ensure().await.expect("the topic as it is");
    let another = log.ensure().await.expect_err("is another topic, and nobody made it so that it keeps records");
    println!("{another}");
    assert!(another.to_string().contains(&shape.id.expect("an id").to_string()), "{another}");
    assert!(another.to_string().contains("not set to keep"), "{another}");
    assert!(log.append(3, value(), value()).await.is_err());
    read_for(&mut *reader, Duration::from_secs(10));
    assert_eq!(mismatches, 1, "told once");
    let mut reader = other.reader().expect("a reader");
    reader.assign(3, 0).expect("assigns");
    assert_eq!(read_to(&mut *reader, 3, 0), 0, "nothing was written to it");
    log.close().await;
    other.close().await;
}

/// Prints how long each takes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn a_running_manager_takes_up_a_topic_that_was_made_again_and_notices_partitions_that_were_added() {
    async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < Duration::from_secs(90), "waited for: {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        println!("{what} after {:?}", begin.elapsed());
    }
    let log = open(&[]);
    log.ensure().await.expect("the topic");
    let place = wire::metadata_partition(&tiered().topic_id, 0, 5);
    for number in 0..10 {
        let (key, value) = record_of(number);
        log.append(place, key, value).await.expect("lands");
    }
    log.close().await;
    let env = MetadataEnv {
        runtime: tokio::runtime::Handle::current(),
        broker_id: BrokerId(1),
        log_dir: None,
        cluster_id: None,
    };
    let manager = MetadataManager::open(&config(&[]), env).expect("opens");
    let assigned = AssignedPartition { partition: tiered(), leader_epoch: Some(LeaderEpoch(3)) };
    manager.lead_and_follow(&[assigned], &[]).expect("assigns");
    let count = || manager.list(&tiered(), None).map_or(0, |list| list.len());
    let why = || manager.list(&tiered(), None).map(|_| ()).expect_err("not ready").to_string();
    until("ready", || manager.is_ready(&tiered()) && count() >= 10).await;

    delete_topic().await;
    until("noticed that it is gone", || !manager.is_ready(&tiered())).await;
    create_topic(1, &[]).await;
    until("told of the one that a broker made", || why().contains("It has 1 partitions")).await;
    println!("{}", why());
    delete_topic().await;
    create_topic(5, &[("cleanup.policy", "compact")]).await;
    until("ready with the new one", || manager.is_ready(&tiered())).await;
    assert_eq!(count(), 0);

    // Made again so soon that a reader need not notice it.
    delete_topic().await;
    create_topic(5, &[("retention.ms", "-1")]).await;
    let log = open(&[]);
    log.ensure().await.expect("the topic");
    for number in 0..30 {
        let (key, value) = record_of(number);
        log.append(place, key, value).await.expect("lands");
    }
    until("ready with one that has outgrown it", || manager.is_ready(&tiered()) && count() == 30).await;
    let added = SegmentMetadata {
        id: SegmentId { partition: tiered(), uuid: KafkaUuid([9; 16]) },
        start_offset: Offset(5_000),
        end_offset: Offset(5_099),
        max_timestamp_ms: 1_700_000_000_000,
        broker_id: BrokerId(1),
        event_timestamp_ms: 1_700_000_000_000,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(3), Offset(5_000))]).expect("epochs"),
        size_bytes: 1,
        custom_metadata: None,
        state: SegmentState::CopyStarted,
        is_txn_index_empty: true,
    };
    let begin = Instant::now();
    manager.add(added, Duration::ZERO).expect("is let in").await.expect("is written");
    println!("written after {:?}", begin.elapsed());

    let more = rdkafka::admin::NewPartitions::new(TOPIC, 7);
    admin().create_partitions(&[more], &AdminOptions::new()).await.expect("adds partitions");
    until("noticed that partitions were added", || !manager.is_ready(&tiered())).await;
    until("told why", || why().contains("has 7 partitions now and had 5")).await;
    println!("{}", why());
    manager.close();
    delete_topic().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker"]
async fn speeds() {
    let log = Arc::new(open(&[]));
    log.ensure().await.expect("the topic");
    let start = Instant::now();
    log.append(1, value(), value()).await.expect("lands");
    println!("first append {:?}", start.elapsed());
    let end = log.append(1, value(), value()).await.expect("lands") + 1;

    // Latency: append, acknowledgement, own reader; one after the other.
    let mut reader = log.reader().expect("a reader");
    reader.assign(1, end).expect("assigns");
    read_to(&mut *reader, 1, end);
    let seen = Arc::new(AtomicI64::new(-1));
    let stop = reader.waker();
    let (seen_of_thread, done) = (Arc::clone(&seen), Arc::new(AtomicI64::new(0)));
    let done_of_thread = Arc::clone(&done);
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        while done_of_thread.load(Ordering::Acquire) == 0 {
            let mut sink = |event: LogEvent<'_>| {
                if let LogEvent::Record { offset, .. } = event {
                    seen_of_thread.store(offset, Ordering::Release);
                    let _ = sender.send((offset, Instant::now()));
                }
            };
            reader.poll(Duration::from_millis(500), &mut sink).expect("polls");
        }
    });
    let (mut acknowledged, mut read) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let start = Instant::now();
        let offset = log.append(1, value(), value()).await.expect("lands");
        acknowledged.push(start.elapsed());
        let (own, at) = receiver.recv_timeout(Duration::from_secs(10)).expect("is read");
        assert_eq!(own, offset);
        read.push(at.duration_since(start));
    }
    done.store(1, Ordering::Release);
    stop();
    thread.join().expect("ends");
    acknowledged.sort();
    read.sort();
    println!("append to acknowledgement: p50 {:?} p99 {:?}", acknowledged[150], acknowledged[297]);
    println!("append to own reader:      p50 {:?} p99 {:?}", read[150], read[297]);

    // Appends, 2,000 in flight.
    let (start, total) = (Instant::now(), 100_000);
    let permits = Arc::new(tokio::sync::Semaphore::new(2_000));
    let mut last = 0;
    let mut tasks = Vec::with_capacity(total);
    for _ in 0..total {
        let permit = Arc::clone(&permits).acquire_owned().await.expect("open");
        let append = {
            let log = Arc::clone(&log);
            let (report, told) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                let _ = report.send(log.append(2, value(), value()).await);
                drop(permit);
            });
            told
        };
        tasks.push(append);
    }
    for task in tasks {
        last = last.max(task.await.expect("told").expect("lands"));
    }
    println!("{:.0} appends/s with 2,000 in flight", total as f64 / start.elapsed().as_secs_f64());

    // At rest.
    let mut reader = log.reader().expect("a reader");
    for partition in 0..5 {
        reader.assign(partition, 0).expect("assigns");
    }
    read_to(&mut *reader, 2, last + 1);
    let (start, before) = (Instant::now(), cpu_ms());
    while start.elapsed() < Duration::from_secs(4) {
        reader.poll(Duration::from_millis(500), &mut |_| {}).expect("polls");
    }
    println!("at rest: {:.2} % of a core", (cpu_ms() - before) as f64 / start.elapsed().as_millis() as f64 * 100.0);
    drop(reader);

    // Catching up.
    let start = Instant::now();
    let mut reader = log.reader().expect("a reader");
    println!("reader made in {:?}", start.elapsed());
    reader.assign(2, 0).expect("assigns");
    let records = read_to(&mut *reader, 2, last + 1);
    let took = start.elapsed();
    println!("{records} records read in {took:?}: {:.0}/s", records as f64 / took.as_secs_f64());

    // One more partition, while another is being read.
    let start = Instant::now();
    reader.assign(3, 0).expect("assigns");
    read_to(&mut *reader, 3, 0);
    println!("one more partition assigned and at its end: {:?}", start.elapsed());
    let start = Instant::now();
    drop(reader);
    println!("reader dropped in {:?}", start.elapsed());
    let start = Instant::now();
    log.close().await;
    println!("closed in {:?}", start.elapsed());
}

/// Somebody kills and restarts the broker meanwhile; every append lands once and in order, and the reader goes on.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker, and somebody who kills and restarts it"]
async fn a_restart_of_the_broker_costs_time_only() {
    let log = Arc::new(open(&[]));
    log.ensure().await.expect("the topic");
    let first = log.append(4, value(), value()).await.expect("lands") + 1;
    let mut reader = log.reader().expect("a reader");
    reader.assign(4, first).expect("assigns");
    let writer = Arc::clone(&log);
    let writing = tokio::spawn(async move {
        let (mut slowest, mut last) = (Duration::ZERO, 0);
        for number in 0..300 {
            let start = Instant::now();
            last = writer.append(4, value(), Some(Bytes::from(format!("{number}")))).await.expect("lands");
            slowest = slowest.max(start.elapsed());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        println!("slowest append {slowest:?}");
        last
    });
    let (mut seen, mut troubles, mut longest, mut before) = (Vec::new(), 0, Duration::ZERO, Instant::now());
    while seen.len() < 300 {
        let mut sink = |event: LogEvent<'_>| match event {
            LogEvent::Record { value, .. } => {
                seen.push(String::from_utf8_lossy(value.expect("a value")).parse::<i32>().expect("a number"));
                longest = longest.max(before.elapsed());
                before = Instant::now();
            }
            LogEvent::End { .. } => {}
            LogEvent::Trouble { error, .. } => {
                troubles += 1;
                println!("trouble: {error}");
            }
        };
        reader.poll(Duration::from_millis(100), &mut sink).expect("polls");
    }
    assert!(seen.iter().copied().eq(0..300), "each once and in order");
    println!("{troubles} troubles told; longest pause of the reader {longest:?}");
    writing.await.expect("writes");
    drop(reader);
    log.close().await;
}

/// `UNDERCROFT_TEST_KAFKA_SASL`: a broker on SASL_PLAINTEXT that knows alice (PLAIN, `alice;secret`) and bob
/// (SCRAM-SHA-256, `bob-secret`).
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker with logins"]
async fn a_login_works_and_a_wrong_password_is_refused() {
    let servers = std::env::var("UNDERCROFT_TEST_KAFKA_SASL").expect("UNDERCROFT_TEST_KAFKA_SASL: host:port");
    let open = |mechanism: &str, module: &str, user: &str, password: &str| {
        let jaas = format!("{module} required username=\"{user}\" password=\"{password}\";");
        open(&[
            ("remote.log.metadata.common.client.bootstrap.servers", servers.as_str()),
            ("remote.log.metadata.common.client.security.protocol", "SASL_PLAINTEXT"),
            ("remote.log.metadata.common.client.sasl.mechanism", mechanism),
            ("remote.log.metadata.common.client.sasl.jaas.config", &jaas),
        ])
    };
    let plain = "org.apache.kafka.common.security.plain.PlainLoginModule";
    let scram = "org.apache.kafka.common.security.scram.ScramLoginModule";
    for log in [open("PLAIN", plain, "alice", "alice;secret"), open("SCRAM-SHA-256", scram, "bob", "bob-secret")] {
        log.ensure().await.expect("logs in");
        let offset = log.append(0, value(), value()).await.expect("lands");
        let mut reader = log.reader().expect("a reader");
        reader.assign(0, offset).expect("assigns");
        assert_eq!(read_to(&mut *reader, 0, offset + 1), 1);
        log.close().await;
    }
    for log in [open("PLAIN", plain, "alice", "WRONG"), open("SCRAM-SHA-256", scram, "bob", "WRONG")] {
        for _ in 0..2 {
            let error = log.ensure().await.expect_err("wrong password");
            println!("{error}");
            assert!(matches!(error, LogError::Refused { .. }), "{error}");
            assert!(!error.to_string().contains("WRONG"));
        }
        let mut reader = log.reader().expect("a reader");
        reader.assign(0, 0).expect("assigns");
        let mut refusals = 0;
        for _ in 0..30 {
            let mut sink = |event: LogEvent<'_>| {
                let LogEvent::Trouble { error, .. } = event else { return };
                println!("trouble: {error}");
                refusals += i32::from(matches!(error, LogError::Refused { .. }));
            };
            reader.poll(Duration::from_millis(100), &mut sink).expect("polls");
        }
        assert_eq!(refusals, 1, "told once");
        log.close().await;
    }
}

/// Started before its broker; somebody starts that later.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a broker that is started after it"]
async fn a_broker_that_comes_later_is_found() {
    let log = open(&[]);
    let start = Instant::now();
    let mut failures = 0;
    while let Err(error) = log.ensure().await {
        assert!(error.is_retriable(), "{error}");
        failures += 1;
        println!("{:?}: {error}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(120));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!("found after {:?}, {failures} failures", start.elapsed());
    log.append(0, value(), value()).await.expect("lands");
    log.close().await;
}
