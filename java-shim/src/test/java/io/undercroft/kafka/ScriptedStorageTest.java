package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import javax.management.InstanceNotFoundException;
import javax.management.ObjectName;

import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager.IndexType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The storage side over a core that does what a topic's name says ({@code scripted_core.c}). */
@Tag("scripted")
@Timeout(60)
class ScriptedStorageTest {
    @TempDir
    Path folder;

    private UndercroftRemoteStorageManager manager;

    @BeforeEach
    void open() {
        manager = new UndercroftRemoteStorageManager();
        manager.configure(Map.of("broker.id", 5));
    }

    @AfterEach
    void close() throws Exception {
        manager.close();
        assertTrue(Threads.ours().isEmpty(), () -> Threads.ours().toString());
    }

    private LogSegmentData files() throws IOException {
        return Segments.files(folder, 10, false);
    }

    private double metric(String name) throws Exception {
        return (double) ManagementFactory.getPlatformMBeanServer().getAttribute(manager.metricsName(), name);
    }

    private interface Call {
        void run() throws Exception;
    }

    /** What {@code call} throws when its thread is interrupted 200 ms after it began; it must end soon and keep the flag. */
    private static Exception interrupted(Call call) throws Exception {
        CompletableFuture<Exception> thrown = new CompletableFuture<>();
        Thread caller = new Thread(() -> {
            try {
                call.run();
                thrown.completeExceptionally(new AssertionError("it returned"));
            } catch (Exception e) {
                if (Thread.currentThread().isInterrupted()) {
                    thrown.complete(e);
                } else {
                    thrown.completeExceptionally(new AssertionError("the flag is lost", e));
                }
            }
        });
        caller.start();
        Thread.sleep(200);
        caller.interrupt();
        return thrown.get(5, TimeUnit.SECONDS);
    }

    @Test
    void copyHandsPathsAndEpochsOverAndBringsCustomMetadataBack() throws Exception {
        LogSegmentData data = Segments.files(folder, 10, true);
        byte[] custom = manager.copyLogSegmentData(Segments.of("t"), data).orElseThrow().value();
        assertEquals(data.logSegment() + "|txn|8", new String(custom, StandardCharsets.UTF_8));
        assertEquals(0, data.leaderEpochIndex().position());
        assertFalse(manager.copyLogSegmentData(Segments.of("none"), files()).isPresent());
    }

    @Test
    void everyFailureOfACopyIsAPlainRemoteStorageException() throws Exception {
        for (String topic : new String[] {"fail-202-1", "sync-202-1", "fail-205-0", "fail-106-0", "sync-102-0", "fail-200-0", "fail-999-0"}) {
            RemoteStorageException thrown = assertThrows(RemoteStorageException.class,
                () -> manager.copyLogSegmentData(Segments.of(topic), files()), topic);
            assertEquals(RemoteStorageException.class, thrown.getClass());
            assertTrue(thrown.getMessage().startsWith("scripted: "), thrown.getMessage());
            assertTrue(thrown.getMessage().contains("\u2013"), "UTF-8 of the core arrives");
        }
    }

    @Test
    void wrongArgumentsAreRemoteStorageExceptionsToo() {
        assertThrows(RemoteStorageException.class, () -> manager.copyLogSegmentData(null, null));
        assertThrows(RemoteStorageException.class, () -> manager.fetchLogSegment(null, 0));
        assertThrows(RemoteStorageException.class, () -> manager.fetchLogSegment(Segments.of("t"), -1));
        assertThrows(RemoteStorageException.class, () -> manager.fetchLogSegment(Segments.of("t"), 5, 4));
        assertThrows(RemoteStorageException.class, () -> manager.fetchIndex(Segments.of("t"), null));
        assertThrows(RemoteStorageException.class, () -> manager.deleteLogSegmentData(null));
    }

