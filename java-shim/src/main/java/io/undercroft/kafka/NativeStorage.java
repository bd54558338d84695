package io.undercroft.kafka;

/** Natives of {@code uc_storage_t}. What takes a queue and a tag answers there, once, if it returns normally. */
final class NativeStorage {
    private NativeStorage() {
    }

    static native long open(long config) throws NativeException;

    static native void copy(long storage, byte[] segment, byte[] log, byte[] offsetIndex, byte[] timeIndex,
                            byte[] transactionIndex, byte[] producerSnapshot, byte[] leaderEpochs,
                            long queue, long tag) throws NativeException;

    /** A reader; {@code end} is inclusive, -1 = to the end of the segment. */
    static native long fetch(long storage, byte[] segment, long start, long end) throws NativeException;

    static native void fetchIndex(long storage, byte[] segment, int indexType, long queue, long tag) throws NativeException;

    static native void delete(long storage, byte[] segment, long queue, long tag) throws NativeException;

    static native long metrics(long storage) throws NativeException;

    static native void close(long storage, int timeoutMs) throws NativeException;

    static native void free(long storage);
}
