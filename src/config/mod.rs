//! Configuration: one table of keys, from which everything that speaks of a key is made.
//!
//! In: pairs of strings, as a host has them. Out: checked, typed values; warnings for what nobody knows; the reference
//! in `docs/CONFIG.md`. Never: files, environment, clocks.
//!
//! A key stands once, in `storage_keys`, `store_keys` or `metadata_keys`. The rooms ask for its value by that same constant, so a key
//! that is read but not documented, or documented but not read, does not compile or is reported as dead code.

mod clients;
mod key;
mod metadata_keys;
mod reference;
mod shown;
mod storage_keys;
mod store_keys;
mod understanding;
mod values;

pub use clients::{
    CLIENT_PREFIXES, CLIENT_SETTINGS, ClientPrefix, ClientSettings, Fate, client_prefix_of, fate_of_client_setting,
};
pub use key::{Key, Kind, Side};
pub use reference::{markdown, markdown_of, near_miss};
pub use shown::{quoted, visible, visible_lines};
pub use understanding::{KeyFate, StoragePairs, UnderstoodKey};
pub use values::{Config, ConfigError, Warning};

/// Keys of the metadata side, without the broker's prefix `rlmm.config.`.
pub mod metadata {
    pub use super::metadata_keys::*;
}

/// Keys of the storage side, without the broker's prefix `rsm.config.`.
pub mod storage {
    pub use super::storage_keys::*;
    pub use super::store_keys::*;
}

/// Every key there is, storage side first, in the order of the reference.
#[must_use]
pub fn all() -> Vec<&'static Key> {
    let metadata = metadata_keys::ALL.iter().chain(metadata_keys::OF_KAFKA_LOG);
    storage_keys::ALL.iter().chain(store_keys::OF_STORES).chain(metadata).copied().collect()
}
