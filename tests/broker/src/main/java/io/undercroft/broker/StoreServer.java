package io.undercroft.broker;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** A {@link Store} behind a port of this machine, so that something can be put in between. */
public interface StoreServer extends Store {
    /** There is no such program here. The message says how to get it. */
    final class NoProgram extends IOException {
        private static final long serialVersionUID = 1L;

        NoProgram(String message) {
            super(message);
        }
    }

    /**
     * Starts the server that stands in for a cloud's store, with an empty bucket.
     *
     * @param kind {@code s3}, {@code azure} or {@code gcs}
     * @param folder where its files go
     */
    static StoreServer start(String kind, Path folder) throws IOException, InterruptedException {
        return switch (kind) {
            case "s3" -> Seaweed.start(folder.resolve("weed"), "undercroft-demo");
            case "azure" -> StandIn.azure(folder.resolve("azurite"));
            case "gcs" -> StandIn.gcs(folder.resolve("gcs"));
            default -> throw new IllegalArgumentException("store " + kind + ": expected `s3`, `azure` or `gcs`");
        };
    }

    /**
     * The program that an environment variable names, as a path or on the PATH.
     *
     * @param target of the Makefile, which fetches it
     */
    static String program(String variable, String target) throws NoProgram {
        String given = System.getenv(variable);
        if (given == null || given.isEmpty() || (given.contains(File.separator) && !Files.isExecutable(Path.of(given)))) {
            throw new NoProgram("no program: run `make " + target + "`, or name one by " + variable);
        }
        return given;
    }

    int port();

    default String endpoint() {
        return "http://127.0.0.1:" + port();
    }

    /** As {@link #properties()}, with another way to the server. */
    Map<String, String> properties(String endpoint);

    @Override
    default Map<String, String> properties() {
        return properties(endpoint());
    }
}
