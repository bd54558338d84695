package io.undercroft.kafka;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/** A native reader and who may touch it: one thread reads, any thread closes, in any order. */
final class SegmentReader {
    /** How long a thread stays in native code before it looks whether it was interrupted. */
    private static final int SLICE_MS = 100;
    /** A store has its own deadlines, all shorter; this is for one that forgets them. */
    private static final long READ_MS_MAX = 300_000;
    private static final long CLOSE_MS_MAX = 5_000;

    private final long handle;
    private final ReentrantLock reading = new ReentrantLock();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile Runnable onClose = () -> { };

    SegmentReader(long handle) {
        this.handle = handle;
    }

    void onClose(Runnable action) {
        onClose = action;
    }

    boolean isClosed() {
        return closed.get();
    }

    /**
     * Reads at least one byte, or 0 at the end of the range. {@code len} must not be 0.
     *
     * @throws InterruptedIOException if the thread is interrupted; its flag stays set and the reader can be used again
     * @throws IOException if the reader is closed, before or meanwhile
     */
    int read(byte[] dst, int off, int len) throws IOException, NativeException {
        reading.lock();
        try {
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(READ_MS_MAX);
            while (true) {
                if (closed.get()) {
                    throw new IOException("the stream is closed");
                }
                if (Thread.currentThread().isInterrupted()) {
                    throw new InterruptedIOException("interrupted while reading a remote segment");
                }
                int count = NativeReader.read(handle, dst, off, len, SLICE_MS);
                if (count != NativeReader.TIMED_OUT) {
                    return count;
                }
                if (System.nanoTime() - deadline > 0) {
                    throw new NativeException(Status.TIMEOUT, true, "no byte of a remote segment in " + READ_MS_MAX + " ms");
                }
            }
        } catch (NativeException failed) {
            if (closed.get()) {
                throw new IOException("the stream was closed while it was read", failed);
            }
            throw failed;
        } finally {
            reading.unlock();
        }
    }

    /** Ends a read under way and frees the reader. May be called again, and from any thread. */
    void close() {
        if (closed.getAndSet(true)) {
            return;
        }
        NativeReader.cancel(handle);
        boolean locked = awaitReader();
        try {
            // Without the lock a thread is still inside: the handle is checked on every call, so that it finds it gone.
            NativeReader.free(handle);
        } finally {
            if (locked) {
                reading.unlock();
            }
            onClose.run();
        }
    }

    private boolean awaitReader() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return reading.tryLock(CLOSE_MS_MAX, TimeUnit.MILLISECONDS);
                } catch (InterruptedException again) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
