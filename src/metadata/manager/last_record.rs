//! The last record that was applied: what tells a log from another one that took its place.

use crc_fast::{CrcAlgorithm, Digest};

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
    /// In place of all that: the record is known from a checkpoint.
    print: Option<u64>,
}

impl LastRecord {
    pub(super) fn remember(&mut self, offset: i64, timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        (self.offset, self.timestamp_ms, self.print) = (Some(offset), timestamp_ms, None);
        (self.key_len, self.value_len) = (key.map(<[u8]>::len), value.map(<[u8]>::len));
        self.bytes.clear();
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    /// A record that an earlier process met.
    pub(super) fn known(offset: i64, print: u64) -> Self {
        Self { offset: Some(offset), print: Some(print), ..Self::default() }
    }

    pub(super) fn is(&self, timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> bool {
        if let Some(print) = self.print {
            return print == fingerprint(timestamp_ms, key, value);
        }
        let (key_len, value_len) = (key.map(<[u8]>::len), value.map(<[u8]>::len));
        (self.timestamp_ms, self.key_len, self.value_len) == (timestamp_ms, key_len, value_len)
            && self.bytes.iter().eq(key.unwrap_or_default().iter().chain(value.unwrap_or_default()))
    }

    /// Offset and fingerprint, for a later process.
    pub(super) fn to_known(&self) -> Option<(i64, u64)> {
        let offset = self.offset?;
        let print = self.print.unwrap_or_else(|| {
            let (key, value) = self.bytes.split_at(self.key_len.unwrap_or(0).min(self.bytes.len()));
            fingerprint(self.timestamp_ms, self.key_len.map(|_| key), self.value_len.map(|_| value))
        });
        Some((offset, print))
    }
}

fn fingerprint(timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(&timestamp_ms.to_be_bytes());
    for part in [key, value] {
        digest.update(&part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
        digest.update(part.unwrap_or_default());
    }
    digest.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Form = (i64, Option<&'static [u8]>, Option<&'static [u8]>);

    #[test]
    fn a_record_is_known_again_by_its_copy_and_by_its_fingerprint() {
        let forms: [Form; 6] = [
            (1, Some(b"ab"), Some(b"c")),
            (1, Some(b"a"), Some(b"bc")),
            (2, Some(b"ab"), Some(b"c")),
            (1, None, Some(b"abc")),
            (1, Some(b"abc"), None),
            (1, Some(b"abc"), Some(b"")),
        ];
        for (of, &(timestamp_ms, key, value)) in forms.iter().enumerate() {
            let mut copy = LastRecord::default();
            copy.remember(7, timestamp_ms, key, value);
            let (offset, print) = copy.to_known().expect("a record");
            let known = LastRecord::known(offset, print);
            assert_eq!(known.to_known(), Some((7, print)));
            for (other, &(timestamp_ms, key, value)) in forms.iter().enumerate() {
                assert_eq!(copy.is(timestamp_ms, key, value), of == other, "{of} and {other}");
                assert_eq!(known.is(timestamp_ms, key, value), of == other, "{of} and {other}");
            }
        }
    }
}
