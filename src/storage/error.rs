//! Why something could not be stored, read or deleted.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use crate::config::ConfigError;

/// What lies underneath an error, shared by everyone who waited for the same request.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Everything that the storage room reports. The variants differ in what the caller should do next.
///
/// Every message says what was tried, on which object of which store, what happened, and the remedy where there is one.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StorageError {
    /// The store answered that the object isn't there. Never said for a missing bucket or folder.
    #[error("{action} {object} in {store}: the object is not there")]
    NotFound { action: &'static str, object: Box<str>, store: Box<str> },
    /// The store answered and the bytes are wrong: keep the object, tell the operator.
    #[error("{action} {object} in {store}: {place} is corrupt: {why}")]
    Corrupt { action: &'static str, object: Box<str>, store: Box<str>, place: Box<str>, why: Box<str> },
    /// The store didn't answer, or answered that it can't now: retry later.
    #[error(
        "{action} {object} in {store}: the store could not be reached or had trouble after {waited_ms} ms and {attempts} attempts: {why}; check {remedy}"
    )]
    Unreachable {
        action: &'static str,
        object: Box<str>,
        store: Box<str>,
        waited_ms: u64,
        attempts: u32,
        why: Box<str>,
        remedy: &'static str,
        #[source]
        source: Option<Cause>,
    },
    /// The store knows us and says no, or doesn't accept who we say we are.
    #[error("{action} {object} in {store}: refused: {why}; check {remedy}")]
    Refused {
        action: &'static str,
        object: Box<str>,
        store: Box<str>,
        why: Box<str>,
        remedy: &'static str,
        #[source]
        source: Option<Cause>,
    },
    /// The bucket or folder isn't there, isn't writable, or is elsewhere: nothing works until an operator acts.
    #[error("{action} {object} in {store}: {why}; check {remedy}")]
    Misconfigured {
        action: &'static str,
        object: Box<str>,
        store: Box<str>,
        why: Box<str>,
        remedy: &'static str,
        #[source]
        source: Option<Cause>,
    },
    /// A key is missing, out of range, or asks for something that can't be had.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file of the broker isn't what the segment's metadata says, or can't be read. Nothing was completed.
    #[error("copy {object}: source file {}: {why}", .path.display())]
    Source {
        object: Box<str>,
        path: PathBuf,
        why: Box<str>,
        #[source]
        source: Option<Cause>,
    },
    /// The caller asked for something that doesn't exist, such as a position behind the end of a segment.
    #[error("{what}")]
    InvalidArgument { what: Box<str> },
    /// The segment was written in a way that this version doesn't read.
    #[error("{action} {object}: {why}")]
    Unsupported { action: &'static str, object: Box<str>, why: Box<str> },
    /// While a segment was copied, it was given up or deleted, here or by another broker. What was sent is removed.
    #[error(
        "copy {object}: the segment was given up or deleted while it was copied, so what was sent is removed; it is copied again as another segment"
    )]
    Condemned { object: Box<str> },
    /// The work was still going on when its time was over.
    #[error(
        "{action} {object} in {store}: not done after {waited_ms} ms; check the store and the way to it, or raise the limit, {limit}"
    )]
    Timeout { action: &'static str, object: Box<str>, store: Box<str>, waited_ms: u64, limit: &'static str },
    /// The caller, or a close, stopped the work.
    #[error("{action} {object}: cancelled")]
    Cancelled { action: &'static str, object: Box<str> },
    /// The manager was closed before the call.
    #[error("{action}: the storage manager is closed")]
    Closed { action: &'static str },
    /// A defect of Undercroft, or something of the machine that nobody foresaw.
    #[error("{action} {object}: {why}")]
    Internal {
        action: &'static str,
        object: Box<str>,
        why: Box<str>,
        #[source]
        source: Option<Cause>,
    },
}

impl StorageError {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Timeout { .. })
    }

    /// One lower-case word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not-found",
            Self::Corrupt { .. } => "corrupt",
            Self::Unreachable { .. } => "unreachable",
            Self::Refused { .. } => "refused",
            Self::Misconfigured { .. } => "misconfigured",
            Self::Config(_) => "config",
            Self::Source { .. } => "source",
            Self::InvalidArgument { .. } => "invalid-argument",
            Self::Unsupported { .. } => "unsupported",
            Self::Condemned { .. } => "condemned",
            Self::Timeout { .. } => "timeout",
            Self::Cancelled { .. } => "cancelled",
            Self::Closed { .. } => "closed",
            Self::Internal { .. } => "internal",
        }
    }
}
