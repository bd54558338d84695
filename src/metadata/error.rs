//! Why the metadata side did not do what it was asked for.

use crate::config::ConfigError;
use crate::model::{SegmentId, SegmentState, TopicIdPartition};

use super::log::LogError;

/// The variants differ in what the caller should do next.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// Nothing was written, nothing is known yet: ask again later.
    #[error("{partition} is not ready: {why}")]
    NotReady { partition: TopicIdPartition, why: String },
    /// Delayed upload: the segment stays local only for now. Nothing was written; ask again later.
    #[error("{segment} stays local only for now: {why} (`remote.copy.lag.ms`, `remote.copy.lag.bytes`)")]
    TooYoung { segment: SegmentId, why: String },
    /// The store is known to be down: an attempt would only leave something behind. Nothing was written; ask again later.
    #[error("{segment} is not copied while the store is down: {why}")]
    StoreDown { segment: SegmentId, why: String },
    /// This manager was not told to follow the partition, or was told to stop.
    #[error("no resource found for partition {partition}: this broker neither leads nor follows it")]
    NotAssigned { partition: TopicIdPartition },
    /// An event of a segment that no record speaks of, or whose deletion has ended.
    #[error("{segment}: no such segment is known; it was never added, or its deletion has ended")]
    UnknownSegment { segment: SegmentId },
    /// A step that the segment's state does not allow. If `is_written`, the record is in the log and every reader
    /// refused it: somebody else's record came first.
    #[error("{segment}: {to} is refused, its state is {from}")]
    Refused { segment: SegmentId, from: SegmentState, to: SegmentState, is_written: bool },
    /// The call itself is wrong; it will never succeed.
    #[error("{what}")]
    InvalidArgument { what: String },
    #[error(transparent)]
    Log(LogError),
    /// The record was accepted, but our own reader has not met it in time. It may still count.
    #[error("{what}: not seen in the log within {waited_ms} ms (`remote.log.metadata.consume.wait.ms`)")]
    Timeout { what: String, waited_ms: u64 },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the metadata manager is closed")]
    Closed,
    /// A defect of ours: report it.
    #[error("internal error: {what}")]
    Internal { what: String },
}

impl MetadataError {
    /// Whether the same call may succeed later without anybody's help.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::NotReady { .. } | Self::TooYoung { .. } | Self::StoreDown { .. } | Self::Timeout { .. } => true,
            Self::Log(error) => error.is_retriable(),
            Self::NotAssigned { .. }
            | Self::UnknownSegment { .. }
            | Self::Refused { .. }
            | Self::InvalidArgument { .. }
            | Self::Config(_)
            | Self::Closed
            | Self::Internal { .. } => false,
        }
    }
}

impl From<LogError> for MetadataError {
    fn from(error: LogError) -> Self {
        match error {
            LogError::Closed { .. } => Self::Closed,
            LogError::Config(error) => Self::Config(error),
            other => Self::Log(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_done_in_time_may_be_tried_again_wherever_the_time_was_lost() {
        let what = || "write".to_owned();
        let log = LogError::Timeout { what: what(), log: "log".to_owned(), waited_ms: 1 };
        assert!(MetadataError::Log(log).is_retriable());
        assert!(MetadataError::Timeout { what: what(), waited_ms: 1 }.is_retriable());
    }
}
