//! An object that goes to its store in parts.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use opendal::{Buffer, Operator, Writer};
use tokio::task::JoinHandle;

use super::super::layout::ObjectKey;
use super::super::{Cause, StorageError};
use super::Upload;
use super::calls::Caller;
use super::driver::{again_if_the_folder_went, joined};
use super::folder::Folder;
use crate::metrics::Counter;

/// Parts within which the store learns of the upload: the driver keeps one back, and begins with the second.
const PARTS_THAT_BEGIN: u32 = 2;

/// An upload through OpenDAL.
pub(super) struct DriverUpload {
    hand: Hand,
    operator: Operator,
    parts: u32,
    /// Of the parts that were handed over.
    bytes: u64,
    /// The driver's writer is told so once, and fails when it hears it again.
    is_aborted: bool,
    /// The object stands under its name, even if the caller went away before it was told.
    is_visible: bool,
    key: ObjectKey,
    caller: Caller,
    folder: Option<Folder>,
    bytes_written: Counter,
}

impl DriverUpload {
    pub(super) fn new(
        writer: Writer,
        operator: Operator,
        key: &ObjectKey,
        caller: &Caller,
        folder: Option<&Folder>,
        bytes_written: &Counter,
    ) -> Self {
        Self {
            hand: Hand { writer: Some(writer), away: None },
            operator,
            parts: 0,
            bytes: 0,
            is_aborted: false,
            is_visible: false,
            key: key.clone(),
            caller: caller.clone(),
            folder: folder.cloned(),
            bytes_written: bytes_written.clone(),
        }
    }
}

#[async_trait]
impl Upload for DriverUpload {
    async fn part(&mut self, body: Vec<Bytes>) -> Result<(), StorageError> {
        let body = joined(body);
        let mut call = self.caller.call("upload part of", self.key.as_str());
        let (hand, begins) = (&mut self.hand, self.parts < PARTS_THAT_BEGIN);
        loop {
            let written = async {
                if begins {
                    return hand.write_to_the_end(body.clone()).await;
                }
                hand.writer()?.write(body.clone()).await
            };
            if call.attempt(written).await.map_err(upload_is_gone)?.is_some() {
                break;
            }
        }
        self.parts = self.parts.saturating_add(1);
        self.bytes = self.bytes.saturating_add(body.len() as u64);
        self.bytes_written.add(body.len() as u64);
        Ok(())
    }

    async fn complete(&mut self) -> Result<(), StorageError> {
        let (folder, key, hand) = (self.folder.as_ref(), self.key.as_str(), &mut self.hand);
        let is_visible = &mut self.is_visible;
        let mut call = self.caller.call("complete", key);
        loop {
            let closed = async {
                if let Some(folder) = folder {
                    folder.make_parents(key).await;
                }
                hand.writer()?.close().await.map_err(|error| again_if_the_folder_went(error, folder))?;
                *is_visible = true;
                Ok(())
            };
            if call.attempt(closed).await.map_err(upload_is_gone)?.is_some() {
                break;
            }
        }
        match folder {
            Some(folder) => folder.sync_parents(key).await.map_err(|error| StorageError::Internal {
                action: "complete",
                object: key.to_owned().into(),
                why: format!("its folder can't be synced: {error}").into(),
                source: Some(Arc::new(error) as Cause),
            }),
            None => self.check_length().await,
        }
    }

    async fn abort(&mut self) -> Result<(), StorageError> {
        if self.is_visible || self.is_aborted {
            return Ok(());
        }
        let mut call = self.caller.call("abort", self.key.as_str());
        let hand = &mut self.hand;
        let aborted = loop {
            let abort = async {
                // What it failed with is known already, or of no interest.
                let _ = hand.land().await;
                hand.writer()?.abort().await
            };
            match call.attempt(abort).await {
                Ok(None) => {}
                other => break other.map(|_| ()),
            }
        };
        if let Some(folder) = &self.folder {
            folder.remove_empty_parents(self.key.as_str()).await;
        }
        let aborted = match aborted {
            // Aborted already, or never begun.
            Err(StorageError::NotFound { .. }) => Ok(()),
            other => other,
        };
        self.is_aborted = aborted.is_ok();
        aborted
    }
}

impl DriverUpload {
    /// Some servers answer "done" to a request that was made again, and have joined what they still had of the parts.
    async fn check_length(&self) -> Result<(), StorageError> {
        let mut call = self.caller.call("stat", self.key.as_str());
        let found = loop {
            let stat = call.attempt(self.operator.stat(self.key.as_str())).await;
            if let Some(metadata) = stat.map_err(upload_is_gone)? {
                break metadata.content_length();
            }
        };
        if found == self.bytes {
            return Ok(());
        }
        Err(StorageError::Corrupt {
            action: "complete",
            object: self.key.to_string().into(),
            store: self.caller.store.to_string().into(),
            place: "the object".to_owned().into(),
            why: format!("it has {found} bytes, and {} were sent in {} parts", self.bytes, self.parts).into(),
        })
    }
}

/// Whoever writes must not be told that an object isn't there. It is the upload: somebody aborted it, or it was completed
/// by a request whose answer got lost. Another copy may succeed.
fn upload_is_gone(error: StorageError) -> StorageError {
    match error {
        StorageError::NotFound { action, object, store } => StorageError::Unreachable {
            action,
            object,
            store,
            waited_ms: 0,
            attempts: 1,
            why: "the store does not know what was uploaded".to_owned().into(),
            remedy: "whether something aborts uploads that are under way",
            source: None,
        },
        other => other,
    }
}

/// Holds the writer, or what the writer was doing when its caller went away.
///
/// A request that begins an upload must not be dropped: its answer is the only one to tell how the upload is called.
struct Hand {
    writer: Option<Writer>,
    away: Option<JoinHandle<(Writer, opendal::Result<()>)>>,
}

impl Hand {
    /// The writer, unless it is away.
    fn writer(&mut self) -> opendal::Result<&mut Writer> {
        let lost = || opendal::Error::new(opendal::ErrorKind::Unexpected, "the writer is at work or lost");
        self.writer.as_mut().ok_or_else(lost)
    }

    /// Writes in a task of its own, which goes on if this future is dropped; [`Hand::land`] then waits for it.
    async fn write_to_the_end(&mut self, body: Buffer) -> opendal::Result<()> {
        self.land().await?;
        self.writer()?;
        if let Some(mut writer) = self.writer.take() {
            self.away = Some(tokio::spawn(async move {
                let written = writer.write(body).await;
                (writer, written)
            }));
        }
        self.land().await
    }

    async fn land(&mut self) -> opendal::Result<()> {
        let Some(away) = &mut self.away else { return Ok(()) };
        let landed = away.await;
        self.away = None;
        let (writer, written) = landed.map_err(|error| {
            opendal::Error::new(opendal::ErrorKind::Unexpected, "the task that writes ended").set_source(error)
        })?;
        self.writer = Some(writer);
        written
    }
}
