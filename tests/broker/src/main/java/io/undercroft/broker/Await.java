package io.undercroft.broker;

import java.time.Duration;
import java.util.function.Supplier;

/** Waiting for something that can be asked, with progress for whoever watches. */
public final class Await {
    private static final long SHOW_EVERY_NS = Duration.ofSeconds(3).toNanos();

    private Await() {}

    /** A question that may fail while the thing asked is still coming up. */
    public interface Question {
        boolean ask() throws Exception;
    }

    /**
     * Asks until the answer is yes. A question that throws counts as no; the last exception becomes the cause of the
     * failure.
     *
     * @param what what is waited for, as it should stand in an error
     * @param state printed every few seconds while it lasts; may be null
     */
    public static void until(String what, Duration atMost, Supplier<String> state, Question question)
            throws InterruptedException {
        long start = System.nanoTime();
        long lastShown = start;
        Exception last = null;
        while (true) {
            try {
                if (question.ask()) {
                    return;
                }
                last = null;
            } catch (InterruptedException e) {
                throw e;
            } catch (Exception e) {
                last = e;
            }
            long now = System.nanoTime();
            if (now - start > atMost.toNanos()) {
                String now_ = state == null ? "" : "; now: " + state.get();
                throw new AssertionError("waited " + atMost.toSeconds() + " s for " + what + now_, last);
            }
            if (state != null && now - lastShown > SHOW_EVERY_NS) {
                lastShown = now;
                Progress.show(state.get());
            }
            Thread.sleep(100);
        }
    }

    public static void until(String what, Duration atMost, Question question) throws InterruptedException {
        until(what, atMost, null, question);
    }
}
