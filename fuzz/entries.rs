//! What is done with bytes that may be anything: by the fuzz targets, and by the quick random run of the tests.
//!
//! Each entry reads the bytes; what can be read must survive being written and read again.

use undercroft::storage::layout::Place;
use undercroft::storage::layout::aiven::Manifest;
use undercroft::storage::layout::compact::{Footer, TRAILER_LENGTH, Trailer, data_length};
use undercroft::wire::{
    CustomMetadata, Record, Version, decode, encode_level, encode_partition_delete, encode_segment, encode_update,
    parse_key,
};

/// Value of a record in the metadata topic.
pub fn record_value(bytes: &[u8]) {
    let Ok(record) = decode(bytes) else { return };
    let written = match &record {
        Record::Segment(r) => encode_segment(&r.metadata, r.leader_epoch, Version::V1),
        Record::Update(r) => encode_update(&r.update, r.leader_epoch, r.end_offset, Version::V1),
        Record::PartitionDelete(r) => encode_partition_delete(&r.delete, r.leader_epoch, r.end_offset, Version::V1),
        Record::Level(level) => encode_level(*level),
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

/// End of a segment's object, and custom metadata that says where its parts are.
pub fn layout(bytes: &[u8]) {
    let object_length = bytes.len() as u64;
    if let Ok(trailer) = Trailer::decode(bytes) {
        assert!(bytes.len() >= TRAILER_LENGTH, "a trailer of {} bytes", trailer.footer_length);
    }
    if let Ok(footer) = Footer::decode(bytes, object_length) {
        assert_eq!(footer.data_length, data_length(footer.segment_size, footer.block_size));
        assert!(footer.data_length <= object_length, "data behind the end");
        let tail = usize::try_from(footer.data_length).map(|at| bytes::Bytes::copy_from_slice(&bytes[at..]));
        for entry in &footer.indexes {
            assert!(entry.position.checked_add(u64::from(entry.length)).is_some_and(|end| end <= object_length));
            let found = tail.as_ref().map(|tail| footer.index(tail, entry.index));
            assert!(!matches!(found, Ok(Ok(None))), "an index that is listed is there, or is wrong");
        }
    }
    // A size of a segment, then its custom metadata.
    let Some((size, metadata)) = bytes.split_first_chunk::<8>() else { return };
    let size = u64::from_be_bytes(*size);
    if let Ok(place) = Place::decode(metadata, size) {
        assert_eq!(place.data_length, data_length(size, place.block_size));
        assert_eq!(Place::decode(&place.encode(), size).map(|again| again.object_length()), Ok(place.object_length()));
    }
}

/// Manifest of a segment that Aiven's plugin wrote.
pub fn manifest(bytes: &[u8]) {
    let Ok(manifest) = Manifest::decode(bytes) else { return };
    let (chunks, size) = (&manifest.chunks, manifest.chunks.segment_size());
    let mut next = 0;
    for place in &manifest.indexes {
        assert_eq!(place.range.start, next, "indexes lie one behind the other");
        next = place.range.end;
    }
    assert_eq!(manifest.indexes_length(), next);
    assert!(manifest.check(size + 1).is_err(), "a segment of another size");
    // All of a segment of any size: more than a fuzzer has time for.
    let (count, some) = (chunks.count(), chunks.count().min(1000));
    let plain: u64 = (0..some).map(|chunk| chunks.plain_length(chunk)).sum();
    assert_eq!(plain, size.min(some * chunks.chunk_size()));
    let mut next = 0;
    for chunk in 0..some {
        let range = chunks.stored_range(chunk..chunk + 1);
        assert!(range.start == next && range.end > next, "chunk {chunk} of {count} lies behind the one before");
        assert!(range.end <= chunks.object_length());
        next = range.end;
    }
    if manifest.check(size).is_ok() && manifest.is_plain() {
        assert_eq!(chunks.object_length(), size);
    }
}
