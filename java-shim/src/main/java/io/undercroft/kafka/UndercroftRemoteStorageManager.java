package io.undercroft.kafka;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies closed segments to an object store, reads them back and deletes them.
 *
 * <p>Beyond what the interface asks for: every call ends within the deadlines of the configuration; an interrupt ends it
 * too, leaves the thread's flag set and is reported as an exception, never as an empty stream; nothing but
 * {@link RemoteStorageException} and its kinds is thrown; {@link #close} ends what runs, and leaves no thread behind.
 */
public final class UndercroftRemoteStorageManager implements RemoteStorageManager {
    private static final Logger LOG = LoggerFactory.getLogger(UndercroftRemoteStorageManager.class);
    /** A topic's deletion calls delete on the thread that the broker learns of all changes with. */
    private static final long DELETE_MS_MAX = 30_000;
    private static final long FETCH_INDEX_MS_MAX = 120_000;
    /** The core bounds a copy itself: by progress, and in all. */
    private static final long COPY_MS_MAX = Long.MAX_VALUE / 1_000_000;
    private static final long TO_THE_END = -1;

    private volatile Session session;
    private boolean closed;

    @Override
    public synchronized void configure(Map<String, ?> configs) {
        if (session != null || closed) {
            LOG.warn("configure was called again; nothing has been changed");
            return;
        }
        try {
            session = Session.open(Side.STORAGE, configs);
        } catch (Throwable failed) {
            throw ErrorMapper.configure(failed, Side.STORAGE.brokerPrefix(configs));
        }
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata segment, LogSegmentData data)
        throws RemoteStorageException {
        try {
            Session open = openSession();
            byte[] described = SegmentCodec.segment(segment);
            byte[] log = path(data.logSegment());
            byte[] offsetIndex = path(data.offsetIndex());
            byte[] timeIndex = path(data.timeIndex());
            byte[] transactionIndex = data.transactionIndex().map(UndercroftRemoteStorageManager::path).orElse(null);
            byte[] producerSnapshot = path(data.producerSnapshotIndex());
            byte[] leaderEpochs = bytes(data.leaderEpochIndex());
            byte[] custom = open.completions().call(COPY_MS_MAX, (queue, tag) -> NativeStorage.copy(open.handle(), described, log,
                offsetIndex, timeIndex, transactionIndex, producerSnapshot, leaderEpochs, queue, tag));
            return Optional.ofNullable(custom).map(CustomMetadata::new);
        } catch (Throwable failed) {
            throw ErrorMapper.copy(failed);
        }
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int startPosition) throws RemoteStorageException {
        return fetch(segment, startPosition, TO_THE_END);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int startPosition, int endPosition)
        throws RemoteStorageException {
        if (endPosition < startPosition) {
            throw new RemoteStorageException("a range of " + segment + " ends before it begins: " + startPosition + " to " + endPosition);
        }
        return fetch(segment, startPosition, endPosition);
    }

    /** The first bytes are read here: what is wrong with the segment is thrown by the call, and by no later read. */
    private InputStream fetch(RemoteLogSegmentMetadata segment, int start, long end) throws RemoteStorageException {
        SegmentReader reader = null;
        boolean handedOut = false;
        try {
            Session open = openSession();
            if (start < 0) {
                throw new NativeException(Status.INVALID_ARGUMENT, false, "a start position of " + start);
            }
            reader = new SegmentReader(NativeStorage.fetch(open.handle(), SegmentCodec.segment(segment), start, end));
            SegmentStream stream = open.streams().open(reader, open.handle());
            stream.prefetch();
            handedOut = true;
            return stream;
        } catch (Throwable failed) {
            throw ErrorMapper.fetch(failed);
        } finally {
            if (!handedOut && reader != null) {
                reader.close();
            }
        }
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType indexType) throws RemoteStorageException {
        try {
            Session open = openSession();
            byte[] described = SegmentCodec.segment(segment);
            byte[] index = open.completions().call(FETCH_INDEX_MS_MAX, (queue, tag) ->
                NativeStorage.fetchIndex(open.handle(), described, number(indexType), queue, tag));
            if (index == null) {
                throw new NativeException(Status.INTERNAL, false, "the core gave no bytes of the index " + indexType);
            }
            return new ByteArrayInputStream(index);
        } catch (Throwable failed) {
            throw ErrorMapper.fetch(failed);
        }
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        try {
            Session open = openSession();
            byte[] described = SegmentCodec.segment(segment);
            open.completions().call(MetadataLoader.bounded(DELETE_MS_MAX), (queue, tag) -> NativeStorage.delete(open.handle(), described, queue, tag));
        } catch (Throwable failed) {
            throw ErrorMapper.delete(failed);
        }
    }

    /** Open streams are closed too: reading them fails from then on. */
    @Override
    public void close() throws IOException {
        Session last;
        synchronized (this) {
            closed = true;
            last = session;
            session = null;
        }
        if (last != null) {
            last.close();
        }
    }

    /** Name of the bean with this manager's metrics, for tests. */
    javax.management.ObjectName metricsName() {
        return session.metrics().name();
    }

    private Session openSession() throws NativeException {
        Session open = session;
        if (open == null) {
            throw new NativeException(Status.CLOSED, false, "the storage manager is closed, or was never configured");
        }
        return open;
    }

    private static int number(IndexType type) {
        switch (type) {
            case OFFSET: return 0;
            case TIMESTAMP: return 1;
            case PRODUCER_SNAPSHOT: return 2;
            case TRANSACTION: return 3;
            case LEADER_EPOCH: return 4;
            default: throw new IllegalArgumentException("an index of type " + type);
        }
    }

    private static byte[] path(Path path) {
        return Objects.requireNonNull(path, "path").toAbsolutePath().toString().getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }
}
