package io.undercroft.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Readers of transactions whose segments and transaction indexes are only in a store; about half a minute each. */
class TransactionsOnEachStoreIT {
    private static final int PARTITIONS = 2;
    private static final int VALUE_BYTES = 1000;
    private static final int ROUNDS = 40;
    /** That a partition has at least, of 1 MiB. */
    private static final int SEGMENTS = 5;

    @ParameterizedTest
    @CsvSource({"s3, PLAIN", "s3, SEALED", "s3, AIVEN", "s3, AIVEN_SEALED", "azure, PLAIN", "azure, SEALED", "gcs, PLAIN", "gcs, SEALED"})
    void a_reader_of_what_is_committed_gets_exactly_that_out_of_the_store_and_one_of_all_gets_all(String kind, Mode mode) throws Exception {
        String name = "transactions-" + kind + "-" + mode.text();
        Path folder = Place.freshFolder(name);
        StoreServer server = Servers.startOrLeaveOut(kind, folder);
        Rig.Wish wish = new Rig.Wish();
        mode.properties(folder).forEach(wish::with);
        try (Rig rig = Rig.over(folder, server, wish)) {
            rig.broker.start();
            try (TieredTopic topic = TieredTopic.create(rig.broker, name, PARTITIONS, 1 << 20, VALUE_BYTES)) {
                Transactions transactions = new Transactions(rig.broker.bootstrap(), name, PARTITIONS, VALUE_BYTES);
                transactions.write(ROUNDS);
                Map<Integer, Long> ends = topic.offsets(OffsetSpec.latest());
                topic.awaitOnlyRemote(Rig.SOON, ends);
                Map<String, Long> objects = server.objects();
                assertTrue(objects.size() >= PARTITIONS * SEGMENTS * (mode.isAiven() ? 3 : 1), objects::toString);
                long stored = objects.values().stream().mapToLong(Long::longValue).sum();

                long before = StoreReads.bytes(rig.broker).orElseThrow();
                mustRead(rig, transactions, true, ends, transactions.committedRecords());
                long read = StoreReads.bytes(rig.broker).orElseThrow() - before;
                // All but what the objects have beside their records.
                assertTrue(read >= stored / 10 * 9, "of " + stored + " bytes in the store " + read + " were read");
                mustRead(rig, transactions, false, ends, transactions.records());
                Progress.show("%s: %,d of %,d records are committed; %d objects, %,d bytes; %,d bytes came out of the store", name,
                        transactions.committedRecords(), transactions.records(), objects.size(), stored, read);

                topic.delete();
                rig.awaitEmptyStore();
            }
            rig.broker.stop(Duration.ofSeconds(30));
            rig.mustHaveNoCrashFile();
        }
    }

    private static void mustRead(Rig rig, Transactions transactions, boolean onlyCommitted, Map<Integer, Long> ends, long records) {
        Transactions.Reading r = transactions.read(onlyCommitted, ends, Rig.SOON);
        assertNull(r.wrong(), () -> (onlyCommitted ? "read_committed: " : "read_uncommitted: ") + r.wrong() + "\n" + rig.broker.logTail());
        assertEquals(records, r.records());
    }
}
