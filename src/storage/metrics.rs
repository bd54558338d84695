//! What the storage room counts. Everything is there from the start, with the value 0.

use std::time::Duration;

use super::StorageError;
use super::cache::DiskMeters;
use super::store::StoreMeters;
use crate::metrics::{Counter, Gauge, Registry, Timer};

const GROUP: &str = "storage";

/// Handles into the registry of one manager.
#[derive(Debug, Clone)]
pub(super) struct StorageMetrics {
    pub(super) copies: Timer,
    pub(super) copy_bytes: Counter,
    pub(super) copies_running: Gauge,
    /// Where copies spend their time: steps that read and transform, that send, and waits for memory or the rate limit.
    pub(super) copy_reads: Timer,
    pub(super) copy_sends: Timer,
    pub(super) copy_waits: Timer,
    pub(super) upload_bytes_held: Gauge,
    pub(super) cleanups_failed: Counter,
    pub(super) fetches: Counter,
    pub(super) fetched_bytes: Counter,
    pub(super) fetch_requests: Timer,
    pub(super) fetch_bytes_in_flight: Gauge,
    pub(super) index_fetches: Counter,
    pub(super) block_hits: Counter,
    pub(super) block_misses: Counter,
    pub(super) block_joins: Counter,
    pub(super) block_bytes: Gauge,
    pub(super) disk: DiskMeters,
    pub(super) ahead_asked: Counter,
    pub(super) ahead_used: Counter,
    pub(super) ahead_wasted: Counter,
    pub(super) index_hits: Counter,
    pub(super) index_misses: Counter,
    pub(super) manifest_hits: Counter,
    pub(super) manifest_misses: Counter,
    pub(super) deletes: Timer,
    pub(super) deleted_segments: Counter,
    pub(super) store: StoreMeters,
    pub(super) joint: JointMetrics,
    errors: [(&'static str, Counter); ERRORS.len()],
}

/// What [`super::joint::Joint`] counts with.
#[derive(Debug, Clone, Default)]
pub(super) struct JointMetrics {
    pub(super) outage: Gauge,
    pub(super) outages: Counter,
    pub(super) held_back: Counter,
    pub(super) deletes_handed_over: Counter,
}

/// Every kind of error, as [`StorageError::kind`] calls them, with its metric.
const ERRORS: [(&str, &str, &str); 14] = [
    ("not-found", "errors-not-found-total", "Calls that failed: the object is not there"),
    ("corrupt", "errors-corrupt-total", "Calls that failed: wrong bytes in the store"),
    ("unreachable", "errors-unreachable-total", "Calls that failed: the store did not answer or had trouble"),
    ("refused", "errors-refused-total", "Calls that failed: credentials or rights"),
    ("misconfigured", "errors-misconfigured-total", "Calls that failed: bucket or folder not there or not writable"),
    ("config", "errors-config-total", "Calls that failed: configuration"),
    ("source", "errors-source-total", "Copies that failed: a file of the broker is not as it must be"),
    ("invalid-argument", "errors-invalid-argument-total", "Calls that failed: the caller asked for what can't be"),
    ("unsupported", "errors-unsupported-total", "Calls that failed: the segment has another layout"),
    ("condemned", "errors-condemned-total", "Copies that ended after their segment was given up or deleted"),
    ("timeout", "errors-timeout-total", "Calls that failed: out of time"),
    ("cancelled", "errors-cancelled-total", "Calls that were cancelled"),
    ("closed", "errors-closed-total", "Calls after the close"),
    ("internal", "errors-internal-total", "Calls that failed for no foreseen reason"),
];

impl StorageMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let mut counter = |name, text| registry.counter(GROUP, name, text);
        let copy_bytes = counter("copy-bytes-total", "Bytes of segments copied, without indexes");
        let cleanups_failed =
            counter("copy-cleanups-failed-total", "Failed writes that could not be removed from the store in time");
        let fetches = counter("fetch-total", "Segment reads opened");
        let fetched_bytes = counter("fetch-bytes-total", "Bytes of segments handed to readers");
        let index_fetches = counter("fetch-index-total", "Indexes asked for");
        let block_hits = counter("block-cache-hits-total", "Blocks that a read found in memory");
        let block_misses = counter("block-cache-misses-total", "Blocks that a read had to get from the store");
        let block_joins = counter("block-cache-joins-total", "Blocks that another read was getting already");
        let disk = DiskMeters {
            hits: counter("disk-cache-hits-total", "Blocks that a read found in the disk cache"),
            dropped: counter(
                "disk-cache-dropped-total",
                "Blocks in the disk cache that could not be read or were wrong",
            ),
            bytes_written: counter("disk-cache-write-bytes-total", "Bytes handed to the disk cache"),
        };
        let ahead_asked = counter("read-ahead-bytes-total", "Bytes asked from the store before a read wanted them");
        let ahead_used = counter("read-ahead-used-bytes-total", "Bytes read ahead that a read wanted afterwards");
        let ahead_wasted =
            counter("read-ahead-wasted-bytes-total", "Bytes read ahead that left the memory before a read wanted them");
        let index_hits = counter("index-cache-hits-total", "Indexes found in memory");
        let index_misses = counter("index-cache-misses-total", "Indexes got from the store");
        let manifest_hits = counter("manifest-cache-hits-total", "Manifests of Aiven's layout found in memory");
        let manifest_misses = counter("manifest-cache-misses-total", "Manifests of Aiven's layout got from the store");
        let deleted_segments = counter("delete-segments-total", "Segments deleted");
        let outages =
            counter("outages-total", "Times that copies failed one after the other, so that others were held back");
        let held_back =
            counter("copies-held-back-total", "Copies that did not begin because the store was known to be down");
        let deletes_handed_over =
            counter("delete-handed-over-total", "Deletes that could not be done and that the metadata side took over");
        let store = StoreMeters {
            requests: counter("store-requests-total", "Attempts of calls to the store"),
            retries: counter("store-retries-total", "Attempts after the first of a call"),
            bytes_read: counter("store-read-bytes-total", "Bytes read from the store"),
            bytes_written: counter("store-write-bytes-total", "Bytes written to the store"),
        };
        let errors = ERRORS.map(|(kind, name, text)| (kind, counter(name, text)));
        let mut gauge = |name, text| registry.gauge(GROUP, name, text);
        let copies_running = gauge("copies-running", "Copies under way");
        let upload_bytes_held = gauge("upload-memory-bytes", "Bytes of part buffers that copies hold");
        let fetch_bytes_in_flight = gauge("fetch-in-flight-bytes", "Bytes asked from the store for reads");
        let outage = gauge("outage", "1 while copies are held back because the store is known to be down, else 0");
        let block_bytes = gauge("block-cache-bytes", "Bytes in the block cache");
        let copies = registry.timer(GROUP, "copy", "Copies that ended, well or not");
        let copy_reads =
            registry.timer(GROUP, "copy-read", "Steps in which a copy waited for bytes read and transformed");
        let copy_sends =
            registry.timer(GROUP, "copy-send", "Steps in which a copy waited for the store to take or complete a part");
        let copy_waits =
            registry.timer(GROUP, "copy-wait", "Steps in which a copy waited for memory or for the rate limit");
        let fetch_requests = registry.timer(GROUP, "fetch-requests", "Ranged reads of data from the store");
        let deletes = registry.timer(GROUP, "delete", "Delete calls");
        Self {
            copies,
            copy_bytes,
            copies_running,
            copy_reads,
            copy_sends,
            copy_waits,
            upload_bytes_held,
            cleanups_failed,
            fetches,
            fetched_bytes,
            fetch_requests,
            fetch_bytes_in_flight,
            index_fetches,
            block_hits,
            block_misses,
            block_joins,
            block_bytes,
            disk,
            ahead_asked,
            ahead_used,
            ahead_wasted,
            index_hits,
            index_misses,
            manifest_hits,
            manifest_misses,
            deletes,
            deleted_segments,
            store,
            joint: JointMetrics { outage, outages, held_back, deletes_handed_over },
            errors,
        }
    }

    pub(super) fn copied<T>(&self, took: Duration, bytes: u64, outcome: &Result<T, StorageError>) {
        self.copies.record(took);
        match outcome {
            Ok(_) => self.copy_bytes.add(bytes),
            Err(error) => self.failed(error),
        }
    }

    pub(super) fn failed(&self, error: &StorageError) {
        if let Some((_, counter)) = self.errors.iter().find(|(kind, _)| *kind == error.kind()) {
            counter.increment();
        }
    }
}
