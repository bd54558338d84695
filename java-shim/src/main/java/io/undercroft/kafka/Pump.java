package io.undercroft.kafka;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shim's one thread: takes completions and log records from the core, and frees streams that were never closed.
 *
 * <p>All managers of a class loader share it. The first one starts it; the last one to close joins it. Continuations of
 * futures run on it, so they must not wait for another call of ours.
 */
final class Pump {
    private static final Logger LOG = LoggerFactory.getLogger(Pump.class);
    private static final int WAIT_MS = 100;
    private static final long LEVEL_CHECK_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final long ROUND_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long JOIN_MS = 10_000;

    private static Pump running;
    private static int holders;

    private final long queue;
    private final Completions completions;
    private final OpenStreams streams = new OpenStreams();
    private final LogBridge logs;
    private final List<Runnable> rounds = new CopyOnWriteArrayList<>();
    private final Thread thread;
    private volatile boolean stopping;

    private Pump() throws NativeException {
        logs = new LogBridge();
        long created = 0;
        try {
            created = NativeQueue.create();
        } finally {
            if (created == 0) {
                logs.close();
            }
        }
        queue = created;
        completions = new Completions(queue);
        thread = new Thread(this::run, "undercroft-pump");
        thread.setDaemon(true);
    }

    /** The running pump, started if there is none. Each call needs one {@link #release}. */
    static synchronized Pump acquire() throws NativeException {
        if (running == null) {
            Pump started = new Pump();
            started.start();
            running = started;
        }
        holders++;
        return running;
    }

    /** A process that has no thread to spare has no pump: what waited for one that does not run would wait for ever. */
    private void start() {
        boolean started = false;
        try {
            thread.start();
            started = true;
        } finally {
            if (!started) {
                logs.close();
                NativeQueue.free(queue);
            }
        }
    }

    /** Gives it back; the last holder waits until its thread is gone. */
    static void release() {
        Pump last;
        synchronized (Pump.class) {
            holders--;
            if (holders > 0) {
                return;
            }
            last = running;
            running = null;
        }
        last.stopping = true;
        if (Thread.currentThread() != last.thread) {
            last.join();
        }
    }

    Completions completions() {
        return completions;
    }

    OpenStreams streams() {
        return streams;
    }

    /** Done about once a second, on this thread, until they are taken out. */
    List<Runnable> rounds() {
        return rounds;
    }

    private void join() {
        boolean interrupted = false;
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(JOIN_MS);
        while (thread.isAlive() && System.nanoTime() < deadline) {
            try {
                thread.join(JOIN_MS);
            } catch (InterruptedException again) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        long[] head = new long[4];
        long levelCheckAt = System.nanoTime() + LEVEL_CHECK_NANOS;
        long roundAt = System.nanoTime() + ROUND_NANOS;
        try {
            while (!stopping) {
                try {
                    takeCompletions(head, WAIT_MS);
                    logs.drain();
                    streams.freeLeaked();
                    completions.failLate(System.nanoTime());
                    if (System.nanoTime() - roundAt > 0) {
                        roundAt = System.nanoTime() + ROUND_NANOS;
                        rounds.forEach(Runnable::run);
                    }
                    if (System.nanoTime() - levelCheckAt > 0) {
                        logs.followLevel();
                        levelCheckAt = System.nanoTime() + LEVEL_CHECK_NANOS;
                    }
                } catch (NativeException | RuntimeException | Error failed) {
                    // What others wait for comes through here: whatever one round met, the next one goes on.
                    tell(failed);
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(WAIT_MS));
                }
            }
            takeCompletions(head, 0);
            logs.drain();
        } catch (NativeException | RuntimeException ending) {
            LOG.warn("The completion pump ends early", ending);
        } finally {
            completions.failAll();
            logs.close();
            NativeQueue.free(queue);
        }
    }

    /** Waits for one, then takes all that are there. */
    private void takeCompletions(long[] head, int waitMs) throws NativeException {
        int wait = waitMs;
        while (true) {
            byte[] bytes = next(head, wait);
            if (head[0] == 0) {
                return;
            }
            completions.complete(head[1], (int) head[2], head[3] != 0, bytes);
            wait = 0;
        }
    }

    /** An event whose bytes did not get here (the heap was full) has left the queue: the one who waits is told of a failure. */
    private byte[] next(long[] head, int waitMs) throws NativeException {
        head[0] = 0;
        try {
            return NativeQueue.next(queue, waitMs, head);
        } catch (NativeException | RuntimeException | Error lost) {
            if (head[0] != 0) {
                int status = (int) head[2];
                completions.fail(head[1], new NativeException(status == Status.OK ? Status.INTERNAL : status, head[3] != 0,
                    "it ended, but its answer could not be taken: " + lost));
            }
            throw lost;
        }
    }

    /** Logging may fail for the very reason that is to be logged. */
    private static void tell(Throwable failed) {
        try {
            LOG.error("The completion pump met an error and goes on", failed);
        } catch (RuntimeException | Error unloggable) {
            failed.addSuppressed(unloggable);
        }
    }
}
