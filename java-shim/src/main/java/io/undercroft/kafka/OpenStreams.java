package io.undercroft.kafka;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Readers behind streams that were handed out. A broker does not close a stream whose first batch could not be read, so
 * readers of unreachable streams are freed here, by the pump's thread rather than by one of a {@code Cleaner}'s own.
 */
final class OpenStreams {
    private static final Logger LOG = LoggerFactory.getLogger(OpenStreams.class);

    private final ReferenceQueue<SegmentStream> unreachable = new ReferenceQueue<>();
    private final Set<Lease> leases = ConcurrentHashMap.newKeySet();

    /** What keeps a reader known while its stream lives; must not refer to the stream. */
    static final class Lease extends PhantomReference<SegmentStream> {
        private final SegmentReader reader;
        private final long storage;

        private Lease(SegmentStream stream, ReferenceQueue<SegmentStream> queue, SegmentReader reader, long storage) {
            super(stream, queue);
            this.reader = reader;
            this.storage = storage;
        }
    }

    SegmentStream open(SegmentReader reader, long storage) {
        SegmentStream stream = new SegmentStream(reader);
        Lease lease = new Lease(stream, unreachable, reader, storage);
        leases.add(lease);
        reader.onClose(() -> leases.remove(lease));
        return stream;
    }

    void freeLeaked() {
        for (Reference<?> found = unreachable.poll(); found != null; found = unreachable.poll()) {
            Lease lease = (Lease) found;
            if (leases.remove(lease)) {
                lease.reader.close();
                LOG.debug("A stream of a remote segment was never closed; its reader has been freed");
            }
        }
    }

    /** Closes the readers of one manager: a read under way ends, later ones fail. */
    void closeAll(long storage) {
        for (Lease lease : leases) {
            if (lease.storage == storage) {
                lease.reader.close();
            }
        }
    }

    int count() {
        return leases.size();
    }
}
