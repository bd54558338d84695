package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.ReplicaNotAvailableException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Both managers with the real core, a folder as the store and an embedded log. */
@Timeout(120)
class CoreTest {
    private static final int SIZE = 3_000_000;

    @TempDir
    Path folder;

    private Path store;
    private final UndercroftRemoteStorageManager storage = new UndercroftRemoteStorageManager();
    private final UndercroftRemoteLogMetadataManager metadata = new UndercroftRemoteLogMetadataManager();

    @BeforeEach
    void prepare() throws IOException {
        store = Files.createDirectory(folder.resolve("store"));
    }

    @AfterEach
    void close() throws Exception {
        storage.close();
        metadata.close();
        assertTrue(Threads.ours().isEmpty(), () -> Threads.ours().toString());
        Threads.awaitNoNative();
    }

    private void openStorage(Map<String, ?> more) {
        Map<String, Object> configs = new HashMap<>(Map.of("broker.id", 1, "storage.backend.class", "filesystem",
            "storage.root", store.toString()));
        configs.putAll(more);
        storage.configure(configs);
    }

    private void openMetadata() {
        metadata.configure(Map.of("broker.id", 1, "cluster.id", "c", "log.dir", folder.resolve("kafka-logs").toString(),
            "undercroft.metadata.log", "embedded", "undercroft.metadata.embedded.path", folder.resolve("log").toString()));
    }

    /** Without the one that the manager tries the store with in the background. */
    private List<Path> objects() throws IOException {
        try (Stream<Path> all = Files.walk(store)) {
            return all.filter(path -> !path.getFileName().toString().startsWith(".undercroft-check")).filter(Files::isRegularFile)
                .collect(Collectors.toList());
        }
    }

    private RemoteLogSegmentMetadata copied(RemoteLogSegmentMetadata segment, LogSegmentData data) throws RemoteStorageException {
        Optional<CustomMetadata> custom = storage.copyLogSegmentData(segment, data);
        return segment.createWithUpdates(Segments.update(segment, RemoteLogSegmentState.COPY_SEGMENT_FINISHED, custom));
    }

    private void awaitReady(TopicIdPartition partition) throws InterruptedException {
        for (int i = 0; i < 200 && !metadata.isReady(partition); i++) {
            Thread.sleep(50);
        }
        assertTrue(metadata.isReady(partition));
    }

