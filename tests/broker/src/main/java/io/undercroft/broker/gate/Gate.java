package io.undercroft.broker.gate;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/**
 * A point that a broker passes on its way through a copy or a delete.
 *
 * <p>If a file {@code <step>@<topic>} is in the folder, whoever comes with a segment of this topic leaves a file
 * {@code <step>@<topic>.reached} and does what the file says: {@code hold} waits until the file is gone, {@code fail} throws what a manager may throw, {@code crash} throws
 * what none should. With no file, a step costs one look.
 */
final class Gate {
    private static final long LOOK_EVERY_MS = 20;

    private final Path folder;

    Gate(Map<String, ?> configs) {
        this.folder = Path.of(String.valueOf(configs.get("gate.folder")));
    }

    /** Passes, waits or throws, as the folder says. An interrupt ends a wait and stays set. */
    void pass(String step, RemoteLogSegmentId segment) throws RemoteStorageException {
        Path order = order(step, segment);
        String text = read(order);
        if (text == null) {
            return;
        }
        try {
            Files.writeString(Path.of(order + ".reached"), segment.id() + " " + Thread.currentThread().getName());
        } catch (IOException e) {
            throw new IllegalStateException("gate " + step, e);
        }
        switch (text) {
            case "hold" -> hold(order);
            case "fail" -> throw new RemoteStorageException("the test lets " + step + " fail");
            case "crash" -> throw new IllegalStateException("the test lets " + step + " crash");
            default -> throw new IllegalStateException("gate " + step + " doesn't know the order " + text);
        }
    }

    /** Whether an order lies there. */
    boolean isShut(String step, RemoteLogSegmentId segment) {
        return Files.exists(order(step, segment));
    }

    private Path order(String step, RemoteLogSegmentId segment) {
        return folder.resolve(step + "@" + segment.topicIdPartition().topic());
    }

    private static void hold(Path order) {
        while (Files.exists(order)) {
            try {
                Thread.sleep(LOOK_EVERY_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    private static String read(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file).trim() : null;
        } catch (IOException gone) {
            return null;
        }
    }

    /** An instance of the class that the configuration names. */
    static <T> T delegate(Map<String, ?> configs, Class<T> kind) {
        String name = String.valueOf(configs.get("gate.delegate"));
        try {
            return kind.cast(Class.forName(name).getDeclaredConstructor().newInstance());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("gate.delegate " + name, e);
        }
    }

    /** The settings without the gate's own. */
    static Map<String, ?> others(Map<String, ?> configs) {
        Map<String, Object> rest = new HashMap<>(configs);
        rest.keySet().removeIf(key -> key.startsWith("gate."));
        return rest;
    }
}
