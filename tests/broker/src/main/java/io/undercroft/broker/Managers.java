package io.undercroft.broker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The two plugin classes as an operator names them.
 *
 * @param classPath put on the broker's class path behind Kafka's jars
 * @param properties lines for {@code server.properties}: class names and, for {@link Deployment#OWN_PATH}, class paths
 * @param standIn whether these are Kafka's own classes
 */
public record Managers(List<Path> classPath, Map<String, String> properties, boolean standIn) {
    /** The two ways to put a plugin into a broker. */
    public enum Deployment {
        /** The jar beside Kafka's jars: both managers in the broker's class loader. */
        BROKER_PATH("on the broker's class path"),
        /** {@code …class.path}: each manager in a child-first class loader of its own. */
        OWN_PATH("in class loaders of its own (class.path)");

        private final String text;

        Deployment(String text) {
            this.text = text;
        }

        /** For people. */
        public String text() {
            return text;
        }

        /** As written on a command line: {@code classpath} or {@code class.path}. */
        public static Deployment parse(String text) {
            return switch (text) {
                case "classpath" -> BROKER_PATH;
                case "class.path" -> OWN_PATH;
                default -> throw new IllegalArgumentException("PLUGIN=" + text + ": expected `classpath` or `class.path`");
            };
        }
    }

    private static final String STORAGE = "remote.log.storage.manager.";
    private static final String METADATA = "remote.log.metadata.manager.";

    /** Undercroft out of {@code target/dist}. */
    public static Managers undercroft(Deployment deployment) throws IOException {
        Path jar = Path.of(System.getProperty("undercroft.jar", Place.target().resolve("dist/undercroft-kafka.jar").toString()));
        if (!Files.exists(jar)) {
            throw new IOException(jar + " isn't there; `make build` makes it");
        }
        Map<String, String> p = new LinkedHashMap<>();
        p.put(STORAGE + "class.name", "io.undercroft.kafka.UndercroftRemoteStorageManager");
        p.put(METADATA + "class.name", "io.undercroft.kafka.UndercroftRemoteLogMetadataManager");
        if (deployment == Deployment.BROKER_PATH) {
            return new Managers(List.of(jar), p, false);
        }
        // A folder that holds nothing else: `class.path` takes `folder/*`, as operators write it.
        Path folder = Files.createDirectories(Place.target().resolve("run/plugin"));
        Files.copy(jar, folder.resolve("undercroft-kafka.jar"), StandardCopyOption.REPLACE_EXISTING);
        p.put(STORAGE + "class.path", folder + "/*");
        p.put(METADATA + "class.path", folder + "/*");
        return new Managers(List.of(), p, false);
    }

    /** Kafka's own metadata manager and its test storage: tries the harness, not the plugin. */
    public static Managers kafkasOwn() {
        Map<String, String> p = new LinkedHashMap<>();
        p.put(STORAGE + "class.name", "org.apache.kafka.server.log.remote.storage.LocalTieredStorage");
        p.put(METADATA + "class.name", "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager");
        return new Managers(List.of(), p, true);
    }

    /** None at all: a controller's. */
    public static Managers none() {
        return new Managers(List.of(), Map.of(), false);
    }

    /** Undercroft's storage under Kafka's own metadata manager. */
    public static Managers stockMetadata() throws IOException {
        Managers ours = undercroft(Deployment.BROKER_PATH);
        Map<String, String> p = new LinkedHashMap<>(ours.properties());
        p.put(METADATA + "class.name", kafkasOwn().properties().get(METADATA + "class.name"));
        return new Managers(ours.classPath(), p, false);
    }

    /** Undercroft with a {@link io.undercroft.broker.gate.Gate} at each step of a copy and a delete, ruled by files in {@code gates}. */
    public static Managers gated(Path gates) throws IOException {
        Managers ours = undercroft(Deployment.BROKER_PATH);
        Map<String, String> p = new LinkedHashMap<>();
        p.put(STORAGE + "class.name", "io.undercroft.broker.gate.GatedStorageManager");
        p.put(METADATA + "class.name", "io.undercroft.broker.gate.GatedMetadataManager");
        p.put("rsm.config.gate.folder", gates.toString());
        p.put("rlmm.config.gate.folder", gates.toString());
        p.put("rsm.config.gate.delegate", ours.properties().get(STORAGE + "class.name"));
        p.put("rlmm.config.gate.delegate", ours.properties().get(METADATA + "class.name"));
        return new Managers(List.of(ours.classPath().get(0), Place.target().resolve("broker-tests/classes")), p, false);
    }
}
