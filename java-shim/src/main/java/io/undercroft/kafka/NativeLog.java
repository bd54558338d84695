package io.undercroft.kafka;

/** Natives of {@code uc_log_t}, a reader of the core's log. */
final class NativeLog {
    private NativeLog() {
    }

    static native long open(int level, int capacity) throws NativeException;

    static native void setLevel(long log, int level) throws NativeException;

    /**
     * The next record, without waiting.
     *
     * @param head gets: level, timestamp in ms, records dropped before it, length of the target in bytes
     * @return target and message, one after the other; null if there is no record
     */
    static native byte[] next(long log, long[] head) throws NativeException;

    static native void free(long log);
}
