package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

/** A metadata topic that holds what it shouldn't. */
class MetadataFaultsIT {
    private static final String METADATA_TOPIC = "__remote_log_metadata";
    /** Records that a stock manager's reader dies of, or would if it met them. */
    private static final byte[][] BAD = {
        "not a record".getBytes(StandardCharsets.UTF_8),
        {},
        {0},
        {99, 0},                                  // an API key that nobody knows
        {0, 9, 1, 2, 3},                          // a version that nobody knows
        {0, 0, (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0x7f}, // a length beyond all bytes
        null,                                     // a tombstone of no key's record
    };

    @Test
    void a_record_that_cannot_be_parsed_is_counted_and_skipped_and_the_reader_lives() throws Exception {
        try (Rig rig = Rig.overFolder("bad-metadata", new Rig.Wish())) {
            rig.broker.start();
            try (TieredTopic topic = rig.tiered("metadata", 2)) {
                Map<String, Double> before = Jmx.numbers(rig.broker.jmxPort(), "undercroft:type=metadata,*");
                inject(rig.broker);
                topic.produce(2_100);
                topic.awaitOnlyRemote(Rig.SOON);
                rig.mustRead(topic, Rig.SOON);
                Map<String, Double> after = Jmx.numbers(rig.broker.jmxPort(), "undercroft:type=metadata,*");
                assertTrue(after.entrySet().stream().anyMatch(e -> e.getKey().contains("skipped")
                        && e.getValue() > before.getOrDefault(e.getKey(), 0.0)), () -> "no counter of skipped records rose: " + after);

                // A reader that starts from 0 meets them all again.
                rig.broker.kill();
                rig.broker.start();
                rig.mustRead(topic, Rig.SOON);
                topic.delete();
                rig.awaitEmptyStore();
            }
            rig.broker.stop(Duration.ofSeconds(30));
        }
    }

    private static void inject(Broker broker) {
        Properties p = new Properties();
        p.put("bootstrap.servers", broker.bootstrap());
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int partition = 0; partition < 3; partition++) {
                for (byte[] value : BAD) {
                    producer.send(new ProducerRecord<>(METADATA_TOPIC, partition, "no key of ours".getBytes(StandardCharsets.UTF_8), value));
                    if (value != null) {
                        producer.send(new ProducerRecord<>(METADATA_TOPIC, partition, null, value));
                    }
                }
            }
            producer.flush();
        }
    }
}
