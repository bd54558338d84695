//! Object stores.
//!
//! In: keys, bytes, ranges. Out: bytes, or a [`StorageError`] that names what was tried, on what, and why it failed.
//! Never: what the bytes mean. OpenDAL is known in this room only.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long the store takes")]

#[cfg(test)]
mod broken_off;
mod calls;
#[cfg(test)]
pub(super) mod canned;
mod counted;
mod driver;
mod elsewhere;
mod folder;
mod folder_pages;
mod genuine;
mod http;
mod login;
mod operator;
mod pages;
#[cfg(test)]
pub(super) mod suite;
mod trouble;
mod upload;
mod uploads;

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;

use super::StorageError;
use super::layout::ObjectKey;

pub(super) use driver::{DriverStore, StoreMeters};

/// Gets pieces of an object, none of them empty.
pub(super) type Take<'a> = &'a mut (dyn FnMut(Bytes) + Send);

/// A place where objects are kept. One behaviour suite holds for all of them.
#[async_trait]
pub(super) trait ObjectStore: Send + Sync + 'static {
    /// The store in words, for messages: its bucket and endpoint, or its folder.
    fn name(&self) -> &str;

    /// Writes an object as a whole; one that is there is replaced. Nobody ever sees a part of it.
    async fn put(&self, key: &ObjectKey, body: Vec<Bytes>) -> Result<(), StorageError>;

    /// Begins an object that comes in parts, `in_flight` of which are sent at once.
    async fn upload(&self, key: &ObjectKey, in_flight: usize) -> Result<Box<dyn Upload>, StorageError>;

    /// Hands the bytes of `range` to `take` as they come, in order and each once. Without an error it was exactly these; a
    /// range that isn't all there is [`StorageError::Corrupt`].
    async fn read(&self, key: &ObjectKey, range: Range<u64>, take: Take<'_>) -> Result<(), StorageError>;

    /// Exactly the bytes of `range`, in pieces, once all have come.
    async fn get(&self, key: &ObjectKey, range: Range<u64>) -> Result<Vec<Bytes>, StorageError> {
        let mut pieces = Vec::new();
        self.read(key, range, &mut |piece| pieces.push(piece)).await?;
        Ok(pieces)
    }

    /// All bytes of an object, in pieces, by one request. One of more than `bytes_max` is [`StorageError::Corrupt`], and no
    /// more than these are read of it.
    async fn get_whole(&self, key: &ObjectKey, bytes_max: u64) -> Result<Vec<Bytes>, StorageError>;

    /// Size of an object.
    async fn size(&self, key: &ObjectKey) -> Result<u64, StorageError>;

    /// Objects whose keys begin with `prefix`, page by page.
    async fn list(&self, prefix: &str) -> Result<Box<dyn Pages>, StorageError>;

    /// Deletes objects, and what unfinished writes of them left; one that isn't there counts as deleted, a bucket or folder
    /// that isn't there doesn't.
    async fn delete(&self, keys: &[ObjectKey]) -> Result<(), StorageError>;

    /// Uploads of objects whose keys begin with `prefix` that were begun and never ended, whoever began them. Empty where a
    /// store removes these by itself.
    async fn list_uploads(&self, _prefix: &str) -> Result<Vec<OpenUpload>, StorageError> {
        Ok(Vec::new())
    }

    /// Removes an upload that was begun; one that isn't there counts as removed.
    async fn abort_upload(&self, _key: &ObjectKey, _id: &str) -> Result<(), StorageError> {
        Ok(())
    }

    /// Writes, reads and deletes an object of a few bytes called `key`.
    async fn check(&self, key: &ObjectKey) -> Result<(), StorageError>;
}

/// An object that is being written. Dropping it leaves the parts in the store: call [`Upload::abort`].
#[async_trait]
pub(super) trait Upload: Send {
    /// Hands over the next part. May return before it is sent; a part that failed may be reported later.
    async fn part(&mut self, body: Vec<Bytes>) -> Result<(), StorageError>;

    /// Waits for all parts and makes the object visible. After a failure the object may be there or not.
    async fn complete(&mut self) -> Result<(), StorageError>;

    /// Removes what was sent. May be called again after a failure. Behind a [`Upload::complete`] that succeeded there is
    /// nothing to remove but the object, which is somebody else's to delete.
    async fn abort(&mut self) -> Result<(), StorageError>;
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) key: ObjectKey,
    pub(super) size: u64,
}

/// An upload in parts that was begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenUpload {
    pub(super) key: ObjectKey,
    pub(super) id: String,
    /// When it was begun, by the store's clock, if it says so.
    pub(super) started_ms: Option<i64>,
}

/// The rest of a listing.
#[async_trait]
pub(super) trait Pages: Send {
    /// The next objects, at most some thousand; an empty page is the end.
    async fn next(&mut self) -> Result<Vec<Listed>, StorageError>;
}
