//! What only a process of its own can show: that a closed Kafka log leaves nothing behind. Against librdkafka's mock of a
//! cluster, which does not answer all questions: some twenty seconds.
#![allow(clippy::disallowed_methods, clippy::expect_used, reason = "a test that waits for threads")]

use std::time::{Duration, Instant};

use bytes::Bytes;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use undercroft::config::Config;
use undercroft::metadata::log::kafka::{KafkaLog, TOPIC};
use undercroft::metadata::log::{LogEvent, MetadataLog};
use undercroft::model::BrokerId;

/// Threads of librdkafka's clients and ours; the mock's own are among them.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("rdk:") || name.starts_with("undercroft-")).count()
}

/// How many there are once no more come: the mock begins with its own one after the other.
fn settled() -> usize {
    let (mut count, mut since) = (threads(), Instant::now());
    while since.elapsed() < Duration::from_millis(500) {
        std::thread::sleep(Duration::from_millis(10));
        let now = threads();
        if now != count {
            (count, since) = (now, Instant::now());
        }
    }
    count
}

#[tokio::test]
async fn no_thread_outlives_a_closed_log_and_its_reader() {
    let cluster = MockCluster::<DefaultProducerContext>::new(1).expect("a cluster");
    cluster.create_topic(TOPIC, 2, 1).expect("a topic");
    let mut config = Config::new();
    config.set("remote.log.metadata.common.client.bootstrap.servers", &cluster.bootstrap_servers());
    config.set("remote.log.metadata.topic.num.partitions", "2");
    let before = settled();
    for _ in 0..3 {
        let log = KafkaLog::open(&config, BrokerId(1)).expect("opens");
        log.ensure().await.expect("the topic");
        let offset = log.append(0, None, Some(Bytes::from_static(b"record"))).await.expect("lands");
        let mut reader = log.reader().expect("a reader");
        let waker = reader.waker();
        reader.assign(0, offset).expect("assigns");
        let (mut records, until) = (0, Instant::now() + Duration::from_secs(30));
        while records == 0 && Instant::now() < until {
            let mut sink = |event: LogEvent<'_>| records += usize::from(matches!(event, LogEvent::Record { .. }));
            reader.poll(Duration::from_millis(100), &mut sink).expect("polls");
        }
        assert_eq!(records, 1);
        assert!(threads() > before, "the count sees threads");
        log.close().await;
        drop(reader);
        waker();
        assert_eq!(threads(), before);
    }
}
