//! Against librdkafka's own mock of a cluster: a few sockets in this process, no broker. Seconds.

use std::time::Duration;

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use super::*;
use crate::metadata::log::{LogEvent, suite};

type Cluster = MockCluster<'static, DefaultProducerContext>;

const PARTITIONS: i32 = 3;

fn cluster(partitions: Option<i32>) -> Cluster {
    let cluster = MockCluster::new(1).unwrap();
    if let Some(partitions) = partitions {
        cluster.create_topic(TOPIC, partitions, 1).unwrap();
    }
    cluster
}

fn config(servers: &str, more: &[(&str, &str)]) -> Config {
    let mut config = Config::new();
    config.set("remote.log.metadata.common.client.bootstrap.servers", servers);
    config.set("remote.log.metadata.topic.num.partitions", &PARTITIONS.to_string());
    for (key, value) in more {
        config.set(key, value);
    }
    config
}

fn open(servers: &str, more: &[(&str, &str)]) -> KafkaLog {
    KafkaLog::open(&config(servers, more), BrokerId(1)).unwrap()
}

fn text(number: usize) -> Option<Bytes> {
    Some(Bytes::from(number.to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn behaves_as_every_log_does() {
    let cluster = cluster(Some(PARTITIONS));
    let servers = cluster.bootstrap_servers();
    suite::run_all(&|| Arc::new(open(&servers, &[]))).await;
}

#[tokio::test]
async fn another_number_of_partitions_is_a_mismatch_and_nothing_is_written() {
    let cluster = cluster(Some(PARTITIONS + 1));
    let log = open(&cluster.bootstrap_servers(), &[]);
    let error = log.ensure().await.unwrap_err();
    assert!(matches!(error, LogError::Mismatch { .. }), "{error}");
    let error = log.append(0, None, text(1)).await.unwrap_err();
    assert!(matches!(error, LogError::Unreachable { .. }), "{error}");
    log.close().await;
}

#[tokio::test]
async fn a_partition_that_is_not_there_is_a_mismatch() {
    let cluster = cluster(Some(PARTITIONS));
    let log = open(&cluster.bootstrap_servers(), &[]);
    log.ensure().await.unwrap();
    for partition in [-1, PARTITIONS] {
        assert!(matches!(log.append(partition, None, text(1)).await, Err(LogError::Mismatch { .. })));
        let assigned = log.reader().unwrap().assign(partition, 0);
        assert!(matches!(assigned, Err(LogError::Mismatch { .. })));
    }
    log.close().await;
}

#[tokio::test]
async fn a_record_is_queued_by_the_call_and_not_by_the_first_poll() {
    let cluster = cluster(Some(PARTITIONS));
    let log = open(&cluster.bootstrap_servers(), &[]);
    log.ensure().await.unwrap();
    let first = log.append(1, None, text(1));
    let second = log.append(1, None, text(2)).await.unwrap();
    assert!(first.await.unwrap() < second);
    drop(log.append(1, None, text(3)));
    assert_eq!(log.append(1, None, text(4)).await.unwrap(), second + 2, "a dropped future undoes nothing");
    log.close().await;
}

#[tokio::test]
async fn records_wait_in_line_while_the_queue_is_full_and_keep_their_order() {
    let cluster = cluster(Some(PARTITIONS));
    // 1 KiB of queue: a few dozen records.
    let log = open(&cluster.bootstrap_servers(), &[("remote.log.metadata.producer.buffer.memory", "1024")]);
    log.ensure().await.unwrap();
    let appends: Vec<_> = (0..2_000).map(|number| log.append(0, text(number), text(number))).collect();
    for (number, append) in appends.into_iter().enumerate() {
        assert_eq!(append.await.unwrap(), number as i64);
    }
    log.close().await;
}

#[tokio::test]
async fn a_producer_that_failed_for_good_is_replaced() {
    let cluster = cluster(Some(PARTITIONS));
    let log = open(&cluster.bootstrap_servers(), &[]);
    log.ensure().await.unwrap();
    log.append(0, None, text(1)).await.unwrap();
    let writer = log.inner.writer.read().clone().unwrap();
    writer.fail_for_test();
    let appends: Vec<_> = (0..10).map(|number| log.append(0, None, text(number))).collect();
    for append in appends {
        append.await.unwrap();
    }
    log.close().await;
}

/// A client that met another topic of this name knows that one's partitions for minutes.
#[tokio::test]
async fn a_topic_that_is_found_again_is_written_by_another_client_in_the_order_of_the_calls() {
    let cluster = cluster(Some(PARTITIONS));
    let log = open(&cluster.bootstrap_servers(), &[]);
    log.ensure().await.unwrap();
    log.append(0, None, text(1)).await.unwrap();
    let writer = log.inner.writer.read().clone().unwrap();
    let first = writer.client_for_test().unwrap();
    log.ensure().await.unwrap();
    assert!(Arc::ptr_eq(&first, &writer.client_for_test().unwrap()), "nothing happened");

    log.inner.give_up_writes();
    assert!(matches!(log.append(0, None, text(2)).await, Err(LogError::Unreachable { .. })));
    log.ensure().await.unwrap();
    let appends: Vec<_> = (0..10).map(|number| log.append(0, None, text(number))).collect();
    for (number, append) in appends.into_iter().enumerate() {
        assert_eq!(append.await.unwrap(), 1 + number as i64);
    }
    let second = writer.client_for_test().unwrap();
    assert!(!Arc::ptr_eq(&first, &second));

    writer.renew(Duration::from_secs(60));
    assert!(Arc::ptr_eq(&second, &writer.client_for_test().unwrap()), "too young to be replaced");
    drop((first, second));
    for _ in 0..2 {
        writer.renew(Duration::ZERO);
    }
    assert_eq!(log.append(0, None, text(11)).await.unwrap(), 11, "renewed twice in a row");
    log.close().await;
}

#[tokio::test]
async fn a_broker_that_hangs_holds_up_the_question_for_an_epoch_for_seconds_only() {
    let cluster = MockCluster::<DefaultProducerContext>::new(2).unwrap();
    cluster.create_topic("orders", 1, 2).unwrap();
    cluster.partition_leader("orders", 0, Some(1)).unwrap();
    let log = open(&cluster.bootstrap_servers(), &[]);
    let is_answered = |answer: &Result<LeaderEpoch, LogError>| matches!(answer, Err(LogError::Unsupported { .. }));
    // Connections to both, as librdkafka takes the one that it used last.
    for _ in 0..20 {
        assert!(is_answered(&log.leader_epoch("orders", 0).await));
    }
    cluster.broker_round_trip_time(2, Duration::from_secs(600)).unwrap();
    let start = Instant::now();
    let mut answers = 0;
    while answers < 20 {
        assert!(start.elapsed() < Duration::from_secs(25), "{answers} answers");
        let answer = log.leader_epoch("orders", 0).await;
        assert!(is_answered(&answer) || answer.as_ref().is_err_and(LogError::is_retriable), "{answer:?}");
        answers = if is_answered(&answer) { answers + 1 } else { 0 };
    }
    println!("20 answers in a row after {:?}", start.elapsed());
    log.close().await;
}

#[tokio::test]
async fn a_producer_that_fails_again_and_again_is_made_anew_now_and_then() {
    let cluster = cluster(Some(PARTITIONS));
    let log = open(&cluster.bootstrap_servers(), &[]);
    log.ensure().await.unwrap();
    log.append(0, None, text(1)).await.unwrap();
    let writer = log.inner.writer.read().clone().unwrap();
    let (start, mut made) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(2) {
        made += usize::from(writer.fail_for_test());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!((2..=5).contains(&made), "at once, and after 250, 500 and 1000 ms: {made}");
    log.append(0, None, text(2)).await.unwrap();
    log.close().await;
}

#[tokio::test]
async fn the_epoch_is_told_only_by_the_broker_that_leads() {
    let cluster = MockCluster::<DefaultProducerContext>::new(2).unwrap();
    cluster.create_topic("orders", 2, 2).unwrap();
    cluster.partition_leader("orders", 0, Some(1)).unwrap();
    cluster.partition_leader("orders", 1, Some(2)).unwrap();
    let log = open(&cluster.bootstrap_servers(), &[]);
    // The mock tells no epochs; that one of a real broker comes through is seen in `tests/kafka_log_broker.rs`.
    let error = log.leader_epoch("orders", 0).await.unwrap_err();
    assert!(matches!(error, LogError::Unsupported { .. }), "{error}");
    let error = log.leader_epoch("orders", 1).await.unwrap_err();
    assert!(error.to_string().contains("broker 2 leads it"), "{error}");
    assert!(error.is_retriable());
    let error = log.leader_epoch("orders", 2).await.unwrap_err();
    assert!(error.to_string().contains("no such partition"), "{error}");
    let error = log.leader_epoch("missing", 0).await.unwrap_err();
    assert!(error.is_retriable(), "a broker that has just made a topic doesn't know it at once: {error}");
    assert!(error.to_string().contains("no such topic") && !error.to_string().contains(TOPIC), "{error}");
    log.close().await;
}

#[tokio::test]
async fn many_epochs_are_asked_for_together_and_each_has_an_answer_of_its_own() {
    let cluster = MockCluster::<DefaultProducerContext>::new(2).unwrap();
    let topics = ["orders", "invoices", "carts"];
    for topic in topics {
        cluster.create_topic(topic, 4, 2).unwrap();
        for partition in 0..4 {
            cluster.partition_leader(topic, partition, Some(1 + partition % 2)).unwrap();
        }
    }
    let log = open(&cluster.bootstrap_servers(), &[]);
    let mut asked: Vec<(Arc<str>, i32)> = Vec::new();
    for topic in topics.into_iter().chain(["missing"]) {
        asked.extend((0..4).map(|partition| (topic.into(), partition)));
    }
    // A topic that was made anew may be asked for under both of its ids.
    asked.push(("orders".into(), 0));
    let start = Instant::now();
    let answers = log.leader_epochs(&asked).await;
    println!("{} answers in {:?}", answers.len(), start.elapsed());
    assert_eq!(answers.len(), asked.len());
    for ((topic, partition), answer) in asked.iter().zip(answers) {
        let error = answer.unwrap_err();
        match (topic.as_ref(), partition % 2) {
            ("missing", _) => assert!(error.to_string().contains("no such topic"), "{error}"),
            // The mock tells no epochs, but answers.
            (_, 0) => assert!(matches!(error, LogError::Unsupported { .. }), "{topic}-{partition}: {error}"),
            (_, _) => assert!(error.to_string().contains("broker 2 leads it"), "{topic}-{partition}: {error}"),
        }
    }
    log.close().await;
}

#[tokio::test]
async fn who_is_no_broker_leads_nothing_and_need_not_ask() {
    let cluster = MockCluster::<DefaultProducerContext>::new(1).unwrap();
    cluster.create_topic("orders", 1, 1).unwrap();
    let log = KafkaLog::open(&config(&cluster.bootstrap_servers(), &[]), BrokerId(-1)).unwrap();
    let error = log.leader_epoch("orders", 0).await.unwrap_err();
    assert!(matches!(error, LogError::Unsupported { .. }), "{error}");
    log.close().await;
}

/// A port that was free a moment ago.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_unreachable_and_said_once_by_the_reader() {
    let log = open(&nobody(), &[]);
    let mut reader = log.reader().unwrap();
    reader.assign(0, 0).unwrap();
    let error = log.ensure().await.unwrap_err();
    assert!(matches!(error, LogError::Unreachable { .. }), "{error}");
    assert!(
        error.to_string().contains("refused"),
        "tells why: {error} {:?}",
        log.inner.admin.lock().as_ref().unwrap().beside()
    );
    let mut troubles = 0;
    for _ in 0..5 {
        let mut sink = |event: LogEvent<'_>| troubles += usize::from(matches!(event, LogEvent::Trouble { .. }));
        reader.poll(Duration::from_millis(200), &mut sink).unwrap();
    }
    assert_eq!(troubles, 1);
    log.close().await;
    let end = reader.poll(Duration::from_secs(60), &mut |_| {});
    assert!(matches!(end, Err(LogError::Closed { .. })));
}

/// The manager warns only of what lasts, and learns that from being told again.
#[tokio::test]
async fn a_cluster_that_stays_away_is_said_again() {
    let log = open(&nobody(), &[]);
    let mut reader = log.reader().unwrap();
    reader.assign(0, 0).unwrap();
    let (start, mut told) = (Instant::now(), Vec::new());
    while told.len() < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "told once only: {told:?}");
        let mut sink = |event: LogEvent<'_>| {
            assert!(matches!(event, LogEvent::Trouble { .. }), "{event:?}");
            told.push(start.elapsed());
        };
        reader.poll(Duration::from_millis(200), &mut sink).unwrap();
    }
    assert!(told[1] - told[0] >= Duration::from_secs(5), "{told:?}");
    log.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_wakes_a_reader_and_ends_a_question() {
    let log = open(&nobody(), &[]);
    let mut reader = log.reader().unwrap();
    let reading = std::thread::spawn(move || reader.poll(Duration::from_secs(60), &mut |_| {}));
    let start = Instant::now();
    let (asked, ()) = tokio::join!(log.ensure(), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        log.close().await;
    });
    assert!(matches!(asked, Err(LogError::Closed { .. })), "{asked:?}");
    assert!(matches!(reading.join().unwrap(), Err(LogError::Closed { .. })));
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_record_that_cannot_be_delivered_in_time_times_out() {
    let cluster = cluster(Some(PARTITIONS));
    let log = open(&cluster.bootstrap_servers(), &[("remote.log.metadata.producer.delivery.timeout.ms", "2000")]);
    log.ensure().await.unwrap();
    log.append(0, None, text(1)).await.unwrap();
    cluster.broker_down(1).unwrap();
    let error = log.append(0, None, text(2)).await.unwrap_err();
    assert!(matches!(error, LogError::Timeout { waited_ms: 1900.., .. }), "{error}");
    cluster.broker_up(1).unwrap();
    while let Err(error) = log.append(0, None, text(3)).await {
        assert!(matches!(error, LogError::Timeout { .. }), "{error}");
    }
    log.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_goes_on_by_itself_after_its_broker_was_away() {
    let cluster = cluster(Some(PARTITIONS));
    let log = open(&cluster.bootstrap_servers(), &[]);
    log.ensure().await.unwrap();
    let mut reader = log.reader().unwrap();
    reader.assign(0, 0).unwrap();
    log.append(0, None, text(1)).await.unwrap();
    let has = |seen: &[suite::Seen], of: i64| {
        seen.iter().any(|event| matches!(event, suite::Seen::Record { offset, .. } if *offset == of))
    };
    suite::read_to(&mut *reader, |seen| has(seen, 0));
    cluster.broker_down(1).unwrap();
    let append = log.append(0, None, text(2));
    let mut troubles = 0;
    for _ in 0..10 {
        let mut sink = |event: LogEvent<'_>| troubles += usize::from(matches!(event, LogEvent::Trouble { .. }));
        reader.poll(Duration::from_millis(100), &mut sink).unwrap();
    }
    assert_eq!(troubles, 1);
    cluster.broker_up(1).unwrap();
    assert_eq!(append.await.unwrap(), 1);
    suite::read_to(&mut *reader, |seen| has(seen, 1));
    log.close().await;
}

#[test]
fn a_bad_setting_of_a_client_is_named_with_its_key_and_no_secret() {
    let sasl = |more: &[(&str, &str)]| {
        let mut all = vec![
            ("remote.log.metadata.common.client.security.protocol", "SASL_SSL"),
            ("remote.log.metadata.common.client.sasl.mechanism", "PLAIN"),
            (
                "remote.log.metadata.common.client.sasl.jaas.config",
                "PlainLoginModule required username=\"u\" password=\"SECRET\";",
            ),
        ];
        all.extend(more);
        KafkaLog::open(&config("a:1", &all), BrokerId(1)).err().unwrap().to_string()
    };
    let key = "remote.log.metadata.producer.linger.ms";
    let error = sasl(&[(key, "soon")]);
    assert!(error.contains(key) && error.contains("soon"), "{error}");
    let error = sasl(&[("remote.log.metadata.common.client.ssl.ca.location", "/no/such/file")]);
    assert!(error.contains("/no/such/file") && !error.contains("SECRET"), "{error}");
}

#[test]
fn a_setting_of_one_client_overrides_the_common_one() {
    let settings = Settings::read(
        &config(
            "a:1",
            &[
                ("remote.log.metadata.common.client.request.timeout.ms", "7000"),
                ("remote.log.metadata.producer.request.timeout.ms", "9000"),
            ],
        ),
        BrokerId(7),
    )
    .unwrap();
    let last = |properties: &[super::super::Property], name: &str| {
        properties.iter().rev().find(|property| property.name == name).unwrap().value.clone()
    };
    assert_eq!(last(&settings.producer, "socket.timeout.ms"), "9000");
    assert_eq!(last(&settings.consumer, "socket.timeout.ms"), "7000");
    assert_eq!(last(&settings.consumer, "client.id"), "__remote_log_metadata_client_7_consumer");
}
