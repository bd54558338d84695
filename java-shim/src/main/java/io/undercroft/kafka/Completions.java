package io.undercroft.kafka;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** What has been submitted to the core and not answered yet. */
final class Completions {
    /** How long a cancelled operation may take to say so. */
    static final long CANCEL_MS_MAX = 10_000;

    /** A call of the core that answers through the queue, under the tag. */
    interface Submission {
        void submit(long queue, long tag) throws NativeException;
    }

    private final long queue;
    private final AtomicLong lastTag = new AtomicLong();
    private final ConcurrentHashMap<Long, Completion> waiting = new ConcurrentHashMap<>();

    Completions(long queue) {
        this.queue = queue;
    }

    /** Submits; what is thrown here was not accepted and will have no answer. */
    Completion submit(Submission submission) throws NativeException {
        Completion completion = new Completion(lastTag.incrementAndGet());
        waiting.put(completion.tag(), completion);
        boolean accepted = false;
        try {
            submission.submit(queue, completion.tag());
            accepted = true;
            return completion;
        } finally {
            if (!accepted) {
                waiting.remove(completion.tag());
            }
        }
    }

    /**
     * Submits and waits for the answer. When the caller is interrupted, or {@code timeoutMs} pass, the operation is
     * cancelled and its end waited for, so that nothing of it runs on. One that had ended well by then counts as done.
     *
     * @throws InterruptedException with the thread's flag set again
     */
    byte[] call(long timeoutMs, Submission submission) throws NativeException, InterruptedException {
        if (Thread.currentThread().isInterrupted()) {
            throw new InterruptedException("interrupted before it was begun");
        }
        Completion completion = submit(submission);
        try {
            return completion.get(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            throw nativeCause(failed);
        } catch (TimeoutException late) {
            return cancelAndAwait(completion,
                new NativeException(Status.TIMEOUT, true, "no answer in " + timeoutMs + " ms; cancelled"));
        } catch (InterruptedException interrupted) {
            try {
                return cancelAndAwait(completion, null);
            } catch (NativeException cancelled) {
                InterruptedException told = new InterruptedException("interrupted: " + cancelled.getMessage());
                told.initCause(cancelled);
                throw told;
            } finally {
                Thread.currentThread().interrupt();
            }
        }
    }

    private byte[] cancelAndAwait(Completion completion, NativeException instead) throws NativeException {
        NativeQueue.cancel(queue, completion.tag());
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CANCEL_MS_MAX);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return completion.get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException again) {
                    interrupted = true;
                } catch (ExecutionException ended) {
                    throw instead != null ? instead : nativeCause(ended);
                } catch (TimeoutException stuck) {
                    throw new NativeException(Status.TIMEOUT, true, "cancelled, but not ended in " + CANCEL_MS_MAX + " ms");
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The core's answer to {@code tag}; a tag that nobody waits for is let go. */
    void complete(long tag, int status, boolean retriable, byte[] bytes) {
        if (status != Status.OK) {
            fail(tag, new NativeException(status, retriable, bytes));
            return;
        }
        Completion completion = waiting.remove(tag);
        if (completion != null) {
            completion.complete(bytes);
        }
    }

    void fail(long tag, NativeException failure) {
        Completion completion = waiting.remove(tag);
        if (completion != null) {
            completion.completeExceptionally(failure);
        }
    }

    /** Ends those that nobody may wait for any longer. */
    void failLate(long nowNanos) {
        for (Completion completion : waiting.values()) {
            NativeException late = completion.lateness(nowNanos);
            if (late != null) {
                fail(completion.tag(), late);
            }
        }
    }

    /** Ends whatever is left; for the time when nobody will answer any more. */
    void failAll() {
        for (Long tag : waiting.keySet()) {
            complete(tag, Status.CLOSED, false, null);
        }
    }

    private static NativeException nativeCause(ExecutionException failed) {
        Throwable cause = failed.getCause();
        return cause instanceof NativeException
            ? (NativeException) cause
            : new NativeException(Status.INTERNAL, false, String.valueOf(cause));
    }
}
