package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.Managers;
import io.undercroft.broker.TieredTopic;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The metadata topic taken away or changed behind the managers' back. About six minutes. */
class MetadataTopicFaultsIT {
    private static final int PARTITIONS = 3;
    private static final long EACH = 2_200;
    private static final Duration A_WHILE = Duration.ofSeconds(8);

    @Test
    void a_deleted_topic_is_not_made_again_and_one_that_was_made_to_keep_its_records_is_taken_up_without_a_restart() throws Exception {
        try (Cluster cluster = new Cluster("topic-deleted", new Cluster.Wish().size(1)).start();
                TieredTopic topic = tiered(cluster, "deleted")) {
            Broker broker = cluster.broker(1);
            Watch.awaitReady(broker);
            Watch watch = new Watch(broker);
            delete(cluster);
            topic.produce(EACH);
            watch.awaitLoud(Cluster.METADATA_TOPIC, "is gone");
            Watch.awaitNotReady(broker);
            Watch.stays("the topic was made again", A_WHILE, () -> !exists(cluster));
            watch.mustBeQuiet();

            isLeftAlone(cluster, 1, Map.of("retention.ms", "-1"), "It has 1 partitions");
            // As a broker makes it by itself: it would lose records.
            isLeftAlone(cluster, PARTITIONS, Map.of(), "not set to keep its records");

            isTakenUp(cluster, topic, Map.of("cleanup.policy", "compact"));
            delete(cluster);
            Watch.awaitNotReady(broker);
            isTakenUp(cluster, topic, Map.of("retention.ms", "-1"));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"4.4.0", "3.9.2"})
    void with_another_partition_count_nothing_is_written_and_the_cause_is_said_once(String kafka) throws Exception {
        try (Cluster cluster = new Cluster("topic-grown", new Cluster.Wish().size(1).kafka(kafka)).start();
                TieredTopic topic = tiered(cluster, "grown")) {
            Broker broker = cluster.broker(1);
            Watch.awaitReady(broker);
            Watch watch = new Watch(broker);
            cluster.admin().createPartitions(Map.of(Cluster.METADATA_TOPIC, NewPartitions.increaseTo(PARTITIONS + 2))).all().get();
            watch.awaitLoud(Cluster.METADATA_TOPIC, "it has " + (PARTITIONS + 2) + " partitions now and had " + PARTITIONS);
            Watch.awaitNotReady(broker);
            long before = end(cluster, PARTITIONS + 2);
            topic.produce(EACH);
            Watch.stays("something was written to a topic with another partition count", A_WHILE,
                    () -> end(cluster, PARTITIONS + 2) == before);
            watch.mustBeQuiet();
            assertTrue(broker.isAlive());
        }
    }

    @Test
    void a_metadata_broker_that_is_away_only_delays_also_when_a_broker_starts_without_it() throws Exception {
        Cluster.Wish wish = new Cluster.Wish().size(2).with("rlmm.config.remote.log.metadata.topic.min.isr", "1");
        try (Cluster cluster = new Cluster("topic-away", wish).start(); TieredTopic topic = tiered(cluster, "away")) {
            keepOnlyOn(cluster, 2);
            cluster.lead(topic.name(), 0, 1);
            Broker one = cluster.broker(1);
            Broker two = cluster.broker(2);
            Watch watch = new Watch(one);
            two.kill();
            topic.produce(EACH);
            Thread.sleep(Duration.ofSeconds(40).toMillis());
            assertTrue(one.isAlive());
            assertTrue(topic.readAll(Cluster.SOON).right(), "what is known can be read while the log is away");
            watch.mustBeQuiet();
            two.start();
            topic.awaitOnlyRemote(Cluster.SOON);

            two.kill();
            // Whichever is fenced last leads: it has to be broker 1.
            Await.until("broker 1 to be the only one in sync", Cluster.SOON, () -> cluster.describe(topic.name()).partitions().get(0)
                    .isr().stream().allMatch(n -> n.id() == 1));
            one.kill();
            one.start();
            Watch start = new Watch(one);
            cluster.awaitLeader(topic.name(), 0, leader -> leader == 1, "broker 1");
            Watch.awaitNotReady(one);
            topic.produce(EACH);
            Watch.stays("broker 1 ended", Duration.ofSeconds(20), one::isAlive);
            start.mustBeQuiet();
            two.start();
            topic.awaitOnlyRemote(Cluster.SOON);
            assertTrue(topic.readAll(Cluster.SOON).right(), cluster::logTail);
            assertEquals(List.of(), unfinished(cluster, topic.name()), "an add that failed has been written");
        }
    }

