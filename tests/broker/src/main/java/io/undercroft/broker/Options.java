package io.undercroft.broker;

import java.nio.file.Path;
import java.util.List;

/**
 * What {@code make demo} can be told, from environment variables of these names.
 *
 * @param store {@code fs}, {@code s3}, {@code azure} or {@code gcs}
 * @param kafka the broker's release
 * @param sizeMb megabytes to produce, of 1,048,576 bytes
 * @param java home of the JDK that runs the broker, or null for the demo's own
 * @param plugin how the plugin is put into the broker
 * @param standIn run Kafka's own managers, to try the harness
 * @param mode what becomes of a segment on its way
 */
public record Options(String store, String kafka, int sizeMb, Path java, Managers.Deployment plugin, boolean standIn,
        boolean keep, Mode mode) {
    public static final String DEFAULT_KAFKA = "4.4.0";

    public static Options fromEnvironment() {
        String store = get("STORE", "fs");
        if (!List.of("fs", "s3", "azure", "gcs").contains(store)) {
            throw new IllegalArgumentException("STORE=" + store + ": expected `fs`, `s3`, `azure` or `gcs`");
        }
        String size = get("SIZE_MB", "256");
        if (!size.matches("[1-9]\\d{0,5}")) {
            throw new IllegalArgumentException("SIZE_MB=" + size + ": expected a number from 1 to 999999");
        }
        String java = get("BROKER_JAVA", "");
        if (!java.isEmpty() && !Path.of(java, "bin/java").toFile().canExecute()) {
            throw new IllegalArgumentException("BROKER_JAVA=" + java + ": no bin/java there; expected the home of a JDK");
        }
        boolean standIn = get("STAND_IN", "").equals("1");
        if (standIn && !store.equals("fs")) {
            throw new IllegalArgumentException("STAND_IN=1 knows only STORE=fs");
        }
        Mode mode = Mode.parse(get("MODE", "plain"));
        if (standIn && mode != Mode.PLAIN) {
            throw new IllegalArgumentException("STAND_IN=1 knows only MODE=plain");
        }
        return new Options(store, get("KAFKA", DEFAULT_KAFKA), Integer.parseInt(size),
                java.isEmpty() ? null : Path.of(java), Managers.Deployment.parse(get("PLUGIN", "classpath")), standIn,
                get("KEEP", "").equals("1"), mode);
    }

    private static String get(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }
}
