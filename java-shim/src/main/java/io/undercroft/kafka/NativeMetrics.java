package io.undercroft.kafka;

/** Natives of {@code uc_metrics_t}. */
final class NativeMetrics {
    private NativeMetrics() {
    }

    /** Names and meanings as JSON, in the order of {@link #read}. */
    static native byte[] describe(long metrics) throws NativeException;

    static native void read(long metrics, double[] values) throws NativeException;

    /** Another number than before once {@link #describe} says something else. */
    static native long generation(long metrics) throws NativeException;

    static native void free(long metrics);
}