    @Test
    void fetchFailuresShowInTheCall() throws Exception {
        for (String kind : new String[] {"fail", "sync"}) {
            assertThrows(RemoteResourceNotFoundException.class, () -> manager.fetchLogSegment(Segments.of(kind + "-200-0"), 0));
            assertThrows(RemoteResourceNotFoundException.class, () -> manager.fetchIndex(Segments.of(kind + "-200-0"), IndexType.TRANSACTION));
            assertEquals(RemoteStorageException.class, assertThrows(RemoteStorageException.class,
                () -> manager.fetchLogSegment(Segments.of(kind + "-201-0"), 0)).getClass());
            assertRetriable(assertThrows(RemoteStorageException.class, () -> manager.fetchLogSegment(Segments.of(kind + "-202-1"), 0)));
            assertRetriable(assertThrows(RemoteStorageException.class, () -> manager.deleteLogSegmentData(Segments.of(kind + "-202-1"))));
            assertEquals(RemoteStorageException.class, assertThrows(RemoteStorageException.class,
                () -> manager.deleteLogSegmentData(Segments.of(kind + "-203-0"))).getClass());
        }
        assertThrows(RemoteStorageException.class, () -> manager.fetchIndex(Segments.of("none"), IndexType.OFFSET));
        assertEquals(0, metric("open-readers"));
    }

    /** Brokers before 4.2 have no retriable exception. */
    private static void assertRetriable(RemoteStorageException thrown) {
        boolean isNewest = Boolean.getBoolean("undercroft.test.newest");
        assertEquals(isNewest ? "RetriableRemoteStorageException" : "RemoteStorageException", thrown.getClass().getSimpleName());
    }

    @Test
    void indexesAreAskedForByNumber() throws Exception {
        for (IndexType type : IndexType.values()) {
            try (InputStream index = manager.fetchIndex(Segments.of("t"), type)) {
                assertEquals(type.ordinal(), index.read());
                assertEquals(7, index.read());
                assertEquals(-1, index.read());
            }
        }
    }

    @Test
    void allBytesComeInOrderWhateverTheSizesOfReads() throws Exception {
        RemoteLogSegmentMetadata segment = Segments.of("t");
        int[] sizes = {17, 16_188, 1, 70_000, 300_000, 65_536, 3};
        try (InputStream stream = manager.fetchLogSegment(segment, 1_000)) {
            assertTrue(stream.available() > 0);
            int position = 1_000;
            byte[] chunk = new byte[300_002];
            for (int round = 0; ; round++) {
                int count = stream.read(chunk, 2, sizes[round % sizes.length]);
                if (count < 0) {
                    break;
                }
                assertNotEquals(0, count);
                for (int i = 0; i < count; i++) {
                    assertEquals(Segments.byteAt(position + i), chunk[2 + i]);
                }
                position += count;
            }
            assertEquals(Segments.SIZE, position);
            assertEquals(-1, stream.read());
            assertEquals(-1, stream.read(new byte[100_000]));
            assertEquals(0, stream.read(chunk, 0, 0));
        }
    }

    @Test
    void aRangeIsInclusiveAndSkipPassesOverBuffers() throws Exception {
        try (InputStream stream = manager.fetchLogSegment(Segments.of("t"), 10, 200_009)) {
            assertEquals(150_000, stream.skip(150_000));
            assertEquals(Segments.byteAt(150_010), (byte) stream.read());
            assertEquals(49_999, stream.skip(Long.MAX_VALUE));
            assertEquals(-1, stream.read());
        }
    }

    @Test
    void aLaterFailureIsAnIOExceptionAndNeverAnEnd() throws Exception {
        try (InputStream stream = manager.fetchLogSegment(Segments.of("late-201-0"), 0)) {
            assertEquals(100_000, stream.skip(100_000));
            for (int i = 0; i < 2; i++) {
                IOException thrown = assertThrows(IOException.class, () -> stream.read(new byte[10]));
                assertInstanceOf(RemoteStorageException.class, thrown.getCause());
                assertThrows(IOException.class, () -> stream.read(new byte[100_000]));
                assertThrows(IOException.class, stream::read);
            }
        }
        try (InputStream stream = manager.fetchLogSegment(Segments.of("late-200-0"), 0)) {
            stream.skip(100_000);
            assertInstanceOf(RemoteResourceNotFoundException.class, assertThrows(IOException.class, stream::read).getCause());
        }
    }

    @Test
    void readingAfterCloseFailsAndClosingAgainDoesNothing() throws Exception {
        InputStream stream = manager.fetchLogSegment(Segments.of("t"), 0);
        stream.close();
        stream.close();
        assertThrows(IOException.class, stream::read);
        assertThrows(IOException.class, () -> stream.read(new byte[100_000]));
        assertThrows(IOException.class, () -> stream.skip(1));
        assertThrows(IOException.class, stream::available);
        assertEquals(0, metric("open-readers"));
    }

