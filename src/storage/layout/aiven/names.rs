//! Names of the three objects of a segment.

use super::super::ObjectKey;
use super::super::key::stem;
use crate::model::SegmentMetadata;

/// The objects of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// All of a name but its suffix.
    base: String,
}

impl Names {
    /// Names under `prefix`, which stands in front verbatim; `main` is what the custom metadata has in the place of the
    /// usual name.
    #[must_use]
    pub fn new(prefix: &str, main: Option<&str>, segment: &SegmentMetadata) -> Self {
        let base = match main {
            Some(main) => format!("{prefix}{main}"),
            None => format!("{prefix}{}", stem(segment)),
        };
        Self { base }
    }

    /// Names that are known but for their suffix.
    #[must_use]
    pub fn of_base(base: &str) -> Self {
        Self { base: base.to_owned() }
    }

    /// The usual name between prefix and suffix.
    #[must_use]
    pub fn main(segment: &SegmentMetadata) -> String {
        stem(segment)
    }

    /// The segment, chunk by chunk.
    #[must_use]
    pub fn log(&self) -> ObjectKey {
        ObjectKey::new(&format!("{}.log", self.base))
    }

    /// All of its indexes.
    #[must_use]
    pub fn indexes(&self) -> ObjectKey {
        ObjectKey::new(&format!("{}.indexes", self.base))
    }

    /// What is written last: a segment without it isn't there.
    #[must_use]
    pub fn manifest(&self) -> ObjectKey {
        ObjectKey::new(&format!("{}.rsm-manifest", self.base))
    }

    /// All three.
    #[must_use]
    pub fn all(&self) -> [ObjectKey; 3] {
        [self.log(), self.indexes(), self.manifest()]
    }
}
