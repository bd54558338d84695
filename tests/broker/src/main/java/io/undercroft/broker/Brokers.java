package io.undercroft.broker;

import java.io.IOException;
import java.util.Map;

/** What a topic's user needs to know of those that serve it: one broker, or a cluster of them. */
public interface Brokers {
    String bootstrap();

    /** How many replicas a topic of theirs gets. */
    short replicas();

    /** Local segment files of a topic where it is led, as bytes by path. */
    Map<String, Long> localSegments(String topic) throws IOException;

    /** The last lines that they logged, for a failure's message. */
    String logTail();
}
