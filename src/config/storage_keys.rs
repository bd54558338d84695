//! Keys of the storage side.

use super::{Key, Kind, Side};

/// Chooses the store.
pub static BACKEND: Key = Key {
    name: "storage.backend.class",
    side: Side::Storage,
    kind: Kind::Text,
    default: None,
    text: "Where segments are kept: `filesystem` or `s3`. The class names of Aiven's plugin for these are understood too.",
};

/// All of them, in the order of the reference.
pub static ALL: &[&Key] = &[&BACKEND];