    @Test
    void anInterruptEndsCopyFetchAndIndex() throws Exception {
        LogSegmentData files = files();
        assertInstanceOf(RemoteStorageException.class, interrupted(() -> manager.copyLogSegmentData(Segments.of("slow"), files)));
        assertInstanceOf(RemoteStorageException.class, interrupted(() -> manager.fetchLogSegment(Segments.of("slow"), 0)));
        assertInstanceOf(RemoteStorageException.class, interrupted(() -> manager.fetchIndex(Segments.of("slow"), IndexType.TRANSACTION)));
        assertInstanceOf(RemoteStorageException.class, interrupted(() -> manager.deleteLogSegmentData(Segments.of("slow"))));
        assertEquals(0, metric("open-readers"));
    }

    /** Throwing would leave the object of a copy that is complete; the flag ends the caller soon enough. */
    @Test
    void aCopyThatWasDoneWhenItWasInterruptedCountsAsDone() throws Exception {
        LogSegmentData files = files();
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        Thread copier = new Thread(() -> {
            try {
                done.complete(manager.copyLogSegmentData(Segments.of("stubborn"), files).isPresent() && Thread.currentThread().isInterrupted());
            } catch (RemoteStorageException e) {
                done.completeExceptionally(e);
            }
        });
        copier.start();
        Thread.sleep(200);
        copier.interrupt();
        assertTrue(done.get(5, TimeUnit.SECONDS));
    }

    @Test
    void anInterruptEndsAReadAndTheStreamIsNotAtItsEnd() throws Exception {
        try (InputStream stream = manager.fetchLogSegment(Segments.of("stall"), 0)) {
            stream.skip(100_000);
            assertInstanceOf(InterruptedIOException.class, interrupted(() -> stream.read(new byte[10])));
            assertInstanceOf(InterruptedIOException.class, interrupted(() -> stream.read(new byte[100_000])));
        }
    }

    @Test
    void closingAStreamEndsTheReadOfAnotherThread() throws Exception {
        InputStream stream = manager.fetchLogSegment(Segments.of("stall"), 0);
        stream.skip(100_000);
        CompletableFuture<Integer> read = CompletableFuture.supplyAsync(() -> {
            try {
                return stream.read(new byte[100_000]);
            } catch (IOException expected) {
                return Integer.MIN_VALUE;
            }
        });
        Thread.sleep(150);
        stream.close();
        assertEquals(Integer.MIN_VALUE, read.get(5, TimeUnit.SECONDS));
        assertEquals(0, metric("open-readers"));
    }

    @Test
    void closingTheManagerEndsEverything() throws Exception {
        LogSegmentData files = files();
        InputStream stream = manager.fetchLogSegment(Segments.of("stall"), 0);
        stream.skip(100_000);
        CompletableFuture<Class<?>> copy = thrownBy(() -> manager.copyLogSegmentData(Segments.of("slow"), files));
        CompletableFuture<Class<?>> read = thrownBy(stream::read);
        Thread.sleep(150);
        long began = System.nanoTime();
        manager.close();
        assertTrue(Duration.ofNanos(System.nanoTime() - began).toSeconds() < 5);
        assertEquals(RemoteStorageException.class, copy.get(5, TimeUnit.SECONDS));
        assertEquals(IOException.class, read.get(5, TimeUnit.SECONDS));
        assertThrows(IOException.class, stream::read);
        assertThrows(RemoteStorageException.class, () -> manager.fetchLogSegment(Segments.of("t"), 0));
        assertThrows(RemoteStorageException.class, () -> manager.copyLogSegmentData(Segments.of("t"), files));
        assertThrows(RemoteStorageException.class, () -> manager.deleteLogSegmentData(Segments.of("t")));
        manager.close();
    }

