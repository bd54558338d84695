//! The end of an object of the compact layout, for whom nothing says where its parts are.

use super::super::StorageError;
use super::super::layout::ObjectKey;
use super::super::layout::compact::{Footer, FooterError, TRAILER_LENGTH, Trailer};
use super::super::store::ObjectStore;

/// What an object says of itself, and its size.
pub(in super::super) async fn read_footer(
    store: &dyn ObjectStore,
    key: &ObjectKey,
    action: &'static str,
) -> Result<(Footer, u64), StorageError> {
    let explain = |error: FooterError| match error {
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
    };
    let size = store.size(key).await?;
    let end = store.get(key, size.saturating_sub(TRAILER_LENGTH as u64)..size).await?.concat();
    let trailer = Trailer::decode(&end).map_err(explain)?;
    let length = u64::from(trailer.footer_length) + TRAILER_LENGTH as u64;
    let footer = store.get(key, size.saturating_sub(length)..size).await?.concat();
    Ok((Footer::decode(&footer, size).map_err(explain)?, size))
}
