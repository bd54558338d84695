package io.undercroft.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The names of Aiven's plugin, in the platform's own bean server. */
class AivenBeansTest {
    private static final String RSM = "aiven.kafka.server.tieredstorage:type=remote-storage-manager-metrics";
    private static final String S3 = "aiven.kafka.server.tieredstorage.s3:type=s3-client-metrics";
    private static final String CACHE = "aiven.kafka.server.tieredstorage.cache:type=segment-indexes-cache-metrics";

    private final MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    private final Map<String, Double> numbers = new TreeMap<>();
    private long seconds;
    private AivenBeans beans;

    private void register(String backend) {
        beans = AivenBeans.register(() -> Map.copyOf(numbers), backend, () -> TimeUnit.SECONDS.toNanos(seconds));
    }

    private double get(String bean, String attribute) throws Exception {
        return (double) server.getAttribute(new ObjectName(bean), attribute);
    }

    private Set<String> names() throws Exception {
        return server.queryNames(new ObjectName("aiven.*:*"), null).stream().map(ObjectName::toString).collect(Collectors.toCollection(TreeSet::new));
    }

    @AfterEach
    void nothingIsLeft() throws Exception {
        if (beans != null) {
            beans.unregister();
        }
        assertTrue(names().isEmpty(), names().toString());
    }

    /** Source: what Aiven's docs list for dashboards (metrics.rst). */
    @Test
    void everyAttributeIsThereFromTheStart() throws Exception {
        register("s3");
        for (String attribute : List.of("segment-copy-time-avg", "segment-copy-time-max", "segment-delete-rate", "segment-delete-total",
            "segment-delete-errors-rate", "segment-delete-errors-total", "segment-delete-time-avg", "segment-delete-time-max",
            "segment-delete-bytes-total", "segment-fetch-requested-bytes-rate", "segment-fetch-requested-bytes-total",
            "object-upload-rate", "object-upload-total", "object-upload-bytes-rate", "object-upload-bytes-total")) {
            get(RSM, attribute);
        }
        for (String attribute : List.of("cache-hits-total", "cache-misses-total", "cache-load-success-total",
            "cache-load-success-time-total", "cache-load-failure-total", "cache-eviction-total", "cache-eviction-weight-total", "cache-size-total")) {
            assertEquals(0, get(CACHE, attribute), attribute);
        }
        for (String stem : List.of("get-object", "put-object", "delete-object", "delete-objects", "create-multipart-upload",
            "upload-part", "complete-multipart-upload", "abort-multipart-upload")) {
            assertEquals(0, get(S3, stem + "-requests-rate"), stem);
            assertEquals(0, get(S3, stem + "-requests-total"), stem);
            assertTrue(Double.isNaN(get(S3, stem + "-requests-time-avg")), stem);
            assertEquals(0, get(S3, stem + "-requests-time-max"), stem);
        }
        for (String stem : List.of("throttling", "server", "configured-timeout", "io", "other")) {
            assertEquals(0, get(S3, stem + "-errors-rate"), stem);
            assertEquals(0, get(S3, stem + "-errors-total"), stem);
        }
        assertEquals(5, names().size(), names().toString());
    }

    @Test
    void aStoreHasItsOwnClientOnly() throws Exception {
        register("io.aiven.kafka.tieredstorage.storage.gcs.GcsStorage".toLowerCase());
        assertTrue(names().contains("aiven.kafka.server.tieredstorage.gcs:type=gcs-client-metrics"));
        assertEquals(5, names().size(), names().toString());
        beans.unregister();
        register("filesystem");
        assertEquals(4, names().size(), names().toString());
    }

    @Test
    void ratesAndAveragesAreOfTheLastMinute() throws Exception {
        register("s3");
        numbers.put("copy-total", 4.0);
        numbers.put("copy-time-us-total", 8_000_000.0);
        numbers.put("copy-time-us-max", 5_000_000.0);
        numbers.put("delete-segments-total", 30.0);
        seconds = 10;
        beans.refresh();
        assertEquals(2000, get(RSM, "segment-copy-time-avg"));
        assertEquals(5000, get(RSM, "segment-copy-time-max"));
        assertEquals(3, get(RSM, "segment-delete-rate"));
        assertEquals(30, get(RSM, "segment-delete-total"));
        for (; seconds <= 120; seconds++) {
            beans.refresh();
        }
        assertEquals(30, get(RSM, "segment-delete-total"));
        assertEquals(0, get(RSM, "segment-delete-rate"), "nothing for a minute");
        assertTrue(Double.isNaN(get(RSM, "segment-copy-time-avg")));
        assertEquals(5000, get(RSM, "segment-copy-time-max"));
    }

    @Test
    void sumsDifferencesAndUnitsAreThoseOfThere() throws Exception {
        numbers.put("http-throttled-total get", 2.0);
        numbers.put("http-throttled-total put-part", 3.0);
        numbers.put("http-requests-total get", 7.0);
        numbers.put("index-loads-total", 9.0);
        numbers.put("index-load-errors-total", 4.0);
        numbers.put("index-loads-time-us-total", 6.0);
        register("s3");
        assertEquals(5, get(S3, "throttling-errors-total"));
        assertEquals(7, get(S3, "get-object-requests-total"));
        assertEquals(5, get(CACHE, "cache-load-success-total"));
        assertEquals(4, get(CACHE, "cache-load-failure-total"));
        assertEquals(6000, get(CACHE, "cache-load-success-time-total"));
    }

    @Test
    void aTopicHasABeanOnceItIsMet() throws Exception {
        register("filesystem");
        numbers.put("topic-copies-total orders", 2.0);
        numbers.put("topic-copy-time-us-total orders", 3000.0);
        numbers.put("topic-delete-bytes-total orders", 50.0);
        numbers.put("http-requests-total get", 50.0);
        seconds = 5;
        beans.refresh();
        assertEquals(50, get(RSM + ",topic=orders", "segment-delete-bytes-total"));
        assertEquals(1.5, get(RSM + ",topic=orders", "segment-copy-time-avg"));
        assertEquals(5, names().size(), names().toString());
    }

    @Test
    void whereTheNamesAreTakenTheFirstStays() throws Exception {
        numbers.put("copy-objects-total", 1.0);
        register("filesystem");
        AivenBeans second = AivenBeans.register(() -> Map.of("copy-objects-total", 9.0), "filesystem", () -> 0);
        assertEquals(1, get(RSM, "object-upload-total"));
        second.unregister();
        assertEquals(1, get(RSM, "object-upload-total"));
        MBeanAttributeInfo[] attributes = server.getMBeanInfo(new ObjectName(RSM)).getAttributes();
        assertTrue(Arrays.stream(attributes).allMatch(MBeanAttributeInfo::isReadable));
        assertFalse(Arrays.stream(attributes).anyMatch(MBeanAttributeInfo::isWritable));
    }
}
