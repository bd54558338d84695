//! What upkeep counts.

use crate::metrics::{Counter, Family, Gauge, Kind, Registry};

const GROUP: &str = "metadata";
const DANGLING_COUNT: &str = "kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogCount";
const DANGLING_BYTES: &str = "kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogBytes";

pub(in super::super) struct Instruments {
    pub(super) dangling: Family,
    pub(super) dangling_bytes: Family,
    pub(super) dangling_age_ms_max: Gauge,
    pub(super) topics_gone: Gauge,
    pub(super) claims: Counter,
    pub(super) claims_refused: Counter,
    pub(in super::super) late_finishes_refused: Counter,
    pub(super) deletes: Counter,
    pub(super) deletes_failed: Counter,
    pub(super) deletes_late: Counter,
    pub(super) deletes_taken_over: Counter,
    pub(super) tombstones: Counter,
    pub(super) rewrites: Counter,
    pub(super) rolls: Counter,
    pub(in super::super) attempts_held_back: Counter,
}

impl Instruments {
    /// A topic has leaders here: its gauges are there from now on, and not only from the next round on.
    pub(in super::super) fn led(&self, topic: &str) {
        let _ = (self.dangling.with(topic), self.dangling_bytes.with(topic));
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let dangling = registry.family_of_kafka(
            GROUP,
            "dangling-remote-log-count",
            "topic",
            Kind::Gauge,
            "Abandoned copies that are not deleted yet, in the partitions led here. At level 0 deletions without an end.",
            DANGLING_COUNT,
        );
        let dangling_bytes = registry.family_of_kafka(
            GROUP,
            "dangling-remote-log-bytes",
            "topic",
            Kind::Gauge,
            "Sizes of those, of the segments as the broker wrote them.",
            DANGLING_BYTES,
        );
        let mut gauge = |name, text| registry.gauge(GROUP, name, text);
        let dangling_age_ms_max = gauge(
            "dangling-age-ms-max",
            "Milliseconds since the oldest of those was left behind, as far as this broker knows; 0 if there are none.",
        );
        let topics_gone = gauge("topics-gone", "Deleted topics of which something is left that this broker cleans up.");
        let mut counter = |name, text| registry.counter(GROUP, name, text);
        Self {
            dangling,
            dangling_bytes,
            dangling_age_ms_max,
            topics_gone,
            claims: counter("claims-total", "Copies that were found abandoned and claimed by this broker."),
            claims_refused: counter("claims-refused-total", "Claims that came after the copy had finished after all."),
            late_finishes_refused: counter(
                "late-finishes-refused-total",
                "Copies of this broker that finished after somebody had claimed or deleted them; the segment is copied anew.",
            ),
            deletes: counter("upkeep-deletes-total", "Segments whose objects this broker deleted by itself."),
            deletes_failed: counter("upkeep-deletes-failed-total", "Tries at that that failed and are repeated."),
            deletes_late: counter(
                "upkeep-deletes-late-total",
                "Segments of which something was found in the store after the grace, and deleted once more.",
            ),
            deletes_taken_over: counter(
                "deletes-taken-over-total",
                "Deletions that the store did not do when the broker asked for them, and that are done later.",
            ),
            tombstones: counter("tombstones-total", "Tombstones written for the records of what is deleted."),
            rewrites: counter(
                "rewrites-total",
                "Facts written once more under a key, because the record they rest on has none.",
            ),
            rolls: counter(
                "log-rolls-total",
                "Records written to quiet partitions of the log so that what they hold is compacted.",
            ),
            attempts_held_back: counter(
                "attempts-held-back-total",
                "Copies that were not begun because the store is known to be down.",
            ),
        }
    }
}
