package io.undercroft.broker.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.undercroft.broker.Await;
import io.undercroft.broker.Managers;
import io.undercroft.broker.Place;
import io.undercroft.broker.Progress;
import io.undercroft.broker.Seaweed;
import io.undercroft.broker.SlowLink;
import io.undercroft.broker.TieredTopic;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** An object store that goes away and comes back (SeaweedFS). About eleven minutes. */
class StoreOutageIT {
    private static final long EACH = 2_200;
    private static final int PARTITIONS = 6;
    /** With tasks each half second instead of each half minute, an hour is a minute. */
    private static final Duration AN_HOUR = Duration.ofSeconds(60);

    @Test
    void an_outage_costs_few_attempts_where_the_stock_manager_makes_one_with_each_look() throws Exception {
        double ours = attemptsInAnOutage("outage-ours", Managers.undercroft(Managers.Deployment.BROKER_PATH), true);
        double stock = attemptsInAnOutage("outage-stock", Managers.stockMetadata(), false);
        Progress.show("attempts of a partition while the store is down for %d s: Undercroft %.1f, stock manager %.1f",
                AN_HOUR.toSeconds(), ours, stock);
        assertTrue(ours * 3 < stock, "attempts of a partition: " + ours + ", with the stock manager " + stock);
    }

    /** Of each of some partitions, on average: the store is tried for all of a broker's partitions together. */
    private static double attemptsInAnOutage(String test, Managers managers, boolean mustEndWell) throws Exception {
        Path folder = Place.freshFolder("cluster-" + test);
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "outage");
        Cluster.Wish wish = EndState.hasty(new Cluster.Wish().size(1).managers(managers).store(weed));
        try (Cluster cluster = new Cluster(folder, wish).start();
                TieredTopic topic = TieredTopic.create(cluster, test, PARTITIONS, 1 << 20, 1000)) {
            topic.produce(EACH);
            topic.awaitOnlyRemote(Cluster.SOON);
            long before = MetadataTopic.adds(cluster.bootstrap(), topic.name());
            weed.stop();
            topic.produce(EACH);
            Thread.sleep(AN_HOUR.toMillis());
            double attempts = (double) (MetadataTopic.adds(cluster.bootstrap(), topic.name()) - before) / PARTITIONS;
            weed.launch();
            topic.awaitOnlyRemote(EndState.LIMIT);
            if (mustEndWell) {
                EndState.await(cluster, topic);
            }
            return attempts;
        }
    }

    @Test
    void a_store_that_stops_under_load_and_a_leader_that_dies_meanwhile_leave_nothing_behind() throws Exception {
        Path folder = Place.freshFolder("cluster-store-stops");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "stops");
        try (Cluster cluster = new Cluster(folder, EndState.hasty(new Cluster.Wish().store(weed))).start();
                TieredTopic topic = TieredTopic.create(cluster, "stops", 3, 1 << 20, 1000)) {
            for (int partition = 0; partition < 3; partition++) {
                cluster.lead(topic.name(), partition, partition + 1);
            }
            try (Background load = new Background(topic, 700, 300)) {
                for (int round = 0; round < 2; round++) {
                    Thread.sleep(4_000);
                    weed.stop();
                    Thread.sleep(8_000);
                    cluster.broker(1 + round).kill();
                    Thread.sleep(6_000);
                    load.mustRun();
                    weed.launch();
                    cluster.broker(1 + round).start();
                    cluster.awaitInSync();
                }
            }
            EndState.await(cluster, topic);
        }
    }

    @Test
    void an_upload_that_ends_after_its_broker_was_killed_is_found_and_deleted() throws Exception {
        Path folder = Place.freshFolder("cluster-late-upload");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "late");
        try (SlowLink link = new SlowLink(weed.port(), 0)) {
            Cluster.Wish wish = EndState.hasty(new Cluster.Wish().store(weed));
            weed.properties(link.endpoint()).forEach(wish::with);
            try (Cluster cluster = new Cluster(folder, wish).start();
                    TieredTopic topic = TieredTopic.create(cluster, "late", 1, 1 << 20, 1000)) {
                cluster.lead(topic.name(), 0, 1);
                topic.produce(EACH);
                topic.awaitOnlyRemote(Cluster.SOON);
                int objects = weed.objects().size();
                link.delay(4_000);
                topic.produce(EACH);
                // The store has it, and the broker hasn't heard.
                Await.until("an object of a copy that is under way", Cluster.SOON, () -> weed.objects().size() > objects);
                cluster.broker(1).kill();
                link.delay(0);
                cluster.broker(1).start();
                cluster.awaitInSync();
                EndState.await(cluster, topic);
                Map<String, Long> left = weed.objects();
                assertEquals(0, left.keySet().stream().filter(o -> o.contains("unfinished")).count(), left::toString);
            }
        }
    }

    /** The store has half of the object's bytes; what the dead broker's request lacked never comes. */
    @Test
    void an_upload_that_is_cut_in_the_middle_by_its_brokers_death_is_made_again_and_leaves_nothing() throws Exception {
        Path folder = Place.freshFolder("cluster-cut-upload");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "cut");
        try (SlowLink link = new SlowLink(weed.port(), 0)) {
            Cluster.Wish wish = EndState.hasty(new Cluster.Wish().store(weed));
            weed.properties(link.endpoint()).forEach(wish::with);
            try (Cluster cluster = new Cluster(folder, wish).start();
                    TieredTopic topic = TieredTopic.create(cluster, "cut", 1, 1 << 20, 1000)) {
                cluster.lead(topic.name(), 0, 1);
                topic.produce(EACH);
                topic.awaitOnlyRemote(Cluster.SOON);
                int objects = weed.objects().size();
                long adds = MetadataTopic.adds(cluster.bootstrap(), topic.name());
                link.stickAfter(1 << 19);
                topic.produce(EACH);
                Await.until("half of a segment to be in the store", Cluster.SOON, () -> link.isStuck() && MetadataTopic.adds(cluster.bootstrap(), topic.name()) > adds);
                assertEquals(objects, weed.objects().size(), "an object that isn't whole");
                cluster.broker(1).kill();
                cluster.awaitLeader(topic.name(), 0, leader -> leader != 1, "another broker");
                link.flow();
                cluster.broker(1).start();
                cluster.awaitInSync();
                EndState.await(cluster, topic);
            }
        }
    }
}
