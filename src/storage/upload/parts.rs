//! Bytes of an object in a row, cut into parts of one size: what some relatives of S3 insist on.

use bytes::Bytes;

use super::super::StorageError;
use super::super::cleanup::Left;
use super::super::layout::ObjectKey;
use super::buffers::Buffers;
use super::{Phase, Uploader, length};

/// An object whose length isn't known before its end. One that isn't larger than a part goes up in one request.
pub(super) struct Parts<'a> {
    uploader: &'a Uploader,
    key: &'a ObjectKey,
    buffers: Buffers,
    part_bytes: usize,
    current: Vec<u8>,
    has_current: bool,
    sent: u32,
}

impl<'a> Parts<'a> {
    pub(super) fn new(uploader: &'a Uploader, key: &'a ObjectKey, buffers: Buffers, part_bytes: u64) -> Self {
        let part_bytes = usize::try_from(part_bytes).unwrap_or(usize::MAX).max(1);
        Self { uploader, key, buffers, part_bytes, current: Vec::new(), has_current: false, sent: 0 }
    }

    pub(super) async fn push(&mut self, mut bytes: &[u8], left: &mut Left) -> Result<(), StorageError> {
        while !bytes.is_empty() {
            if self.current.len() >= self.part_bytes {
                self.send(left).await?;
            }
            self.take_buffer().await?;
            let count = bytes.len().min(self.part_bytes - self.current.len());
            self.current.extend_from_slice(&bytes[..count]);
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Everything was pushed: makes the object visible.
    pub(super) async fn complete(mut self, left: &mut Left) -> Result<(), StorageError> {
        if left.upload.is_none() {
            let body = self.body();
            self.uploader.paced(length(&body)).await;
            left.object_may_exist = true;
            return self.uploader.progress(self.key, Phase::Send, self.uploader.store.put(self.key, body)).await;
        }
        self.send(left).await?;
        match &mut left.upload {
            Some(upload) => self.uploader.progress(self.key, Phase::Send, upload.complete()).await,
            None => Ok(()),
        }
    }

    async fn take_buffer(&mut self) -> Result<(), StorageError> {
        if !self.has_current {
            let buffers = &mut self.buffers;
            self.current = self.uploader.progress(self.key, Phase::Send, async { Ok(buffers.take().await) }).await?;
            self.current.clear();
            self.has_current = true;
        }
        Ok(())
    }

    fn body(&mut self) -> Vec<Bytes> {
        self.has_current = false;
        vec![self.buffers.lend(std::mem::take(&mut self.current))]
    }

    async fn send(&mut self, left: &mut Left) -> Result<(), StorageError> {
        let uploader = self.uploader;
        let body = self.body();
        if left.upload.is_none() {
            left.object_may_exist = true;
            let in_flight = self.buffers.count().saturating_sub(2).max(1);
            left.upload = Some(uploader.store.upload(self.key, in_flight).await?);
        }
        let bytes = length(&body);
        uploader.paced(bytes).await;
        if let Some(upload) = &mut left.upload {
            uploader.progress(self.key, Phase::Send, upload.part(body)).await?;
        }
        self.sent += 1;
        tracing::debug!(object = %self.key, part = self.sent, bytes, "part handed over");
        Ok(())
    }
}
