package io.undercroft.broker;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;

/** The servers that stand in for clouds' stores, for tests. */
public final class Servers {
    private Servers() {}

    /** Starts one. Where its program can't be had, the test says so and is left out. */
    public static StoreServer startOrLeaveOut(String kind, Path folder) throws IOException, InterruptedException {
        try {
            return StoreServer.start(kind, folder);
        } catch (StoreServer.NoProgram e) {
            Progress.show("LEFT OUT: store %s: %s", kind, e.getMessage());
            return Assumptions.abort("store " + kind + ": " + e.getMessage());
        }
    }
}
