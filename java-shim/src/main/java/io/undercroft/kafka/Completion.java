package io.undercroft.kafka;

import java.util.concurrent.CompletableFuture;

/** The answer to one submission: bytes (or null), or a {@link NativeException}. Completed by the pump's thread. */
final class Completion extends CompletableFuture<byte[]> {
    private final long tag;
    private volatile long failsAtNanos;
    private volatile long waitMs;

    Completion(long tag) {
        this.tag = tag;
    }

    long tag() {
        return tag;
    }

    /** From now on nobody waits for it longer than that. What was submitted goes on. */
    void failIn(long ms) {
        failsAtNanos = System.nanoTime() + ms * 1_000_000;
        waitMs = ms;
    }

    /** Why nobody waits any longer; null if somebody may. */
    NativeException lateness(long nowNanos) {
        boolean isLate = waitMs > 0 && nowNanos - failsAtNanos >= 0;
        return isLate ? new NativeException(Status.TIMEOUT, true, "no answer in " + waitMs + " ms; it may come yet") : null;
    }
}
