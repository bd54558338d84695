package io.undercroft.broker;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Where things stand on this machine: the checkout, its build folder, free ports. */
public final class Place {
    private Place() {}

    /** The checkout's root: system property {@code undercroft.root}, else the nearest parent with a Cargo.toml. */
    public static Path root() {
        String given = System.getProperty("undercroft.root");
        if (given != null) {
            return Path.of(given).toAbsolutePath().normalize();
        }
        for (Path p = Path.of("").toAbsolutePath(); p != null; p = p.getParent()) {
            if (Files.exists(p.resolve("Cargo.toml"))) {
                return p;
            }
        }
        throw new IllegalStateException("no Cargo.toml above " + Path.of("").toAbsolutePath() + "; set -Dundercroft.root");
    }

    public static Path target() {
        return root().resolve("target");
    }

    /** An empty folder under {@code target/run}; what an earlier run left in it is removed. */
    public static Path freshFolder(String name) throws IOException {
        Path folder = target().resolve("run").resolve(name);
        deleteTree(folder);
        return Files.createDirectories(folder);
    }

    public static void deleteTree(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(p);
            }
        }
    }

    /**
     * Ports that were free a moment ago, all different, below the range from which the kernel takes ports for outgoing
     * connections: a broker that is started again a minute later must find its port still free.
     */
    public static int[] freePorts(int count) {
        List<ServerSocket> held = new ArrayList<>();
        try {
            int[] ports = new int[count];
            int found = 0;
            int candidate = 10_000 + (int) ((ProcessHandle.current().pid() * 37 + System.nanoTime() / 1000) % 15_000);
            for (int tries = 0; found < count; tries++) {
                if (tries > 5_000) {
                    throw new IllegalStateException("found no " + count + " free ports between 10000 and 30000");
                }
                candidate = candidate >= 29_999 ? 10_000 : candidate + 1;
                try {
                    held.add(new ServerSocket(candidate, 1, InetAddress.getLoopbackAddress()));
                    ports[found++] = candidate;
                } catch (IOException taken) {
                    // somebody listens there; the next one
                }
            }
            return ports;
        } finally {
            for (ServerSocket s : held) {
                try {
                    s.close();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }
}
