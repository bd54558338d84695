package io.undercroft.kafka;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** What the plugin interface of the running broker has beyond that of 3.9, found once when this class is loaded. */
final class KafkaApi {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.publicLookup();
    private static final String RETRIABLE = "org.apache.kafka.server.log.remote.storage.RetriableRemoteStorageException";

    /** 4.0 and later: the constructor that also takes {@code isTxnIdxEmpty}. */
    private static final MethodHandle NEW_WITH_TXN_FLAG = constructor(RemoteLogSegmentMetadata.class,
        RemoteLogSegmentId.class, long.class, long.class, long.class, int.class, long.class, int.class, Optional.class,
        RemoteLogSegmentState.class, Map.class, boolean.class);
    private static final MethodHandle IS_TXN_INDEX_EMPTY = method(RemoteLogSegmentMetadata.class, "isTxnIdxEmpty", boolean.class);
    /** 4.2 and later. */
    private static final MethodHandle NEW_RETRIABLE = retriableConstructor();

    /** 4.4 and later: the broker itself keeps segments local only for a while (KIP-1241). */
    private static final boolean HAS_COPY_LAG = isTopicSetting("remote.copy.lag.ms");

    private KafkaApi() {
    }

    static RemoteLogSegmentMetadata segment(RemoteLogSegmentId id, long startOffset, long endOffset, long maxTimestampMs,
                                            int brokerId, long eventTimestampMs, int sizeBytes,
                                            Optional<CustomMetadata> customMetadata, RemoteLogSegmentState state,
                                            Map<Integer, Long> epochs, boolean isTxnIndexEmpty) {
        if (NEW_WITH_TXN_FLAG == null) {
            return new RemoteLogSegmentMetadata(id, startOffset, endOffset, maxTimestampMs, brokerId, eventTimestampMs,
                sizeBytes, customMetadata, state, epochs);
        }
        try {
            return (RemoteLogSegmentMetadata) NEW_WITH_TXN_FLAG.invoke(id, startOffset, endOffset, maxTimestampMs, brokerId,
                eventTimestampMs, sizeBytes, customMetadata, state, epochs, isTxnIndexEmpty);
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Whether the broker delays uploads itself. Told by the settings that it knows and not by its version, which doesn't
     * say what a distribution has taken over from a later release.
     */
    static boolean hasCopyLag() {
        return HAS_COPY_LAG;
    }

    /** False where the broker doesn't say: then the index is asked for, and found or not. */
    static boolean isTxnIndexEmpty(RemoteLogSegmentMetadata segment) {
        if (IS_TXN_INDEX_EMPTY == null) {
            return false;
        }
        try {
            return (boolean) IS_TXN_INDEX_EMPTY.invoke(segment);
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The broker's retriable exception, or a plain one where there is none. */
    static RemoteStorageException retriable(String message, Throwable cause) {
        if (NEW_RETRIABLE != null) {
            try {
                return (RemoteStorageException) NEW_RETRIABLE.invoke(message, cause);
            } catch (Throwable unusable) {
                cause.addSuppressed(unusable);
            }
        }
        return new RemoteStorageException(message, cause);
    }

    private static MethodHandle retriableConstructor() {
        try {
            Class<?> found = Class.forName(RETRIABLE, false, RemoteStorageException.class.getClassLoader());
            return constructor(found, String.class, Throwable.class);
        } catch (ClassNotFoundException | LinkageError absent) {
            return null;
        }
    }

    /** Whether a topic may be set so, as far as the client library beside the broker knows, which is the broker's own. */
    static boolean isTopicSetting(String name) {
        try {
            for (Field field : TopicConfig.class.getFields()) {
                if (field.getType() == String.class && name.equals(field.get(null))) {
                    return true;
                }
            }
        } catch (IllegalAccessException | LinkageError unreadable) {
            return false;
        }
        return false;
    }

    private static MethodHandle constructor(Class<?> owner, Class<?>... parameters) {
        try {
            return LOOKUP.findConstructor(owner, MethodType.methodType(void.class, parameters));
        } catch (NoSuchMethodException | IllegalAccessException absent) {
            return null;
        }
    }

    private static MethodHandle method(Class<?> owner, String name, Class<?> returned) {
        try {
            return LOOKUP.findVirtual(owner, name, MethodType.methodType(returned));
        } catch (NoSuchMethodException | IllegalAccessException absent) {
            return null;
        }
    }
}
