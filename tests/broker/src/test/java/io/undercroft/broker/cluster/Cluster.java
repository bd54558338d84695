package io.undercroft.broker.cluster;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.Brokers;
import io.undercroft.broker.FolderStore;
import io.undercroft.broker.KafkaLibs;
import io.undercroft.broker.Managers;
import io.undercroft.broker.Options;
import io.undercroft.broker.Place;
import io.undercroft.broker.Store;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Stock brokers 1 to n over one store, and a controller of its own, so that no fault of a broker touches the quorum.
 *
 * <p>Heaps are small, sessions short (4 s), and a broker comes back on its old ports and folder.
 */
final class Cluster implements Brokers, AutoCloseable {
    static final Duration SOON = Duration.ofSeconds(90);
    static final String METADATA_TOPIC = "__remote_log_metadata";
    /** How long a broker may be silent before its partitions get other leaders. */
    static final Duration SESSION = Duration.ofSeconds(4);

    private static final int CONTROLLER_ID = 100;
    private static final List<String> SMALL = List.of("-Xms64m", "-Xmx288m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");

    final Path folder;
    final Store store;
    private final Broker controller;
    private final Map<Integer, Broker> brokers = new TreeMap<>();
    private Admin admin;

    /** What a test wants different. */
    static final class Wish {
        private String kafka = System.getenv().getOrDefault("KAFKA", "").isEmpty() ? Options.DEFAULT_KAFKA : System.getenv("KAFKA");
        private int size = 3;
        private Managers managers;
        private Store store;
        private SecondListener second;
        private final Map<String, String> properties = new LinkedHashMap<>();

        Wish kafka(String version) {
            kafka = version;
            return this;
        }

        Wish size(int brokers) {
            size = brokers;
            return this;
        }

        /** Those of every broker; {@link Broker#replace} changes one's. */
        Wish managers(Managers m) {
            managers = m;
            return this;
        }

        Wish store(Store s) {
            store = s;
            return this;
        }

        /** A listener more, which the metadata side is sent to. */
        Wish second(SecondListener listener) {
            second = listener;
            return this;
        }

        /** A line of every broker's {@code server.properties}. */
        Wish with(String key, String value) {
            properties.put(key, value);
            return this;
        }
    }

    /** What a broker and its controller need for one more listener, called {@code META}. */
    record SecondListener(String protocol, Map<String, String> properties) {}

    /** Starts nothing. The store is a folder unless the wish has one. */
    Cluster(String test, Wish wish) throws IOException, InterruptedException {
        this(Place.freshFolder("cluster-" + test), wish);
    }

    Cluster(Path folder, Wish wish) throws IOException, InterruptedException {
        this.folder = folder;
        store = wish.store != null ? wish.store : new FolderStore(Files.createDirectories(folder.resolve("store")), false);
        KafkaLibs libs = KafkaLibs.of(wish.kafka, false);
        Managers managers = wish.managers != null ? wish.managers : Managers.undercroft(Managers.Deployment.BROKER_PATH);
        int[] ports = Place.freePorts(2 + 3 * wish.size);
        String voters = CONTROLLER_ID + "@127.0.0.1:" + ports[0];
        Map<String, String> own = common(voters);
        own.putAll(Map.of("process.roles", "controller", "node.id", Integer.toString(CONTROLLER_ID),
                "listeners", "CONTROLLER://127.0.0.1:" + ports[0], "log.dirs", folder.resolve("controller/log").toString()));
        controller = new Broker(libs, Managers.none(), folder.resolve("controller"), null, SMALL, ports[0], ports[1], own);
        for (int id = 1; id <= wish.size; id++) {
            int at = 2 + 3 * (id - 1);
            Path home = folder.resolve("broker-" + id);
            Map<String, String> properties = member(voters, id, home, ports[at], wish.size);
            if (wish.second != null) {
                String second = "META://127.0.0.1:" + ports[at + 2];
                properties.put("listeners", "PLAINTEXT://127.0.0.1:" + ports[at] + "," + second);
                properties.put("advertised.listeners", "PLAINTEXT://127.0.0.1:" + ports[at] + "," + second);
                properties.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,META:" + wish.second.protocol);
                properties.put("remote.log.metadata.manager.listener.name", "META");
                properties.putAll(wish.second.properties);
            }
            properties.putAll(store.properties());
            properties.putAll(wish.properties);
            brokers.put(id, new Broker(libs, managers, home, null, SMALL, ports[at], ports[at + 1], properties));
        }
        if (wish.properties.containsKey("authorizer.class.name")) {
            controller.set("authorizer.class.name", wish.properties.get("authorizer.class.name"));
            controller.set("super.users", wish.properties.get("super.users"));
        }
    }

