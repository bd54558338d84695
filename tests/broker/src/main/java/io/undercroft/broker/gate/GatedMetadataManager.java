package io.undercroft.broker.gate;

import java.io.IOException;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/**
 * Stops before a write and after it: {@code add-before}, {@code copy_segment_finished-after} and so on.
 *
 * <p>"After" is when the record is in the log and the manager's own reader has met it, but the broker doesn't know yet. Only
 * if a gate stands there is the write waited for in the call.
 */
public final class GatedMetadataManager implements RemoteLogMetadataManager {
    private RemoteLogMetadataManager inner;
    private Gate gate;

    @Override
    public void configure(Map<String, ?> configs) {
        gate = new Gate(configs);
        inner = Gate.delegate(configs, RemoteLogMetadataManager.class);
        inner.configure(Gate.others(configs));
    }

    @Override
    public CompletableFuture<Void> addRemoteLogSegmentMetadata(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        RemoteLogSegmentId id = segment.remoteLogSegmentId();
        gate.pass("add-before", id);
        return after("add-after", id, inner.addRemoteLogSegmentMetadata(segment));
    }

    @Override
    public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update) throws RemoteStorageException {
        String step = update.state().name().toLowerCase(Locale.ROOT);
        gate.pass(step + "-before", update.remoteLogSegmentId());
        return after(step + "-after", update.remoteLogSegmentId(), inner.updateRemoteLogSegmentMetadata(update));
    }

    private CompletableFuture<Void> after(String step, RemoteLogSegmentId segment, CompletableFuture<Void> write)
            throws RemoteStorageException {
        if (gate.isShut(step, segment)) {
            try {
                write.get();
            } catch (ExecutionException failed) {
                return write;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return write;
            }
        }
        gate.pass(step, segment);
        return write;
    }

    @Override
    public Optional<RemoteLogSegmentMetadata> remoteLogSegmentMetadata(TopicIdPartition partition, int epoch, long offset)
            throws RemoteStorageException {
        return inner.remoteLogSegmentMetadata(partition, epoch, offset);
    }

    @Override
    public Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(TopicIdPartition partition, int epoch, long offset)
            throws RemoteStorageException {
        return inner.nextSegmentWithTxnIndex(partition, epoch, offset);
    }

    @Override
    public Optional<Long> highestOffsetForEpoch(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        return inner.highestOffsetForEpoch(partition, epoch);
    }

    @Override
    public CompletableFuture<Void> putRemotePartitionDeleteMetadata(RemotePartitionDeleteMetadata delete) throws RemoteStorageException {
        return inner.putRemotePartitionDeleteMetadata(delete);
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition) throws RemoteStorageException {
        return inner.listRemoteLogSegments(partition);
    }

    @Override
    public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        return inner.listRemoteLogSegments(partition, epoch);
    }

    @Override
    public long remoteLogSize(TopicIdPartition partition, int epoch) throws RemoteStorageException {
        return inner.remoteLogSize(partition, epoch);
    }

    @Override
    public boolean isReady(TopicIdPartition partition) {
        return inner.isReady(partition);
    }

    @Override
    public void onPartitionLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) {
        inner.onPartitionLeadershipChanges(leaders, followers);
    }

    @Override
    public void onStopPartitions(Set<TopicIdPartition> partitions) {
        inner.onStopPartitions(partitions);
    }

    @Override
    public void close() throws IOException {
        inner.close();
    }
}
