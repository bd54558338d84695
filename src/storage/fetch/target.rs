//! A segment that can be read: which object it is and where its parts are.

use super::super::StorageError;
use super::super::layout::compact::block_count;
use super::super::layout::{ObjectKey, Place, PlaceError};
use crate::model::SegmentMetadata;

/// What a read needs to know of a segment.
#[derive(Debug, Clone)]
pub(in super::super) struct Target {
    pub(in super::super) segment: SegmentMetadata,
    pub(in super::super) key: ObjectKey,
    pub(in super::super) place: Place,
    pub(in super::super) size: u64,
}

impl Target {
    /// Finds the object by the segment's metadata alone.
    pub(in super::super) fn locate(segment: &SegmentMetadata, prefix: &str, store: &str) -> Result<Self, StorageError> {
        let action = "find";
        let size = u64::try_from(segment.size_bytes).map_err(|_| StorageError::InvalidArgument {
            what: format!("{}: a size of {} bytes", segment.id, segment.size_bytes).into(),
        })?;
        let Some(bytes) = &segment.custom_metadata else {
            return Err(StorageError::Unsupported {
                action,
                object: ObjectKey::of_segment(prefix, segment).to_string().into(),
                why: "the segment has no custom metadata: another layout wrote it, or its copy never finished"
                    .to_owned()
                    .into(),
            });
        };
        let place = Place::decode(bytes, size).map_err(|error| {
            let object = ObjectKey::of_segment(prefix, segment).to_string();
            match error {
                PlaceError::Unsupported(_) => {
                    StorageError::Unsupported { action, object: object.into(), why: error.to_string().into() }
                }
                PlaceError::Malformed(_) => StorageError::Corrupt {
                    action,
                    object: object.into(),
                    store: store.to_owned().into(),
                    place: "what the metadata topic says of it".to_owned().into(),
                    why: error.to_string().into(),
                },
            }
        })?;
        let key = key_of(segment, &place, prefix, action, store)?;
        Ok(Self { segment: segment.clone(), key, place, size })
    }

    pub(super) fn block_count(&self) -> u64 {
        block_count(self.size, self.place.block_size)
    }
}

/// The object of a segment that lies where `place` says.
pub(in super::super) fn key_of(
    segment: &SegmentMetadata,
    place: &Place,
    prefix: &str,
    action: &'static str,
    store: &str,
) -> Result<ObjectKey, StorageError> {
    match place.prefix_or(prefix) {
        Some(prefix) => Ok(ObjectKey::of_segment(prefix, segment)),
        None => Err(StorageError::Misconfigured {
            action,
            object: ObjectKey::of_segment("", segment).to_string().into(),
            store: store.to_owned().into(),
            why: "it was copied under another `key.prefix`, one too long to be kept with the segment".to_owned().into(),
            remedy: "`key.prefix`",
            source: None,
        }),
    }
}
