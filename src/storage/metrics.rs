//! What the storage room counts. Everything is there from the start, with the value 0.

mod ages;
mod http;
mod topics;

use std::time::Duration;

use self::ages::CopyAges;
pub(super) use self::http::{Ending, HttpMeters, Operation};
use self::topics::TopicMetrics;
use super::StorageError;
use super::cache::DiskMeters;
use super::store::StoreMeters;
use crate::metrics::{Counter, Gauge, Registry, Timer};
use crate::model::SegmentMetadata;

const GROUP: &str = "storage";

/// Handles into the registry of one manager.
#[derive(Debug, Clone)]
pub(super) struct StorageMetrics {
    pub(super) copies: Timer,
    copy_bytes: Counter,
    copy_objects: Counter,
    copy_errors: Counter,
    pub(super) copy_ages: CopyAges,
    pub(super) copies_running: Gauge,
    /// Where copies spend their time: steps that read and transform, that send, and waits for memory or the rate limit.
    pub(super) copy_reads: Timer,
    pub(super) copy_sends: Timer,
    pub(super) copy_waits: Timer,
    pub(super) upload_bytes_held: Gauge,
    pub(super) cleanups_failed: Counter,
    pub(super) fetches: Counter,
    fetch_requested_bytes: Counter,
    fetch_errors: Counter,
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
    pub(super) block_evictions: Evictions,
    pub(super) indexes: CacheMetrics,
    pub(super) manifests: CacheMetrics,
    deletes: Timer,
    deleted_segments: Counter,
    deleted_bytes: Counter,
    delete_errors: Counter,
    pub(super) store: StoreMeters,
    pub(super) joint: JointMetrics,
    topics: TopicMetrics,
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

/// Entries that a cache gave up for others.
#[derive(Debug, Clone, Default)]
pub(super) struct Evictions {
    entries: Counter,
    bytes: Counter,
}

/// A cache whose entries are loaded by a request each.
#[derive(Debug, Clone)]
pub(super) struct CacheMetrics {
    pub(super) hits: Counter,
    pub(super) misses: Counter,
    pub(super) entries: Gauge,
    pub(super) weight: Gauge,
    pub(super) evictions: Evictions,
    loads: Timer,
    load_errors: Counter,
}

impl Evictions {
    pub(super) fn count(&self, bytes: usize) {
        self.entries.increment();
        self.bytes.add(bytes as u64);
    }
}

impl CacheMetrics {
    /// A load that ended.
    pub(super) fn loaded(&self, took: Duration, is_good: bool) {
        self.loads.record(took);
        if !is_good {
            self.load_errors.increment();
        }
    }
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
        let copy_objects = counter("copy-objects-total", "Objects that copies wrote");
        let copy_errors = counter("copy-errors-total", "Copies that failed, whatever for");
        let fetch_errors = counter("fetch-errors-total", "Reads of segments and indexes that failed, whatever for");
        let fetches = counter("fetch-total", "Segment reads opened");
        let fetch_requested_bytes = counter(
            "fetch-requested-bytes-total",
            "Bytes from where segment reads were opened to where they might end; a broker that names no end means the segment's, and reads less",
        );
        let fetched_bytes = counter("fetch-bytes-total", "Bytes of segments handed to readers");
        let index_fetches = counter("fetch-index-total", "Indexes asked for");
        let block_hits = counter("block-cache-hits-total", "Blocks that a read found in memory");
        let block_misses = counter("block-cache-misses-total", "Blocks that a read had to get from the store");
        let block_joins = counter("block-cache-joins-total", "Blocks that another read was getting already");
        let block_evictions = Evictions {
            entries: counter("block-cache-evictions-total", "Blocks that left memory to make room"),
            bytes: counter("block-cache-evicted-bytes-total", "Bytes of blocks that left memory to make room"),
        };
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
        let index_evictions = Evictions {
            entries: counter("index-cache-evictions-total", "Segments whose indexes left memory to make room"),
            bytes: counter("index-cache-evicted-bytes-total", "Bytes of indexes that left memory to make room"),
        };
        let index_load_errors = counter("index-load-errors-total", "Requests for the indexes of a segment that failed");
        let manifest_hits = counter("manifest-cache-hits-total", "Manifests of Aiven's layout found in memory");
        let manifest_misses = counter("manifest-cache-misses-total", "Manifests of Aiven's layout got from the store");
        let manifest_evictions = Evictions {
            entries: counter("manifest-cache-evictions-total", "Manifests that left memory to make room"),
            bytes: counter("manifest-cache-evicted-bytes-total", "Bytes of manifests that left memory to make room"),
        };
        let manifest_load_errors = counter("manifest-load-errors-total", "Requests for manifests that failed");
        let deleted_bytes = counter("delete-bytes-total", "Bytes of segments deleted, without indexes");
        let delete_errors = counter("delete-errors-total", "Delete calls that failed, whatever for");
        let deleted_segments = counter("delete-segments-total", "Segments deleted");
        let outages =
            counter("outages-total", "Times that copies failed one after the other, so that others were held back");
        let held_back =
            counter("copies-held-back-total", "Copies that did not begin because the store was known to be down");
        let deletes_handed_over =
            counter("delete-handed-over-total", "Deletes that could not be done and that the metadata side took over");
        let mut store = StoreMeters {
            requests: counter("store-requests-total", "Attempts of calls to the store"),
            retries: counter("store-retries-total", "Attempts after the first of a call"),
            bytes_read: counter("store-read-bytes-total", "Bytes read from the store"),
            bytes_written: counter("store-write-bytes-total", "Bytes written to the store"),
            http: HttpMeters::default(),
        };
        let errors = ERRORS.map(|(kind, name, text)| (kind, counter(name, text)));
        let mut gauge = |name, text| registry.gauge(GROUP, name, text);
        let copies_running = gauge("copies-running", "Copies under way");
        let upload_bytes_held = gauge("upload-memory-bytes", "Bytes of part buffers and indexes that copies hold");
        let fetch_bytes_in_flight = gauge("fetch-in-flight-bytes", "Bytes asked from the store for reads");
        let outage = gauge("outage", "1 while copies are held back because the store is known to be down, else 0");
        let block_bytes = gauge("block-cache-bytes", "Bytes in the block cache");
        let index_entries = gauge("index-cache-entries", "Segments whose indexes are in memory");
        let index_weight = gauge("index-cache-bytes", "Bytes of indexes in memory");
        let manifest_entries = gauge("manifest-cache-entries", "Manifests in memory");
        let manifest_weight = gauge("manifest-cache-weight", "Manifests in memory, a long one counted as several");
        let copies = registry.timer(GROUP, "copy", "Copies that ended, well or not");
        let copy_reads =
            registry.timer(GROUP, "copy-read", "Steps in which a copy waited for bytes read and transformed");
        let copy_sends =
            registry.timer(GROUP, "copy-send", "Steps in which a copy waited for the store to take or complete a part");
        let copy_waits =
            registry.timer(GROUP, "copy-wait", "Steps in which a copy waited for memory or for the rate limit");
        let fetch_requests = registry.timer(GROUP, "fetch-requests", "Ranged reads of data from the store");
        let deletes = registry.timer(GROUP, "delete", "Delete calls");
        let index_loads = registry.timer(GROUP, "index-loads", "Requests for the indexes of a segment");
        let manifest_loads = registry.timer(GROUP, "manifest-loads", "Requests for manifests or footers");
        let copy_ages = CopyAges::new(registry);
        store.http = HttpMeters::new(registry);
        let topics = TopicMetrics::new(registry);
        Self {
            copies,
            copy_bytes,
            copy_objects,
            copy_errors,
            copy_ages,
            copies_running,
            copy_reads,
            copy_sends,
            copy_waits,
            upload_bytes_held,
            cleanups_failed,
            fetches,
            fetch_requested_bytes,
            fetch_errors,
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
            block_evictions,
            indexes: CacheMetrics {
                hits: index_hits,
                misses: index_misses,
                entries: index_entries,
                weight: index_weight,
                evictions: index_evictions,
                loads: index_loads,
                load_errors: index_load_errors,
            },
            manifests: CacheMetrics {
                hits: manifest_hits,
                misses: manifest_misses,
                entries: manifest_entries,
                weight: manifest_weight,
                evictions: manifest_evictions,
                loads: manifest_loads,
                load_errors: manifest_load_errors,
            },
            deletes,
            deleted_segments,
            deleted_bytes,
            delete_errors,
            topics,
            store,
            joint: JointMetrics { outage, outages, held_back, deletes_handed_over },
            errors,
        }
    }

