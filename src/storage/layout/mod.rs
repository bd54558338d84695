//! How a segment becomes bytes of objects, and back.
//!
//! In: sizes, ids, bytes. Out: bytes, ranges, and what is wrong with them. Never: I/O, clocks, configuration.
//! The formats are specified in `docs/FORMATS.md`.

pub mod aiven;
mod chunks;
pub mod compact;
mod crc;
mod key;
mod lead;
mod place;

pub use chunks::Chunks;
pub use key::{ObjectKey, as_kept};
pub use lead::Lead;
pub use place::{CUSTOM_METADATA_BYTES_MAX, Place, PlaceError};
