//! What is wrong with an object.

use super::super::StorageError;

/// How bad it is, and so what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is lost.
    Notice,
    /// The segment was deleted between the listing and the look at it. Nothing is wrong, and nothing of it was seen.
    Gone,
    /// Whether something is wrong could not be told: the store refused or did not answer, a key is not there, a newer
    /// version wrote it.
    Untold,
    /// The store says that an object that belongs to the segment is not there.
    Missing,
    /// Bytes are not those that were written.
    Corrupt,
}

impl Severity {
    /// One lower-case word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Gone => "gone",
            Self::Untold => "untold",
            Self::Missing => "missing",
            Self::Corrupt => "corrupt",
        }
    }
}

/// One thing that is wrong with one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub object: String,
    /// The part of the object, such as `chunk 3`; empty for all of it.
    pub place: String,
    pub why: String,
    /// Whether it may be because the store can't be reached or used at all.
    pub(super) is_of_the_store: bool,
}

impl Finding {
    pub(super) fn new(severity: Severity, object: &str, place: &str, why: impl Into<String>) -> Self {
        Self { severity, object: object.to_owned(), place: place.to_owned(), why: why.into(), is_of_the_store: false }
    }

    /// What an error means. Only the store's own word makes an object missing or its bytes wrong.
    pub(super) fn of(object: &str, error: &StorageError) -> Self {
        match error {
            StorageError::NotFound { .. } => Self::new(Severity::Missing, object, "", "the object is not there"),
            StorageError::Corrupt { place, why, .. } => {
                // "The object" is all of it.
                let place = if &**place == "the object" { "" } else { place };
                Self::new(Severity::Corrupt, object, place, &**why)
            }
            StorageError::Unreachable { .. } | StorageError::Refused { .. } | StorageError::Timeout { .. } => {
                Self { is_of_the_store: true, ..Self::new(Severity::Untold, object, "", error.to_string()) }
            }
            StorageError::Misconfigured { .. }
            | StorageError::Config(_)
            | StorageError::Source { .. }
            | StorageError::InvalidArgument { .. }
            | StorageError::Unsupported { .. }
            | StorageError::Condemned { .. }
            | StorageError::Cancelled { .. }
            | StorageError::Closed { .. }
            | StorageError::Internal { .. } => Self::new(Severity::Untold, object, "", error.to_string()),
        }
    }

    /// Whether it may be because the store can't be reached or used at all, so that others will end the same way.
    #[must_use]
    pub fn is_of_the_store(&self) -> bool {
        self.is_of_the_store
    }
}
