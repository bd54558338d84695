//! Numbers of each topic, for whoever asks for them: a cluster may have thousands of topics.

use std::time::Duration;

use crate::metrics::{Family, Kind, Registry};

/// Counts by topic, or nothing.
#[derive(Debug, Clone)]
pub(super) struct TopicMetrics {
    /// `metrics.topics.enabled`.
    is_on: bool,
    copies: Work,
    fetches: Family,
    fetch_requested_bytes: Family,
    fetch_errors: Family,
    deletes: Work,
}

/// Something that is done to whole segments.
#[derive(Debug, Clone)]
struct Work {
    segments: Family,
    bytes: Family,
    errors: Family,
    time_us: Family,
}

impl TopicMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let mut family = |name, text| registry.family(super::GROUP, name, "topic", Kind::Counter, text);
        Self {
            is_on: false,
            copies: Work {
                segments: family("topic-copies-total", "Segments of the topic copied"),
                bytes: family("topic-copy-bytes-total", "Bytes of segments of the topic copied, without indexes"),
                errors: family("topic-copy-errors-total", "Copies of the topic that failed"),
                time_us: family(
                    "topic-copy-time-us-total",
                    "Copies of the topic that succeeded: microseconds of all together",
                ),
            },
            fetches: family("topic-fetch-total", "Segment reads of the topic opened"),
            fetch_requested_bytes: family(
                "topic-fetch-requested-bytes-total",
                "Bytes from where segment reads of the topic were opened to where they might end",
            ),
            fetch_errors: family("topic-fetch-errors-total", "Segment reads of the topic that could not be opened"),
            deletes: Work {
                segments: family("topic-deletes-total", "Segments of the topic deleted"),
                bytes: family("topic-delete-bytes-total", "Bytes of segments of the topic deleted, without indexes"),
                errors: family("topic-delete-errors-total", "Delete calls with segments of the topic that failed"),
                time_us: family(
                    "topic-delete-time-us-total",
                    "Delete calls of the topic that succeeded: microseconds of all together",
                ),
            },
        }
    }

    pub(super) fn switched(self, is_on: bool) -> Self {
        Self { is_on, ..self }
    }

    pub(super) fn copied(&self, topic: &str, took: Duration, bytes: Option<u64>) {
        if self.is_on {
            self.copies.done(topic, took, bytes);
        }
    }

    pub(super) fn deleted(&self, topic: &str, took: Duration, bytes: Option<u64>) {
        if self.is_on {
            self.deletes.done(topic, took, bytes);
        }
    }

    pub(super) fn fetch_opened(&self, topic: &str, bytes: Option<u64>) {
        if !self.is_on {
            return;
        }
        match bytes {
            Some(bytes) => {
                self.fetches.with(topic).add(1);
                self.fetch_requested_bytes.with(topic).add(amount(bytes));
            }
            None => self.fetch_errors.with(topic).add(1),
        }
    }
}

impl Work {
    /// One segment, or one failure.
    fn done(&self, topic: &str, took: Duration, bytes: Option<u64>) {
        let Some(bytes) = bytes else { return self.errors.with(topic).add(1) };
        self.segments.with(topic).add(1);
        self.bytes.with(topic).add(amount(bytes));
        self.time_us.with(topic).add(i64::try_from(took.as_micros()).unwrap_or(i64::MAX));
        // So that whoever divides by it finds it.
        self.errors.with(topic).add(0);
    }
}

fn amount(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
