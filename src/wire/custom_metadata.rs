//! What the storage side wants back with every later call about a segment.

use bytes::Bytes;

use super::{Malformed, Reader, TaggedFields, Writer};

/// Tags below this one are Aiven's or left to it; ours begin here.
pub const OWN_TAGS_FROM: u32 = 100;

const REMOTE_SIZE: u32 = 0;
const OBJECT_PREFIX: u32 = 1;
const OBJECT_KEY: u32 = 2;

/// Custom metadata of a segment: a tagged-field section, as Aiven's plugin writes it, with its three fields by name.
///
/// A broker refuses to go on with a partition whose custom metadata is longer than
/// `remote.log.metadata.custom.metadata.max.bytes` (128 unless set): whoever writes keeps below that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomMetadata {
    /// Bytes of all objects of the segment.
    pub remote_size_bytes: Option<u64>,
    /// The key prefix that the objects were written under.
    pub object_prefix: Option<String>,
    /// The objects' key without prefix and suffix.
    pub object_key: Option<String>,
    /// Everything else; the compact layout's own fields have tags from [`OWN_TAGS_FROM`] on.
    pub other: TaggedFields,
}

impl CustomMetadata {
    /// Reads custom metadata. No bytes at all are no fields.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are no tagged-field section, or one of the named fields is not what it should be.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut other = TaggedFields::decode(bytes)?;
        Ok(Self {
            remote_size_bytes: other.remove(REMOTE_SIZE).map(|value| remote_size(&value)).transpose()?,
            object_prefix: other.remove(OBJECT_PREFIX).map(|value| text(&value, "object prefix")).transpose()?,
            object_key: other.remove(OBJECT_KEY).map(|value| text(&value, "object key")).transpose()?,
            other,
        })
    }

    /// The bytes, or `None` if there is no field: a segment then has no custom metadata at all, as Aiven has it.
    ///
    /// Fields of `other` with the tag of a named field are ignored.
    #[must_use]
    pub fn encode(&self) -> Option<Bytes> {
        let mut fields = self.other.clone();
        for tag in [REMOTE_SIZE, OBJECT_PREFIX, OBJECT_KEY] {
            fields.remove(tag);
        }
        if let Some(size) = self.remote_size_bytes {
            let mut writer = Writer::new();
            writer.varlong(i64::try_from(size).unwrap_or(i64::MAX));
            fields.set(REMOTE_SIZE, writer.into_bytes());
        }
        for (tag, value) in [(OBJECT_PREFIX, &self.object_prefix), (OBJECT_KEY, &self.object_key)] {
            if let Some(value) = value {
                let mut writer = Writer::new();
                writer.compact_string(value);
                fields.set(tag, writer.into_bytes());
            }
        }
        (!fields.is_empty()).then(|| fields.encode())
    }
}

fn remote_size(value: &[u8]) -> Result<u64, Malformed> {
    let mut reader = Reader::new(value);
    let size = reader.varlong("remote size")?;
    reader.finish("remote size")?;
    u64::try_from(size).map_err(|_| Reader::new(value).malformed("remote size", "negative"))
}

fn text(value: &[u8], field: &'static str) -> Result<String, Malformed> {
    let mut reader = Reader::new(value);
    let text = reader.compact_string(field)?;
    reader.finish(field)?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: String = hex.split_whitespace().collect();
        (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hex")).collect()
    }

    #[test]
    fn aivens_fields_are_read_and_written_byte_for_byte() {
        // Source: written by Aiven's plugin, version 1.1 (the first one stands in its own tests too).
        let key = "topic1-lZ6vvmajTWKDBUTV6SQAtQ/42/00000000000000000023-adh9f8BMS4anaUnD8KWfWg";
        let long = [bytes("03 00 02 9832 01 08 08 7072656669782f 02 4d 4d"), key.as_bytes().to_vec()].concat();
        let table = [
            (bytes("02 00 02 c801 02 04 04666f6f"), (Some(100), None, Some("foo"))),
            (long, (Some(3212), Some("prefix/"), Some(key))),
        ];
        for (encoded, (size, prefix, key)) in table {
            let metadata = CustomMetadata {
                remote_size_bytes: size,
                object_prefix: prefix.map(str::to_owned),
                object_key: key.map(str::to_owned),
                other: TaggedFields::new(),
            };
            assert_eq!(CustomMetadata::decode(&encoded), Ok(metadata.clone()));
            assert_eq!(metadata.encode().as_deref(), Some(&encoded[..]));
        }
    }

    #[test]
    fn no_fields_are_no_custom_metadata() {
        assert_eq!(CustomMetadata::default().encode(), None);
        assert_eq!(CustomMetadata::decode(&[]), Ok(CustomMetadata::default()));
    }

    #[test]
    fn a_named_field_with_a_wrong_value_is_refused() {
        for (encoded, field) in [
            ("01 00 01 01", "remote size"),
            ("01 00 02 02 00", "remote size"),
            ("01 00 00", "remote size"),
            ("01 01 01 00", "object prefix"),
            ("01 02 02 02 ff", "object key"),
        ] {
            assert_eq!(CustomMetadata::decode(&bytes(encoded)).map_err(|e| e.field), Err(field), "{encoded}");
        }
    }

    proptest! {
        /// Decoding undoes encoding.
        #[test]
        fn custom_metadata_survives_the_way_there_and_back(
            size in proptest::option::of(0..=i64::MAX.cast_unsigned()),
            prefix: Option<String>,
            key: Option<String>,
            own in prop::collection::btree_map(OWN_TAGS_FROM.., prop::collection::vec(any::<u8>(), 0..20), 0..4),
        ) {
            let mut other = TaggedFields::new();
            own.into_iter().for_each(|(tag, value)| other.set(tag, value));
            let metadata =
                CustomMetadata { remote_size_bytes: size, object_prefix: prefix, object_key: key, other };
            let encoded = metadata.encode().unwrap_or_default();
            prop_assert_eq!(CustomMetadata::decode(&encoded), Ok(metadata));
        }
    }
}
