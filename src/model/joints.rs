//! The two traits between a storage side and a metadata side in one process. Neither side sees the other.
//!
//! | what happens                        | who asks | whom                                                       |
//! |-------------------------------------|----------|------------------------------------------------------------|
//! | an attempt begins                   | metadata | [`SegmentObjects::outage`]: is the store known to be down  |
//! | an abandoned attempt is looked for  | metadata | [`SegmentObjects::is_copying`], [`SegmentObjects::copy_end`] |
//! | a claimed or deleted one is cleaned | metadata | [`SegmentObjects::delete_objects`], [`SegmentObjects::has_objects`] |
//! | a copy has all bytes in the store   | storage  | [`SegmentLedger::is_condemned`]                            |
//! | a delete can't be done for good now | storage  | [`SegmentLedger::take_over_delete`]                        |
//! | a reader comes to a segment's end   | storage  | [`SegmentLedger::next_segment`]                            |
//!
//! All but the first two calls to the store answer at once, from memory.

use async_trait::async_trait;

use super::{SegmentId, SegmentMetadata};

/// What the metadata side needs of a storage side in the same process.
#[async_trait]
pub trait SegmentObjects: Send + Sync {
    /// Removes all objects that the store has of the segment, in every layout. Nothing there is a success, so the call may
    /// be repeated. (An upload that was never completed is no object: who began it aborts it, and the bucket's rules do so
    /// for a process that died.)
    ///
    /// # Errors
    /// See [`ObjectsError`]. Some of the objects may be gone then.
    async fn delete_objects(&self, segment: &SegmentMetadata) -> Result<(), ObjectsError>;

    /// Asks the store again whether anything of the segment is there: after a grace, for what arrived late.
    ///
    /// # Errors
    /// See [`ObjectsError`]. Nothing is known then.
    async fn has_objects(&self, segment: &SegmentMetadata) -> Result<bool, ObjectsError>;

    /// Whether a copy of it is under way here, or ended so short a time ago that the update that follows it may not have
    /// been written. Between add and copy, and between copy and update, neither side is on the broker's stack.
    fn is_copying(&self, segment: &SegmentId) -> bool;

    /// How this process's copy of it ended, if one began here and has ended. Kept until [`SegmentObjects::settled`], or
    /// until so many copies ended later that memory would not be bounded; `None` proves nothing.
    fn copy_end(&self, segment: &SegmentId) -> Option<CopyEnd>;

    /// The segment's end is on record: what is remembered of its copy may be forgotten.
    fn settled(&self, segment: &SegmentId) {
        let _ = segment;
    }

    /// Why no copy should begin now, for the caller's error; `None` if one may. While the store is down, one caller in
    /// each interval gets `None`, to find out whether it still is: ask once per attempt.
    fn outage(&self) -> Option<String>;
}

/// What the storage side needs of a metadata side in the same process.
pub trait SegmentLedger: Send + Sync {
    /// Whether the segment must not live any more: it was claimed or deleted, or its partition was deleted. Asked at the
    /// end of a copy. False for a segment that the ledger doesn't know.
    fn is_condemned(&self, segment: &SegmentId) -> bool;

    /// Offers a delete that can't be done now, or that was done although a write of the segment's copy here may still
    /// arrive. True if the metadata side will see to it; the caller then reports success
    /// to the broker.
    fn take_over_delete(&self, segment: &SegmentMetadata) -> bool;

    /// The segment that a reader of this one will most probably want next, so that some of it can be there already. `None`
    /// if the ledger can't tell without asking anybody.
    fn next_segment(&self, segment: &SegmentMetadata) -> Option<SegmentMetadata> {
        let _ = segment;
        None
    }
}

/// How a copy that began in this process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyEnd {
    /// All of it is in the store, and the caller was told so.
    Done,
    /// It failed, was cancelled, or was condemned when it ended.
    Failed {
        /// Whether the store has confirmed that nothing of it is there. A write that was given up may still arrive.
        is_removed: bool,
    },
}

/// Why the objects of a segment could not be removed or looked for. The text says what was tried and what to check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectsError {
    /// No answer, or a passing trouble of the store: try again later.
    #[error("{0}")]
    Unreachable(String),
    /// The store says no until somebody changes rights or configuration.
    #[error("{0}")]
    Refused(String),
    /// Everything else, such as a storage side that is closed.
    #[error("{0}")]
    Other(String),
}

impl ObjectsError {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}
