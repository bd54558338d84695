//! The states of a segment and the steps between them.
//!
//! What a **writer** may say, given what it knows (rows: from, columns: to):
//!
//! | from \ to       | COPY_STARTED | COPY_FINISHED | DELETE_STARTED | DELETE_FINISHED | DANGLING |
//! |-----------------|--------------|---------------|----------------|-----------------|----------|
//! | (unknown)       | yes          |               |                |                 |          |
//! | COPY_STARTED    | same         | yes           | yes            |                 | yes      |
//! | COPY_FINISHED   |              | same          | yes            |                 |          |
//! | DELETE_STARTED  |              |               | same           | yes             | yes      |
//! | DELETE_FINISHED |              |               |                | same            |          |
//! | DANGLING        |              |               | yes            |                 | same     |
//!
//! A **reader** of a compacted log meets gaps, so it also accepts a step that jumps over states
//! ([`SegmentState::reader_accepts`]).

use std::fmt;

/// Kafka's `RemoteLogSegmentState` with its numbers, and the state of the dangling-segments draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SegmentState {
    /// A broker has begun to copy it. It may never end: nothing can be read from it.
    CopyStarted = 0,
    /// All of it is in the store.
    CopyFinished = 1,
    /// Its objects are being deleted.
    DeleteStarted = 2,
    /// Its objects are gone.
    DeleteFinished = 3,
    /// An attempt that failed and whose objects may still be there. Stock brokers do not know this number.
    Dangling = 4,
}

impl SegmentState {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::CopyStarted, Self::CopyFinished, Self::DeleteStarted, Self::DeleteFinished, Self::Dangling];

    /// The state with this number, if there is one.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|&state| i32::from(state as u8) == number)
    }

    /// Whether a writer that knows a segment in this state may write `to`.
    #[must_use]
    pub fn writer_may(self, to: Self) -> bool {
        use SegmentState::{CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
        match self {
            _ if self == to => true,
            CopyStarted => matches!(to, CopyFinished | DeleteStarted | Dangling),
            CopyFinished | Dangling => to == DeleteStarted,
            DeleteStarted => matches!(to, DeleteFinished | Dangling),
            DeleteFinished => false,
        }
    }

    /// Whether a reader that knows a segment in this state goes along with an update to `to`.
    ///
    /// `is_claim` tells that the record was written by somebody who found an abandoned attempt; such a record only
    /// counts while the attempt has neither finished nor begun to be deleted.
    #[must_use]
    pub fn reader_accepts(self, to: Self, is_claim: bool) -> bool {
        use SegmentState::{CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
        match self {
            _ if self == to => true,
            CopyStarted => true,
            CopyFinished | DeleteStarted if to == Dangling => !is_claim,
            CopyFinished => matches!(to, DeleteStarted | DeleteFinished),
            Dangling => matches!(to, DeleteStarted | DeleteFinished),
            DeleteStarted => to == DeleteFinished,
            DeleteFinished => false,
        }
    }

    /// Kafka's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CopyStarted => "COPY_SEGMENT_STARTED",
            Self::CopyFinished => "COPY_SEGMENT_FINISHED",
            Self::DeleteStarted => "DELETE_SEGMENT_STARTED",
            Self::DeleteFinished => "DELETE_SEGMENT_FINISHED",
            Self::Dangling => "DANGLING",
        }
    }
}

impl fmt::Display for SegmentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Kafka's `RemotePartitionDeleteState` with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PartitionDeleteState {
    Marked = 0,
    Started = 1,
    Finished = 2,
}

impl PartitionDeleteState {
    /// The state with this number, if there is one.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        [Self::Marked, Self::Started, Self::Finished].into_iter().find(|&state| i32::from(state as u8) == number)
    }
}

#[cfg(test)]
mod tests {
    use super::SegmentState::{self, CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};

    fn allowed(may: impl Fn(SegmentState, SegmentState) -> bool) -> Vec<(SegmentState, SegmentState)> {
        let pairs = SegmentState::ALL.into_iter().flat_map(|a| SegmentState::ALL.map(|b| (a, b)));
        pairs.filter(|&(a, b)| a != b && may(a, b)).collect()
    }

    #[test]
    fn a_writer_takes_no_step_outside_the_table() {
        assert_eq!(
            allowed(SegmentState::writer_may),
            [
                (CopyStarted, CopyFinished),
                (CopyStarted, DeleteStarted),
                (CopyStarted, Dangling),
                (CopyFinished, DeleteStarted),
                (DeleteStarted, DeleteFinished),
                (DeleteStarted, Dangling),
                (Dangling, DeleteStarted),
            ]
        );
    }

    #[test]
    fn a_reader_goes_along_with_gaps_but_never_back() {
        let plain = allowed(|a, b| a.reader_accepts(b, false));
        assert_eq!(
            plain,
            [
                (CopyStarted, CopyFinished),
                (CopyStarted, DeleteStarted),
                (CopyStarted, DeleteFinished),
                (CopyStarted, Dangling),
                (CopyFinished, DeleteStarted),
                (CopyFinished, DeleteFinished),
                (CopyFinished, Dangling),
                (DeleteStarted, DeleteFinished),
                (DeleteStarted, Dangling),
                (Dangling, DeleteStarted),
                (Dangling, DeleteFinished),
            ]
        );
    }

    #[test]
    fn a_claim_counts_only_while_the_attempt_is_open() {
        assert!(CopyStarted.reader_accepts(Dangling, true));
        for state in [CopyFinished, DeleteStarted, DeleteFinished] {
            assert!(!state.reader_accepts(Dangling, true), "{state}");
        }
    }

    #[test]
    fn numbers_are_kafkas() {
        for (number, state) in SegmentState::ALL.into_iter().enumerate() {
            assert_eq!(SegmentState::from_number(i32::try_from(number).expect("small")), Some(state));
        }
        assert_eq!(SegmentState::from_number(5), None);
        assert_eq!(SegmentState::from_number(-1), None);
    }
}
