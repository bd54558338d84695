//! The side files of a segment.

/// Kafka's `RemoteStorageManager.IndexType`, with the numbers that the C ABI uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum IndexType {
    Offset = 0,
    Timestamp = 1,
    ProducerSnapshot = 2,
    Transaction = 3,
    LeaderEpoch = 4,
}

impl IndexType {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] =
        [Self::Offset, Self::Timestamp, Self::ProducerSnapshot, Self::Transaction, Self::LeaderEpoch];

    /// The index with this number, if there is one.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|&index| i32::from(index as u8) == number)
    }

    /// Kafka's name of it, in lower case, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Offset => "offset index",
            Self::Timestamp => "timestamp index",
            Self::ProducerSnapshot => "producer snapshot",
            Self::Transaction => "transaction index",
            Self::LeaderEpoch => "leader epoch index",
        }
    }
}
