//! (being built)
use bytes::Bytes;

use super::StorageError;

/// A stream of a segment's bytes.
pub struct SegmentReader {
    position: u64,
    remaining: u64,
}

impl SegmentReader {
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "documented with the body")]
    pub async fn read(&mut self) -> Result<Bytes, StorageError> {
        Ok(Bytes::new())
    }
    #[allow(missing_docs, reason = "documented with the body")]
    pub fn position(&self) -> u64 {
        self.position
    }
    #[allow(missing_docs, reason = "documented with the body")]
    pub fn remaining(&self) -> u64 {
        self.remaining
    }
}
