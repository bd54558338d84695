package io.undercroft.kafka;

import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.ReplicaNotAvailableException;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows which remote segment holds which offsets.
 *
 * <p>Exceptions are the stock manager's but for two: what cannot be done or answered <em>yet</em> is a
 * {@link ReplicaNotAvailableException}, thrown by the call (a broker is silent about it and asks again), and a step
 * that a segment's state does not allow is refused instead of being dropped. Futures complete when this manager's
 * own reader has seen the record.
 */
public final class UndercroftRemoteLogMetadataManager implements RemoteLogMetadataManager {
    private static final Logger LOG = LoggerFactory.getLogger(UndercroftRemoteLogMetadataManager.class);
    /** How long a write may wait in the call until it is known that it can be done: it may be the metadata loader's thread. */
    private static final int ADMISSION_MS = 1_000;
    /** How long a lookup waits for a partition that isn't ready. */
    private static final long READY_MS = 100;
    private static final long READY_STEP_MS = 5;
    private static final int ALL_EPOCHS = -1;
    private static final long NO_OFFSET = -1;

    private final ConcurrentHashMap<TopicIdPartition, AssignedPartition> assigned = new ConcurrentHashMap<>();
    private volatile Session session;
    private volatile boolean closed;

    @Override
    public synchronized void configure(Map<String, ?> configs) {
        if (session != null || closed) {
            LOG.warn("configure was called again; nothing has been changed");
            return;
        }
        try {
            session = Session.open(Side.METADATA, configs);
        } catch (Throwable failed) {
            throw ErrorMapper.configure(failed, Side.METADATA.brokerPrefix(configs));
        }
    }

    @Override
    public CompletableFuture<Void> addRemoteLogSegmentMetadata(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        Objects.requireNonNull(segment, "remoteLogSegmentMetadata can not be null");
        if (segment.state() != RemoteLogSegmentState.COPY_SEGMENT_STARTED) {
            throw new IllegalArgumentException("Given remoteLogSegmentMetadata should have state as "
                + RemoteLogSegmentState.COPY_SEGMENT_STARTED + " but it contains state as: " + segment.state());
        }
        return write(open -> {
            byte[] frame = SegmentCodec.segment(segment);
            return open.completions().submit((queue, tag) -> NativeMetadata.add(open.handle(), frame, ADMISSION_MS, queue, tag));
        });
    }

