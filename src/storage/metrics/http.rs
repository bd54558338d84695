//! HTTP requests to a store, by what they are for and how they ended.

use std::sync::Arc;
use std::time::Duration;

use crate::metrics::{Family, Gauge, Kind, Registry};

/// What a request is for, in words that fit every store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Operation {
    Get,
    Head,
    List,
    Put,
    CreateUpload,
    PutPart,
    CompleteUpload,
    AbortUpload,
    Delete,
    DeleteBatch,
    /// Credentials, and what nobody foresaw.
    Other,
}

impl Operation {
    pub(in super::super) const ALL: [Self; 11] = [
        Self::Get,
        Self::Head,
        Self::List,
        Self::Put,
        Self::CreateUpload,
        Self::PutPart,
        Self::CompleteUpload,
        Self::AbortUpload,
        Self::Delete,
        Self::DeleteBatch,
        Self::Other,
    ];

    /// The value of the label.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Head => "head",
            Self::List => "list",
            Self::Put => "put",
            Self::CreateUpload => "create-upload",
            Self::PutPart => "put-part",
            Self::CompleteUpload => "complete-upload",
            Self::AbortUpload => "abort-upload",
            Self::Delete => "delete",
            Self::DeleteBatch => "delete-batch",
            Self::Other => "other",
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Ending {
    /// The store answered with this status; a body may still come.
    Status(u16),
    /// No answer in time.
    Late,
    /// No connection, or one that broke.
    Broken,
}

/// Meters of one manager.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct HttpMeters {
    in_flight: Gauge,
    /// In the order of [`Operation::ALL`].
    operations: Arc<[OfOperation]>,
}

#[derive(Debug)]
struct OfOperation {
    requests: Gauge,
    time_us: Gauge,
    time_us_max: Gauge,
    good: Gauge,
    refused: Gauge,
    failed: Gauge,
    throttled: Gauge,
    late: Gauge,
    broken: Gauge,
}

impl HttpMeters {
    pub(super) fn new(registry: &mut Registry) -> Self {
        const GROUP: &str = super::GROUP;
        let in_flight = registry.gauge(GROUP, "http-in-flight", "HTTP requests to the store under way");
        let mut family = |name, kind, text| registry.family(GROUP, name, "operation", kind, text);
        let requests = family("http-requests-total", Kind::Counter, "HTTP requests to the store, each attempt");
        let time_us = family(
            "http-time-us-total",
            Kind::Counter,
            "HTTP requests: microseconds until their answers began, of all together",
        );
        let time_us_max = family(
            "http-time-us-max",
            Kind::Gauge,
            "HTTP requests: microseconds until the answer began, of the longest so far",
        );
        let good = family("http-2xx-total", Kind::Counter, "HTTP requests that were answered with a status below 400");
        let refused = family(
            "http-4xx-total",
            Kind::Counter,
            "HTTP requests that were answered with a status from 400 to 499 but 429",
        );
        let failed = family(
            "http-5xx-total",
            Kind::Counter,
            "HTTP requests that were answered with a status from 500 on but 503",
        );
        let throttled = family(
            "http-throttled-total",
            Kind::Counter,
            "HTTP requests that the store asked to be made later: status 429 or 503 (SlowDown)",
        );
        let late = family("http-timeouts-total", Kind::Counter, "HTTP requests without an answer in time");
        let broken =
            family("http-broken-total", Kind::Counter, "HTTP requests without a connection, or whose connection broke");
        let of = |family: &Family, operation: Operation| family.with(operation.name());
        let operations = Operation::ALL.map(|operation| OfOperation {
            requests: of(&requests, operation),
            time_us: of(&time_us, operation),
            time_us_max: of(&time_us_max, operation),
            good: of(&good, operation),
            refused: of(&refused, operation),
            failed: of(&failed, operation),
            throttled: of(&throttled, operation),
            late: of(&late, operation),
            broken: of(&broken, operation),
        });
        Self { in_flight, operations: Arc::new(operations) }
    }

    /// Counts one more request under way, until the guard is dropped.
    pub(in super::super) fn begin(&self) -> InFlight {
        self.in_flight.add(1);
        InFlight(self.in_flight.clone())
    }

    pub(in super::super) fn ended(&self, operation: Operation, took: Duration, ending: Ending) {
        let Some(of) = self.operations.get(operation as usize) else { return };
        let us = i64::try_from(took.as_micros()).unwrap_or(i64::MAX);
        of.requests.add(1);
        of.time_us.add(us);
        of.time_us_max.raise(us);
        match ending {
            Ending::Status(429 | 503) => &of.throttled,
            Ending::Status(..400) => &of.good,
            Ending::Status(400..500) => &of.refused,
            Ending::Status(_) => &of.failed,
            Ending::Late => &of.late,
            Ending::Broken => &of.broken,
        }
        .add(1);
    }
}

/// A request under way.
pub(in super::super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.add(-1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_there_from_the_start_and_counted_by_itself() {
        let mut registry = Registry::new();
        let meters = HttpMeters::new(&mut registry);
        let value = |registry: &Registry, line: &str| {
            let text = registry.prometheus();
            text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse::<i64>().ok())
        };
        for operation in Operation::ALL {
            let line = format!("undercroft_storage_http_requests_total{{operation=\"{}\"}}", operation.name());
            assert_eq!(value(&registry, &line), Some(0), "{line}");
        }
        for (took, ending, name) in [
            (5, Ending::Status(206), "2xx"),
            (9, Ending::Status(404), "4xx"),
            (1, Ending::Status(500), "5xx"),
            (1, Ending::Status(503), "throttled"),
            (1, Ending::Status(429), "throttled"),
            (1, Ending::Late, "timeouts"),
            (1, Ending::Broken, "broken"),
        ] {
            let line = format!("undercroft_storage_http_{name}_total{{operation=\"put-part\"}}");
            let before = value(&registry, &line).expect("there");
            meters.ended(Operation::PutPart, Duration::from_micros(took), ending);
            assert_eq!(value(&registry, &line), Some(before + 1), "{line}");
        }
        let of = |name: &str| value(&registry, &format!("undercroft_storage_http_{name}{{operation=\"put-part\"}}"));
        assert_eq!((of("requests_total"), of("time_us_total"), of("time_us_max")), (Some(7), Some(19), Some(9)));
        let guard = meters.begin();
        assert_eq!(value(&registry, "undercroft_storage_http_in_flight"), Some(1));
        drop(guard);
        assert_eq!(value(&registry, "undercroft_storage_http_in_flight"), Some(0));
    }
}
