package io.undercroft.kafka;

import java.util.concurrent.CompletableFuture;

/** The answer to one submission: bytes (or null), or a {@link NativeException}. Completed by the pump's thread. */
final class Completion extends CompletableFuture<byte[]> {
    private final long tag;

    Completion(long tag) {
        this.tag = tag;
    }

    long tag() {
        return tag;
    }
}
