package io.undercroft.broker.cluster;

import io.undercroft.broker.TieredTopic;
import java.util.concurrent.atomic.AtomicReference;

/** Produces to a topic, a little at a time, until it is closed. */
final class Background implements AutoCloseable {
    private final Thread thread;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private volatile boolean isOver;

    Background(TieredTopic topic, int recordsEach, long pauseMs) {
        thread = new Thread(() -> {
            try {
                while (!isOver) {
                    topic.produce(recordsEach);
                    Thread.sleep(pauseMs);
                }
            } catch (Throwable t) {
                failure.set(t);
            }
        }, "load");
        thread.start();
    }

    /** Fails if the load has ended by itself. */
    void mustRun() {
        if (failure.get() != null) {
            throw new AssertionError("the load ended early", failure.get());
        }
    }

    /** Waits for the last piece. */
    @Override
    public void close() {
        isOver = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        mustRun();
    }
}