    @Test
    void compact_set_by_hand_over_records_without_keys_is_said_aloud_once_while_there_is_time_to_take_it_back() throws Exception {
        Cluster.Wish wish = new Cluster.Wish().size(1).managers(Managers.stockMetadata());
        try (Cluster cluster = new Cluster("topic-compact", wish).start(); TieredTopic topic = tiered(cluster, "compact")) {
            Broker broker = cluster.broker(1);
            broker.stop(Duration.ofSeconds(150));
            broker.replace(Managers.undercroft(Managers.Deployment.BROKER_PATH));
            broker.start();
            Watch.awaitReady(broker);
            Watch watch = new Watch(broker);
            policy(cluster, "compact");
            watch.awaitLoud("compacted", "cleanup.policy");
            topic.produce(EACH);
            topic.awaitOnlyRemote(Cluster.SOON);
            watch.mustBeQuiet();
            policy(cluster, "delete");
            topic.produce(EACH);
            topic.awaitOnlyRemote(Cluster.SOON);
            assertTrue(topic.readAll(Cluster.SOON).right(), cluster::logTail);
        }
    }

    private static TieredTopic tiered(Cluster cluster, String name) throws Exception {
        TieredTopic topic = TieredTopic.create(cluster, name, 1, 1 << 20, 1000);
        topic.produce(EACH);
        topic.awaitOnlyRemote(Cluster.SOON);
        return topic;
    }

    private static void awaitTiered(TieredTopic topic) throws InterruptedException {
        Await.until("all to be copied", Cluster.SOON, () -> topic.offsets(OffsetSpec.latestTiered()).get(0) == topic.records() - 1);
    }

    private static boolean exists(Cluster cluster) throws Exception {
        return cluster.admin().listTopics().names().get().contains(Cluster.METADATA_TOPIC);
    }

    private static void delete(Cluster cluster) throws Exception {
        cluster.admin().deleteTopics(List.of(Cluster.METADATA_TOPIC)).all().get();
        Await.until("the topic to be gone", Cluster.SOON, () -> !exists(cluster));
    }

    private static void create(Cluster cluster, int partitions, Map<String, String> configs) throws Exception {
        NewTopic spec = new NewTopic(Cluster.METADATA_TOPIC, partitions, cluster.replicas()).configs(configs);
        cluster.admin().createTopics(List.of(spec)).all().get();
    }

    /** Makes a topic that doesn't fit, and deletes it after a while. */
    private static void isLeftAlone(Cluster cluster, int partitions, Map<String, String> configs, String cause) throws Exception {
        Broker broker = cluster.broker(1);
        Watch watch = new Watch(broker);
        create(cluster, partitions, configs);
        watch.awaitLoud(Cluster.METADATA_TOPIC, cause);
        Watch.stays("something was written to a topic that does not fit", A_WHILE, () -> end(cluster, partitions) == 0);
        Watch.awaitNotReady(broker);
        watch.mustBeQuiet();
        delete(cluster);
    }

    private static void isTakenUp(Cluster cluster, TieredTopic topic, Map<String, String> configs) throws Exception {
        Broker broker = cluster.broker(1);
        Watch watch = new Watch(broker);
        create(cluster, PARTITIONS, configs);
        Watch.awaitReady(broker);
        topic.produce(EACH);
        awaitTiered(topic);
        assertTrue(end(cluster, PARTITIONS) > 0, "nothing was written to the topic that was taken up");
        watch.mustBeQuiet();
    }

    /** Records that were ever written to the topic, of which nothing was deleted. */
    private static long end(Cluster cluster, int partitions) throws Exception {
        Map<TopicPartition, OffsetSpec> ask = IntStream.range(0, partitions).boxed()
                .collect(Collectors.toMap(p -> new TopicPartition(Cluster.METADATA_TOPIC, p), p -> OffsetSpec.latest()));
        return cluster.admin().listOffsets(ask).all().get().values().stream().mapToLong(o -> o.offset()).sum();
    }

    private static void keepOnlyOn(Cluster cluster, int broker) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> moves = IntStream.range(0, PARTITIONS).boxed().collect(Collectors.toMap(
                p -> new TopicPartition(Cluster.METADATA_TOPIC, p), p -> Optional.of(new NewPartitionReassignment(List.of(broker)))));
        cluster.admin().alterPartitionReassignments(moves).all().get();
        Await.until("the metadata topic to be only on broker " + broker, Cluster.SOON, () -> cluster.describe(Cluster.METADATA_TOPIC)
                .partitions().stream().allMatch(p -> p.replicas().size() == 1 && p.leader() != null && p.leader().id() == broker));
    }

    private static void policy(Cluster cluster, String policy) throws Exception {
        cluster.set(Cluster.METADATA_TOPIC, Map.of("cleanup.policy", policy));
    }

    private static List<MetadataTopic.Segment> unfinished(Cluster cluster, String topic) {
        return MetadataTopic.segments(MetadataTopic.read(cluster.bootstrap()), topic).values().stream()
                .filter(s -> s.state() == MetadataTopic.STARTED).toList();
    }
}
