package io.undercroft.kafka;

/**
 * The broker's one thread for news of the cluster. It deletes the remote segments of a topic that was deleted, one after the
 * other, and nothing else of the broker's metadata moves meanwhile.
 */
final class MetadataLoader {
    /** How long it is kept by one call; set by tests. */
    static volatile long waitMsMax = 10_000;

    private MetadataLoader() {
    }

    /** Whether the caller is that thread. All releases from 3.9 on call it so. */
    static boolean isCurrentThread() {
        return Thread.currentThread().getName().contains("metadata-loader");
    }

    /** {@code timeoutMs}, or less for that thread. */
    static long bounded(long timeoutMs) {
        return isCurrentThread() ? Math.min(timeoutMs, waitMsMax) : timeoutMs;
    }
}
