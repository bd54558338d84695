package io.undercroft.kafka;

/** Natives of {@code uc_metadata_t}. What takes a queue and a tag answers there, once, if it returns normally. */
final class NativeMetadata {
    private NativeMetadata() {
    }

    static native long open(long config) throws NativeException;

    static native void leadAndFollow(long metadata, byte[] leaders, byte[] followers) throws NativeException;

    static native void stop(long metadata, byte[] partitions) throws NativeException;

    static native boolean isReady(long metadata, byte[] partition) throws NativeException;

    static native void add(long metadata, byte[] segment, int admissionMs, long queue, long tag) throws NativeException;

    static native void update(long metadata, byte[] segment, int admissionMs, long queue, long tag) throws NativeException;

    static native void putPartitionDelete(long metadata, byte[] partition, int brokerId, long eventTimestampMs, int state,
                                          int admissionMs, long queue, long tag) throws NativeException;

    static native byte[] find(long metadata, byte[] partition, int epoch, long offset) throws NativeException;

    static native byte[] nextWithTxnIndex(long metadata, byte[] partition, int epoch, long offset) throws NativeException;

    /** Segments of an epoch; -1 = of all. */
    static native byte[] list(long metadata, byte[] partition, int epoch) throws NativeException;

    /** Unchanged as long as {@link #list} answers the same about an assigned partition; 0 says nothing. */
    static native long listStamp(long metadata, byte[] partition) throws NativeException;

    /** -1 if the epoch has none. */
    static native long highestOffset(long metadata, byte[] partition, int epoch) throws NativeException;

    static native long size(long metadata, byte[] partition, int epoch) throws NativeException;

    static native long metrics(long metadata) throws NativeException;

    static native void close(long metadata, int timeoutMs) throws NativeException;

    static native void free(long metadata);
}
