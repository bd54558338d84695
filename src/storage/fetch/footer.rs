//! The end of an object of the compact layout.

use bytes::Bytes;

use super::super::StorageError;
use super::super::layout::compact::{Footer, FooterError, TRAILER_LENGTH, Trailer};
use super::super::layout::{ObjectKey, Place};
use super::super::store::ObjectStore;
use crate::model::SegmentMetadata;

/// More than the longest footer: a length for each block of the largest segment, and some text.
const FOOTER_MAX: u64 = 32 << 20;

/// The tail of an object whose place is known: its footer, which is about that segment, and all of its bytes.
pub(super) async fn read_tail(
    store: &dyn ObjectStore,
    key: &ObjectKey,
    segment: &SegmentMetadata,
    place: &Place,
) -> Result<(Footer, Bytes), StorageError> {
    let pieces = store.get(key, place.data_length..place.object_length()).await?;
    let bytes = Bytes::from(pieces.concat());
    let footer = Footer::decode(&bytes, place.object_length()).and_then(|footer| {
        is_of(&footer, segment, place).map_err(FooterError::Corrupt)?;
        Ok(footer)
    });
    let footer = footer.map_err(|error| footer_trouble(store, key, "get", error))?;
    Ok((footer, bytes))
}

/// Whether a footer is that of the segment and says the same of the data as the segment's metadata does.
fn is_of(footer: &Footer, segment: &SegmentMetadata, place: &Place) -> Result<(), String> {
    let is_ours = footer.segment_id == segment.id.uuid
        && footer.topic_id == segment.id.partition.topic_id
        && footer.partition == segment.id.partition.partition
        && footer.start_offset == segment.start_offset.0
        && i64::try_from(footer.segment_size) == Ok(i64::from(segment.size_bytes))
        && footer.data_length == place.data_length;
    if !is_ours {
        return Err(format!(
            "it belongs to segment {} of {}-{} from offset {}",
            footer.segment_id, footer.topic_id, footer.partition, footer.start_offset
        ));
    }
    if footer.transforms != place.transforms || footer.block_size != place.block_size {
        return Err("it has other transforms or blocks than the segment's metadata says".to_owned());
    }
    Ok(())
}

pub(super) fn footer_trouble(
    store: &dyn ObjectStore,
    key: &ObjectKey,
    action: &'static str,
    error: FooterError,
) -> StorageError {
    match error {
        FooterError::Unsupported(_) => {
            StorageError::Unsupported { action, object: key.to_string().into(), why: error.to_string().into() }
        }
        FooterError::Corrupt(why) => StorageError::Corrupt {
            action,
            object: key.to_string().into(),
            store: store.name().to_owned().into(),
            place: "the footer".to_owned().into(),
            why: why.into(),
        },
    }
}

/// What an object says of itself, and its size.
pub(in super::super) async fn read_footer(
    store: &dyn ObjectStore,
    key: &ObjectKey,
    action: &'static str,
) -> Result<(Footer, u64), StorageError> {
    let explain = |error| footer_trouble(store, key, action, error);
    let size = store.size(key).await?;
    let end = store.get(key, size.saturating_sub(TRAILER_LENGTH as u64)..size).await?.concat();
    let trailer = Trailer::decode(&end).map_err(explain)?;
    let length = u64::from(trailer.footer_length) + TRAILER_LENGTH as u64;
    if length > FOOTER_MAX {
        return Err(explain(FooterError::Corrupt(format!("its trailer says that it has {length} bytes"))));
    }
    let footer = store.get(key, size.saturating_sub(length)..size).await?.concat();
    Ok((Footer::decode(&footer, size).map_err(explain)?, size))
}
