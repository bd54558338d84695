//! Keys of the metadata side.

use super::{Key, Kind, Side};

/// Chooses the log.
pub static LOG: Key = Key {
    name: "undercroft.metadata.log",
    side: Side::Metadata,
    kind: Kind::Choice(&["kafka", "embedded"]),
    default: Some("kafka"),
    text: "Where metadata records live: `kafka`, in the topic `__remote_log_metadata`, or `embedded`, in a local file.",
};

/// All of them, in the order of the reference.
pub static ALL: &[&Key] = &[&LOG];