    private static byte[] range(int from, int to) {
        byte[] bytes = new byte[to - from];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = Segments.byteAt(from + i);
        }
        return bytes;
    }

    @Test
    void aSegmentLivesItsWholeLife() throws Exception {
        openStorage(Map.of());
        openMetadata();
        TopicIdPartition partition = Segments.partition("orders");
        assertThrows(RemoteResourceNotFoundException.class, () -> metadata.listRemoteLogSegments(partition));
        metadata.onPartitionLeadershipChanges(Set.of(partition), Set.of());
        awaitReady(partition);

        RemoteLogSegmentMetadata started = Segments.of(partition, 0, SIZE);
        LogSegmentData data = Segments.files(folder, SIZE, true);
        metadata.addRemoteLogSegmentMetadata(started).get(10, TimeUnit.SECONDS);
        assertFalse(metadata.remoteLogSegmentMetadata(partition, 0, 50).isPresent());
        Optional<CustomMetadata> custom = storage.copyLogSegmentData(started, data);
        assertTrue(custom.map(c -> c.value().length).orElse(0) <= 128);
        metadata.updateRemoteLogSegmentMetadata(Segments.update(started, RemoteLogSegmentState.COPY_SEGMENT_FINISHED, custom))
            .get(10, TimeUnit.SECONDS);

        RemoteLogSegmentMetadata found = metadata.remoteLogSegmentMetadata(partition, 0, 50).orElseThrow();
        assertEquals(started.createWithUpdates(Segments.update(started, RemoteLogSegmentState.COPY_SEGMENT_FINISHED, custom)), found);
        assertEquals(Optional.of(99L), metadata.highestOffsetForEpoch(partition, 0));
        assertEquals(SIZE, metadata.remoteLogSize(partition, 0));
        assertTrue(metadata.nextSegmentWithTxnIndex(partition, 0, 0).isPresent());
        try (InputStream stream = storage.fetchLogSegment(found, 0)) {
            assertArrayEquals(range(0, SIZE), stream.readAllBytes());
        }
        try (InputStream stream = storage.fetchLogSegment(found, 1_000_000, 1_999_999)) {
            assertArrayEquals(range(1_000_000, 2_000_000), stream.readAllBytes());
        }
        assertIndexes(found, data);

        metadata.updateRemoteLogSegmentMetadata(Segments.update(found, RemoteLogSegmentState.DELETE_SEGMENT_STARTED, custom)).get();
        storage.deleteLogSegmentData(found);
        storage.deleteLogSegmentData(found);
        metadata.updateRemoteLogSegmentMetadata(Segments.update(found, RemoteLogSegmentState.DELETE_SEGMENT_FINISHED, custom)).get();
        assertEquals(List.of(), objects());
        assertFalse(metadata.listRemoteLogSegments(partition).hasNext());
        metadata.onStopPartitions(Set.of(partition));
    }

    private void assertIndexes(RemoteLogSegmentMetadata segment, LogSegmentData data) throws Exception {
        Map<IndexType, byte[]> expected = Map.of(
            IndexType.OFFSET, Files.readAllBytes(data.offsetIndex()),
            IndexType.TIMESTAMP, Files.readAllBytes(data.timeIndex()),
            IndexType.PRODUCER_SNAPSHOT, Files.readAllBytes(data.producerSnapshotIndex()),
            IndexType.TRANSACTION, Files.readAllBytes(data.transactionIndex().orElseThrow()),
            IndexType.LEADER_EPOCH, bytes(data.leaderEpochIndex()));
        for (Map.Entry<IndexType, byte[]> index : expected.entrySet()) {
            try (InputStream stream = storage.fetchIndex(segment, index.getKey())) {
                assertArrayEquals(index.getValue(), stream.readAllBytes(), index.getKey().name());
            }
        }
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    @Test
    void anAbsentTransactionIndexIsNotFound() throws Exception {
        openStorage(Map.of());
        RemoteLogSegmentMetadata segment = copied(Segments.of(Segments.partition("t"), 0, 1000), Segments.files(folder, 1000, false));
        assertThrows(RemoteResourceNotFoundException.class, () -> storage.fetchIndex(segment, IndexType.TRANSACTION));
    }

    @Test
    void whatWasNeverCopiedCanBeDeleted() throws Exception {
        openStorage(Map.of());
        storage.deleteLogSegmentData(Segments.of("t"));
    }

    /** The reader is another manager, which has nothing of the segment in its caches. */
    @Test
    void whatIsGoneIsNotFound() throws Exception {
        openStorage(Map.of());
        RemoteLogSegmentMetadata segment = copied(Segments.of(Segments.partition("t"), 0, 1000), Segments.files(folder, 1000, false));
        Files.delete(objects().get(0));
        try (UndercroftRemoteStorageManager other = new UndercroftRemoteStorageManager()) {
            other.configure(Map.of("storage.backend.class", "filesystem", "storage.root", store.toString()));
            assertThrows(RemoteResourceNotFoundException.class, () -> other.fetchLogSegment(segment, 0));
            assertThrows(RemoteResourceNotFoundException.class, () -> other.fetchIndex(segment, IndexType.OFFSET));
        }
    }

    @Test
    void damageIsAnErrorAndNeverWrongDataOrAnEarlyEnd() throws Exception {
        openStorage(Map.of());
        RemoteLogSegmentMetadata segment = copied(Segments.of(Segments.partition("t"), 0, SIZE), Segments.files(folder, SIZE, false));
        Path object = objects().get(0);
        byte[] whole = Files.readAllBytes(object);
        byte[] flipped = whole.clone();
        flipped[SIZE / 2] ^= 1;
        byte[] cut = java.util.Arrays.copyOf(whole, SIZE / 2);
        for (byte[] damaged : List.of(flipped, cut)) {
            Files.write(object, damaged);
            Exception thrown = assertThrows(Exception.class, () -> {
                try (UndercroftRemoteStorageManager other = new UndercroftRemoteStorageManager()) {
                    other.configure(Map.of("storage.backend.class", "filesystem", "storage.root", store.toString()));
                    try (InputStream stream = other.fetchLogSegment(segment, 0)) {
                        stream.readAllBytes();
                    }
                }
            });
            assertTrue(thrown instanceof RemoteStorageException || thrown instanceof IOException, thrown.toString());
            assertTrue(thrown.getMessage().contains(object.getFileName().toString()), thrown.getMessage());
        }
    }

    @Test
    void aMissingFolderLetsTheBrokerStartAndNamesItselfAtUse() throws Exception {
        Files.delete(store);
        openStorage(Map.of("upload.cleanup.timeout.ms", "1000"));
        LogSegmentData data = Segments.files(folder, 1000, false);
        RemoteStorageException thrown = assertThrows(RemoteStorageException.class,
            () -> storage.copyLogSegmentData(Segments.of(Segments.partition("t"), 0, 1000), data));
        assertTrue(thrown.getMessage().contains(store.toString()), thrown.getMessage());
    }

    @Test
    void aBadValueIsAConfigExceptionWithKeyValueAndRange() {
        ConfigException thrown = assertThrows(ConfigException.class, () -> openStorage(Map.of("upload.parts.in.flight", "many")));
        assertTrue(thrown.getMessage().startsWith("rsm.config.upload.parts.in.flight = ") && thrown.getMessage().contains("many"), thrown.getMessage());
        assertThrows(ConfigException.class, () -> new UndercroftRemoteStorageManager().configure(Map.of()));
    }

    @Test
    void anInterruptedCopyLeavesNoObject() throws Exception {
        openStorage(Map.of("upload.rate.limit.bytes.per.second", "1048576"));
        LogSegmentData data = Segments.files(folder, 10 * SIZE, false);
        CompletableFuture<Exception> thrown = new CompletableFuture<>();
        Thread copier = new Thread(() -> {
            try {
                storage.copyLogSegmentData(Segments.of(Segments.partition("t"), 0, 10 * SIZE), data);
                thrown.completeExceptionally(new AssertionError("it returned"));
            } catch (Exception e) {
                thrown.complete(Thread.currentThread().isInterrupted() ? e : new IllegalStateException("the flag is lost", e));
            }
        });
        copier.start();
        Thread.sleep(500);
        copier.interrupt();
        assertEquals(RemoteStorageException.class, thrown.get(15, TimeUnit.SECONDS).getClass());
        storage.close();
        assertEquals(List.of(), objects());
    }

    @Test
    void closingInTheMiddleOfACopyEndsIt() throws Exception {
        openStorage(Map.of("upload.rate.limit.bytes.per.second", "1048576"));
        LogSegmentData data = Segments.files(folder, 10 * SIZE, false);
        CompletableFuture<Class<?>> thrown = CompletableFuture.supplyAsync(() -> {
            try {
                storage.copyLogSegmentData(Segments.of(Segments.partition("t"), 0, 10 * SIZE), data);
                return Void.class;
            } catch (Exception e) {
                return e.getClass();
            }
        });
        Thread.sleep(500);
        storage.close();
        assertEquals(RemoteStorageException.class, thrown.get(15, TimeUnit.SECONDS));
        assertEquals(List.of(), objects());
    }

    @Test
    void streamsMayBeClosedReadAndLeakedByManyThreadsAtOnce() throws Exception {
        openStorage(Map.of());
        RemoteLogSegmentMetadata segment = copied(Segments.of(Segments.partition("t"), 0, SIZE), Segments.files(folder, SIZE, false));
        List<CompletableFuture<Void>> readers = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            readers.add(CompletableFuture.runAsync(() -> {
                for (int i = 0; i < 100; i++) {
                    readAndClose(segment, i);
                }
            }));
        }
        for (CompletableFuture<Void> reader : readers) {
            reader.get(60, TimeUnit.SECONDS);
        }
        System.gc();
    }

    private void readAndClose(RemoteLogSegmentMetadata segment, int i) {
        try {
            InputStream stream = storage.fetchLogSegment(segment, i * 1000);
            assertEquals(Segments.byteAt(i * 1000), (byte) stream.read());
            if (i % 3 == 0) {
                CompletableFuture.runAsync(() -> {
                    try {
                        stream.close();
                    } catch (IOException impossible) {
                        throw new java.io.UncheckedIOException(impossible);
                    }
                });
            }
            byte[] rest = new byte[200_000];
            try {
                stream.read(rest);
                stream.read(rest);
            } catch (IOException closed) {
                assertEquals(0, i % 3, closed.toString());
            }
            if (i % 3 == 1) {
                stream.close();
            }
        } catch (RemoteStorageException | IOException failed) {
            throw new AssertionError(failed);
        }
    }

    @Test
    void metricsCountWhatWasCopied() throws Exception {
        openStorage(Map.of());
        copied(Segments.of(Segments.partition("t"), 0, 1000), Segments.files(folder, 1000, false));
        double sum = 0;
        for (MBeanAttributeInfo attribute : ManagementFactory.getPlatformMBeanServer().getMBeanInfo(storage.metricsName()).getAttributes()) {
            sum += (double) ManagementFactory.getPlatformMBeanServer().getAttribute(storage.metricsName(), attribute.getName());
        }
        assertTrue(sum >= 1000, "some metric counts the bytes: " + sum);
    }

    @Test
    void metricsHaveTheNamesOfAivensPluginWhereThatIsAskedFor() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName all = new ObjectName("aiven.*:*");
        ObjectName rsm = new ObjectName("aiven.kafka.server.tieredstorage:type=remote-storage-manager-metrics");
        ObjectName ofTopic = new ObjectName(rsm + ",topic=t");
        openStorage(Map.of("metrics.aiven.names", "true", "metrics.topics.enabled", "true"));
        assertEquals(0.0, server.getAttribute(rsm, "object-upload-total"), "there from the start");
        RemoteLogSegmentMetadata segment = copied(Segments.of(Segments.partition("t"), 0, 1000), Segments.files(folder, 1000, false));
        storage.fetchLogSegment(segment, 0, 99).close();
        storage.deleteLogSegmentData(segment);
        assertEquals(1.0, server.getAttribute(rsm, "object-upload-total"));
        assertEquals(1.0, server.getAttribute(rsm, "segment-delete-total"));
        assertEquals(1000.0, server.getAttribute(rsm, "segment-delete-bytes-total"));
        assertEquals(100.0, server.getAttribute(rsm, "segment-fetch-requested-bytes-total"));
        assertTrue((double) server.getAttribute(rsm, "object-upload-bytes-total") > 1000);
        assertTrue((double) server.getAttribute(rsm, "segment-copy-time-avg") > 0);
        for (int i = 0; i < 200 && !server.isRegistered(ofTopic); i++) {
            Thread.sleep(100);
        }
        assertEquals(1000.0, server.getAttribute(ofTopic, "segment-delete-bytes-total"));
        storage.close();
        assertTrue(server.queryNames(all, null).isEmpty());
    }

    @Test
    void closeFailsNothingThatWasDoneAndRefusesTheRest() throws Exception {
        openMetadata();
        TopicIdPartition partition = Segments.partition("t");
        metadata.onPartitionLeadershipChanges(Set.of(partition), Set.of());
        awaitReady(partition);
        List<CompletableFuture<Void>> writes = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            writes.add(metadata.addRemoteLogSegmentMetadata(Segments.of(partition, i * 100L, 1000)));
        }
        for (CompletableFuture<Void> write : writes) {
            write.get(30, TimeUnit.SECONDS);
        }
        int count = 0;
        for (var segments = metadata.listRemoteLogSegments(partition); segments.hasNext(); segments.next()) {
            count++;
        }
        assertEquals(500, count);
        metadata.close();
        assertThrows(IllegalStateException.class, () -> metadata.listRemoteLogSegments(partition));
    }

    /** Both sides were told the number of one broker, so they work together: no attempt begins while the store is away. */
    @Test
    void whileTheStoreIsAwayAnAttemptIsRefusedQuietlyAndTopicsHaveTheirBeans() throws Exception {
        Map<String, Object> away = new HashMap<>(Map.of("broker.id", 77, "storage.backend.class", "s3", "storage.s3.bucket.name", "bucket",
            "storage.s3.endpoint.url", "http://127.0.0.1:9", "storage.aws.access.key.id", "k", "storage.aws.secret.access.key", "s",
            "storage.retry.attempts.max", "1", "upload.cleanup.timeout.ms", "50", "upload.outage.failures", "1"));
        away.put("delete.handover.ms", "500");
        storage.configure(away);
        metadata.configure(Map.of("broker.id", 77, "undercroft.metadata.log", "embedded",
            "undercroft.metadata.embedded.path", folder.resolve("joined").toString()));
        TopicIdPartition partition = Segments.partition("joined");
        metadata.onPartitionLeadershipChanges(Set.of(partition), Set.of());
        awaitReady(partition);
        ObjectName dangling = new ObjectName(
            "kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogCount,topic=joined");
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (!ManagementFactory.getPlatformMBeanServer().isRegistered(dangling) && System.nanoTime() < end) {
            Thread.sleep(20);
        }
        assertEquals(0L, ManagementFactory.getPlatformMBeanServer().getAttribute(dangling, "Value"));
        RemoteLogSegmentMetadata segment = Segments.of(partition, 0, 1000);
        metadata.addRemoteLogSegmentMetadata(segment).get(30, TimeUnit.SECONDS);
        LogSegmentData data = Segments.files(folder, 1000, false);
        assertThrows(RemoteStorageException.class, () -> storage.copyLogSegmentData(segment, data));
        assertThrows(ReplicaNotAvailableException.class,
            () -> metadata.addRemoteLogSegmentMetadata(Segments.of(partition, 100, 1000)));
        storage.deleteLogSegmentData(segment);
        metadata.close();
        assertFalse(ManagementFactory.getPlatformMBeanServer().isRegistered(dangling));
    }
}
