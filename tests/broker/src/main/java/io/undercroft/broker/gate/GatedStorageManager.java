package io.undercroft.broker.gate;

import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** Stops before and after a copy and a delete; all else goes straight through. */
public final class GatedStorageManager implements RemoteStorageManager {
    private RemoteStorageManager inner;
    private Gate gate;

    @Override
    public void configure(Map<String, ?> configs) {
        gate = new Gate(configs);
        inner = Gate.delegate(configs, RemoteStorageManager.class);
        inner.configure(Gate.others(configs));
    }

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata segment, LogSegmentData data)
            throws RemoteStorageException {
        gate.pass("copy-before", segment.remoteLogSegmentId());
        Optional<CustomMetadata> custom = inner.copyLogSegmentData(segment, data);
        gate.pass("copy-after", segment.remoteLogSegmentId());
        return custom;
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start) throws RemoteStorageException {
        return inner.fetchLogSegment(segment, start);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start, int end) throws RemoteStorageException {
        return inner.fetchLogSegment(segment, start, end);
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType type) throws RemoteStorageException {
        return inner.fetchIndex(segment, type);
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        gate.pass("delete-before", segment.remoteLogSegmentId());
        inner.deleteLogSegmentData(segment);
        gate.pass("delete-after", segment.remoteLogSegmentId());
    }

    @Override
    public void close() throws IOException {
        inner.close();
    }
}
