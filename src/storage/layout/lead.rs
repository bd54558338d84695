//! What the metadata of a segment says of where its objects are.

use super::{Place, PlaceError, aiven};
use crate::model::SegmentMetadata;
use crate::wire::{CustomMetadata, OWN_TAGS_FROM};

/// Where to look for a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lead {
    /// The compact layout, and where in the object its parts are.
    Compact(Place),
    /// Aiven's layout, with what its writer said of the names.
    Aiven { prefix: Option<String>, main: Option<String> },
    /// Nothing is said: Aiven's plugin says nothing unless it is told to, and so does a copy that never finished.
    Nothing,
}

impl Lead {
    /// Reads the custom metadata of a segment.
    ///
    /// # Errors
    /// As [`Place::decode`]; also [`PlaceError::Malformed`] for names that lead out of the store.
    pub fn of(segment: &SegmentMetadata) -> Result<Self, PlaceError> {
        let Some(bytes) = &segment.custom_metadata else { return Ok(Self::Nothing) };
        let metadata =
            CustomMetadata::decode(bytes).map_err(|_| PlaceError::Malformed("no section of tagged fields"))?;
        if metadata.other.iter().any(|(tag, _)| tag >= OWN_TAGS_FROM) {
            let size = u64::try_from(segment.size_bytes).unwrap_or(0);
            return Place::decode(bytes, size).map(Self::Compact);
        }
        let names = [&metadata.object_prefix, &metadata.object_key];
        if names.into_iter().flatten().any(|name| !stays_in_store(name)) {
            return Err(PlaceError::Malformed("its object's name leads out of the store"));
        }
        match (metadata.object_prefix, metadata.object_key) {
            (None, None) if metadata.remote_size_bytes.is_none() && metadata.other.is_empty() => Ok(Self::Nothing),
            (prefix, main) => Ok(Self::Aiven { prefix, main }),
        }
    }

    /// Names that Aiven's objects of the segment may have: where the metadata says, then where a copy would be made now.
    #[must_use]
    pub fn aiven_names(&self, current_prefix: &str, segment: &SegmentMetadata) -> Vec<aiven::Names> {
        let now = aiven::Names::new(current_prefix, None, segment);
        match self {
            Self::Compact(_) => Vec::new(),
            Self::Nothing => vec![now],
            Self::Aiven { prefix, main } => {
                let prefix = prefix.as_deref().unwrap_or(current_prefix);
                let told = aiven::Names::new(prefix, main.as_deref(), segment);
                if told == now { vec![told] } else { vec![told, now] }
            }
        }
    }
}

/// Whether a name, put behind others, can't leave the folder that the store is: `..` would, and a driver may drop `.`.
fn stays_in_store(name: &str) -> bool {
    !name.split('/').any(|part| matches!(part, "." | "..")) && !name.chars().any(char::is_control)
}
