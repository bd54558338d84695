package io.undercroft.broker.cluster;

import io.undercroft.broker.Await;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;

/** What the store should hold. */
final class Stores {
    private Stores() {}

    static void awaitEmpty(Cluster cluster) throws InterruptedException {
        Await.until("the store to be empty", Cluster.SOON, () -> "left: " + names(cluster), () -> cluster.store.objects().isEmpty());
    }

    /** Waits until the store has an object for each live segment of the topic, and nothing else of it. */
    static void awaitExactlyLive(Cluster cluster, String topic, Duration atMost) throws InterruptedException {
        String[] difference = new String[1];
        Await.until("the store to hold exactly the objects of live segments", atMost, () -> difference[0], () -> {
            difference[0] = difference(cluster, topic);
            return difference[0] == null;
        });
    }

    /** Null if there is none. */
    static String difference(Cluster cluster, String topic) throws IOException {
        Map<Uuid, MetadataTopic.Segment> segments = MetadataTopic.segments(MetadataTopic.read(cluster.bootstrap()), topic);
        Set<String> objects = cluster.store.objects().keySet().stream().filter(o -> o.contains(topic + "-")).collect(Collectors.toSet());
        Set<String> surplus = new TreeSet<>(objects);
        Set<String> missing = new TreeSet<>();
        for (MetadataTopic.Segment s : segments.values()) {
            if (s.state() == MetadataTopic.FINISHED && !surplus.removeIf(o -> o.contains(s.id().toString()))) {
                missing.add(s.toString());
            }
        }
        Set<String> unfinished = segments.values().stream()
                .filter(s -> s.state() != MetadataTopic.FINISHED && s.state() != MetadataTopic.DELETE_FINISHED)
                .map(MetadataTopic.Segment::toString).collect(Collectors.toCollection(TreeSet::new));
        return surplus.isEmpty() && missing.isEmpty() && unfinished.isEmpty() ? null
                : "objects of no live segment " + surplus + ", live segments without an object " + missing + ", neither live nor gone " + unfinished;
    }

    private static String names(Cluster cluster) {
        try {
            return cluster.store.objects().keySet().toString();
        } catch (IOException e) {
            return e.getMessage();
        }
    }
}
