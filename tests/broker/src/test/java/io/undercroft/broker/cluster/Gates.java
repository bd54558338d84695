package io.undercroft.broker.cluster;

import io.undercroft.broker.Await;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** The test's side of the gates of one broker, see {@link io.undercroft.broker.gate}. */
record Gates(Path folder) {
    Gates {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whoever comes to {@code step} from now on waits there. */
    Gates hold(String step) throws IOException {
        return order(step, "hold");
    }

    /** Whoever comes to {@code step} from now on gets a RemoteStorageException. */
    Gates fail(String step) throws IOException {
        return order(step, "fail");
    }

    private Gates order(String step, String text) throws IOException {
        Files.deleteIfExists(folder.resolve(step + ".reached"));
        Path draft = folder.resolve(step + ".draft");
        Files.writeString(draft, text);
        Files.move(draft, folder.resolve(step), java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        return this;
    }

    void awaitReached(String step) throws InterruptedException {
        Await.until("somebody to come to the step " + step, Duration.ofSeconds(60), () -> Files.exists(folder.resolve(step + ".reached")));
    }

    /** Lets them pass again. */
    void open(String step) throws IOException {
        Files.deleteIfExists(folder.resolve(step));
    }
}
