//! What a broker hands over for a copy.

use std::path::PathBuf;

use bytes::Bytes;

/// The files of one closed segment, where the broker has them. They are read by position and never changed.
#[derive(Debug, Clone)]
pub struct SegmentFiles {
    pub log: PathBuf,
    pub offset_index: PathBuf,
    pub time_index: PathBuf,
    /// `None` for a segment without aborted transactions; reading the index later then answers "not found".
    pub transaction_index: Option<PathBuf>,
    pub producer_snapshot: PathBuf,
    /// The leader epoch checkpoint of the segment, which a broker has in memory only.
    pub leader_epochs: Bytes,
}
