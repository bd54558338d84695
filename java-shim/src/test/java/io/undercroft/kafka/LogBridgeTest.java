package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class LogBridgeTest {
    @Test
    void loggersAreNamedByRoom() {
        assertEquals("io.undercroft.storage", LogBridge.loggerName("undercroft::storage::upload::parts"));
        assertEquals("io.undercroft", LogBridge.loggerName("undercroft"));
        assertEquals("io.undercroft.rdkafka", LogBridge.loggerName("rdkafka::client"));
        assertEquals("io.undercroft", LogBridge.loggerName(""));
    }
}
