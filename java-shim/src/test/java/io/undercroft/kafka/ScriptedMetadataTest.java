package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import javax.management.MBeanServer;
import javax.management.ObjectName;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.ReplicaNotAvailableException;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** The metadata side over a core that does what a topic's name says ({@code scripted_core.c}). */
@Tag("scripted")
@Timeout(60)
class ScriptedMetadataTest {
    private UndercroftRemoteLogMetadataManager manager;

    @BeforeEach
    void open() {
        manager = new UndercroftRemoteLogMetadataManager();
        manager.configure(Map.of("broker.id", 5, "log.dir", "/x"));
    }

    @AfterEach
    void close() throws Exception {
        manager.close();
        assertTrue(Threads.ours().isEmpty(), () -> Threads.ours().toString());
    }

    private CompletableFuture<Void> update(String topic) throws RemoteStorageException {
        return manager.updateRemoteLogSegmentMetadata(
            Segments.update(Segments.of(topic), RemoteLogSegmentState.COPY_SEGMENT_FINISHED, Optional.empty()));
    }

    /** Every call that asks about a partition. */
    private List<Executable> lookups(String topic) {
        TopicIdPartition partition = Segments.partition(topic);
        return List.of(
            () -> manager.remoteLogSegmentMetadata(partition, 1, 0),
            () -> manager.nextSegmentWithTxnIndex(partition, 1, 0),
            () -> manager.highestOffsetForEpoch(partition, 1),
            () -> manager.listRemoteLogSegments(partition),
            () -> manager.listRemoteLogSegments(partition, 1),
            () -> manager.remoteLogSize(partition, 1));
    }

    /** Every call that writes. */
    private List<Executable> writes(String topic) {
        return List.of(
            () -> manager.addRemoteLogSegmentMetadata(Segments.of(topic)).get(),
            () -> update(topic).get(),
            () -> manager.putRemotePartitionDeleteMetadata(new RemotePartitionDeleteMetadata(Segments.partition(topic),
                RemotePartitionDeleteState.DELETE_PARTITION_MARKED, 1, 2)).get());
    }

    @Test
    void aSegmentComesBackAsItWasAdded() throws Exception {
        RemoteLogSegmentMetadata segment = Segments.of("t");
        manager.addRemoteLogSegmentMetadata(segment).get();
        RemoteLogSegmentMetadata finished = segment.createWithUpdates(Segments.update(segment, RemoteLogSegmentState.COPY_SEGMENT_FINISHED,
            Optional.empty()));
        RemoteLogSegmentMetadata found = manager.remoteLogSegmentMetadata(segment.topicIdPartition(), 0, 0).orElseThrow();
        assertEquals(finished.remoteLogSegmentId(), found.remoteLogSegmentId());
        assertEquals(finished.segmentLeaderEpochs(), found.segmentLeaderEpochs());
        assertEquals(finished.state(), found.state());
        assertEquals(segment.segmentSizeInBytes(), found.segmentSizeInBytes());
        assertEquals(1, count(segment.topicIdPartition()));
        assertFalse(manager.remoteLogSegmentMetadata(Segments.partition("other"), 0, 0).isPresent());
        assertFalse(manager.highestOffsetForEpoch(segment.topicIdPartition(), 0).isPresent());
        assertEquals(Optional.of(99L), manager.highestOffsetForEpoch(segment.topicIdPartition(), 1));
        assertEquals(1234, manager.remoteLogSize(segment.topicIdPartition(), 0));
    }

    /** 4.0 and later say whether a segment has aborted transactions; 3.9 has no word for it. */
    @Test
    void theTransactionFlagPassesWhereTheBrokerHasIt() throws Exception {
        RemoteLogSegmentMetadata plain = Segments.of("t");
        for (boolean isEmpty : new boolean[] {true, false}) {
            RemoteLogSegmentMetadata segment = KafkaApi.segment(plain.remoteLogSegmentId(), 0, 1, 2, 3, 4, 5,
                Optional.of(new CustomMetadata(new byte[] {9})), plain.state(), Map.of(1, 0L, 2, 1L), isEmpty);
            manager.addRemoteLogSegmentMetadata(segment).get();
            RemoteLogSegmentMetadata found = manager.listRemoteLogSegments(plain.topicIdPartition()).next();
            assertEquals(isEmpty && Boolean.getBoolean("undercroft.test.newest"), KafkaApi.isTxnIndexEmpty(found));
            assertEquals(segment.customMetadata(), found.customMetadata());
            assertEquals(segment.segmentLeaderEpochs(), found.segmentLeaderEpochs());
        }
    }

    private int count(TopicIdPartition partition) throws RemoteStorageException {
        List<RemoteLogSegmentMetadata> segments = new ArrayList<>();
        manager.listRemoteLogSegments(partition).forEachRemaining(segments::add);
        return segments.size();
    }