    private static Map<String, String> common(String voters) {
        Map<String, String> p = new LinkedHashMap<>();
        p.put("controller.listener.names", "CONTROLLER");
        p.put("controller.quorum.voters", voters);
        p.put("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT");
        p.put("remote.log.storage.system.enable", "true");
        p.put("broker.session.timeout.ms", Long.toString(SESSION.toMillis()));
        p.put("broker.heartbeat.interval.ms", "500");
        return p;
    }

    private static Map<String, String> member(String voters, int id, Path home, int port, int size) {
        Map<String, String> p = common(voters);
        String replicas = Integer.toString(Math.min(3, size));
        String[][] lines = {
            {"process.roles", "broker"},
            {"node.id", Integer.toString(id)},
            {"listeners", "PLAINTEXT://127.0.0.1:" + port},
            {"advertised.listeners", "PLAINTEXT://127.0.0.1:" + port},
            {"inter.broker.listener.name", "PLAINTEXT"},
            {"log.dirs", home.resolve("log").toString()},
            {"offsets.topic.replication.factor", "1"},
            {"offsets.topic.num.partitions", "1"},
            {"log.cleaner.dedupe.buffer.size", "8388608"},
            {"log.retention.check.interval.ms", "500"},
            {"log.initial.task.delay.ms", "500"},
            {"replica.lag.time.max.ms", "6000"},
            // Leaders are where the test puts them.
            {"auto.leader.rebalance.enable", "false"},
            {"remote.log.manager.task.interval.ms", "500"},
            {"remote.log.metadata.manager.listener.name", "PLAINTEXT"},
            // How long a client waits for a broker that has stopped answering; 60 s would be most of a test.
            {"rlmm.config.remote.log.metadata.common.client.request.timeout.ms", "6000"},
            {"rlmm.config.remote.log.metadata.topic.num.partitions", "3"},
            {"rlmm.config.remote.log.metadata.topic.replication.factor", replicas},
            {"rlmm.config.remote.log.metadata.topic.min.isr", size > 1 ? "2" : "1"},
        };
        for (String[] line : lines) {
            p.put(line[0], line[1]);
        }
        return p;
    }

    /** Starts all at once and waits until each serves. If one doesn't, all are ended: nobody else can. */
    Cluster start() throws IOException, InterruptedException {
        boolean serves = false;
        try {
            controller.launch();
            for (Broker broker : brokers.values()) {
                broker.launch();
            }
            controller.awaitReady(Broker.START_MAX);
            for (Broker broker : brokers.values()) {
                broker.awaitReady(Broker.START_MAX);
            }
            serves = true;
        } finally {
            if (!serves) {
                close();
            }
        }
        return this;
    }

    Broker broker(int id) {
        return brokers.get(id);
    }

    Set<Integer> ids() {
        return brokers.keySet();
    }

    /** The lowest id that is none of these. */
    int other(Integer... not) {
        return ids().stream().filter(id -> !List.of(not).contains(id)).findFirst().orElseThrow();
    }

    Admin admin() {
        if (admin == null) {
            Properties p = new Properties();
            p.put("bootstrap.servers", bootstrap());
            p.put("default.api.timeout.ms", "30000");
            p.put("request.timeout.ms", "10000");
            admin = Admin.create(p);
        }
        return admin;
    }

