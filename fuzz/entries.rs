//! What is done with bytes that may be anything: by the fuzz targets, and by the quick random run of the tests.
//!
//! Each entry reads the bytes; what can be read must survive being written and read again.

use undercroft::wire::{
    CustomMetadata, Record, Version, decode, encode_partition_delete, encode_segment, encode_update, parse_key,
};

/// Value of a record in the metadata topic.
pub fn record_value(bytes: &[u8]) {
    let Ok(record) = decode(bytes) else { return };
    let written = match &record {
        Record::Segment(r) => encode_segment(&r.metadata, r.leader_epoch, Version::V1),
        Record::Update(r) => encode_update(&r.update, r.leader_epoch, r.end_offset, Version::V1),
        Record::PartitionDelete(r) => encode_partition_delete(&r.delete, r.leader_epoch, r.end_offset, Version::V1),
        Record::Snapshot => return,
    };
    assert_eq!(decode(&written), Ok(record));
}

/// Key of a record in the metadata topic.
pub fn record_key(bytes: &[u8]) {
    match parse_key(bytes) {
        Ok(key) => assert_eq!(&key.to_bytes()[..], bytes, "a key has one spelling"),
        Err(error) => assert!(error.position <= bytes.len(), "{error}"),
    }
}

/// Custom metadata of a segment.
pub fn custom_metadata(bytes: &[u8]) {
    match CustomMetadata::decode(bytes) {
        Ok(metadata) => {
            let written = metadata.encode().unwrap_or_default();
            assert_eq!(CustomMetadata::decode(&written), Ok(metadata));
        }
        Err(error) => assert!(error.position <= bytes.len(), "{error}"),
    }
}