    @Override
    public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update) throws RemoteStorageException {
        Objects.requireNonNull(update, "segmentMetadataUpdate can not be null");
        if (update.state() == RemoteLogSegmentState.COPY_SEGMENT_STARTED) {
            throw new IllegalArgumentException("Given remoteLogSegmentMetadata should not have the state as: "
                + RemoteLogSegmentState.COPY_SEGMENT_STARTED);
        }
        return write(open -> {
            byte[] frame = SegmentCodec.update(update);
            return open.completions().submit((queue, tag) -> NativeMetadata.update(open.handle(), frame, ADMISSION_MS, queue, tag));
        });
    }

    @Override
    public CompletableFuture<Void> putRemotePartitionDeleteMetadata(RemotePartitionDeleteMetadata delete) throws RemoteStorageException {
        Objects.requireNonNull(delete, "remotePartitionDeleteMetadata can not be null");
        return write(open -> {
            byte[] partition = SegmentCodec.partition(delete.topicIdPartition());
            return open.completions().submit((queue, tag) -> NativeMetadata.putPartitionDelete(open.handle(), partition,
                delete.brokerId(), delete.eventTimestampMs(), delete.state().id(), ADMISSION_MS, queue, tag));
        });
    }

    @Override
    public Optional<RemoteLogSegmentMetadata> remoteLogSegmentMetadata(TopicIdPartition partition, int epochForOffset, long offset)
        throws RemoteStorageException {
        return first(partition, look(partition, (open, frame) -> NativeMetadata.find(open.handle(), frame, epochForOffset, offset)));
    }

    /** Called by 4.0 and later; the interface compiled against lacks it. */
    public Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(TopicIdPartition partition, int epoch, long offset)
        throws RemoteStorageException {
        return first(partition, look(partition, (open, frame) -> NativeMetadata.nextWithTxnIndex(open.handle(), frame, epoch, offset)));
    }

    @Override
    public Optional<Long> highestOffsetForEpoch(TopicIdPartition partition, int leaderEpoch) throws RemoteStorageException {
        long offset = look(partition, (open, frame) -> NativeMetadata.highestOffset(open.handle(), frame, leaderEpoch));
        return offset == NO_OFFSET ? Optional.empty() : Optional.of(offset);
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition) throws RemoteStorageException {
        return list(partition, ALL_EPOCHS);
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition, int leaderEpoch)
        throws RemoteStorageException {
        if (leaderEpoch < 0) {
            throw new IllegalArgumentException("a leader epoch of " + leaderEpoch);
        }
        return list(partition, leaderEpoch);
    }

    @Override
    public long remoteLogSize(TopicIdPartition partition, int leaderEpoch) throws RemoteStorageException {
        return look(partition, (open, frame) -> NativeMetadata.size(open.handle(), frame, leaderEpoch));
    }

    /**
     * Called by 4.0 and later; the interface compiled against lacks it. Never throws: a broker would end the
     * partition's task for ever, without a word.
     */
    public boolean isReady(TopicIdPartition partition) {
        try {
            Session open = session;
            return open != null && NativeMetadata.isReady(open.handle(), frame(partition));
        } catch (Throwable failed) {
            try {
                LOG.debug("Whether {} is ready could not be told", partition, failed);
            } catch (Throwable unloggable) {
                return false;
            }
            return false;
        }
    }

    /** Returns at once: it is called by the thread that brings a broker all news of the cluster. */
    @Override
    public void onPartitionLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) {
        Objects.requireNonNull(leaders, "leaderPartitions can not be null");
        Objects.requireNonNull(followers, "followerPartitions can not be null");
        leaders.forEach(partition -> assigned.computeIfAbsent(partition, AssignedPartition::new));
        followers.forEach(partition -> assigned.computeIfAbsent(partition, AssignedPartition::new));
        assign("leadership changes", open ->
            NativeMetadata.leadAndFollow(open.handle(), SegmentCodec.partitions(leaders), SegmentCodec.partitions(followers)));
    }

    @Override
    public void onStopPartitions(Set<TopicIdPartition> partitions) {
        Objects.requireNonNull(partitions, "partitions can not be null");
        partitions.forEach(assigned::remove);
        assign("stopped partitions", open -> NativeMetadata.stop(open.handle(), SegmentCodec.partitions(partitions)));
    }

    /** Futures that are open fail at once. */
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

    private interface Write {
        Completion submit(Session open) throws NativeException;
    }

    private interface Lookup<T> {
        T look(Session open, byte[] partition) throws NativeException;
    }

    private interface Assignment {
        void tell(Session open) throws NativeException;
    }

    private CompletableFuture<Void> write(Write write) throws RemoteStorageException {
        try {
            CompletableFuture<Void> future = new CompletableFuture<>();
            Completion submitted = write.submit(openSession());
            if (MetadataLoader.isCurrentThread()) {
                submitted.failIn(MetadataLoader.waitMsMax);
            }
            submitted.whenComplete((result, failure) -> {
                if (failure == null) {
                    future.complete(null);
                } else {
                    future.completeExceptionally(ErrorMapper.metadataWrite(failure));
                }
            });
            return future;
        } catch (Throwable failed) {
            throw ErrorMapper.raise(ErrorMapper.metadataWrite(failed));
        }
    }

    private <T> T look(TopicIdPartition partition, Lookup<T> lookup) throws RemoteStorageException {
        Objects.requireNonNull(partition, "topicIdPartition can not be null");
        try {
            return lookWhenReady(lookup, openSession(), frame(partition));
        } catch (Throwable failed) {
            throw ErrorMapper.raise(ErrorMapper.metadata(failed));
        }
    }

    /** A broker logs each fetch that comes too early with a stack trace: it is held back for a moment, as by the stock manager. */
    private static <T> T lookWhenReady(Lookup<T> lookup, Session open, byte[] partition) throws NativeException {
        try {
            return lookup.look(open, partition);
        } catch (NativeException early) {
            if (early.code() != Status.NOT_READY || !awaitReady(open, partition)) {
                throw early;
            }
        }
        return lookup.look(open, partition);
    }

    /** Whether it became ready within {@link #READY_MS}. An interrupt ends the wait and stays set. */
    private static boolean awaitReady(Session open, byte[] partition) throws NativeException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(READY_MS);
        while (System.nanoTime() < end) {
            try {
                Thread.sleep(READY_STEP_MS);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
                return false;
            }
            if (NativeMetadata.isReady(open.handle(), partition)) {
                return true;
            }
        }
        return false;
    }

    /** The interface knows no checked exception here, and an unchecked one would stop the broker's news. */
    private void assign(String what, Assignment assignment) {
        Session open = openSession();
        try {
            assignment.tell(open);
        } catch (Throwable failed) {
            LOG.error("The metadata side could not be told of {}", what, failed);
        }
    }

    private byte[] frame(TopicIdPartition partition) {
        AssignedPartition known = assigned.get(partition);
        return known == null ? SegmentCodec.partition(partition) : known.frame();
    }

    private Iterator<RemoteLogSegmentMetadata> list(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        AssignedPartition known = partition == null ? null : assigned.get(partition);
        AssignedPartition asked = known == null && partition != null ? new AssignedPartition(partition) : known;
        return look(partition, (open, frame) -> asked.list(open, epoch)).iterator();
    }

    private static List<RemoteLogSegmentMetadata> segments(TopicIdPartition owner, byte[] frames) throws RemoteStorageException {
        try {
            return SegmentCodec.segments(frames, owner);
        } catch (Throwable unreadable) {
            throw new RemoteStorageException("the core's answer could not be read: " + unreadable, unreadable);
        }
    }

    private static Optional<RemoteLogSegmentMetadata> first(TopicIdPartition owner, byte[] frames) throws RemoteStorageException {
        List<RemoteLogSegmentMetadata> found = segments(owner, frames);
        return found.isEmpty() ? Optional.empty() : Optional.of(found.get(0));
    }

    private Session openSession() {
        Session open = session;
        if (open == null) {
            throw new IllegalStateException(closed
                ? "This instance is in invalid state, it is either closed or closing."
                : "This instance is in invalid state, it is not configured.");
        }
        return open;
    }
}