    private static CompletableFuture<Class<?>> thrownBy(Call call) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                call.run();
                return Void.class;
            } catch (Exception e) {
                return e.getClass();
            }
        });
    }

    @Test
    void aStreamThatNobodyClosedIsFreed() throws Exception {
        for (int i = 0; i < 10; i++) {
            manager.fetchLogSegment(Segments.of("t"), 0);
        }
        assertTrue(metric("open-readers") > 0);
        for (int i = 0; i < 100 && metric("open-readers") > 0; i++) {
            System.gc();
            Thread.sleep(50);
        }
        assertEquals(0, metric("open-readers"));
    }

    /** A heap that has no room for a result just now is one reason. */
    @Test
    void anAnswerWhoseBytesCannotBeTakenIsAFailureAndNoHang() throws Exception {
        LogSegmentData files = files();
        double before = metric("open-handles");
        CompletableFuture<Class<?>> copy = thrownBy(() -> manager.copyLogSegmentData(Segments.of("sealed"), files));
        assertEquals(RemoteStorageException.class, copy.get(5, TimeUnit.SECONDS));
        CompletableFuture<Class<?>> index = thrownBy(() -> manager.fetchIndex(Segments.of("sealed"), IndexType.OFFSET));
        assertEquals(RemoteStorageException.class, index.get(5, TimeUnit.SECONDS));
        assertEquals(before, metric("open-handles"));
        manager.deleteLogSegmentData(Segments.of("t"));
    }

    @Test
    void nothingOfACallStaysOpen() throws Exception {
        LogSegmentData files = files();
        Call all = () -> {
            manager.copyLogSegmentData(Segments.of("t"), files);
            assertThrows(RemoteStorageException.class, () -> manager.copyLogSegmentData(Segments.of("fail-202-1"), files));
            assertThrows(RemoteStorageException.class, () -> manager.copyLogSegmentData(Segments.of("sync-202-1"), files));
            manager.fetchIndex(Segments.of("t"), IndexType.OFFSET).close();
            manager.fetchLogSegment(Segments.of("t"), 0).close();
            manager.deleteLogSegmentData(Segments.of("t"));
        };
        all.run();
        double before = metric("open-handles");
        for (int i = 0; i < 20; i++) {
            all.run();
        }
        assertEquals(before, metric("open-handles"));
    }

    @Test
    void aSecondConfigureChangesNothing() throws Exception {
        ObjectName name = manager.metricsName();
        manager.configure(Map.of("broker.id", 6, "bad.key", "x"));
        assertEquals(name, manager.metricsName());
        manager.deleteLogSegmentData(Segments.of("t"));
        manager.close();
        manager.configure(Map.of());
        assertThrows(RemoteStorageException.class, () -> manager.deleteLogSegmentData(Segments.of("t")));
    }

    @Test
    void aBadValueIsAConfigExceptionAndLeavesNothingOpen() throws Exception {
        double before = metric("open-handles");
        UndercroftRemoteStorageManager refused = new UndercroftRemoteStorageManager();
        assertTrue(assertThrows(ConfigException.class, () -> refused.configure(Map.of("bad.key", "x"))).getMessage().contains("bad.key"));
        refused.close();
        assertEquals(before, metric("open-handles"));
    }

    @Test
    void recordsOfTheCoresLogReachTheLoggerOfTheirRoom() throws Exception {
        Path log = Path.of(System.getProperty("org.slf4j.simpleLogger.logFile"));
        manager.close();
        assertTrue(Files.readString(log).contains("WARN io.undercroft.storage - scripted core is open"));
    }

    @Test
    void managersHaveBeansOfTheirOwnThatGoWithThem() throws Exception {
        UndercroftRemoteStorageManager other = new UndercroftRemoteStorageManager();
        other.configure(Map.of("broker.id", 5));
        ObjectName first = manager.metricsName();
        ObjectName second = other.metricsName();
        assertEquals("undercroft:type=storage,broker-id=5,instance=0", first.toString());
        assertEquals("undercroft:type=storage,broker-id=5,instance=1", second.toString());
        assertEquals(2, ManagementFactory.getPlatformMBeanServer().getMBeanInfo(first).getAttributes().length);
        assertEquals(2, ManagementFactory.getPlatformMBeanServer().getAttributes(first, new String[] {"open-readers", "no", "open-handles"}).size());
        other.close();
        assertThrows(InstanceNotFoundException.class, () -> ManagementFactory.getPlatformMBeanServer().getMBeanInfo(second));
        manager.deleteLogSegmentData(Segments.of("t"));
    }
}
