package io.undercroft.broker;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The jars of one stock Apache Kafka release, fetched once through Maven into {@code target/kafka/<version>/libs}. */
public record KafkaLibs(String version, Path folder) {

    /** The first of the lines that log through log4j 2; those before it bring log4j 1 (reload4j). */
    private static boolean logsWithLog4j2(String version) {
        return !version.startsWith("3.");
    }

    /**
     * Fetches the jars if they aren't there yet.
     *
     * @param standIn adds kafka-storage's test jar (LocalTieredStorage), to try the harness without the plugin
     */
    public static KafkaLibs of(String version, boolean standIn) throws IOException, InterruptedException {
        if (!version.matches("\\d+\\.\\d+\\.\\d+")) {
            throw new IllegalArgumentException("KAFKA=" + version + " is no release number such as 4.4.0");
        }
        Path home = Place.target().resolve("kafka").resolve(version + (standIn ? "-stand-in" : ""));
        Path libs = home.resolve("libs");
        Files.createDirectories(home);
        try (FileChannel channel = FileChannel.open(home.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = channel.lock()) {
            // The marker is written last: a fetch that was cut short is done again.
            Path complete = home.resolve("complete");
            if (lock.isValid() && !Files.exists(complete)) {
                Progress.show("fetching Apache Kafka %s through Maven into %s", version, Place.root().relativize(libs));
                Place.deleteTree(libs);
                fetch(version, standIn, libs, home.resolve("mvn.log"));
                Files.createFile(complete);
            }
        }
        return new KafkaLibs(version, libs);
    }

    private static void fetch(String version, boolean standIn, Path libs, Path log) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                System.getenv().getOrDefault("MVN", "mvn"), "-B",
                "-f", Place.root().resolve("tests/broker/kafka-libs.pom.xml").toString(),
                "-Dkafka.version=" + version,
                "-Dkafka.binding=" + (logsWithLog4j2(version) ? "log4j2" : "reload4j"),
                "-DincludeScope=runtime",
                "-DoutputDirectory=" + libs));
        if (standIn) {
            command.add("-Dstand.in=true");
        }
        command.add("dependency:copy-dependencies");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        if (!process.waitFor(10, TimeUnit.MINUTES)) {
            process.destroyForcibly();
            throw new IOException("mvn did not fetch Kafka " + version + " in 10 minutes; its output: " + log);
        }
        if (process.exitValue() != 0) {
            if (saysThatThereIsNone(Files.readString(log, StandardCharsets.ISO_8859_1), version)) {
                throw new IllegalArgumentException("KAFKA=" + version + ": Maven has no kafka_2.13 " + version
                        + "; releases 3.9.0 to 4.4.0 are known to work");
            }
            throw new IOException("mvn could not fetch Kafka " + version + " (does this release exist? is Maven Central reachable?):\n"
                    + Tail.of(log, 15));
        }
    }

    /** Whether a failed Maven knows no such release, now or since an earlier try, as opposed to not having been answered. */
    static boolean saysThatThereIsNone(String mavenOutput, String version) {
        return mavenOutput.lines().anyMatch(line -> line.matches(".*kafka_2\\.13:(jar|pom):" + Pattern.quote(version) + "\\b.*")
                && (line.contains("Could not find artifact") || line.contains("was not found in")));
    }

    /** All jars as one class path entry. */
    public String classPath() {
        return folder + "/*";
    }

    /** The JVM options that make this release log as {@link LogSettings} wrote it. */
    public List<String> logOptions(Path brokerFolder) throws IOException {
        return logsWithLog4j2(version) ? LogSettings.log4j2(brokerFolder) : LogSettings.log4j1(brokerFolder);
    }
}