    /// Counts by topic too, or not.
    pub(super) fn with_topics(self, is_on: bool) -> Self {
        let topics = self.topics.switched(is_on);
        Self { topics, ..self }
    }

    pub(super) fn copied<T>(&self, segment: &SegmentMetadata, took: Duration, outcome: &Result<T, StorageError>) {
        let bytes = size_of(segment);
        self.copies.record(took);
        self.topics.copied(&segment.id.partition.topic, took, outcome.is_ok().then_some(bytes));
        match outcome {
            Ok(_) => {
                self.copy_bytes.add(bytes);
                self.copy_objects.increment();
            }
            Err(error) => {
                self.copy_errors.increment();
                self.count_kind(error);
            }
        }
    }

    /// A read of `bytes` of a segment was opened, or could not be.
    pub(super) fn fetch_opened(&self, segment: &SegmentMetadata, bytes: Result<u64, &StorageError>) {
        self.topics.fetch_opened(&segment.id.partition.topic, bytes.ok());
        match bytes {
            Ok(bytes) => self.fetch_requested_bytes.add(bytes),
            Err(error) => self.failed(error),
        }
    }

    /// A call ended that had `count` of these segments deleted.
    pub(super) fn deleted<T>(
        &self,
        segments: &[SegmentMetadata],
        count: usize,
        took: Duration,
        outcome: &Result<T, StorageError>,
    ) {
        self.deletes.record(took);
        self.deleted_segments.add(count as u64);
        // Which of them failed is not said: bytes and topics are counted for whole calls.
        let is_good = outcome.is_ok();
        for segment in segments {
            let bytes = is_good.then(|| size_of(segment));
            self.deleted_bytes.add(bytes.unwrap_or(0));
            self.topics.deleted(&segment.id.partition.topic, took, bytes);
        }
        if let Err(error) = outcome {
            self.delete_errors.increment();
            self.count_kind(error);
        }
    }

    /// A read failed.
    pub(super) fn failed(&self, error: &StorageError) {
        self.fetch_errors.increment();
        self.count_kind(error);
    }

    /// Something failed that is neither copy, read nor delete.
    pub(super) fn count_kind(&self, error: &StorageError) {
        if let Some((_, counter)) = self.errors.iter().find(|(kind, _)| *kind == error.kind()) {
            counter.increment();
        }
    }
}

fn size_of(segment: &SegmentMetadata) -> u64 {
    u64::try_from(segment.size_bytes).unwrap_or(0)
}
