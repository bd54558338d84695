package io.undercroft.kafka;

import java.util.concurrent.ExecutionException;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.ReplicaNotAvailableException;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/**
 * The one place where what went wrong becomes an exception that a broker understands.
 *
 * <p>What a broker does with each is in its RemoteLogManager: an Error or an unchecked exception of a storage method
 * leaks objects or ends a partition's task for ever, so none gets through.
 */
final class ErrorMapper {
    private ErrorMapper() {
    }

    /** Ends the start of the broker, with a reason. The core's begins with the key, which {@code prefix} makes the broker's. */
    static KafkaException configure(Throwable failure, String prefix) {
        if (failure instanceof KafkaException) {
            return (KafkaException) failure;
        }
        // Without a cause: it would say the same once more, and where in the core it was found helps nobody.
        if (codeOf(failure) == Status.CONFIG) {
            String message = failure.getMessage();
            return new ConfigException(isBrokersOwn(message) ? message : prefix + message);
        }
        if (codeOf(failure) == Status.INVALID_ARGUMENT) {
            return new ConfigException(failure.getMessage());
        }
        return new KafkaException("Undercroft could not be started: " + text(failure), failure);
    }

    /** Whether it speaks of a key that a broker passes by itself, under its own name. */
    private static boolean isBrokersOwn(String message) {
        return Side.BROKER_KEYS.contains(message.split(" ", 2)[0]);
    }

    /**
     * Never retriable: for a plain RemoteStorageException a broker records the attempt as deleted and calls delete; for
     * a retriable one (4.3 and later) it does neither, and the record of the attempt would stay behind.
     */
    static RemoteStorageException copy(Throwable failure) {
        return new RemoteStorageException(text(failure), failure);
    }

    static RemoteStorageException fetch(Throwable failure) {
        if (codeOf(failure) == Status.NOT_FOUND) {
            return new RemoteResourceNotFoundException(text(failure), failure);
        }
        return retriableOrNot(failure);
    }

    static RemoteStorageException delete(Throwable failure) {
        return retriableOrNot(failure);
    }

    /**
     * For the metadata side. A broker is quiet about a RetriableException that is thrown in the call, and asks again
     * after its task interval; it must never take "not loaded yet" for "there is nothing".
     */
    static Exception metadata(Throwable failure) {
        if (failure instanceof NativeException) {
            return metadata((NativeException) failure);
        }
        if (failure instanceof RemoteStorageException || isOwnRefusal(failure)) {
            return (Exception) failure;
        }
        return new RemoteStorageException(text(failure), failure);
    }

    private static Exception metadata(NativeException failure) {
        String message = failure.getMessage();
        switch (failure.code()) {
            case Status.NOT_READY:
                return new ReplicaNotAvailableException(message, failure);
            case Status.TOO_YOUNG:
                // Comes again and again by design: no cause, so that no log of a broker is filled with our stack.
                return new ReplicaNotAvailableException(message);
            case Status.NOT_ASSIGNED:
            case Status.UNKNOWN_SEGMENT:
            case Status.NOT_FOUND:
                return new RemoteResourceNotFoundException(message, failure);
            case Status.INVALID_ARGUMENT:
                return new IllegalArgumentException(message, failure);
            case Status.CLOSED:
                return new IllegalStateException(message, failure);
            default:
                return failure.isRetriable()
                    ? new ReplicaNotAvailableException(message, failure)
                    : new RemoteStorageException(text(failure), failure);
        }
    }

    /** As {@link #metadata}, for a write: one that comes before its partition is assigned can be done later. */
    static Exception metadataWrite(Throwable failure) {
        return codeOf(failure) == Status.NOT_ASSIGNED
            ? new ReplicaNotAvailableException(failure.getMessage(), failure)
            : metadata(failure);
    }

    /** Throws it, checked or not. Returns never; the result type lets a caller write {@code throw}. */
    static RemoteStorageException raise(Exception mapped) throws RemoteStorageException {
        if (mapped instanceof RuntimeException) {
            throw (RuntimeException) mapped;
        }
        throw (RemoteStorageException) mapped;
    }

    private static RemoteStorageException retriableOrNot(Throwable failure) {
        boolean retriable = failure instanceof NativeException && ((NativeException) failure).isRetriable();
        return retriable ? KafkaApi.retriable(text(failure), failure) : new RemoteStorageException(text(failure), failure);
    }

    /** What the stock manager throws for wrong arguments and after close. */
    private static boolean isOwnRefusal(Throwable failure) {
        return failure instanceof NullPointerException
            || failure instanceof IllegalArgumentException
            || failure instanceof IllegalStateException
            || failure instanceof KafkaException;
    }

    private static int codeOf(Throwable failure) {
        return failure instanceof NativeException ? ((NativeException) failure).code() : -1;
    }

    private static String text(Throwable failure) {
        Throwable told = failure instanceof ExecutionException && failure.getCause() != null ? failure.getCause() : failure;
        if (told instanceof NativeException || told instanceof InterruptedException) {
            return told.getMessage() == null ? "interrupted" : told.getMessage();
        }
        return told.toString();
    }
}
