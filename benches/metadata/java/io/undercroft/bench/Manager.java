package io.undercroft.bench;

import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** One manager of any class, opened and told of partitions as a broker does it. */
final class Manager {
    private static final long READY_S = 900;
    final RemoteLogMetadataManager spi;

    Manager(String className, String servers, int metadataPartitions, Map<String, String> further) throws Exception {
        Map<String, Object> configs = new HashMap<>();
        configs.put("remote.log.metadata.common.client.bootstrap.servers", servers);
        configs.put("remote.log.metadata.topic.num.partitions", String.valueOf(metadataPartitions));
        configs.put("remote.log.metadata.topic.replication.factor", "1");
        configs.put("remote.log.metadata.topic.min.isr", "1");
        configs.put("broker.id", "1");
        configs.put("cluster.id", "bench");
        configs.put("log.dir", System.getProperty("java.io.tmpdir"));
        configs.putAll(further);
        spi = (RemoteLogMetadataManager) Class.forName(className).getDeclaredConstructor().newInstance();
        spi.configure(configs);
        try {
            spi.getClass().getMethod("onBrokerReady").invoke(spi);
        } catch (NoSuchMethodException earlier) {
            // It begins by itself.
        }
        awaitStock();
    }

    /** The stock manager takes assignments only once it has its clients, and says nothing of it in its interface. */
    private void awaitStock() throws Exception {
        try {
            Method initialized = spi.getClass().getDeclaredMethod("isInitialized");
            initialized.setAccessible(true);
            while (!(Boolean) initialized.invoke(spi)) {
                Thread.sleep(1);
            }
        } catch (NoSuchMethodException another) {
            // Another class.
        }
    }

    void lead(Set<TopicIdPartition> partitions) {
        spi.onPartitionLeadershipChanges(partitions, Collections.emptySet());
    }

    void awaitReady(Collection<TopicIdPartition> partitions) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(READY_S);
        for (TopicIdPartition partition : partitions) {
            while (!spi.isReady(partition)) {
                if (System.nanoTime() > end) {
                    throw new IllegalStateException(partition + " is not ready after " + READY_S + " s");
                }
                Thread.sleep(1);
            }
        }
    }

    /** A copy as the broker tells it: begun, then finished. */
    CompletableFuture<Void> cycle(History history, TopicIdPartition of, int segment) throws RemoteStorageException {
        return spi.addRemoteLogSegmentMetadata(history.begun(of, segment)).thenCompose(added -> {
            try {
                return spi.updateRemoteLogSegmentMetadata(history.entered(of, segment, RemoteLogSegmentState.COPY_SEGMENT_FINISHED));
            } catch (RemoteStorageException failed) {
                throw new CompletionException(failed);
            }
        });
    }

    /** The first write of a leadership may come before the manager knows what it needs for it: it says so and is asked again. */
    void warmUp(History history, TopicIdPartition of, int segment) throws Exception {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(1);
        while (true) {
            try {
                cycle(history, of, segment).get(3, TimeUnit.MINUTES);
                return;
            } catch (ExecutionException | RetriableException early) {
                if (System.nanoTime() > end) {
                    throw early;
                }
                Thread.sleep(20);
            }
        }
    }

    /** Compares every answer on a partition with what the history says. */
    int check(History history, TopicIdPartition of) throws RemoteStorageException {
        int listed = 0;
        for (Iterator<RemoteLogSegmentMetadata> all = spi.listRemoteLogSegments(of); all.hasNext(); listed++) {
            RemoteLogSegmentMetadata segment = all.next();
            int number = (int) (segment.startOffset() / History.OFFSETS);
            is(of, number >= history.deleted && segment.remoteLogSegmentId().equals(history.id(of, number))
                && segment.state() == RemoteLogSegmentState.COPY_SEGMENT_FINISHED
                && segment.segmentLeaderEpochs().equals(History.epochs(number)), "a listed segment");
        }
        is(of, listed == history.live(), "the number of segments, " + listed);
        int newest = History.epoch(history.segments - 1);
        is(of, spi.highestOffsetForEpoch(of, newest).orElse(-1L) == (long) history.segments * History.OFFSETS - 1, "the highest offset");
        for (int number = Math.max(0, history.deleted - 3); number < history.segments; number++) {
            long offset = (long) number * History.OFFSETS + History.OFFSETS - 1;
            boolean found = spi.remoteLogSegmentMetadata(of, History.epoch(number), offset)
                .filter(segment -> segment.startOffset() == offset - History.OFFSETS + 1).isPresent();
            is(of, found == number >= history.deleted, "a look-up of segment " + number);
        }
        return listed;
    }

    private static void is(TopicIdPartition of, boolean right, String what) {
        if (!right) {
            throw new IllegalStateException(of + ": wrong: " + what);
        }
    }
}
