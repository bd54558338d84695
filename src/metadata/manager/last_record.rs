//! The last record that was applied: what tells a log from another one that took its place.

/// A copy of a record, in memory that is used again: nobody asks for it unless the log is read again, so it must be
/// cheap to take.
#[derive(Default)]
pub(super) struct LastRecord {
    /// None if there is none yet.
    pub(super) offset: Option<i64>,
    timestamp_ms: i64,
    key_len: Option<usize>,
    value_len: Option<usize>,
    /// Key and value, one after the other.
    bytes: Vec<u8>,
}

impl LastRecord {
    pub(super) fn remember(&mut self, offset: i64, timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        (self.offset, self.timestamp_ms) = (Some(offset), timestamp_ms);
        (self.key_len, self.value_len) = (key.map(<[u8]>::len), value.map(<[u8]>::len));
        self.bytes.clear();
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    pub(super) fn is(&self, timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> bool {
        let (key_len, value_len) = (key.map(<[u8]>::len), value.map(<[u8]>::len));
        (self.timestamp_ms, self.key_len, self.value_len) == (timestamp_ms, key_len, value_len)
            && self.bytes.iter().eq(key.unwrap_or_default().iter().chain(value.unwrap_or_default()))
    }
}
