package io.undercroft.kafka;

import java.nio.charset.StandardCharsets;

/** A call of the core failed. Thrown by native code only, and turned into one of Kafka's by {@link ErrorMapper}. */
final class NativeException extends Exception {
    private static final long serialVersionUID = 1L;

    private final int code;
    private final boolean retriable;

    /** Called from C: the message comes as UTF-8, which JNI's own strings are not. */
    NativeException(int code, boolean retriable, byte[] message) {
        this(code, retriable, message == null ? Status.name(code) : new String(message, StandardCharsets.UTF_8));
    }

    NativeException(int code, boolean retriable, String message) {
        super(message);
        this.code = code;
        this.retriable = retriable;
    }

    int code() {
        return code;
    }

    /** Whether the same call may succeed later without anybody changing anything. */
    boolean isRetriable() {
        return retriable;
    }

    @Override
    public String toString() {
        return Status.name(code) + ": " + getMessage();
    }
}
