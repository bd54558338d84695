//! The value of a level record: `uvarint frame (1) | uvarint api key (100) | uvarint version (0) | int8 level | int64
//! time in ms | tagged fields`.

use bytes::Bytes;

use crate::wire::Writer;

const API_KEY: u32 = 100;

/// The value that says `level`.
pub(super) fn encode(level: i8, timestamp_ms: i64) -> Bytes {
    let mut writer = Writer::with_capacity(13);
    writer.uvarint(1);
    writer.uvarint(API_KEY);
    writer.uvarint(0);
    writer.u8(u8::from_be_bytes(level.to_be_bytes()));
    writer.i64(timestamp_ms);
    writer.uvarint(0);
    writer.into_bytes()
}

/// The level that a value says, if it is one of a level record.
pub(super) fn decode(value: &[u8]) -> Option<i8> {
    match value {
        [1, 100, 0, level, ..] => i8::try_from(*level).ok(),
        _ => None,
    }
}
