package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The harness itself: a tool that sees nothing would pass everything. */
class HarnessTest {
    private final Sample sample = new Sample(1000);

    @Test
    void a_record_as_written_shows_no_difference() {
        assertNull(sample.difference(2, 41, 41, sample.key(2, 41), sample.value(2, 41)));
    }

    @Test
    void a_flipped_bit_a_shorter_value_a_gap_and_a_swap_are_seen() {
        byte[] flipped = sample.value(0, 7);
        flipped[999] ^= 1;
        assertNotNull(sample.difference(0, 7, 7, sample.key(0, 7), flipped));
        assertNotNull(sample.difference(0, 7, 7, sample.key(0, 7), Arrays.copyOf(sample.value(0, 7), 999)));
        assertNotNull(sample.difference(0, 7, 8, sample.key(0, 8), sample.value(0, 8)));
        assertNotNull(sample.difference(0, 7, 7, sample.key(0, 7), sample.value(1, 7)));
        assertNotNull(sample.difference(0, 7, 7, sample.key(0, 8), sample.value(0, 7)));
        assertNotNull(sample.difference(0, 7, 7, null, sample.value(0, 7)));
    }

    @Test
    void values_differ_between_neighbours() {
        assertFalse(Arrays.equals(sample.value(0, 0), sample.value(0, 1)));
        assertFalse(Arrays.equals(sample.value(0, 0), sample.value(1, 0)));
    }

    @Test
    void a_failed_check_is_counted() {
        Checks checks = new Checks();
        checks.that(true, "holds");
        checks.that(false, "does not hold, on purpose");
        assertEquals(1, checks.held());
        assertEquals(1, checks.failed().size());
    }

    @Test
    void a_folder_store_lists_files_of_every_depth(@TempDir Path folder) throws Exception {
        Files.createDirectories(folder.resolve("a/b"));
        Files.writeString(folder.resolve("a/b/c"), "123");
        Files.writeString(folder.resolve("d"), "1");
        assertEquals("{a/b/c=3, d=1}", new FolderStore(folder, false).objects().toString());
    }

    @Test
    void a_slow_link_delays_every_answer_and_changes_none() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        byte[] body = sample.value(0, 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        try (SlowLink link = new SlowLink(server.getAddress().getPort(), 300)) {
            HttpClient client = HttpClient.newHttpClient();
            for (int i = 0; i < 2; i++) { // the second goes over the kept connection
                long start = System.nanoTime();
                HttpResponse<byte[]> r = client.send(HttpRequest.newBuilder(URI.create(link.endpoint() + "/x")).build(), HttpResponse.BodyHandlers.ofByteArray());
                assertTrue(System.nanoTime() - start >= 300_000_000L, "answer " + i + " came too soon");
                assertTrue(Arrays.equals(body, r.body()));
            }
            assertEquals(2, link.answers());
        } finally {
            server.stop(0);
        }
    }

    @Test
    void waiting_in_vain_fails_and_says_for_what() {
        AssertionError e = assertThrows(AssertionError.class, () -> Await.until("the tide", Duration.ofMillis(200), () -> false));
        assertTrue(e.getMessage().contains("the tide"), e.getMessage());
    }

    @Test
    void a_release_that_is_no_number_is_refused_before_maven_is_asked() {
        assertThrows(IllegalArgumentException.class, () -> KafkaLibs.of("latest", false));
    }

    @Test
    void a_release_that_maven_does_not_have_is_told_from_a_maven_that_was_not_answered() {
        String none = "[ERROR] \tCould not find artifact org.apache.kafka:kafka_2.13:jar:5.0.0 in central (https://repo.example.org)";
        String remembered = "[ERROR] org.apache.kafka:kafka_2.13:jar:5.0.0 was not found in https://repo.example.org during a previous attempt.";
        String mute = "[ERROR] Could not transfer artifact org.apache.kafka:kafka_2.13:pom:5.0.0 from/to central: Connection refused";
        assertTrue(KafkaLibs.saysThatThereIsNone("[INFO] x\n" + none, "5.0.0"));
        assertTrue(KafkaLibs.saysThatThereIsNone(remembered, "5.0.0"));
        assertFalse(KafkaLibs.saysThatThereIsNone(mute, "5.0.0"));
        assertFalse(KafkaLibs.saysThatThereIsNone(none, "4.0.0"));
    }
}
