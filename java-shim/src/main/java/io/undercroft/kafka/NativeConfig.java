package io.undercroft.kafka;

/** Natives of {@code uc_config_t}. */
final class NativeConfig {
    private NativeConfig() {
    }

    static native long create() throws NativeException;

    static native void set(long config, byte[] key, byte[] value) throws NativeException;

    /** Warnings as JSON. */
    static native byte[] check(long config, int side) throws NativeException;

    static native void free(long config);
}
