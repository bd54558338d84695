//! Which forms of records a metadata topic may hold.

use crate::model::SegmentState;
use crate::wire::Version;

/// Level of a metadata topic, as far as writers go. There is no record of it at level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Stock brokers read along: nothing may be written that ends their consumer.
    Zero,
    /// Only we read: tagged values, tombstones, DANGLING.
    One,
    /// As one, and the topic is compacted.
    Two,
}

impl Level {
    /// The level that a record says, if this release knows it.
    #[must_use]
    pub fn from_number(number: i8) -> Option<Self> {
        [Self::Zero, Self::One, Self::Two].into_iter().find(|level| level.number() == number)
    }

    /// As a record says it.
    #[must_use]
    pub fn number(self) -> i8 {
        match self {
            Self::Zero => 0,
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Form of all values that are written.
    #[must_use]
    pub fn value_version(self) -> Version {
        match self {
            Self::Zero => Version::V0,
            Self::One | Self::Two => Version::V1,
        }
    }

    /// Whether a record may say this state. At level 0 DELETE_SEGMENT_STARTED stands for DANGLING.
    #[must_use]
    pub fn may_write(self, state: SegmentState) -> bool {
        self > Self::Zero || state != SegmentState::Dangling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_level_0_nothing_is_written_that_a_stock_reader_cannot_read() {
        for state in SegmentState::ALL {
            assert_eq!(Level::Zero.may_write(state), state != SegmentState::Dangling);
            assert!(Level::One.may_write(state) && Level::Two.may_write(state));
        }
        assert_eq!(Level::Zero.value_version(), Version::V0);
        assert_eq!(Level::One.value_version(), Version::V1);
    }
}
