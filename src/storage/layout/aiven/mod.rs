//! Segments as Aiven's plugin writes them: three objects, the last of which, the manifest, says what is in the others.
//!
//! Specified in `docs/FORMATS.md`.

mod encode;
mod json;
mod lengths;
mod manifest;
mod names;
mod sealed;
#[cfg(test)]
mod tests;

pub use super::chunks::Chunks;
pub(in super::super) use manifest::TABLE_BYTES_MAX;
pub use manifest::{Envelope, IndexPlace, MANIFEST_BYTES_MAX, Manifest, ManifestError};
pub use names::Names;
pub(in super::super) use sealed::Sealer;
