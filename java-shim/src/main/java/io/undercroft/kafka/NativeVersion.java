package io.undercroft.kafka;

/** What the two libraries say that they are. The first natives called after a load: they touch nothing else. */
final class NativeVersion {
    /** ABI that these classes speak; a test compares it with the header. */
    static final int ABI = 2;

    private NativeVersion() {
    }

    static native int shimAbi();

    static native String shimVersion();

    static native int coreAbi();

    static native String coreVersion();

    /** Equal builds of shim and core mean: same release, same header. */
    static native String shimBuild();

    static native String coreBuild();

    /** File of the core that serves this process: of several class loaders, the one that loaded it first decides. */
    static native String corePath();
}