    @Test
    void danglingIsShownAsBeingDeleted() throws Exception {
        RemoteLogSegmentMetadata segment = Segments.of("dangling");
        manager.addRemoteLogSegmentMetadata(segment).get();
        assertEquals(RemoteLogSegmentState.DELETE_SEGMENT_STARTED,
            manager.listRemoteLogSegments(segment.topicIdPartition(), 0).next().state());
    }

    @Test
    void notReadyIsRetriableAndNeverEmpty() {
        for (String topic : new String[] {"sync-300-1", "sync-202-1", "sync-103-1"}) {
            for (Executable call : lookups(topic)) {
                assertThrows(ReplicaNotAvailableException.class, call);
            }
            for (Executable call : writes(topic)) {
                assertThrows(ReplicaNotAvailableException.class, call);
            }
        }
    }

    @Test
    void aLookupThatComesTooEarlyWaitsForAMoment() throws Exception {
        TopicIdPartition late = Segments.partition("sync-300-1");
        long start = System.nanoTime();
        assertThrows(ReplicaNotAvailableException.class, () -> manager.highestOffsetForEpoch(late, 1));
        assertTrue(System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(90));
        Thread.currentThread().interrupt();
        start = System.nanoTime();
        assertThrows(ReplicaNotAvailableException.class, () -> manager.highestOffsetForEpoch(late, 1));
        assertTrue(Thread.interrupted(), "the interrupt stays");
        assertTrue(System.nanoTime() - start < TimeUnit.MILLISECONDS.toNanos(90));
        assertEquals(Optional.of(99L), manager.highestOffsetForEpoch(Segments.partition("soon"), 1));
    }

    @Test
    void anUnknownPartitionIsNotFoundForALookupAndNotYetForAWrite() {
        for (Executable call : lookups("sync-301-0")) {
            assertThrows(RemoteResourceNotFoundException.class, call);
        }
        for (Executable call : writes("sync-301-0")) {
            assertThrows(ReplicaNotAvailableException.class, call);
        }
    }

    @Test
    void otherFailuresAreRemoteStorageExceptions() {
        for (String topic : new String[] {"sync-106-0", "sync-203-0", "sync-303-0", "sync-304-0", "sync-777-0"}) {
            for (Executable call : lookups(topic)) {
                assertEquals(RemoteStorageException.class, assertThrows(RemoteStorageException.class, call).getClass());
            }
        }
    }

    @Test
    void aFailedFutureCarriesTheMappedException() {
        for (Executable call : writes("fail-202-1")) {
            assertInstanceOf(ReplicaNotAvailableException.class, assertThrows(ExecutionException.class, call).getCause());
        }
        for (Executable call : writes("fail-303-0")) {
            assertInstanceOf(RemoteStorageException.class, assertThrows(ExecutionException.class, call).getCause());
        }
        for (Executable call : writes("fail-302-0")) {
            assertInstanceOf(RemoteResourceNotFoundException.class, assertThrows(ExecutionException.class, call).getCause());
        }
    }

    @Test
    void wrongArgumentsAreRefusedAsTheStockManagerRefusesThem() {
        assertThrows(NullPointerException.class, () -> manager.addRemoteLogSegmentMetadata(null));
        assertThrows(NullPointerException.class, () -> manager.updateRemoteLogSegmentMetadata(null));
        assertThrows(NullPointerException.class, () -> manager.putRemotePartitionDeleteMetadata(null));
        assertThrows(NullPointerException.class, () -> manager.remoteLogSegmentMetadata(null, 0, 0));
        assertThrows(NullPointerException.class, () -> manager.onPartitionLeadershipChanges(null, Set.of()));
        assertThrows(NullPointerException.class, () -> manager.onStopPartitions(null));
        RemoteLogSegmentMetadata started = Segments.of("t");
        assertThrows(IllegalArgumentException.class, () -> manager.addRemoteLogSegmentMetadata(started.createWithUpdates(
            Segments.update(started, RemoteLogSegmentState.COPY_SEGMENT_FINISHED, Optional.empty()))));
        assertThrows(IllegalArgumentException.class, () -> manager.updateRemoteLogSegmentMetadata(
            Segments.update(started, RemoteLogSegmentState.COPY_SEGMENT_STARTED, Optional.empty())));
    }

    @Test
    void isReadyNeverThrows() throws Exception {
        assertTrue(manager.isReady(Segments.partition("t")));
        assertFalse(manager.isReady(Segments.partition("sync-106-0")));
        assertFalse(manager.isReady(null));
        manager.close();
        assertFalse(manager.isReady(Segments.partition("t")));
        assertFalse(new UndercroftRemoteLogMetadataManager().isReady(Segments.partition("t")));
    }

