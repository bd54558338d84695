package io.undercroft.broker.cluster;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The metadata topic as it lies there, read and understood without any code of a manager.
 *
 * <p>It knows the records of versions 0 and 1 up to the state; tags are not looked at.
 */
final class MetadataTopic {
    static final int STARTED = 0;
    static final int FINISHED = 1;
    static final int DELETE_STARTED = 2;
    static final int DELETE_FINISHED = 3;
    static final int DANGLING = 4;

    private static final int ADD = 0;
    private static final int UPDATE = 1;

    /**
     * A record.
     *
     * @param key null if it has none
     * @param api null if the value is null
     * @param segment null if it isn't about one
     * @param end -1 if the record doesn't say
     * @param state -1 if it has none
     */
    record Line(int partition, long offset, String key, Integer api, int version, String topic, int userPartition, Uuid segment,
            long start, long end, int state, int broker) {
        boolean isAdd() {
            return api != null && api == ADD;
        }
    }

    /** What became of a segment. */
    record Segment(String topic, int partition, Uuid id, long start, long end, int state) {}

    private MetadataTopic() {}

    /** All records in the order of their partitions. */
    static List<Line> read(String bootstrap) {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("enable.auto.commit", "false");
        p.put("exclude.internal.topics", "false");
        List<Line> lines = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> all = consumer.partitionsFor(Cluster.METADATA_TOPIC).stream()
                    .map(i -> new TopicPartition(i.topic(), i.partition())).toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            long giveUp = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            while (all.stream().anyMatch(tp -> consumer.position(tp) < ends.get(tp))) {
                if (System.nanoTime() > giveUp) {
                    throw new AssertionError("the metadata topic could not be read to its end in 60 s");
                }
                consumer.poll(Duration.ofMillis(200)).forEach(r -> lines.add(parse(r)));
            }
        }
        return lines;
    }

    /** How many copies of a topic's segments were begun, as far as the topic still tells. */
    static long adds(String bootstrap, String topic) {
        return read(bootstrap).stream().filter(l -> l.isAdd() && topic.equals(l.topic())).count();
    }

    private static Line parse(ConsumerRecord<byte[], byte[]> r) {
        String key = r.key() == null ? null : new String(r.key(), StandardCharsets.UTF_8);
        if (r.value() == null) {
            return new Line(r.partition(), r.offset(), key, null, -1, null, -1, null, -1, -1, -1, -1);
        }
        ByteBuffer b = ByteBuffer.wrap(r.value());
        uvarint(b); // the frame's version
        int api = uvarint(b);
        int version = uvarint(b);
        if (api != ADD && api != UPDATE) {
            return new Line(r.partition(), r.offset(), key, api, version, null, -1, null, -1, -1, -1, -1);
        }
        byte[] name = new byte[uvarint(b) - 1];
        b.get(name);
        b.position(b.position() + 16); // topic id
        int partition = b.getInt();
        skipTags(b);
        Uuid segment = new Uuid(b.getLong(), b.getLong());
        skipTags(b);
        long start = -1;
        long end = -1;
        if (api == ADD) {
            start = b.getLong();
            end = b.getLong();
        }
        int broker = b.getInt();
        b.position(b.position() + (api == ADD ? 16 : 8)); // timestamps
        if (api == ADD) {
            for (int n = uvarint(b) - 1; n > 0; n--) {
                b.position(b.position() + 12);
                skipTags(b);
            }
            b.getInt(); // size
        }
        int custom = uvarint(b) - 1;
        b.position(b.position() + Math.max(0, custom));
        return new Line(r.partition(), r.offset(), key, api, version, new String(name, StandardCharsets.UTF_8), partition, segment,
                start, end, b.get(), broker);
    }

    private static void skipTags(ByteBuffer b) {
        for (int n = uvarint(b); n > 0; n--) {
            uvarint(b);
            int size = uvarint(b);
            b.position(b.position() + size);
        }
    }

    private static int uvarint(ByteBuffer b) {
        int value = 0;
        for (int shift = 0; ; shift += 7) {
            byte next = b.get();
            value |= (next & 0x7f) << shift;
            if (next >= 0) {
                return value;
            }
        }
    }

    /** Every segment of a topic by its id, in the state that its records leave it in. */
    static Map<Uuid, Segment> segments(List<Line> lines, String topic) {
        Map<Uuid, Segment> found = new HashMap<>();
        for (Line line : lines) {
            if (line.segment == null || !topic.equals(line.topic)) {
                continue;
            }
            Segment known = found.get(line.segment);
            if (known == null && line.isAdd()) {
                found.put(line.segment, new Segment(topic, line.userPartition, line.segment, line.start, line.end, line.state));
            } else if (known != null && permits(known.state, line.state)) {
                found.put(line.segment, new Segment(topic, known.partition, known.id, known.start, known.end, line.state));
            }
        }
        return found;
    }

    private static boolean permits(int from, int to) {
        return switch (from) {
            case STARTED -> true;
            case FINISHED -> to == DELETE_STARTED || to == DELETE_FINISHED;
            case DANGLING -> to == DELETE_STARTED || to == DELETE_FINISHED;
            case DELETE_STARTED -> to == DELETE_FINISHED || to == DANGLING;
            default -> false;
        };
    }

    /** Keys under which more than one segment has records, with the segments. */
    static Map<String, List<Uuid>> sharedKeys(List<Line> lines) {
        Map<String, List<Uuid>> users = new TreeMap<>();
        for (Line line : lines) {
            if (line.key != null && line.segment != null) {
                List<Uuid> of = users.computeIfAbsent(line.key, k -> new ArrayList<>());
                if (!of.contains(line.segment)) {
                    of.add(line.segment);
                }
            }
        }
        return users.entrySet().stream().filter(e -> e.getValue().size() > 1)
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue, (a, b) -> a, TreeMap::new));
    }
}
