//! The bytes that Kafka and we exchange about remote segments, to and from the model.
//!
//! In: record values, record keys and custom metadata as bytes. Out: values of the model, and back. Never: I/O, clocks,
//! decisions (which key or which version to write is `metadata`'s business).
//!
//! Decoding any bytes neither panics nor allocates more than a small multiple of their length: what is wrong with them
//! comes back as a [`DecodeError`], a [`KeyError`] or a [`Malformed`], each with the position of the first bad byte.

mod custom_metadata;
mod key;
mod names;
mod partitioner;
mod reader;
mod tagged;
mod value;
mod writer;

pub use custom_metadata::{CustomMetadata, OWN_TAGS_FROM};
pub use key::{KeyError, LEVEL_KEY, Lane, PartitionKey, RecordKey, SegmentKey, parse_key, parse_key_with};
pub use names::Names;
pub use partitioner::metadata_partition;
pub use reader::{Malformed, Reader};
pub use tagged::TaggedFields;
pub use value::{
    DecodeError, LevelRecord, PartitionDeleteRecord, Record, UpdateRecord, Version, WholeSegment, decode, decode_with,
    encode_level, encode_partition_delete, encode_segment, encode_update,
};
pub use writer::Writer;
