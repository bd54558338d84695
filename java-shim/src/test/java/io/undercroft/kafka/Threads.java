package io.undercroft.kafka;

import java.util.List;
import java.util.stream.Collectors;

/** Which threads are ours, for tests. */
final class Threads {
    private Threads() {
    }

    static List<String> ours() {
        return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).filter(name -> name.contains("undercroft"))
            .collect(Collectors.toList());
    }
}
