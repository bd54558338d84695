package io.undercroft.kafka;

import java.io.IOException;
import java.io.InputStream;
import java.util.Objects;

/**
 * Bytes of a remote segment.
 *
 * <p>Small reads go through a buffer, large ones straight into the caller's array. A read that fails throws: it never
 * ends short as if the segment ended there. Closing from another thread ends a read under way with an IOException.
 */
final class SegmentStream extends InputStream {
    static final int BUFFER_BYTES = 64 * 1024;

    private final SegmentReader reader;
    private byte[] buffer;
    private int next;
    private int limit;
    private boolean ended;

    SegmentStream(SegmentReader reader) {
        this.reader = reader;
    }

    /** Gets the first bytes, so that what is wrong shows before the stream is handed out. */
    void prefetch() throws IOException, NativeException {
        fill();
    }

    @Override
    public synchronized int read() throws IOException {
        ensureOpen();
        return next < limit || fillOrThrow() ? buffer[next++] & 0xff : -1;
    }

    @Override
    public synchronized int read(byte[] dst, int off, int len) throws IOException {
        Objects.checkFromIndexSize(off, len, dst.length);
        ensureOpen();
        if (len == 0) {
            return 0;
        }
        if (next == limit && len >= BUFFER_BYTES) {
            return readDirectly(dst, off, len);
        }
        if (next == limit && !fillOrThrow()) {
            return -1;
        }
        int count = Math.min(len, limit - next);
        System.arraycopy(buffer, next, dst, off, count);
        next += count;
        return count;
    }

    @Override
    public synchronized long skip(long wanted) throws IOException {
        ensureOpen();
        long skipped = 0;
        while (skipped < wanted && (next < limit || fillOrThrow())) {
            int step = (int) Math.min(wanted - skipped, limit - next);
            next += step;
            skipped += step;
        }
        return skipped;
    }

    @Override
    public synchronized int available() throws IOException {
        ensureOpen();
        return limit - next;
    }

    /** Not synchronized: it must not wait for the read that it is to end. */
    @Override
    public void close() {
        reader.close();
    }

    private void ensureOpen() throws IOException {
        if (reader.isClosed()) {
            throw new IOException("the stream is closed");
        }
    }

    private int readDirectly(byte[] dst, int off, int len) throws IOException {
        if (ended) {
            return -1;
        }
        try {
            int count = reader.read(dst, off, len);
            ended = count == 0;
            return ended ? -1 : count;
        } catch (NativeException failed) {
            throw unreadable(failed);
        }
    }

    private boolean fillOrThrow() throws IOException {
        try {
            return fill();
        } catch (NativeException failed) {
            throw unreadable(failed);
        }
    }

    private boolean fill() throws IOException, NativeException {
        if (ended) {
            return false;
        }
        if (buffer == null) {
            buffer = new byte[BUFFER_BYTES];
        }
        int count = reader.read(buffer, 0, buffer.length);
        next = 0;
        limit = count;
        ended = count == 0;
        return !ended;
    }

    private static IOException unreadable(NativeException failed) {
        return new IOException(failed.getMessage(), ErrorMapper.fetch(failed));
    }
}
