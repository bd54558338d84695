//! Rules that can be broken on purpose, to see that the checks notice.

use undercroft::metadata::plan::Laws;

/// What a driver of the simulation does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Tombstones go to every base key of an end offset as soon as one of its segments is gone.
    TombstoneByEndOffset,
    /// A gone segment's other keys are nulled before its base.
    UpdateTombstonedFirst,
    /// A COPY_FINISHED that was refused is written all the same, as a whole record.
    RefusedFinishIsWritten,
    /// An add takes the epoch of the segment's records instead of the leader's.
    EpochOfSegment,
    /// Whoever likes backfills, under the epoch that it believes in.
    BackfillByAnyone,
    /// Whoever claims deletes at once.
    ClaimActedOnEarly,
    /// Nobody looks a second time before DELETE_FINISHED.
    NoSecondLook,
    /// Decisions of a reader that was at the end long ago.
    StaleReaderDecides,
    /// A checkpoint counts as having reached the end.
    CheckpointCounts,
    /// Tombstones follow at once.
    NoSettling,
    /// A reader goes on where it stood however long ago that was.
    ResumesFarBehind,
    /// A reader that applied records without a key does not mind gaps.
    GapIgnored,
    /// Writers take a level that their own reader has not met.
    LevelBeforeItIsRead,
    /// The cleaner runs before the facts that rest on records without keys are backfilled.
    CompactBeforeCheck,
    /// All claims have the same nonce.
    NonceReused,
    /// An epoch that is not known is taken for 0.
    UnknownEpochIsZero,
    /// Objects are deleted before the own reader shows DELETE_STARTED.
    DeleteBeforeItIsRead,
    /// Objects of a copy are deleted when COPY_FINISHED got no answer.
    AmbiguousFinishDeletes,
    /// What the broker deletes of an attempt that never finished is believed to be gone.
    UnfinishedDeleteIsFinal,
}

impl Fault {
    pub const ALL: [Self; 19] = [
        Self::TombstoneByEndOffset,
        Self::UpdateTombstonedFirst,
        Self::RefusedFinishIsWritten,
        Self::EpochOfSegment,
        Self::BackfillByAnyone,
        Self::ClaimActedOnEarly,
        Self::NoSecondLook,
        Self::StaleReaderDecides,
        Self::CheckpointCounts,
        Self::NoSettling,
        Self::ResumesFarBehind,
        Self::GapIgnored,
        Self::LevelBeforeItIsRead,
        Self::CompactBeforeCheck,
        Self::NonceReused,
        Self::UnknownEpochIsZero,
        Self::DeleteBeforeItIsRead,
        Self::AmbiguousFinishDeletes,
        Self::UnfinishedDeleteIsFinal,
    ];
}

/// What is wrong in a history: nothing, one of the faults, or a rule of the core switched off.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    pub laws: Laws,
    pub fault: Option<Fault>,
}

impl Faults {
    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}
