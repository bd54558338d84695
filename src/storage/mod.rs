//! Segments in an object store.
//!
//! In: closed segments of a broker, as files. Out: one object per segment (`docs/FORMATS.md`), ranges of it, its indexes,
//! its deletion; the same of segments that Aiven's plugin wrote. Never: what segments exist or which offsets they hold; that is the metadata room's.
//!
//! ```text
//! manager -> upload, fetch, deletion -> layout (pure: bytes <-> blocks, indexes, footer, manifest)
//!                                    -> transform (zstd, AES-256-GCM, key pairs)
//!                                    -> store  (OpenDAL behind a trait)
//! survey (what lies in a store, and is it whole) -> fetch, layout, store
//!            joint (what a metadata side in this process is told and asked) -> breaker, copies (pure)
//! ```

mod base;
mod blocking;
mod breaker;
mod cache;
mod cleanup;
mod copies;
mod deletion;
mod error;
mod fetch;
mod joint;
pub mod layout;
mod manager;
mod metrics;
mod objects;
mod pace;
mod preflight;
mod segment_files;
mod settings;
mod small_file;
mod store;
pub mod survey;
mod tasks;
mod transform;
mod upload;

pub use error::{Cause, StorageError};
pub use fetch::SegmentReader;
pub use manager::{StorageEnv, StorageManager};
pub use preflight::{CheckedConfig, Preflight, PreflightStep, check_config, preflight};
pub use segment_files::SegmentFiles;
pub use small_file::{BUNDLE_BYTES_MAX, KEY_FILE_BYTES_MAX, open_regular_file, read_small_file};
