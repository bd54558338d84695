package io.undercroft.broker;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A tiered topic of {@link Sample} records, through Kafka's own admin, producer and consumer. */
public final class TieredTopic implements AutoCloseable {
    private final Brokers brokers;
    private final String name;
    private final int partitions;
    private final Sample sample;
    private final Admin admin;
    /** Records in each partition; a partition's offsets are 0 to this, as nothing else writes to it. */
    private final long[] written;
    private long writtenBytes;
    private KafkaException refusal;

    private TieredTopic(Brokers brokers, String name, int partitions, Sample sample) {
        this.brokers = brokers;
        this.name = name;
        this.partitions = partitions;
        this.sample = sample;
        this.written = new long[partitions];
        Properties p = new Properties();
        p.put("bootstrap.servers", brokers.bootstrap());
        p.put("default.api.timeout.ms", "30000");
        this.admin = Admin.create(p);
    }

    /** Creates a topic whose segments are copied and dropped as soon as the broker looks. */
    public static TieredTopic create(Brokers brokers, String name, int partitions, int segmentBytes, int valueBytes)
            throws ExecutionException, InterruptedException {
        return create(brokers, name, partitions, segmentBytes, valueBytes, Map.of());
    }

    /** As the other, with settings of the topic that are to be different or more. */
    public static TieredTopic create(Brokers brokers, String name, int partitions, int segmentBytes, int valueBytes,
            Map<String, String> settings) throws ExecutionException, InterruptedException {
        TieredTopic topic = new TieredTopic(brokers, name, partitions, new Sample(valueBytes));
        Map<String, String> all = new HashMap<>(settings(segmentBytes));
        all.putAll(settings);
        NewTopic spec = new NewTopic(name, partitions, brokers.replicas()).configs(all);
        topic.admin.createTopics(List.of(spec)).all().get();
        return topic;
    }

    /** One partition, with its only replica on one broker. */
    public static TieredTopic createOn(Brokers brokers, String name, int broker, int segmentBytes, int valueBytes)
            throws ExecutionException, InterruptedException {
        TieredTopic topic = new TieredTopic(brokers, name, 1, new Sample(valueBytes));
        NewTopic spec = new NewTopic(name, Map.of(0, List.of(broker))).configs(settings(segmentBytes));
        topic.admin.createTopics(List.of(spec)).all().get();
        return topic;
    }

    private static Map<String, String> settings(int segmentBytes) {
        return Map.of(
                "remote.storage.enable", "true",
                "segment.bytes", Integer.toString(segmentBytes),
                "local.retention.ms", "1000",
                "retention.ms", "86400000",
                "file.delete.delay.ms", "200",
                "index.interval.bytes", "4096");
    }

