package io.undercroft.broker.cluster;

import io.undercroft.broker.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** The test's side of the gates of one broker, see {@link io.undercroft.broker.gate}. */
record Gates(Path folder) {
    Gates {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whoever comes to {@code step} with a segment of the topic from now on waits there. */
    Gates hold(String step, String topic) throws IOException {
        return order(step, topic, "hold");
    }

    /** Whoever comes to {@code step} with a segment of the topic from now on gets a RemoteStorageException. */
    Gates fail(String step, String topic) throws IOException {
        return order(step, topic, "fail");
    }

    private Gates order(String step, String topic, String text) throws IOException {
        Files.deleteIfExists(reached(step, topic));
        Path draft = folder.resolve(step + ".draft");
        Files.writeString(draft, text);
        Files.move(draft, folder.resolve(step + "@" + topic), StandardCopyOption.ATOMIC_MOVE);
        return this;
    }

    private Path reached(String step, String topic) {
        return folder.resolve(step + "@" + topic + ".reached");
    }

    void awaitReached(String step, String topic) throws InterruptedException {
        Await.until("a segment of " + topic + " to come to the step " + step, Duration.ofSeconds(60), () -> Files.exists(reached(step, topic)));
    }

    /** Lets all pass again. */
    void open() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            List<Path> orders = all.filter(p -> !p.toString().endsWith(".reached")).toList();
            for (Path order : orders) {
                Files.deleteIfExists(order);
            }
        }
    }
}
