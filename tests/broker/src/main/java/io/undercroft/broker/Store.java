package io.undercroft.broker;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/** An object store as the harness sees it, beside the plugin: settings for the broker, and what lies in it. */
public interface Store extends AutoCloseable {
    /** For people: {@code folder /…} or {@code s3 bucket at http://…}. */
    String description();

    /** Lines for {@code server.properties}. */
    Map<String, String> properties();

    /** All objects with their sizes, by name; what is half uploaded counts too, so that nothing left behind hides. */
    Map<String, Long> objects() throws IOException;

    /** An object as a file: the one that the store has, or a copy of it. */
    Path file(String object) throws IOException;

    @Override
    void close() throws IOException;
}
