package io.undercroft.broker;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One stock broker, as a process with its own folder and ports: a cluster of its own, or a member of one. */
public final class Broker implements Brokers, AutoCloseable {
    private static final String CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg";
    private static final String READY = "Kafka Server started";

    /** A machine may have a lot else to do; a broker that cannot start ends, and is not waited for. */
    public static final Duration START_MAX = Duration.ofSeconds(300);

    private static final List<String> HEAP = List.of("-Xms512m", "-Xmx512m");

    private final KafkaLibs libs;
    private Managers managers;
    private final Path folder;
    private final Path java;
    private final int port;
    private final int jmxPort;
    private final List<String> jvm;
    private final Map<String, String> properties = new LinkedHashMap<>();
    private Process process;
    private Path log;
    private int starts;
    private ProcessUse before = ProcessUse.NONE;

    /**
     * A broker in combined mode. Starts nothing.
     *
     * @param folder the broker's own, emptied by the caller
     * @param java home of the JDK that runs the broker, or null for the one that runs this
     * @param more further lines of {@code server.properties}: the store's, and what a test wants different
     */
    public Broker(KafkaLibs libs, Managers managers, Path folder, Path java, Map<String, String> more) {
        this(libs, managers, folder, java, Place.freePorts(3), more);
    }

    private Broker(KafkaLibs libs, Managers managers, Path folder, Path java, int[] ports, Map<String, String> more) {
        this(libs, managers, folder, java, HEAP, ports[0], ports[2], alone(folder, ports[0], ports[1]));
        properties.putAll(more);
    }

    /**
     * A member of a cluster, with nothing in its configuration but what is given. Starts nothing.
     *
     * @param jvm options that bound its memory
     * @param port of the listener that clients are told of
     */
    public Broker(KafkaLibs libs, Managers managers, Path folder, Path java, List<String> jvm, int port, int jmxPort,
            Map<String, String> properties) {
        this.libs = libs;
        this.managers = managers;
        this.folder = folder;
        this.java = java == null ? Path.of(System.getProperty("java.home")) : java;
        this.jvm = List.copyOf(jvm);
        this.port = port;
        this.jmxPort = jmxPort;
        this.properties.putAll(properties);
        this.properties.putAll(managers.properties());
    }

    private static Map<String, String> alone(Path folder, int port, int controllerPort) {
        String[][] lines = {
            {"process.roles", "broker,controller"},
            {"node.id", "1"},
            {"listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controllerPort},
            {"advertised.listeners", "PLAINTEXT://127.0.0.1:" + port},
            {"controller.listener.names", "CONTROLLER"},
            {"controller.quorum.voters", "1@127.0.0.1:" + controllerPort},
            {"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"},
            {"inter.broker.listener.name", "PLAINTEXT"},
            {"log.dirs", folder.resolve("log").toString()},
            {"offsets.topic.replication.factor", "1"},
            {"offsets.topic.num.partitions", "1"},
            {"transaction.state.log.replication.factor", "1"},
            {"transaction.state.log.min.isr", "1"},
            {"transaction.state.log.num.partitions", "1"},
            {"group.initial.rebalance.delay.ms", "0"},
            // Kafka looks for work every 30 s and 5 min by default: a demo would mostly wait.
            {"log.retention.check.interval.ms", "500"},
            {"log.initial.task.delay.ms", "500"},
            {"remote.log.manager.task.interval.ms", "500"},
            {"remote.log.storage.system.enable", "true"},
            {"remote.log.metadata.manager.listener.name", "PLAINTEXT"},
            {"rlmm.config.remote.log.metadata.topic.num.partitions", "3"},
            {"rlmm.config.remote.log.metadata.topic.replication.factor", "1"},
        };
        Map<String, String> properties = new LinkedHashMap<>();
        for (String[] line : lines) {
            properties.put(line[0], line[1]);
        }
        return properties;
    }

    /** Other managers from the next start on. */
    public void replace(Managers other) {
        managers.properties().keySet().forEach(properties::remove);
        managers = other;
        properties.putAll(other.properties());
    }

    /** A line of {@code server.properties} from the next start on; null takes it out. */
    public void set(String key, String value) {
        if (value == null) {
            properties.remove(key);
        } else {
            properties.put(key, value);
        }
    }

    /** Formats the folder on the first call, starts the process and waits until it serves. */
    public Broker start() throws IOException, InterruptedException {
        launch();
        awaitReady(START_MAX);
        return this;
    }

    /** Starts the process and doesn't wait. */
    public void launch() throws IOException, InterruptedException {
        if (process != null && process.isAlive()) {
            throw new IllegalStateException("broker runs already, pid " + process.pid());
        }
        Path config = folder.resolve("server.properties");
        Files.createDirectories(folder);
        StringBuilder text = new StringBuilder();
        properties.forEach((k, v) -> text.append(k).append('=').append(v).append('\n'));
        Files.writeString(config, text);
        if (!Files.exists(folder.resolve("log/meta.properties"))) {
            Path out = folder.resolve("format.log");
            Process format = run(out, List.of("-Xmx256m", "-XX:TieredStopAtLevel=1"),
                    "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", config.toString());
            if (format.waitFor() != 0) {
                throw new IOException("kafka-storage format failed\n" + Tail.of(out, 20));
            }
        }
        starts++;
        log = folder.resolve("broker-" + starts + ".log");
        List<String> options = new ArrayList<>(jvm);
        options.addAll(List.of("-Dkafka.logs.dir=" + folder,
                "-Dcom.sun.management.jmxremote.port=" + jmxPort,
                "-Dcom.sun.management.jmxremote.rmi.port=" + jmxPort,
                "-Dcom.sun.management.jmxremote.host=127.0.0.1",
                "-Dcom.sun.management.jmxremote.authenticate=false",
                "-Dcom.sun.management.jmxremote.ssl=false",
                "-Djava.rmi.server.hostname=127.0.0.1",
                "-XX:ErrorFile=" + folder.resolve("hs_err_%p.log")));
        process = run(log, options, "kafka.Kafka", config.toString());
        // A demo that is stopped by ctrl-c must not leave a broker behind.
        Process started = process;
        Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
    }

    private Process run(Path out, List<String> jvm, String mainClass, String... args) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(java.resolve("bin/java").toString());
        command.addAll(jvm);
        command.addAll(libs.logOptions(folder));
        command.add("-cp");
        command.add(Stream.concat(Stream.of(libs.classPath()), managers.classPath().stream().map(Path::toString)).collect(Collectors.joining(":")));
        command.add(mainClass);
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.directory(folder.toFile());
        // A user's own AWS variables must not reach a broker that is tested with others.
        builder.environment().keySet().removeIf(k -> k.startsWith("AWS_") || k.startsWith("KAFKA_") || k.equals("CLASSPATH"));
        return builder.start();
    }

