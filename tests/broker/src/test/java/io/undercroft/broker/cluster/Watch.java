package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.Jmx;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** What an operator sees of one broker's metadata side from now on: its log lines and its numbers. */
final class Watch {
    /** The patterns of both log4j configurations begin a line so. */
    private static final Pattern LOUD = Pattern.compile("^\\[[^]]+] (WARN|ERROR|FATAL) .*");
    private static final Pattern OURS = Pattern.compile(".*\\((io\\.)?undercroft[^)]*\\)$");

    private final Broker broker;
    private final int from;

    Watch(Broker broker) throws IOException {
        this.broker = broker;
        this.from = broker.logText().length();
    }

    /** Warnings and errors of Undercroft's. */
    List<String> loud() throws IOException {
        return lines().stream().filter(l -> LOUD.matcher(l).matches() && OURS.matcher(l).matches()).toList();
    }

    private List<String> lines() throws IOException {
        String text = broker.logText();
        return text.substring(Math.min(from, text.length())).lines().toList();
    }

    /** Waits for a warning or an error of Undercroft's with all of these in it. */
    String awaitLoud(String... parts) throws InterruptedException {
        String[] found = new String[1];
        try {
            Await.until("a warning or error with " + String.join(", ", parts), Cluster.SOON, () -> {
                found[0] = loud().stream().filter(l -> Arrays.stream(parts).allMatch(l::contains)).findFirst().orElse(null);
                return found[0] != null;
            });
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + broker.logTail(), e);
        }
        return found[0];
    }

    /** Fails if Undercroft said more than a few things, or if it made others say much. */
    void mustBeQuiet() throws IOException {
        List<String> loud = loud();
        assertTrue(loud.size() <= 6, () -> loud.size() + " warnings and errors:\n" + String.join("\n", loud));
        List<String> all = lines().stream().filter(l -> LOUD.matcher(l).matches()
                && (l.contains("remote") || l.contains("Remote"))).toList();
        assertTrue(all.size() <= 60, () -> all.size() + " warnings and errors about remote storage, such as\n"
                + String.join("\n", all.subList(0, 5)));
    }

    static double number(Broker broker, String metric) throws Exception {
        Map<String, Double> all = Jmx.numbers(broker.jmxPort(), "undercroft:type=metadata,*");
        Double value = all.get(metric);
        assertTrue(value != null, () -> "no metric " + metric + " among " + all.keySet());
        return value;
    }

    /** Whether all partitions of the broker are ready, of which there must be some. */
    static boolean isReady(Broker broker) throws Exception {
        double assigned = number(broker, "partitions-assigned");
        return assigned > 0 && number(broker, "partitions-ready") == assigned;
    }

    static void awaitReady(Broker broker) throws InterruptedException {
        awaitState(broker, "all partitions to be ready", () -> isReady(broker));
    }

    static void awaitNotReady(Broker broker) throws InterruptedException {
        awaitState(broker, "no partition to be ready", () -> number(broker, "partitions-assigned") > 0 && number(broker, "partitions-ready") == 0);
    }

    private static void awaitState(Broker broker, String what, Await.Question question) throws InterruptedException {
        try {
            Await.until(what, Cluster.SOON, question);
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + broker.logTail(), e);
        }
    }

    /** Looks for a while whether something stays as it is. */
    static void stays(String what, Duration howLong, Await.Question question) throws Exception {
        long end = System.nanoTime() + howLong.toNanos();
        while (System.nanoTime() < end) {
            assertTrue(question.ask(), what);
            Thread.sleep(500);
        }
    }
}
