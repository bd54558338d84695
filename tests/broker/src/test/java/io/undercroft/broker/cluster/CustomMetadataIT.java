package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Broker;
import io.undercroft.broker.TieredTopic;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A broker that takes less custom metadata than a copy hands back. About a minute. */
class CustomMetadataIT {
    private static final String LIMIT_KEY = "remote.log.metadata.custom.metadata.max.bytes";
    private static final long EACH = 2_200; // two segments and a piece of a third

    @Test
    void a_limit_that_is_too_low_is_named_once_leaves_nothing_and_is_mended_by_a_higher_one() throws Exception {
        Cluster.Wish wish = EndState.hasty(new Cluster.Wish().size(1)).with(LIMIT_KEY, "10");
        try (Cluster cluster = new Cluster("custom-metadata", wish).start();
                TieredTopic topic = TieredTopic.create(cluster, "oversized", 3, 1 << 20, 1000)) {
            Broker broker = cluster.broker(1);
            topic.produce(EACH);
            Await.until("the key to be named", Cluster.SOON, () -> !own(broker).isEmpty());
            // Each of the three partitions tries once; then the broker has given up copying them.
            Await.until("an attempt of each partition", Cluster.SOON, () -> attempts(cluster, topic) == 3);
            Stores.awaitExactlyLive(cluster, topic.name(), EndState.LIMIT);
            Stores.awaitEmpty(cluster);
            Await.until("nothing to dangle", EndState.LIMIT, () -> EndState.dangling(broker, topic.name()) == 0);
            assertEquals(1, own(broker).size(), () -> String.join("\n", ownOrNone(broker)));
            assertTrue(own(broker).get(0).contains(" 128"), own(broker).get(0));

            broker.stop(Duration.ofSeconds(60));
            broker.set(LIMIT_KEY, null);
            broker.start();
            EndState.await(cluster, topic);
        }
    }

    private static long attempts(Cluster cluster, TieredTopic topic) {
        return MetadataTopic.read(cluster.bootstrap()).stream().filter(l -> l.isAdd() && topic.name().equals(l.topic()))
                .map(MetadataTopic.Line::userPartition).distinct().count();
    }

    /** Undercroft's lines that name the key; the broker prints its configuration too. */
    private static List<String> own(Broker broker) throws IOException {
        return broker.logText().lines().filter(line -> line.contains(LIMIT_KEY) && line.contains("io.undercroft")).toList();
    }

    private static List<String> ownOrNone(Broker broker) {
        try {
            return own(broker);
        } catch (IOException e) {
            return List.of(e.getMessage());
        }
    }
}
