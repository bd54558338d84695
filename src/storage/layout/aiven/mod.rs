//! Segments as Aiven's plugin writes them: three objects, the last of which, the manifest, says what is in the others.
//!
//! Only reading and naming so far. Specified in `docs/FORMATS.md`.

mod json;
mod lengths;
mod manifest;
mod names;
#[cfg(test)]
mod tests;

pub use super::chunks::Chunks;
pub use manifest::{Envelope, IndexPlace, MANIFEST_BYTES_MAX, Manifest, ManifestError};
pub use names::Names;