    @Test
    void leadershipChangesThatFailAreLoggedAndNotThrown() {
        manager.onPartitionLeadershipChanges(Set.of(Segments.partition("a"), Segments.partition("bb")), Set.of());
        manager.onPartitionLeadershipChanges(Set.of(Segments.partition("sync-106-0")), Set.of(Segments.partition("c")));
        manager.onStopPartitions(Set.of(Segments.partition("a")));
    }

    @Test
    void closeFailsOpenFuturesAtOnceAndLaterCallsAreRefused() throws Exception {
        List<CompletableFuture<Void>> open = new ArrayList<>();
        for (int i = 0; i < 2_000; i++) {
            open.add(update("slow"));
        }
        manager.close();
        for (CompletableFuture<Void> future : open) {
            assertInstanceOf(IllegalStateException.class,
                assertThrows(ExecutionException.class, () -> future.get(5, TimeUnit.SECONDS)).getCause());
        }
        for (Executable call : lookups("t")) {
            assertThrows(IllegalStateException.class, call);
        }
        for (Executable call : writes("t")) {
            assertThrows(IllegalStateException.class, call);
        }
        assertThrows(IllegalStateException.class, () -> manager.onPartitionLeadershipChanges(Set.of(), Set.of()));
        assertThrows(IllegalStateException.class, () -> manager.onStopPartitions(Set.of()));
        manager.close();
    }

    @Test
    void aFutureMayCloseTheManagerThatCompletesIt() throws Exception {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        update("t").whenComplete((done, failure) -> {
            try {
                manager.close();
                closed.complete(null);
            } catch (Exception e) {
                closed.completeExceptionally(e);
            }
        });
        closed.get(5, TimeUnit.SECONDS);
        for (int i = 0; i < 50 && !Threads.ours().isEmpty(); i++) {
            Thread.sleep(20);
        }
    }

    private static Set<String> beans() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        Set<String> names = new TreeSet<>();
        server.queryNames(new ObjectName("kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogCount,topic=*"), null)
            .forEach(name -> names.add(name.toString()));
        server.queryNames(new ObjectName("undercroft:type=metadata,name=*,*"), null).forEach(name -> names.add(name.toString()));
        return names;
    }

    private static void awaitBeans(int count) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (beans().size() != count && System.nanoTime() < end) {
            Thread.sleep(20);
        }
        assertEquals(count, beans().size(), () -> "wanted " + count);
    }

    @Test
    void metricsOfATopicHaveKafkasNameAndComeAndGoWithIt() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        manager.onPartitionLeadershipChanges(Set.of(Segments.partition("beans-2-0")), Set.of());
        awaitBeans(4);
        String kafkas = "kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogCount,topic=t1";
        assertTrue(beans().contains(kafkas), () -> "no bean");
        ObjectName ours = new ObjectName("undercroft:type=metadata,broker-id=5,instance=0,name=other,topic=t1");
        assertEquals(104L, server.getAttribute(new ObjectName(kafkas), "Value"));
        assertEquals(105L, server.getAttribute(ours, "Value"));
        manager.onPartitionLeadershipChanges(Set.of(Segments.partition("beans-1-0")), Set.of());
        awaitBeans(2);
        assertFalse(server.isRegistered(ours));
        // Values are those of the names even before the beans have followed.
        manager.onPartitionLeadershipChanges(Set.of(Segments.partition("beans-3-0")), Set.of());
        assertEquals(103L, server.getAttribute(new ObjectName("undercroft:type=metadata,broker-id=5,instance=0,name=other,topic=t0"), "Value"));
        awaitBeans(6);
        manager.close();
        assertEquals(Set.of(), beans());
    }

    @Test
    void managersOfOneJvmDoNotFightForKafkasNames() throws Exception {
        manager.onPartitionLeadershipChanges(Set.of(Segments.partition("beans-1-0")), Set.of());
        awaitBeans(2);
        UndercroftRemoteLogMetadataManager other = new UndercroftRemoteLogMetadataManager();
        other.configure(Map.of("broker.id", 6, "log.dir", "/x"));
        awaitBeans(4);
        assertTrue(beans().contains("undercroft:type=metadata,broker-id=6,instance=0,name=dangling,topic=t0"), "under its own name");
        manager.close();
        awaitBeans(2);
        other.close();
        assertEquals(Set.of(), beans());
    }

    @Test
    void theThreadForNewsOfTheClusterIsNotKeptForLong() throws Exception {
        long bound = MetadataLoader.waitMsMax;
        MetadataLoader.waitMsMax = 200;
        Throwable[] told = new Throwable[1];
        Thread loader = new Thread(() -> told[0] = assertThrows(ExecutionException.class, () -> update("slow").get()),
            "kafka-1-metadata-loader-event-handler");
        try {
            long start = System.nanoTime();
            loader.start();
            loader.join(10_000);
            assertTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(5));
            assertInstanceOf(ReplicaNotAvailableException.class, told[0].getCause());
        } finally {
            MetadataLoader.waitMsMax = bound;
        }
    }
}
