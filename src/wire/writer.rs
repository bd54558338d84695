//! Writing Kafka's primitives.

use bytes::Bytes;

use crate::model::KafkaUuid;

/// Bytes that grow. Each method appends one value as [`Reader`](super::Reader)'s method of that name reads it.
#[derive(Debug, Clone, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With room for `size_bytes` before the first move.
    #[must_use]
    pub fn with_capacity(size_bytes: usize) -> Self {
        Self(Vec::with_capacity(size_bytes))
    }

    /// What was written.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        Bytes::from(self.0)
    }

    /// Bytes written so far.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// Bytes as they are, without a length.
    pub fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn i32(&mut self, value: i32) {
        self.put(&value.to_be_bytes());
    }

    pub fn i64(&mut self, value: i64) {
        self.put(&value.to_be_bytes());
    }

    pub fn uuid(&mut self, value: KafkaUuid) {
        self.put(&value.0);
    }

    pub fn uvarint(&mut self, value: u32) {
        self.uvarlong(u64::from(value));
    }

    pub fn uvarlong(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn varlong(&mut self, value: i64) {
        self.uvarlong(((value << 1) ^ (value >> 63)).cast_unsigned());
    }

    /// A length as a varint. Lengths beyond 32 bits are cut; no field of a record or of custom metadata comes near.
    pub fn len(&mut self, len: usize) {
        self.uvarint(u32::try_from(len).unwrap_or(u32::MAX));
    }

    pub fn compact_nullable_bytes(&mut self, value: Option<&[u8]>) {
        match value {
            Some(bytes) => {
                self.len(bytes.len().saturating_add(1));
                self.put(bytes);
            }
            None => self.u8(0),
        }
    }

    pub fn compact_string(&mut self, value: &str) {
        self.compact_nullable_bytes(Some(value.as_bytes()));
    }

    /// A tagged-field section with these fields, which the caller gives in ascending order of their tags.
    pub fn tagged_fields(&mut self, fields: &[(u32, &[u8])]) {
        debug_assert!(fields.is_sorted_by(|(a, _), (b, _)| a < b), "tags must ascend");
        self.len(fields.len());
        for (tag, value) in fields {
            self.uvarint(*tag);
            self.len(value.len());
            self.put(value);
        }
    }

    /// A tagged-field section without a field.
    pub fn no_tagged_fields(&mut self) {
        self.u8(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::Reader;

    proptest! {
        /// What is written is read again as the same value, and nothing is left.
        #[test]
        fn reading_undoes_writing(a: u32, b: u64, c: i64, d: Option<Vec<u8>>, e in ".{0,40}", f: i32, g: [u8; 16]) {
            let mut writer = Writer::new();
            writer.uvarint(a);
            writer.uvarlong(b);
            writer.varlong(c);
            writer.compact_nullable_bytes(d.as_deref());
            writer.compact_string(&e);
            writer.i32(f);
            writer.i64(c);
            writer.uuid(KafkaUuid(g));
            let bytes = writer.into_bytes();
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.uvarint("a"), Ok(a));
            prop_assert_eq!(reader.uvarlong("b"), Ok(b));
            prop_assert_eq!(reader.varlong("c"), Ok(c));
            prop_assert_eq!(reader.compact_nullable_bytes("d"), Ok(d.as_deref()));
            prop_assert_eq!(reader.compact_string("e"), Ok(e.as_str()));
            prop_assert_eq!(reader.i32("f"), Ok(f));
            prop_assert_eq!(reader.i64("c"), Ok(c));
            prop_assert_eq!(reader.uuid("g"), Ok(KafkaUuid(g)));
            prop_assert_eq!(reader.finish("end"), Ok(()));
        }
    }
}
