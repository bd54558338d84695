package io.undercroft.kafka;

import java.util.Map;
import java.util.Set;

/** The two managers, as far as opening and closing them is alike. */
enum Side {
    /** It logs what it makes of every key itself, when it is opened. */
    STORAGE(0, "storage", "rsm.config.", false) {
        @Override
        long open(long config) throws NativeException {
            return NativeStorage.open(config);
        }

        @Override
        long metrics(long handle) throws NativeException {
            return NativeStorage.metrics(handle);
        }

        @Override
        void close(long handle, int timeoutMs) throws NativeException {
            NativeStorage.close(handle, timeoutMs);
        }

        @Override
        void free(long handle) {
            NativeStorage.free(handle);
        }
    },
    METADATA(1, "metadata", "rlmm.config.", true) {
        @Override
        Map<String, String> brokerFacts() {
            return Map.of("undercroft.broker.has.copy.lag", Boolean.toString(KafkaApi.hasCopyLag()));
        }

        @Override
        long open(long config) throws NativeException {
            return NativeMetadata.open(config);
        }

        @Override
        long metrics(long handle) throws NativeException {
            return NativeMetadata.metrics(handle);
        }

        @Override
        void close(long handle, int timeoutMs) throws NativeException {
            NativeMetadata.close(handle, timeoutMs);
        }

        @Override
        void free(long handle) {
            NativeMetadata.free(handle);
        }
    };

    /** The ABI's number of this side. */
    final int number;
    /** Its name in JMX and in messages. */
    final String title;
    /** What Kafka takes off this side's keys, unless it is told another. */
    private final String prefix;
    /** Whether a key that nobody reads is for us to tell. */
    final boolean leavesWarningsToUs;

    Side(int number, String title, String prefix, boolean leavesWarningsToUs) {
        this.number = number;
        this.title = title;
        this.prefix = prefix;
        this.leavesWarningsToUs = leavesWarningsToUs;
    }

    /** What the core is to know of the broker and no broker tells. A user's own values win. */
    Map<String, String> brokerFacts() {
        return Map.of();
    }

    /** Keys that a broker passes under their own names. */
    static final Set<String> BROKER_KEYS = Set.of("broker.id", "node.id", "log.dir", "cluster.id");

    /** What stands before this side's keys in a broker's file; nothing if it isn't a broker that configures. */
    String brokerPrefix(Map<String, ?> configs) {
        boolean isBroker = configs.containsKey("broker.id") || configs.containsKey("node.id");
        return isBroker ? prefix : "";
    }

    abstract long open(long config) throws NativeException;

    abstract long metrics(long handle) throws NativeException;

    abstract void close(long handle, int timeoutMs) throws NativeException;

    abstract void free(long handle);
}
