package io.undercroft.broker;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** A folder as object store. */
public record FolderStore(Path folder, boolean standIn) implements Store {
    @Override
    public String description() {
        return "folder " + folder;
    }

    @Override
    public Map<String, String> properties() {
        if (standIn) {
            return Map.of("rsm.config.dir", folder.toString(), "rsm.config.delete.on.close", "false");
        }
        return Map.of("rsm.config.storage.backend.class", "filesystem", "rsm.config.storage.root", folder.toString());
    }

    @Override
    public Map<String, Long> objects() throws IOException {
        Map<String, Long> found = new TreeMap<>();
        if (!Files.exists(folder)) {
            return found;
        }
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path p : all.toList()) {
                try {
                    if (Files.isRegularFile(p)) {
                        found.put(folder.relativize(p).toString(), Files.size(p));
                    }
                } catch (NoSuchFileException gone) {
                    // deleted between the two looks
                }
            }
        } catch (UncheckedIOException e) {
            if (e.getCause() instanceof NoSuchFileException) {
                return objects();
            }
            throw e;
        }
        return found;
    }

    @Override
    public Path file(String object) {
        return folder.resolve(object);
    }

    @Override
    public void close() {}
}
