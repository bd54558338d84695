package io.undercroft.broker;

import java.io.IOException;
import java.util.Map;
import java.util.OptionalLong;
import javax.management.JMException;

/** What the plugin itself says it has read from the store. */
public final class StoreReads {
    /** MBeans of the storage side. */
    static final String PATTERN = "undercroft:type=storage,*";
    static final String BYTES = System.getProperty("undercroft.metric.bytes-read", "store-read-bytes-total");

    private StoreReads() {}

    /** Bytes that came out of the store since the broker process started; empty if no such metric is there. */
    public static OptionalLong bytes(Broker broker) throws IOException, JMException {
        Map<String, Double> all = Jmx.numbers(broker.jmxPort(), PATTERN);
        Double value = all.get(BYTES);
        return value == null ? OptionalLong.empty() : OptionalLong.of(value.longValue());
    }
}
