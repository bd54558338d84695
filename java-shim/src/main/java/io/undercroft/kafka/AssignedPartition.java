package io.undercroft.kafka;

import java.lang.ref.WeakReference;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/**
 * A partition that a broker leads or follows: its frame, made once, and the segments that were listed last.
 *
 * <p>A broker lists a partition for each of its epochs, several times within a moment, every half minute. The objects are
 * kept until the next garbage collection and no longer: what the core holds in a fraction of the memory is not to be held
 * again by Java.
 */
final class AssignedPartition {
    private final TopicIdPartition partition;
    private final byte[] frame;
    private volatile WeakReference<Listing> listing = new WeakReference<>(null);

    /** What was listed while the core's stamp was this one, by the epoch asked for. */
    private static final class Listing {
        private final long stamp;
        private final ConcurrentHashMap<Integer, List<RemoteLogSegmentMetadata>> lists = new ConcurrentHashMap<>();

        Listing(long stamp) {
            this.stamp = stamp;
        }
    }

    AssignedPartition(TopicIdPartition partition) {
        this.partition = partition;
        this.frame = SegmentCodec.partition(partition);
    }

    byte[] frame() {
        return frame;
    }

    /** Segments of an epoch, or of all ({@code -1}). */
    List<RemoteLogSegmentMetadata> list(Session open, int epoch) throws NativeException {
        long stamp = NativeMetadata.listStamp(open.handle(), frame);
        Listing kept = listing.get();
        boolean current = kept != null && kept.stamp == stamp && stamp != 0;
        List<RemoteLogSegmentMetadata> known = current ? kept.lists.get(epoch) : null;
        if (known != null) {
            return known;
        }
        byte[] frames = NativeMetadata.list(open.handle(), frame, epoch);
        List<RemoteLogSegmentMetadata> listed = Collections.unmodifiableList(SegmentCodec.segments(frames, partition));
        if (stamp != 0 && NativeMetadata.listStamp(open.handle(), frame) == stamp) {
            Listing keeper = current ? kept : new Listing(stamp);
            keeper.lists.put(epoch, listed);
            if (!current) {
                listing = new WeakReference<>(keeper);
            }
        }
        return listed;
    }
}