    /** Appends {@code records} to each partition. */
    public void produce(long records) throws InterruptedException {
        Properties p = new Properties();
        p.put("bootstrap.servers", brokers.bootstrap());
        p.put("acks", "all");
        // A partition may have no leader yet when its first batch comes. With a second batch under way, the broker could refuse the
        // first, take the second, and then hold that one against the first for ever.
        p.put("max.in.flight.requests.per.connection", "1");
        p.put("linger.ms", "20");
        p.put("batch.size", "131072");
        p.put("buffer.memory", "67108864");
        p.put("compression.type", "none");
        p.put("delivery.timeout.ms", "120000");
        AtomicReference<Exception> failure = new AtomicReference<>();
        long lastShown = System.nanoTime();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (long i = 0; i < records && failure.get() == null; i++) {
                for (int partition = 0; partition < partitions; partition++) {
                    long n = written[partition]++;
                    byte[] key = sample.key(partition, n);
                    byte[] value = sample.value(partition, n);
                    writtenBytes += key.length + value.length;
                    producer.send(new ProducerRecord<>(name, partition, key, value), (m, e) -> {
                        if (e != null) {
                            failure.compareAndSet(null, e);
                        }
                    });
                }
                if (System.nanoTime() - lastShown > 3_000_000_000L) {
                    lastShown = System.nanoTime();
                    Progress.show("%,d of %,d records produced", (i + 1) * partitions, records * partitions);
                }
            }
            producer.flush();
        }
        if (failure.get() != null) {
            throw new AssertionError("produce failed\n" + brokers.logTail(), failure.get());
        }
    }

    /** Waits until all that was produced is remote and no local copy of it is left. */
    public void awaitOnlyRemote(Duration atMost) throws InterruptedException {
        awaitOnlyRemote(atMost, IntStream.range(0, partitions).boxed().collect(Collectors.toMap(i -> i, i -> written[i])));
    }

    /**
     * The same for what others wrote.
     *
     * @param ends behind the last offset, by partition
     */
    public void awaitOnlyRemote(Duration atMost, Map<Integer, Long> ends) throws InterruptedException {
        Await.until("all segments of " + name + " to be remote and their local copies gone", atMost, this::tieringState, () -> {
            Map<Integer, Long> tiered = offsets(OffsetSpec.latestTiered());
            Map<Integer, Long> local = offsets(OffsetSpec.earliestLocal());
            for (int i = 0; i < partitions; i++) {
                if (tiered.get(i) != ends.get(i) - 1 || !local.get(i).equals(ends.get(i))) {
                    return false;
                }
            }
            return brokers.localSegments(name).values().stream().mapToLong(Long::longValue).sum() == 0;
        });
    }

    private String tieringState() {
        try {
            Map<Integer, Long> tiered = offsets(OffsetSpec.latestTiered());
            Map<Integer, Long> local = offsets(OffsetSpec.earliestLocal());
            long copied = tiered.values().stream().mapToLong(o -> o + 1).sum();
            long dropped = local.values().stream().mapToLong(Long::longValue).sum();
            return String.format("%,d of %,d records are remote, %,d of them only there", copied, records(), dropped);
        } catch (ExecutionException | InterruptedException e) {
            return "the broker doesn't tell: " + e.getMessage();
        }
    }

    /** Offsets by partition, as ListOffsets answers. */
    public Map<Integer, Long> offsets(OffsetSpec spec) throws ExecutionException, InterruptedException {
        Map<TopicPartition, OffsetSpec> ask = new HashMap<>();
        for (int i = 0; i < partitions; i++) {
            ask.put(new TopicPartition(name, i), spec);
        }
        Map<Integer, Long> answer = new HashMap<>();
        admin.listOffsets(ask).all().get().forEach((tp, info) -> answer.put(tp.partition(), info.offset()));
        return answer;
    }

    /**
     * Reads everything from offset 0 and compares each record.
     *
     * @param records how many came and were right
     * @param wrong the first record that was not as written, or null
     * @param complete whether all came in time
     */
    public record Reading(long records, long bytes, double seconds, String wrong, boolean complete) {
        public boolean right() {
            return complete && wrong == null;
        }
    }

    public Reading readAll(Duration atMost) {
        return readAll(atMost, 1 << 20);
    }

    /** Ends early at the first wrong record, and when the time is up. */
    public Reading readAll(Duration atMost, int fetchBytes) {
        Properties p = new Properties();
        p.put("bootstrap.servers", brokers.bootstrap());
        p.put("enable.auto.commit", "false");
        // Never skip silently: an offset that the broker doesn't find is an error here.
        p.put("auto.offset.reset", "none");
        p.put("max.partition.fetch.bytes", Integer.toString(fetchBytes));
        p.put("max.poll.records", "5000");
        long[] next = new long[partitions];
        long bytes = 0;
        String wrong = null;
        long start = System.nanoTime();
        long lastShown = start;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> all = new ArrayList<>(IntStream.range(0, partitions).mapToObj(i -> new TopicPartition(name, i)).toList());
            consumer.assign(all);
            all.forEach(tp -> consumer.seek(tp, 0));
            while (wrong == null && sum(next) < records() && System.nanoTime() - start < atMost.toNanos()) {
                for (ConsumerRecord<byte[], byte[]> r : poll(consumer)) {
                    wrong = sample.difference(r.partition(), next[r.partition()], r.offset(), r.key(), r.value());
                    if (wrong != null) {
                        break;
                    }
                    next[r.partition()]++;
                    bytes += r.key().length + r.value().length;
                }
                if (wrong == null && refusal != null) {
                    wrong = "the consumer gave up at offsets " + Arrays.toString(next) + ": " + refusal;
                }
                if (System.nanoTime() - lastShown > 3_000_000_000L) {
                    lastShown = System.nanoTime();
                    Progress.show("%,d of %,d records read and compared", sum(next), records());
                }
            }
        }
        refusal = null;
        return new Reading(sum(next), bytes, (System.nanoTime() - start) / 1e9, wrong, sum(next) == records());
    }

    /**
     * A store's fault may only make a consumer wait. An exception here means worse: bytes that fail their checksum, or an
     * offset that the broker denies.
     */
    private Iterable<ConsumerRecord<byte[], byte[]>> poll(KafkaConsumer<byte[], byte[]> consumer) {
        try {
            return consumer.poll(Duration.ofMillis(500));
        } catch (KafkaException e) {
            refusal = e;
            return List.of();
        }
    }

    private static long sum(long[] values) {
        long s = 0;
        for (long v : values) {
            s += v;
        }
        return s;
    }

    /** Deletes the topic and waits until the broker has forgotten it. */
    public void delete() throws ExecutionException, InterruptedException {
        admin.deleteTopics(List.of(name)).all().get();
        Await.until("topic " + name + " to be gone", Duration.ofSeconds(60), () -> {
            try {
                admin.describeTopics(List.of(name)).allTopicNames().get(10, TimeUnit.SECONDS);
                return false;
            } catch (ExecutionException e) {
                return e.getCause() instanceof UnknownTopicOrPartitionException;
            }
        });
    }

    public long records() {
        return sum(written);
    }

    /** Of keys and values. */
    public long bytes() {
        return writtenBytes;
    }

    public String name() {
        return name;
    }

    public Admin admin() {
        return admin;
    }

    @Override
    public void close() {
        admin.close(Duration.ofSeconds(5));
    }
}
