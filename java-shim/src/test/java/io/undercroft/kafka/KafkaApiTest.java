package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;

import org.junit.jupiter.api.Test;

/** Over the library of Kafka 3.9, which the shim is compiled against. */
class KafkaApiTest {
    @Test
    void aSettingIsKnownIfTheBrokersLibraryHasItsName() {
        assertTrue(KafkaApi.isTopicSetting("local.retention.ms"));
        assertFalse(KafkaApi.isTopicSetting("REMOTE_LOG_STORAGE_ENABLE_CONFIG"));
    }

    @Test
    void aBrokerBefore44DoesNotDelayUploadsItself() {
        assertFalse(KafkaApi.hasCopyLag());
        assertEquals(Map.of("undercroft.broker.has.copy.lag", "false"), Side.METADATA.brokerFacts());
        assertEquals(Map.of(), Side.STORAGE.brokerFacts());
    }
}
