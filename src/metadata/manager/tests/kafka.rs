//! The manager over the Kafka log, against librdkafka's own mock of a cluster.

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use super::*;
use crate::metadata::log::kafka::TOPIC;

type Cluster = MockCluster<'static, DefaultProducerContext>;

fn cluster() -> Cluster {
    let cluster = MockCluster::new(1).expect("a cluster");
    cluster.create_topic(TOPIC, 3, 1).expect("a topic");
    for topic in 1..=8 {
        cluster.create_topic(&format!("topic-{topic}"), 1, 1).expect("a topic");
    }
    cluster
}

fn open(cluster: &Cluster) -> MetadataManager {
    let servers = cluster.bootstrap_servers();
    let config = config(&[
        ("remote.log.metadata.common.client.bootstrap.servers", servers.as_str()),
        ("remote.log.metadata.topic.num.partitions", "3"),
    ]);
    MetadataManager::open(&config, env()).expect("opens")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_brokers_see_the_same_segments() {
    let cluster = cluster();
    let (leader, follower) = (open(&cluster), open(&cluster));
    leader.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    follower.lead_and_follow(&[], &[assigned(1, None)]).expect("assigns");
    until("ready", || leader.is_ready(&partition(1)) && follower.is_ready(&partition(1))).await;
    end(leader.add(segment(1, 0), PATIENCE)).await.expect("adds");
    update(&leader, 1, 0, CopyFinished).await.expect("finishes");
    assert_eq!(found(&leader, 1, 5), Some(id(1, 0)), "the writer sees it at once");
    until("the other one sees it", || found(&follower, 1, 5) == Some(id(1, 0))).await;
    leader.close();
    until("the other one leads", || {
        follower.lead_and_follow(&[assigned(1, Some(7))], &[]).expect("leads");
        follower.is_ready(&partition(1))
    })
    .await;
    update(&follower, 1, 0, DeleteStarted).await.expect("begins");
    update(&follower, 1, 0, DeleteFinished).await.expect("ends");
    follower.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_come_one_by_one_are_ready_soon_and_thousands_of_writes_end() {
    let cluster = cluster();
    let manager = open(&cluster);
    for topic in 1..=8 {
        let began = Instant::now();
        manager.lead_and_follow(&[assigned(topic, Some(0))], &[]).expect("assigns");
        until("ready", || manager.is_ready(&partition(topic))).await;
        println!("partition {topic}: ready after {:?}", began.elapsed());
        assert!((1..=topic).all(|earlier| manager.is_ready(&partition(earlier))), "neighbours stay ready");
    }
    let began = Instant::now();
    let pending: Vec<_> = (0..2_000).map(|number| manager.add(segment(1, number), Duration::ZERO)).collect();
    for pending in pending {
        end(pending).await.expect("adds");
    }
    println!("2,000 adds in flight: {:?}", began.elapsed());
    let began = Instant::now();
    for number in 0..20 {
        update(&manager, 1, number, CopyFinished).await.expect("finishes");
    }
    println!("one update after the other: {:?} each", began.elapsed() / 20);
    manager.close();
}
