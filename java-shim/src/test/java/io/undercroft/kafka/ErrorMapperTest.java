package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;

import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.ReplicaNotAvailableException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.Test;

class ErrorMapperTest {
    private static NativeException failure(int code, boolean retriable) {
        return new NativeException(code, retriable, "get x: went wrong");
    }

    @Test
    void aBadValueIsAConfigException() {
        Exception mapped = ErrorMapper.configure(failure(Status.CONFIG, false), "");
        assertEquals(ConfigException.class, mapped.getClass());
        assertEquals("get x: went wrong", mapped.getMessage());
        KafkaException own = new KafkaException("no library");
        assertSame(own, ErrorMapper.configure(own, ""));
        assertEquals(KafkaException.class, ErrorMapper.configure(new UnsatisfiedLinkError("x"), "").getClass());
    }

    @Test
    void aBrokersKeyIsNamedAsInItsFileAndTheReasonSaidOnce() {
        String rsm = Side.STORAGE.brokerPrefix(Map.of("broker.id", 1));
        NativeException missing = new NativeException(Status.CONFIG, false, "storage.root is not set: x");
        Exception mapped = ErrorMapper.configure(missing, rsm);
        assertEquals("rsm.config.storage.root is not set: x", mapped.getMessage());
        assertNull(mapped.getCause());
        assertEquals("storage.root is not set: x", ErrorMapper.configure(missing, Side.STORAGE.brokerPrefix(Map.of())).getMessage());
        String rlmm = Side.METADATA.brokerPrefix(Map.of("node.id", 1));
        assertEquals("rlmm.config.", rlmm);
        NativeException own = new NativeException(Status.CONFIG, false, "broker.id = `x`: no number");
        assertEquals("broker.id = `x`: no number", ErrorMapper.configure(own, rlmm).getMessage());
    }

    @Test
    void aFailedCopyIsNeverRetriable() {
        assertEquals(RemoteStorageException.class, ErrorMapper.copy(failure(Status.UNREACHABLE, true)).getClass());
        assertEquals(RemoteStorageException.class, ErrorMapper.copy(new OutOfMemoryError()).getClass());
    }

    @Test
    void onlyAMissingObjectIsNotFound() {
        assertEquals(RemoteResourceNotFoundException.class, ErrorMapper.fetch(failure(Status.NOT_FOUND, false)).getClass());
        for (int code : new int[] {Status.CORRUPT, Status.REFUSED, Status.CLOSED, Status.INTERNAL}) {
            assertEquals(RemoteStorageException.class, ErrorMapper.fetch(failure(code, false)).getClass());
        }
    }

    @Test
    void notYetIsRetriableForTheMetadataSide() {
        assertEquals(ReplicaNotAvailableException.class, ErrorMapper.metadata(failure(Status.NOT_READY, true)).getClass());
        assertEquals(ReplicaNotAvailableException.class, ErrorMapper.metadata(failure(Status.UNREACHABLE, true)).getClass());
        assertEquals(ReplicaNotAvailableException.class, ErrorMapper.metadataWrite(failure(Status.NOT_ASSIGNED, false)).getClass());
        assertEquals(RemoteResourceNotFoundException.class, ErrorMapper.metadata(failure(Status.NOT_ASSIGNED, false)).getClass());
    }

    @Test
    void aSegmentThatIsTooYoungIsAQuietRetry() {
        Exception mapped = ErrorMapper.metadataWrite(failure(Status.TOO_YOUNG, true));
        assertEquals(ReplicaNotAvailableException.class, mapped.getClass());
        assertTrue(mapped instanceof RetriableException);
        assertNull(mapped.getCause());
        assertEquals(0, mapped.getStackTrace().length);
    }

    @Test
    void everyCauseIsKept() {
        NativeException cause = failure(Status.CORRUPT, false);
        assertSame(cause, ErrorMapper.fetch(cause).getCause());
        assertSame(cause, ErrorMapper.metadata(cause).getCause());
    }

    @Test
    void noErrorLeavesTheMetadataSide() {
        assertTrue(ErrorMapper.metadata(new StackOverflowError()) instanceof RemoteStorageException);
    }
}
