package io.undercroft.kafka;

/** Natives of {@code uc_cq_t}, the queue of completions. */
final class NativeQueue {
    private NativeQueue() {
    }

    static native long create() throws NativeException;

    /**
     * Waits for one event.
     *
     * @param head gets: 1 if there is an event, its tag, its status, 1 if its failure is retriable
     * @return result of a success (null for none), or message of a failure
     */
    static native byte[] next(long queue, int timeoutMs, long[] head) throws NativeException;

    static native void cancel(long queue, long tag) throws NativeException;

    static native void free(long queue);
}
