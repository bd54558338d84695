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
import java.util.stream.Stream;

/** One stock broker in KRaft combined mode, as a process with its own folder and ports. */
public final class Broker implements AutoCloseable {
    private static final String CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg";
    private static final String READY = "Kafka Server started";

    private final KafkaLibs libs;
    private final Managers managers;
    private final Path folder;
    private final Path java;
    private final int port;
    private final int controllerPort;
    private final int jmxPort;
    private final Map<String, String> properties = new LinkedHashMap<>();
    private Process process;
    private Path log;
    private int starts;
    private ProcessUse before = ProcessUse.NONE;

    /**
     * Writes the configuration; starts nothing.
     *
     * @param folder the broker's own, emptied by the caller
     * @param java home of the JDK that runs the broker, or null for the one that runs this
     * @param more further lines of {@code server.properties}: the store's, and what a test wants different
     */
    public Broker(KafkaLibs libs, Managers managers, Path folder, Path java, Map<String, String> more) {
        this.libs = libs;
        this.managers = managers;
        this.folder = folder;
        this.java = java == null ? Path.of(System.getProperty("java.home")) : java;
        int[] ports = Place.freePorts(3);
        this.port = ports[0];
        this.controllerPort = ports[1];
        this.jmxPort = ports[2];
        base();
        properties.putAll(managers.properties());
        properties.putAll(more);
    }

    private void base() {
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
        for (String[] line : lines) {
            properties.put(line[0], line[1]);
        }
    }

    /** Formats the folder on the first call, starts the process and waits until it serves. */
    public Broker start() throws IOException, InterruptedException {
        launch();
        awaitReady(Duration.ofSeconds(120));
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
        process = run(log, List.of("-Xms512m", "-Xmx512m",
                "-Dkafka.logs.dir=" + folder,
                "-Dcom.sun.management.jmxremote.port=" + jmxPort,
                "-Dcom.sun.management.jmxremote.rmi.port=" + jmxPort,
                "-Dcom.sun.management.jmxremote.host=127.0.0.1",
                "-Dcom.sun.management.jmxremote.authenticate=false",
                "-Dcom.sun.management.jmxremote.ssl=false",
                "-Djava.rmi.server.hostname=127.0.0.1",
                "-XX:ErrorFile=" + folder.resolve("hs_err_%p.log")),
                "kafka.Kafka", config.toString());
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
        command.add(managers.jar() == null ? libs.classPath() : libs.classPath() + ":" + managers.jar());
        command.add(mainClass);
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile());
        builder.directory(folder.toFile());
        // A user's own AWS variables must not reach a broker that is tested with others.
        builder.environment().keySet().removeIf(k -> k.startsWith("AWS_") || k.startsWith("KAFKA_") || k.equals("CLASSPATH"));
        return builder.start();
    }

    private void awaitReady(Duration atMost) throws InterruptedException {
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

    /** The last lines of its log, for a failure's message. */
    public String logTail() {
        return log == null ? "(never started)" : Tail.of(log, 40);
    }

    /** Local segment files of a topic, as bytes by path below the log folder. */
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
