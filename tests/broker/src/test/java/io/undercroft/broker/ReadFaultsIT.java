package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Objects and stores that go wrong under a reader: never wrong data, an error that says where, and recovery. */
class ReadFaultsIT {
    private static final Duration LOOK = Duration.ofSeconds(10);

    /** What is done to an object's file. */
    private interface Damage {
        void to(Path object) throws Exception;
    }

    /** @param said what the broker's log says beside the object's name */
    private static void damaged(String test, Damage damage, String said) throws Exception {
        try (Rig rig = Rig.overFolder(test, new Rig.Wish())) {
            rig.broker.start();
            Set<String> before = rig.store.objects().keySet();
            try (TieredTopic topic = rig.tiered(test, 3)) {
                Set<String> objects = rig.newObjects(before);
                assertFalse(objects.isEmpty());
                // The one that is the largest, so that it surely holds records.
                String name = objects.stream().max((a, b) -> Long.compare(size(rig, a), size(rig, b))).orElseThrow();
                Path object = rig.folder.resolve("store").resolve(name);
                byte[] whole = Files.readAllBytes(object);
                damage.to(object);

                rig.mustNotReadAll(topic, LOOK);
                String file = object.getFileName().toString();
                rig.awaitLogLine(file, said);

                Files.write(object, whole);
                rig.mustRead(topic, Rig.SOON);
            }
        }
    }

    private static long size(Rig rig, String name) {
        return rig.folder.resolve("store").resolve(name).toFile().length();
    }

    @Test
    void a_flipped_byte_is_an_error_that_names_object_and_chunk() throws Exception {
        damaged("flipped", object -> {
            byte[] bytes = Files.readAllBytes(object);
            bytes[bytes.length / 3] ^= 0x20;
            Files.write(object, bytes);
        }, "chunk ");
    }

    @Test
    void a_truncated_object_is_an_error_that_names_it_and_says_so() throws Exception {
        damaged("truncated", object -> {
            try (FileChannel file = FileChannel.open(object, StandardOpenOption.WRITE)) {
                file.truncate(Files.size(object) / 2);
            }
        }, "truncated");
    }

    @Test
    void an_empty_object_is_an_error_that_names_it() throws Exception {
        damaged("emptied", object -> Files.write(object, new byte[0]), "corrupt");
    }

    @Test
    void a_missing_object_is_an_error_that_names_it() throws Exception {
        damaged("missing", Files::delete, "not there");
    }

    @Test
    void a_store_that_needs_1500_ms_for_an_answer_still_lets_a_consumer_make_progress() throws Exception {
        Path folder = Place.freshFolder("slow-store");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "slow-store");
        try (SlowLink link = new SlowLink(weed.port(), 0)) {
            Rig.Wish wish = new Rig.Wish();
            wish.properties.putAll(weed.properties(link.endpoint()));
            try (Rig rig = Rig.over(folder, weed, wish)) {
                rig.broker.start();
                try (TieredTopic topic = rig.tiered("slow", 4)) {
                    // A new process has nothing in its caches.
                    rig.broker.kill();
                    rig.broker.start();
                    long answers = link.answers();
                    link.delay(1_500);
                    rig.mustRead(topic, Duration.ofSeconds(150));
                    assertTrue(link.answers() > answers, "nothing went over the slow link");
                }
            }
        }
    }

    @Test
    void a_store_that_goes_away_stops_a_reader_and_no_broker_and_its_return_heals_both() throws Exception {
        Path folder = Place.freshFolder("store-away");
        Seaweed weed = Seaweed.start(folder.resolve("weed"), "store-away");
        try (Rig rig = Rig.over(folder, weed, new Rig.Wish()
                .with("rsm.config.storage.s3.api.call.timeout", "5000")
                .with("rsm.config.storage.s3.api.call.attempt.timeout", "2000"))) {
            rig.broker.start();
            try (TieredTopic topic = rig.tiered("away", 3)) {
                weed.stop();
                rig.mustNotReadAll(topic, LOOK);
                rig.awaitLogLine(weed.endpoint());
                // Copies fail too while it is away; nothing may be lost or doubled by that.
                topic.produce(1_500);
                Thread.sleep(5_000);
                assertTrue(rig.broker.isAlive());
                weed.launch();
                topic.awaitOnlyRemote(Duration.ofSeconds(120));
                rig.mustRead(topic, Duration.ofSeconds(120));
                topic.delete();
                rig.awaitEmptyStore();
            }
        }
    }
}
