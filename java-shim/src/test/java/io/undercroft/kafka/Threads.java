package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Which threads are ours, for tests. */
final class Threads {
    private Threads() {
    }

    /** Java's. */
    static List<String> ours() {
        return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).filter(name -> name.contains("undercroft"))
            .collect(Collectors.toList());
    }

    /** The kernel's, by the names that the core and librdkafka give them. A thread that was joined may show a moment longer. */
    static void awaitNoNative() throws Exception {
        List<String> names = nativeOnes();
        for (int i = 0; i < 50 && !names.isEmpty(); i++) {
            Thread.sleep(20);
            names = nativeOnes();
        }
        assertEquals(List.of(), names);
    }

    static List<String> nativeOnes() throws IOException {
        List<String> names = new ArrayList<>();
        try (Stream<Path> tasks = Files.list(Path.of("/proc/self/task"))) {
            for (Path task : tasks.collect(Collectors.toList())) {
                try {
                    String name = Files.readString(task.resolve("comm")).trim();
                    if (name.startsWith("undercroft") || name.startsWith("uc-") || name.startsWith("tokio") || name.startsWith("rdk:")) {
                        names.add(name);
                    }
                } catch (IOException ended) {
                    continue;
                }
            }
        }
        return names;
    }
}
