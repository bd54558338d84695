package io.undercroft.broker;

import java.util.Locale;

/** The lines a person watches. */
public final class Progress {
    private static final long START_NS = System.nanoTime();

    private Progress() {}

    /** A new step. */
    public static void step(String format, Object... args) {
        print("==> ", format, args);
    }

    /** How far the present step is. */
    public static void show(String format, Object... args) {
        print("      ", format, args);
    }

    private static synchronized void print(String mark, String format, Object... args) {
        String text = args.length == 0 ? format : String.format(Locale.ROOT, format, args);
        System.out.printf(Locale.ROOT, "%s[%6.1f s] %s%n", mark, (System.nanoTime() - START_NS) / 1e9, text);
        System.out.flush();
    }
}
