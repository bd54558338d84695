package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** One short run on a stock broker; about half a minute. */
class BrokerIT {
    @Test
    void what_was_produced_comes_back_from_the_store_also_after_a_kill_and_goes_with_its_topic() throws Exception {
        try (Rig rig = Rig.overFolder("short", new Rig.Wish())) {
            rig.broker.start();
            try (TieredTopic topic = TieredTopic.create(rig.broker, "short", 2, 1 << 20, 1000)) {
                topic.produce(3_000);
                topic.awaitOnlyRemote(Rig.SOON);
                assertFalse(rig.store.objects().isEmpty());

                OptionalLong before = StoreReads.bytes(rig.broker);
                rig.mustRead(topic, Rig.SOON);
                OptionalLong after = StoreReads.bytes(rig.broker);
                if (!Rig.standIn()) {
                    assertTrue(after.isPresent(), "no metric " + StoreReads.BYTES + " in JMX");
                    assertTrue(after.getAsLong() - before.orElse(0) >= topic.bytes(), "read from the store: " + after);
                }

                rig.broker.kill();
                rig.broker.start();
                rig.mustRead(topic, Rig.SOON);
                // And the path is still open for new data.
                topic.produce(1_000);
                topic.awaitOnlyRemote(Rig.SOON);
                rig.mustRead(topic, Rig.SOON);

                topic.delete();
                rig.awaitEmptyStore();
                assertEquals(0, rig.store.objects().size());
            }
            rig.broker.stop(Duration.ofSeconds(30));
            rig.mustHaveNoCrashFile();
        }
    }
}
