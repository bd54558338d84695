package io.undercroft.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What is asked of the broker beside the managers: topics, and records that nobody acts on. */
final class Brokers {
    static final String METADATA_TOPIC = "__remote_log_metadata";

    private Brokers() {
    }

    static void create(String servers, String topic, int partitions, Map<String, String> configs) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(configs))).all().get();
        } catch (ExecutionException failed) {
            if (!(failed.getCause() instanceof TopicExistsException)) {
                throw failed;
            }
        }
    }

    static Uuid topicId(String servers, String topic) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).topicId();
        }
    }

    /** Returns once every partition has a leader that answers. */
    static void awaitLeaders(String servers, String topic, int partitions) throws Exception {
        Map<TopicPartition, OffsetSpec> all = new HashMap<>();
        for (int i = 0; i < partitions; i++) {
            all.put(new TopicPartition(topic, i), OffsetSpec.latest());
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            admin.listOffsets(all).all().get();
        }
    }

    /**
     * Appends a tombstone for a key that nobody uses to each partition. A segment file is closed by an append only, and
     * only closed ones are compacted.
     */
    static void roll(String servers, int partitions) throws Exception {
        Collection<Object> sent = new ArrayList<>();
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "linger.ms", "100");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = 0; i < partitions; i++) {
                sent.add(producer.send(new ProducerRecord<>(METADATA_TOPIC, i, "roll".getBytes(), null)));
            }
        }
        if (sent.size() != partitions) {
            throw new IllegalStateException("only " + sent.size() + " sent");
        }
    }
}
