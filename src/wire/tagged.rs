//! A tagged-field section that stands by itself: numbered byte strings.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Malformed, Reader, Writer};

/// Numbered byte strings in Kafka's notation: `uvarint count { uvarint tag, uvarint size, bytes }*`, tags ascending.
///
/// ```
/// # use undercroft::wire::TaggedFields;
/// let mut fields = TaggedFields::new();
/// fields.set(100, vec![1, 2, 3]);
/// assert_eq!(&fields.encode()[..], [1, 100, 3, 1, 2, 3]);
/// assert_eq!(TaggedFields::decode(&fields.encode()), Ok(fields));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaggedFields(BTreeMap<u32, Bytes>);

impl TaggedFields {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a section that is all of `bytes`. No bytes at all are no fields.
    ///
    /// # Errors
    /// [`Malformed`] if tags do not ascend, a size is more than what is left, or bytes are left behind the last field.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.is_empty() {
            return Ok(Self::new());
        }
        let mut fields = BTreeMap::new();
        let mut reader = Reader::new(bytes);
        reader.tagged_fields("tagged fields", |tag, value| {
            let value = value.take(value.remaining(), "tagged fields")?;
            fields.insert(tag, Bytes::copy_from_slice(value));
            Ok(true)
        })?;
        reader.finish("tagged fields")?;
        Ok(Self(fields))
    }

    /// The section; one byte if there is no field.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let fields: Vec<(u32, &[u8])> = self.0.iter().map(|(&tag, value)| (tag, &value[..])).collect();
        let mut writer = Writer::new();
        writer.tagged_fields(&fields);
        writer.into_bytes()
    }

    #[must_use]
    pub fn get(&self, tag: u32) -> Option<&Bytes> {
        self.0.get(&tag)
    }

    /// Sets a field, in place of an earlier one of that tag.
    pub fn set(&mut self, tag: u32, value: impl Into<Bytes>) {
        self.0.insert(tag, value.into());
    }

    /// Takes a field out.
    pub fn remove(&mut self, tag: u32) -> Option<Bytes> {
        self.0.remove(&tag)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All fields, in ascending order of their tags.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Bytes)> {
        self.0.iter().map(|(&tag, value)| (tag, value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_section_is_refused() {
        let cases: [(&[u8], &str); 6] = [
            (&[0, 0], "bytes are left behind the end"),
            (&[1], "the bytes end inside of it"),
            (&[1, 5, 3, 1, 2], "the bytes end inside of it"),
            (&[2, 5, 0, 5, 0], "tags do not ascend"),
            (&[2, 5, 0, 4, 0], "tags do not ascend"),
            (&[0xff, 0xff, 0xff, 0xff, 0x7f], "a varint of more than 32 bits"),
        ];
        for (bytes, why) in cases {
            assert_eq!(TaggedFields::decode(bytes).map_err(|e| e.why), Err(why), "{bytes:?}");
        }
        assert_eq!(TaggedFields::decode(&[]), Ok(TaggedFields::new()));
        assert_eq!(TaggedFields::decode(&[0]), Ok(TaggedFields::new()));
    }

    proptest! {
        /// Decoding undoes encoding.
        #[test]
        fn sections_survive_the_way_there_and_back(
            fields in prop::collection::btree_map(any::<u32>(), prop::collection::vec(any::<u8>(), 0..20), 0..8)
        ) {
            let fields = TaggedFields(fields.into_iter().map(|(tag, value)| (tag, value.into())).collect());
            prop_assert_eq!(TaggedFields::decode(&fields.encode()), Ok(fields));
        }
    }
}
