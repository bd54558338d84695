package io.undercroft.broker;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/**
 * A relay in front of an HTTP server that holds back the first byte of each answer.
 *
 * <p>It relays bytes and reads none of them, so that what was signed stays as it was signed. On a connection with one
 * request at a time, as HTTP/1.1 clients use it, the first byte from the server after bytes from the client begins an answer.
 */
public final class SlowLink implements AutoCloseable {
    private final ServerSocket listener;
    private final int port;
    private final int serverPort;
    private final AtomicLong delayMs;
    private final AtomicLong answers = new AtomicLong();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    /** Bytes of requests that are still let through. */
    private final AtomicLong room = new AtomicLong(Long.MAX_VALUE);
    private volatile boolean isStuck;
    private volatile boolean closed;

    public SlowLink(int serverPort, long delayMs) throws IOException {
        this.serverPort = serverPort;
        this.delayMs = new AtomicLong(delayMs);
        this.listener = new ServerSocket(0, 128, InetAddress.getLoopbackAddress());
        this.port = listener.getLocalPort();
        thread("slow-link-accept", this::accept);
    }

    public String endpoint() {
        return "http://127.0.0.1:" + port;
    }

    /** For answers that begin from now on. */
    public void delay(long ms) {
        delayMs.set(ms);
    }

    /** So many bytes more of what clients send go through; all else waits, in the middle of a request too, until {@link #flow}. */
    public void stickAfter(long bytes) {
        isStuck = false;
        room.set(bytes);
    }

    /** Whether somebody waits because of {@link #stickAfter}. */
    public boolean isStuck() {
        return isStuck;
    }

    /** All goes through again, also what has waited. */
    public void flow() {
        room.set(Long.MAX_VALUE);
    }

    /** Answers begun so far. */
    public long answers() {
        return answers.get();
    }

    private void accept() {
        while (!closed) {
            try {
                Socket client = listener.accept();
                Socket server = new Socket();
                open.add(client);
                open.add(server);
                try {
                    server.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), serverPort), 2000);
                } catch (IOException down) {
                    shut(client, server);
                    continue;
                }
                AtomicBoolean asked = new AtomicBoolean();
                thread("slow-link-ask", () -> relay(client, server, bytes -> {
                    asked.set(true);
                    awaitRoom(bytes);
                }));
                thread("slow-link-answer", () -> relay(server, client, bytes -> {
                    if (asked.getAndSet(false)) {
                        answers.incrementAndGet();
                        sleep(delayMs.get());
                    }
                }));
            } catch (IOException e) {
                if (!closed) {
                    throw new IllegalStateException("slow link cannot accept", e);
                }
            }
        }
    }

    private void awaitRoom(int bytes) {
        while (!closed) {
            long left = room.get();
            if (left == Long.MAX_VALUE || (left >= bytes && room.compareAndSet(left, left - bytes))) {
                return;
            }
            if (left < bytes) {
                isStuck = true;
                sleep(10);
            }
        }
    }

    private void relay(Socket from, Socket to, IntConsumer beforeBytes) {
        byte[] buffer = new byte[64 * 1024];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                beforeBytes.accept(n);
                out.write(buffer, 0, n);
                out.flush();
            }
        } catch (IOException ended) {
            // either side hung up; the other is told below
        } finally {
            shut(from, to);
        }
    }

    private void shut(Socket... sockets) {
        for (Socket s : sockets) {
            open.remove(s);
            try {
                s.close();
            } catch (IOException alreadyGone) {
                // nothing is left to close
            }
        }
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void thread(String name, Runnable body) {
        Thread t = new Thread(body, name);
        t.setDaemon(true);
        t.start();
    }

    @Override
    public void close() throws IOException {
        closed = true;
        listener.close();
        shut(open.toArray(new Socket[0]));
    }
}
