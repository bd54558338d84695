package io.undercroft.broker;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Transactions of two producers in one topic, overlapping in each way that there is, and what must be read of them. */
public final class Transactions {
    private static final int AT_ONCE = 100;

    private final String bootstrap;
    private final String topic;
    private final Sample sample;
    /** Of each partition, by offset: the number of a record, from which its bytes follow. Without what was aborted. */
    private final List<TreeMap<Long, Long>> committed = new ArrayList<>();
    private final List<TreeMap<Long, Long>> all = new ArrayList<>();
    private long next;

    public Transactions(String bootstrap, String topic, int partitions, int valueBytes) {
        this.bootstrap = bootstrap;
        this.topic = topic;
        this.sample = new Sample(valueBytes);
        for (int i = 0; i < partitions; i++) {
            committed.add(new TreeMap<>());
            all.add(new TreeMap<>());
        }
    }

    /**
     * Writes some {@code 290 × rounds} records. The first transaction covers more than half of them and is aborted, with nothing but
     * committed ones beside it: of segments of a few rounds, some have no aborted transaction's end and most of their records from one.
     */
    public void write(int rounds) throws ExecutionException, InterruptedException {
        try (Writer wide = new Writer("wide"); Writer narrow = new Writer("narrow")) {
            wide.begin();
            for (int i = 0; i < rounds; i++) {
                wide.send();
                narrow.whole(true);
            }
            wide.end(false);
            for (int i = 0; i < rounds / 4; i++) {
                wide.begin();
                wide.send();
                narrow.whole(i % 2 == 0);
                wide.end(i % 3 == 0);
            }
            wide.begin();
            for (int i = 0; i < rounds / 4; i++) {
                wide.send();
                narrow.whole(false);
            }
            wide.end(true);
            narrow.whole(false);
        }
    }

    public long records() {
        return count(all);
    }

    public long committedRecords() {
        return count(committed);
    }

    /**
     * Reads all from offset 0 on.
     *
     * @param records how many came and were right
     * @param wrong the first thing that wasn't as it should be, or null
     */
    public record Reading(long records, String wrong) {}

    /** What a reader of this isolation level gets up to {@code ends}, compared with what it should get. */
    public Reading read(boolean onlyCommitted, Map<Integer, Long> ends, Duration atMost) {
        List<TreeMap<Long, Long>> expected = new ArrayList<>((onlyCommitted ? committed : all).stream().map(TreeMap::new).toList());
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "none");
        p.put("isolation.level", onlyCommitted ? "read_committed" : "read_uncommitted");
        long records = 0;
        long giveUp = System.nanoTime() + atMost.toNanos();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> tps = IntStream.range(0, all.size()).mapToObj(i -> new TopicPartition(topic, i)).toList();
            consumer.assign(tps);
            tps.forEach(tp -> consumer.seek(tp, 0));
            while (tps.stream().anyMatch(tp -> consumer.position(tp) < ends.get(tp.partition()))) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(500))) {
                    String wrong = difference(expected.get(r.partition()).pollFirstEntry(), r);
                    if (wrong != null) {
                        return new Reading(records, wrong);
                    }
                    records++;
                }
                if (System.nanoTime() > giveUp) {
                    return new Reading(records, "not at the end after " + atMost.toSeconds() + " s; still to come: " + count(expected));
                }
            }
        }
        return new Reading(records, count(expected) == 0 ? null : "at the end, and these never came: " + expected);
    }

    private String difference(Map.Entry<Long, Long> expected, ConsumerRecord<byte[], byte[]> r) {
        String where = "partition " + r.partition() + " offset " + r.offset();
        if (expected == null || expected.getKey() != r.offset()) {
            return where + (all.get(r.partition()).containsKey(r.offset()) ? ": of an aborted transaction, or twice" : ": never written")
                    + "; expected offset " + (expected == null ? "none" : expected.getKey());
        }
        long n = expected.getValue();
        return Arrays.equals(r.key(), sample.key(r.partition(), n)) && Arrays.equals(r.value(), sample.value(r.partition(), n)) ? null
                : where + ": its bytes are not those that were written";
    }

    private static long count(List<TreeMap<Long, Long>> of) {
        return of.stream().mapToLong(TreeMap::size).sum();
    }

    /** One producer, with one transaction at a time. */
    private final class Writer implements AutoCloseable {
        private record Sent(long n, Future<RecordMetadata> answer) {}

        private final KafkaProducer<byte[], byte[]> producer;
        private final List<Sent> pending = new ArrayList<>();

        Writer(String id) {
            Properties p = new Properties();
            p.put("bootstrap.servers", bootstrap);
            p.put("transactional.id", topic + "-" + id);
            p.put("transaction.timeout.ms", "300000");
            // As in TieredTopic.
            p.put("max.in.flight.requests.per.connection", "1");
            p.put("delivery.timeout.ms", "120000");
            producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
            producer.initTransactions();
        }

        void begin() {
            producer.beginTransaction();
        }

        /** Some records to each partition, which the broker has when this returns. */
        void send() {
            for (int i = 0; i < AT_ONCE; i++) {
                int partition = (int) (next % all.size());
                pending.add(new Sent(next, producer.send(new ProducerRecord<>(topic, partition, sample.key(partition, next), sample.value(partition, next)))));
                next++;
            }
            producer.flush();
        }

        void end(boolean commit) throws ExecutionException, InterruptedException {
            if (commit) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
            for (Sent sent : pending) {
                RecordMetadata at = sent.answer.get();
                all.get(at.partition()).put(at.offset(), sent.n);
                if (commit) {
                    committed.get(at.partition()).put(at.offset(), sent.n);
                }
            }
            pending.clear();
        }

        void whole(boolean commit) throws ExecutionException, InterruptedException {
            begin();
            send();
            end(commit);
        }

        @Override
        public void close() {
            producer.close(Duration.ofSeconds(10));
        }
    }
}
