package io.undercroft.kafka;

/** Natives of {@code uc_reader_t}. */
final class NativeReader {
    /** {@link #read} waited in vain; the reader is as it was. */
    static final int TIMED_OUT = -1;

    private NativeReader() {
    }

    /** Reads at most 256 KiB a call, straight into {@code dst}. 0 = end of the segment. One thread at a time. */
    static native int read(long reader, byte[] dst, int off, int len, int timeoutMs) throws NativeException;

    /** From any thread: a read under way ends, and so does every later one. */
    static native void cancel(long reader);

    static native void free(long reader);
}