    /** Who leads, by partition; partitions without a leader are left out. */
    Map<Integer, Integer> leaders(String topic) throws ExecutionException, InterruptedException {
        Map<Integer, Integer> found = new TreeMap<>();
        describe(topic).partitions().forEach(p -> Optional.ofNullable(p.leader()).filter(l -> l.id() >= 0)
                .ifPresent(l -> found.put(p.partition(), l.id())));
        return found;
    }

    TopicDescription describe(String topic) throws ExecutionException, InterruptedException {
        try {
            return admin().describeTopics(List.of(topic)).allTopicNames().get(20, TimeUnit.SECONDS).get(topic);
        } catch (java.util.concurrent.TimeoutException e) {
            throw new IllegalStateException("no broker describes " + topic, e);
        }
    }

    /** Changes settings of a topic. */
    void set(String topic, Map<String, String> settings) throws ExecutionException, InterruptedException {
        List<AlterConfigOp> operations = settings.entrySet().stream()
                .map(e -> new AlterConfigOp(new ConfigEntry(e.getKey(), e.getValue()), AlterConfigOp.OpType.SET)).toList();
        admin().incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), operations)).all().get();
    }

    void awaitLeader(String topic, int partition, Predicate<Integer> wanted, String what) throws InterruptedException {
        Await.until("partition " + partition + " of " + topic + " to be led by " + what, SOON, () -> {
            Integer leader = leaders(topic).get(partition);
            return leader != null && wanted.test(leader);
        });
    }

    /** Makes {@code to} the leader, by the way an operator has: preferred replicas, then an election. */
    void lead(String topic, int partition, int to) throws Exception {
        TopicPartition tp = new TopicPartition(topic, partition);
        Await.until("broker " + to + " to be in sync", SOON, () -> describe(topic).partitions().get(partition).isr().stream()
                .anyMatch(n -> n.id() == to));
        Await.until("broker " + to + " to lead " + tp, SOON, () -> {
            if (Integer.valueOf(to).equals(leaders(topic).get(partition))) {
                return true;
            }
            List<Integer> replicas = describe(topic).partitions().get(partition).replicas().stream().map(Node::id).toList();
            List<Integer> ordered = Stream.concat(Stream.of(to), replicas.stream().filter(id -> id != to)).toList();
            admin().alterPartitionReassignments(Map.of(tp, Optional.of(new NewPartitionReassignment(ordered)))).all().get();
            admin().electLeaders(ElectionType.PREFERRED, Set.of(tp)).partitions().get();
            return Integer.valueOf(to).equals(leaders(topic).get(partition));
        });
    }

    /** Waits until every partition of every topic has all of its replicas in sync. */
    void awaitInSync() throws InterruptedException {
        Await.until("all replicas to be in sync", SOON, () -> {
            Set<String> topics = admin().listTopics(new org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(true)).names().get();
            return admin().describeTopics(topics).allTopicNames().get().values().stream().flatMap(t -> t.partitions().stream())
                    .allMatch(p -> p.leader() != null && p.isr().size() == p.replicas().size());
        });
    }

    @Override
    public String bootstrap() {
        return brokers.values().stream().map(Broker::bootstrap).collect(Collectors.joining(","));
    }

    @Override
    public short replicas() {
        return (short) Math.min(3, brokers.size());
    }

    @Override
    public Map<String, Long> localSegments(String topic) throws IOException {
        Map<String, Long> found = new TreeMap<>();
        try {
            for (Map.Entry<Integer, Integer> led : leaders(topic).entrySet()) {
                brokers.get(led.getValue()).localSegments(topic).forEach((path, bytes) -> {
                    if (path.startsWith(topic + "-" + led.getKey() + "/")) {
                        found.put(path, bytes);
                    }
                });
            }
        } catch (ExecutionException e) {
            throw new IOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
        return found;
    }

    @Override
    public String logTail() {
        return IntStream.rangeClosed(1, brokers.size()).mapToObj(id -> "-- broker " + id + "\n" + brokers.get(id).logTail())
                .collect(Collectors.joining("\n"));
    }

    @Override
    public void close() throws IOException {
        if (admin != null) {
            admin.close(Duration.ZERO);
        }
        brokers.values().forEach(Broker::close);
        controller.close();
        store.close();
    }
}
