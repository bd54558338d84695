package io.undercroft.broker;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The end of a log file, for an error message. */
final class Tail {
    private Tail() {}

    static String of(Path file, int lines) {
        try {
            // Logs hold whatever a broken record held: no strict decoding.
            String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
            List<String> all = text.lines().toList();
            return "-- the last lines of " + file + "\n" + String.join("\n", all.subList(Math.max(0, all.size() - lines), all.size()));
        } catch (IOException e) {
            return "-- " + file + " cannot be read: " + e.getMessage();
        }
    }
}
