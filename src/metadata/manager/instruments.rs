//! What the metadata side counts.

use crate::metrics::{Counter, Gauge, Registry, Timer};

const GROUP: &str = "metadata";

pub(super) struct Instruments {
    pub(super) records_applied: Counter,
    pub(super) records_refused: Counter,
    pub(super) records_kept: Counter,
    pub(super) records_unparsable: Counter,
    pub(super) records_newer: Counter,
    pub(super) records_skipped: Counter,
    pub(super) reader_restarts: Counter,
    pub(super) checkpoints_written: Counter,
    pub(super) checkpoints_restored: Counter,
    pub(super) checkpoints_discarded: Counter,
    pub(super) log_failures: Counter,
    pub(super) copies_held_back: Counter,
    pub(super) partitions_held_back: Gauge,
    pub(super) writes_in_flight: Gauge,
    pub(super) writes_failed: Counter,
    pub(super) write: Timer,
    pub(super) segments_live: Gauge,
    pub(super) partitions_assigned: Gauge,
    pub(super) partitions_ready: Gauge,
}

impl Instruments {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let mut counter = |name, text| registry.counter(GROUP, name, text);
        Self {
            records_applied: counter("records-applied-total", "Records of the log that were applied to the state."),
            records_refused: counter(
                "records-refused-total",
                "Records that change nothing because another one came first or because they cannot be true.",
            ),
            records_kept: counter(
                "records-kept-total",
                "Updates that came before the record that makes their segment known.",
            ),
            records_unparsable: counter(
                "records-unparsable-total",
                "Records that cannot be read and were passed over.",
            ),
            records_newer: counter("records-newer-total", "Records of a version that this release does not know."),
            records_skipped: counter(
                "records-skipped-total",
                "Records that say nothing of a segment: tombstones, levels, parts of snapshots.",
            ),
            reader_restarts: counter("reader-restarts-total", "How often the reader of the log was made anew."),
            checkpoints_written: counter(
                "checkpoints-written-total",
                "Checkpoints of metadata partitions that were written.",
            ),
            checkpoints_restored: counter(
                "checkpoints-restored-total",
                "Metadata partitions that went on from a checkpoint instead of reading from the start.",
            ),
            checkpoints_discarded: counter(
                "checkpoints-discarded-total",
                "Checkpoints that were old, foreign or damaged; the log was read from the start instead.",
            ),
            log_failures: counter("log-failures-total", "Failures of the log that were tried again in the background."),
            writes_failed: counter("writes-failed-total", "Writes that were taken and did not come to a good end."),
            copies_held_back: counter(
                "copies-held-back-total",
                "How often a copy was put off because its segment is to stay local only for a while yet; the broker comes \
                 again for the same segment after its task interval.",
            ),
            partitions_held_back: registry.gauge(
                GROUP,
                "partitions-held-back",
                "Partitions led here whose next segment was held back when the broker came for it last.",
            ),
            writes_in_flight: registry.gauge(
                GROUP,
                "writes-in-flight",
                "Writes that were taken and not met by the reader yet.",
            ),
            write: registry.timer(GROUP, "write", "From taking a write to its record being applied."),
            segments_live: registry.gauge(
                GROUP,
                "segments-live",
                "Segments known in any state, of all partitions that are read.",
            ),
            partitions_assigned: registry.gauge(GROUP, "partitions-assigned", "Partitions that are led or followed."),
            partitions_ready: registry.gauge(
                GROUP,
                "partitions-ready",
                "Partitions that are led or followed and all of whose records are known.",
            ),
        }
    }
}
