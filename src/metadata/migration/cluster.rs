//! What a migration needs of a cluster.

use crate::metadata::log::LogError;

use super::found::Found;
use super::step::Change;

/// A cluster with a metadata topic, in the hands of an operator.
pub trait Cluster {
    /// Looks at brokers, settings and all records.
    ///
    /// # Errors
    /// [`LogError::Mismatch`] if there is no topic; [`LogError::Refused`] without the rights to look.
    fn look(&self) -> Result<Found, LogError>;

    /// Changes settings of the topic, all or none.
    ///
    /// # Errors
    /// [`LogError::Refused`] without the right to.
    fn set(&self, changes: &[Change]) -> Result<(), LogError>;

    /// Writes level records, and returns once they are durable.
    ///
    /// # Errors
    /// [`LogError`]; some may have been written.
    fn write_level(&self, level: i8, partitions: &[i32]) -> Result<(), LogError>;

    /// Waits before the next look.
    fn pause(&self, ms: u64);
}
