package io.undercroft.broker;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What must hold, one printed line each. */
public final class Checks {
    private final List<String> failed = new ArrayList<>();
    private int held;

    /** Prints whether {@code condition} held and remembers it. */
    public boolean that(boolean condition, String format, Object... args) {
        String text = String.format(Locale.ROOT, format, args);
        System.out.println((condition ? "    ok    " : "    FAILED ") + text);
        System.out.flush();
        if (condition) {
            held++;
        } else {
            failed.add(text);
        }
        return condition;
    }

    public int held() {
        return held;
    }

    public List<String> failed() {
        return List.copyOf(failed);
    }
}
