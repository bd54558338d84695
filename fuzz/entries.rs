//! What is done with bytes that may be anything: by the fuzz targets, and by the quick random run of the tests.
//!
//! Each entry reads the bytes; what can be read must survive being written and read again.

use undercroft::storage::layout::aiven::Manifest;
use undercroft::storage::layout::compact::{
    BlockSize, Footer, TRAILER_LENGTH, Trailer, Transforms, data_length, decode_table,
};
use undercroft::storage::layout::{Chunks, Place};
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
        assert!(footer.transforms.fit(footer.segment_size, footer.block_size, footer.data_length));
        match &footer.blocks {
            None => assert_eq!(footer.data_length, data_length(footer.segment_size, footer.block_size)),
            Some(blocks) => chunks(blocks, footer.data_length),
        }
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
        assert!(place.transforms.fit(size, place.block_size, place.data_length));
        assert_eq!(Place::decode(&place.encode(), size).map(|again| again.object_length()), Ok(place.object_length()));
    }
}

/// Chunks lie one behind the other, from the beginning to `end`.
fn chunks(chunks: &Chunks, end: u64) {
    let mut next = 0;
    for chunk in 0..chunks.count().min(1000) {
        let range = chunks.stored_range(chunk..chunk + 1);
        assert!(range.start == next && range.end > next && range.end <= end, "chunk {chunk}");
        assert_eq!(chunks.chunk_at(range.start), chunk);
        assert_eq!(chunks.chunk_at(range.end - 1), chunk);
        next = range.end;
    }
    assert_eq!(chunks.object_length(), end);
}

/// Table of block lengths, behind what the footer says elsewhere: transforms, exponent of the block size, size of the segment.
/// In a footer a fuzzer alone would never get the checksum of it.
pub fn block_table(bytes: &[u8]) {
    let Some(([transforms, exponent, s0, s1, s2, s3], table)) = bytes.split_first_chunk::<6>() else { return };
    let Some(block_size) = BlockSize::from_exponent(*exponent) else { return };
    let segment_size = u32::from_be_bytes([*s0, *s1, *s2, *s3]);
    let transforms = Transforms { is_compressed: transforms & 1 != 0, is_encrypted: transforms & 2 != 0 };
    if let Ok(blocks) = decode_table(table, segment_size, block_size, transforms) {
        assert_eq!(blocks.segment_size(), u64::from(segment_size));
        chunks(&blocks, blocks.object_length());
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
