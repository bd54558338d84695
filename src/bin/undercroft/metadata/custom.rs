//! Custom metadata of a segment: ours, Aiven's, or bytes.

use serde_json::{Map, Value, json};
use undercroft::model::SegmentMetadata;
use undercroft::storage::layout::Place;
use undercroft::wire::CustomMetadata;

use super::text;

/// What custom metadata says.
pub enum Custom {
    None,
    /// Of the compact layout.
    Ours(Place),
    /// A section of tagged fields as Aiven's plugin writes it.
    Aivens(CustomMetadata),
    Unknown(Vec<u8>),
}

impl Custom {
    pub fn of(segment: &SegmentMetadata) -> Self {
        let Some(bytes) = segment.custom_metadata.as_deref() else { return Self::None };
        let size = u64::try_from(segment.size_bytes).unwrap_or(0);
        if let Ok(place) = Place::decode(bytes, size) {
            return Self::Ours(place);
        }
        let is_aivens = |fields: &CustomMetadata| {
            let has_any =
                fields.remote_size_bytes.is_some() || fields.object_prefix.is_some() || fields.object_key.is_some();
            has_any && fields.other.is_empty()
        };
        CustomMetadata::decode(bytes).ok().filter(is_aivens).map_or_else(|| Self::Unknown(bytes.to_vec()), Self::Aivens)
    }

    pub fn to_text(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Ours(place) => format!(
                "undercroft: object of {}, blocks of {}, prefix {}",
                text::bytes(place.object_length()),
                text::bytes(place.block_size.bytes()),
                place.prefix.as_deref().map_or_else(|| "not recorded".to_owned(), |prefix| format!("{prefix:?}"))
            ),
            Self::Aivens(fields) => {
                let size = fields.remote_size_bytes.map(|size| format!("objects of {}", text::bytes(size)));
                let prefix = fields.object_prefix.as_ref().map(|prefix| format!("prefix {prefix:?}"));
                let key = fields.object_key.as_ref().map(|key| format!("key {key:?}"));
                format!("aiven: {}", [size, prefix, key].into_iter().flatten().collect::<Vec<_>>().join(", "))
            }
            Self::Unknown(bytes) if bytes.is_empty() => "empty".to_owned(),
            Self::Unknown(bytes) => format!("unknown: {}", text::hex(bytes)),
        }
    }

    pub fn to_json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Ours(place) => json!({
                "writer": "undercroft",
                "objectSizeBytes": place.object_length(),
                "dataLengthBytes": place.data_length,
                "tailLengthBytes": place.tail_length,
                "blockSizeBytes": place.block_size.bytes(),
                "objectPrefix": place.prefix,
            }),
            Self::Aivens(fields) => {
                let mut object = Map::new();
                object.insert("writer".to_owned(), json!("aiven"));
                object.insert("objectSizeBytes".to_owned(), json!(fields.remote_size_bytes));
                object.insert("objectPrefix".to_owned(), json!(fields.object_prefix));
                object.insert("objectKey".to_owned(), json!(fields.object_key));
                Value::Object(object)
            }
            Self::Unknown(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                json!({ "writer": "unknown", "hex": digits })
            }
        }
    }
}
