//! Segments in an object store.
//!
//! In: closed segments of a broker, as files. Out: one object per segment (`docs/FORMATS.md`), ranges of it, its indexes,
//! its deletion. Never: what segments exist or which offsets they hold; that is the metadata room's.
//!
//! ```text
//! manager -> upload, fetch -> layout (pure: bytes <-> blocks, indexes, footer)
//!                          -> store  (OpenDAL behind a trait)
//! ```

mod cleanup;
mod error;
mod fetch;
pub mod layout;
mod manager;
mod metrics;
mod segment_files;
mod settings;
mod store;
mod tasks;
mod upload;

pub use error::{Cause, StorageError};
pub use fetch::SegmentReader;
pub use manager::{StorageEnv, StorageManager};
pub use segment_files::SegmentFiles;
