package io.undercroft.broker.cluster;

import static io.undercroft.broker.cluster.EndState.LIMIT;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.Managers;
import io.undercroft.broker.TieredTopic;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A leader that fails at each step of a copy and of a delete. A topic per step, held there by a gate; the fault meets them all
 * at once. About eight minutes, on one cluster.
 */
class CrashPointsIT {
    /** Where a copy can be cut off. */
    private static final List<String> COPY = List.of("add-before", "add-after", "copy-before", "copy-after",
            "copy_segment_finished-before", "copy_segment_finished-after");
    /** Where a delete can be. */
    private static final List<String> DELETE = List.of("delete_segment_started-before", "delete_segment_started-after",
            "delete-before", "delete-after", "delete_segment_finished-before", "delete_segment_finished-after");
    private static final long EACH = 2_200; // two segments and a piece of a third

    private static Cluster cluster;
    private static final Map<Integer, Gates> GATES = new TreeMap<>();
    private static int made;

    /** What befalls the leader. */
    enum Fault {
        /** SIGKILL; it comes back. */
        KILLED,
        /** SIGSTOP past its session; it goes on where it was, as a leader that isn't one any more. */
        FROZEN,
        /** It hears that another one leads, and its tasks are interrupted. */
        RELIEVED
    }

    @BeforeAll
    static void start() throws Exception {
        cluster = new Cluster("crash-points", EndState.hasty(new Cluster.Wish()));
        for (int id : cluster.ids()) {
            GATES.put(id, new Gates(cluster.folder.resolve("gates-" + id)));
            cluster.broker(id).replace(Managers.gated(GATES.get(id).folder()));
        }
        cluster.start();
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    /** A test that failed leaves no trap for the next. */
    @BeforeEach
    void mend() throws Exception {
        for (int id : cluster.ids()) {
            GATES.get(id).open();
            if (cluster.broker(id).isAlive()) {
                cluster.broker(id).resume();
            } else {
                cluster.broker(id).start();
            }
        }
        cluster.awaitInSync();
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void a_leader_that_fails_at_any_step_of_a_copy_leaves_nothing_behind(Fault fault) throws Exception {
        try (Topics topics = new Topics("copy-" + fault.name().toLowerCase(java.util.Locale.ROOT), COPY)) {
            for (String step : COPY) {
                GATES.get(1).hold(step, topics.of(step).name());
            }
            topics.produce();
            topics.awaitHeld();
            befall(fault, topics);
            for (String step : COPY) {
                EndState.await(cluster, topics.of(step));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void a_leader_that_fails_at_any_step_of_a_delete_leaves_nothing_behind(Fault fault) throws Exception {
        try (Topics topics = new Topics("delete-" + fault.name().toLowerCase(java.util.Locale.ROOT), DELETE)) {
            topics.produce();
            for (String step : DELETE) {
                topics.of(step).awaitOnlyRemote(Cluster.SOON);
                GATES.get(1).hold(step, topics.of(step).name());
            }
            for (String step : DELETE) {
                expire(topics.of(step).name());
            }
            topics.awaitHeld();
            befall(fault, topics);
            for (String step : DELETE) {
                EndState.awaitNothingOf(cluster, topics.of(step).name());
            }
        }
    }

    @Test
    void what_a_failed_copy_left_is_deleted_wherever_it_lies_when_it_can_be_deleted_again() throws Exception {
        // The copy is made and then reported as failed; the broker's own way of cleaning up fails at each of its steps.
        List<String> cleaning = List.of("delete_segment_started-before", "delete-before", "delete_segment_finished-before");
        try (Topics topics = new Topics("failed", cleaning)) {
            topics.produce();
            for (String step : cleaning) {
                topics.of(step).awaitOnlyRemote(Cluster.SOON);
                GATES.get(1).fail("copy-after", topics.of(step).name()).fail(step, topics.of(step).name());
            }
            topics.produce();
            for (String step : cleaning) {
                GATES.get(1).awaitReached("copy-after", topics.of(step).name());
            }
            Thread.sleep(3_000);
            GATES.get(1).open();
            for (String step : cleaning) {
                EndState.await(cluster, topics.of(step));
            }
        }
    }

    @Test
    void a_topic_that_is_deleted_while_its_leader_is_away_or_fails_half_way_leaves_nothing() throws Exception {
        List<String> ways = List.of("delete-before", "delete-after");
        TieredTopic away = TieredTopic.createOn(cluster, "deleted-away-" + ++made, 1, 1 << 20, 1000);
        try (Topics topics = new Topics("deleted", ways); away) {
            topics.produce();
            away.produce(EACH);
            for (String step : ways) {
                topics.of(step).awaitOnlyRemote(Cluster.SOON);
            }
            away.awaitOnlyRemote(Cluster.SOON);
            // The second and all later segments of one are never reached; of the other the broker dies behind the first.
            GATES.get(1).fail("delete-before", topics.of("delete-before").name());
            topics.of("delete-before").delete();
            GATES.get(1).awaitReached("delete-before", topics.of("delete-before").name());
            GATES.get(1).hold("delete-after", topics.of("delete-after").name());
            topics.of("delete-after").delete();
            GATES.get(1).awaitReached("delete-after", topics.of("delete-after").name());
            cluster.broker(1).kill();
            away.delete();
            GATES.get(1).open();
            cluster.broker(1).start();
            EndState.awaitNothingOf(cluster, topics.of("delete-before").name());
            EndState.awaitNothingOf(cluster, topics.of("delete-after").name());
            EndState.awaitNothingOf(cluster, away.name());
        }
    }

    @Test
    void a_copy_that_ends_after_its_topic_was_deleted_leaves_nothing() throws Exception {
        List<String> steps = List.of("copy-before", "copy-after");
        try (Topics topics = new Topics("outlived", steps)) {
            for (String step : steps) {
                GATES.get(1).hold(step, topics.of(step).name());
            }
            topics.produce();
            topics.awaitHeld();
            for (String step : steps) {
                topics.of(step).delete();
            }
            GATES.get(1).open();
            for (String step : steps) {
                EndState.awaitNothingOf(cluster, topics.of(step).name());
            }
        }
    }

    private void befall(Fault fault, Topics topics) throws Exception {
        Broker one = cluster.broker(1);
        switch (fault) {
            case KILLED -> {
                one.kill();
                topics.awaitOtherLeaders();
                GATES.get(1).open();
                one.start();
            }
            case FROZEN -> {
                one.pause();
                topics.awaitOtherLeaders();
                // Time for the new leaders to come to the same segments.
                Thread.sleep(8_000);
                GATES.get(1).open();
                one.resume();
            }
            case RELIEVED -> {
                for (TieredTopic topic : topics.all()) {
                    cluster.lead(topic.name(), 0, 2);
                }
                GATES.get(1).open();
            }
        }
        cluster.awaitInSync();
    }

    /** All of its segments are too old from now on. */
    private static void expire(String topic) throws Exception {
        cluster.set(topic, Map.of("local.retention.ms", "500", "retention.ms", "1000"));
    }

    /** A topic for each step, led by broker 1. */
    private static final class Topics implements AutoCloseable {
        private final Map<String, TieredTopic> byStep = new TreeMap<>();

        Topics(String name, List<String> steps) throws Exception {
            for (String step : steps) {
                String topic = name + "-" + step.replace('_', '-') + "-" + ++made;
                byStep.put(step, TieredTopic.create(cluster, topic, 1, 1 << 20, 1000));
                cluster.lead(topic, 0, 1);
            }
        }

        TieredTopic of(String step) {
            return byStep.get(step);
        }

        List<TieredTopic> all() {
            return new ArrayList<>(byStep.values());
        }

        void produce() throws Exception {
            for (TieredTopic topic : byStep.values()) {
                topic.produce(EACH);
            }
        }

        void awaitHeld() throws Exception {
            for (Map.Entry<String, TieredTopic> e : byStep.entrySet()) {
                GATES.get(1).awaitReached(e.getKey(), e.getValue().name());
            }
        }

        void awaitOtherLeaders() throws Exception {
            for (TieredTopic topic : byStep.values()) {
                Await.until(topic.name() + " to have another leader", LIMIT, () -> {
                    Integer leader = cluster.leaders(topic.name()).get(0);
                    return leader != null && leader != 1;
                });
            }
        }

        @Override
        public void close() {
            byStep.values().forEach(TieredTopic::close);
        }
    }
}