    /** Waits until the launched process serves. */
    public void awaitReady(Duration atMost) throws InterruptedException {
        try {
            Await.until("the broker to start", atMost, () -> {
                if (!process.isAlive()) {
                    throw new AssertionError("the broker ended with exit code " + process.exitValue()); // no use in waiting on
                }
                return logText().contains(READY);
            });
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + Tail.of(log, 40), e);
        }
        if (!process.isAlive()) {
            throw new AssertionError("broker ended with exit code " + process.exitValue() + "\n" + Tail.of(log, 40));
        }
    }

    /** SIGKILL: no flush, no hand-over, no close of the managers. */
    public void kill() throws IOException, InterruptedException {
        remember();
        process.destroyForcibly();
        if (!process.waitFor(20, TimeUnit.SECONDS)) {
            throw new AssertionError("broker " + process.pid() + " outlived SIGKILL by 20 s");
        }
    }

    /** SIGTERM, and how long the broker then took. It is killed after {@code atMost}, which is a failure. */
    public Duration stop(Duration atMost) throws IOException, InterruptedException {
        remember();
        long start = System.nanoTime();
        process.destroy();
        if (!process.waitFor(atMost.toMillis(), TimeUnit.MILLISECONDS)) {
            process.destroyForcibly().waitFor();
            throw new AssertionError("broker did not stop within " + atMost.toSeconds() + " s\n" + Tail.of(log, 40));
        }
        return Duration.ofNanos(System.nanoTime() - start);
    }

    /** SIGSTOP: it stays silent, with all its connections open, until {@link #resume}. */
    public void pause() throws IOException, InterruptedException {
        signal("STOP");
    }

    /** SIGCONT. */
    public void resume() throws IOException, InterruptedException {
        signal("CONT");
    }

    private void signal(String name) throws IOException, InterruptedException {
        int code = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start().waitFor();
        if (code != 0) {
            throw new IOException("kill -" + name + " " + process.pid() + " ended with " + code);
        }
    }

    private void remember() throws IOException {
        if (process.isAlive()) {
            before = before.then(ProcessUse.of(process.pid()));
        }
    }

    /** CPU and memory of this process and of those before it. */
    public ProcessUse use() throws IOException {
        return process != null && process.isAlive() ? before.then(ProcessUse.of(process.pid())) : before;
    }

    public boolean isAlive() {
        return process != null && process.isAlive();
    }

    @Override
    public String bootstrap() {
        return "127.0.0.1:" + port;
    }

    public int jmxPort() {
        return jmxPort;
    }

    public Path folder() {
        return folder;
    }

    public Path logFile() {
        return log;
    }

    /** What this process has logged so far. */
    public String logText() throws IOException {
        return new String(Files.readAllBytes(log), StandardCharsets.UTF_8);
    }

    @Override
    public String logTail() {
        return log == null ? "(never started)" : Tail.of(log, 40);
    }

    @Override
    public short replicas() {
        return 1;
    }

    @Override
    public Map<String, Long> localSegments(String topic) throws IOException {
        Map<String, Long> found = new LinkedHashMap<>();
        Path logs = folder.resolve("log");
        try (Stream<Path> all = Files.walk(logs, 2)) {
            for (Path p : all.filter(p -> p.toString().endsWith(".log")).sorted().toList()) {
                if (p.getParent().getFileName().toString().matches(topic + "-\\d+")) {
                    found.put(logs.relativize(p).toString(), Files.exists(p) ? Files.size(p) : 0);
                }
            }
        } catch (java.io.UncheckedIOException | java.nio.file.NoSuchFileException raced) {
            return localSegments(topic); // a segment was removed while we looked
        }
        return found;
    }

    @Override
    public void close() {
        if (process != null && process.isAlive()) {
            process.destroyForcibly();
            try {
                process.waitFor(20, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
