//! Every store, through OpenDAL.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use opendal::options::WriteOptions;
use opendal::{Buffer, Operator};
use parking_lot::Mutex;

use super::super::layout::{ObjectKey, as_kept};
use super::super::metrics::HttpMeters;
use super::super::settings::{StoreKind, StoreSettings};
use super::super::{Cause, StorageError};
use super::calls::Caller;
use super::counted::counted;
use super::folder::Folder;
use super::folder_pages::FolderPages;
use super::genuine::{NO_BATCH, too_much};
use super::operator::{folder_operator, open};
use super::pages::DriverPages;
use super::trouble::{Trouble, TroubleKind};
use super::upload::DriverUpload;
use super::uploads::Uploads;
use super::{ObjectStore, OpenUpload, Pages, Take, Upload};
use crate::metrics::Counter;

/// Listings of open uploads in a row that may go unanswered before deletes end without.
const LISTINGS: u32 = 3;
pub(super) const PAGE: usize = 1000;
/// Deletes that are sent at once where there are no batches.
const DELETES_AT_ONCE: usize = 16;

/// What calls to the store are counted with.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct StoreMeters {
    pub(in super::super) requests: Counter,
    pub(in super::super) retries: Counter,
    pub(in super::super) bytes_read: Counter,
    pub(in super::super) bytes_written: Counter,
    pub(in super::super) http: HttpMeters,
}

/// A store behind an OpenDAL operator.
pub(in super::super) struct DriverStore {
    /// Of a folder, made when the folder is there: making it earlier would create the folder.
    operator: Mutex<Option<Operator>>,
    settings: StoreSettings,
    folder: Option<Folder>,
    caller: Caller,
    meters: StoreMeters,
    /// Where a store keeps the parts of uploads that nobody ends.
    uploads: Option<Uploads>,
    /// That store doesn't list them.
    no_listing: AtomicBool,
    /// Listings in a row that got no answer.
    failed_listings: AtomicU32,
}

impl DriverStore {
    /// Sets a store up without asking it anything.
    pub(in super::super) fn open(
        settings: StoreSettings,
        runtime: tokio::runtime::Id,
        meters: StoreMeters,
    ) -> Result<Self, StorageError> {
        let opened = open(&settings, runtime)?;
        let folder = match &settings.kind {
            StoreKind::Filesystem { root } => Some(Folder::new(root)),
            _ => None,
        };
        let caller = Caller {
            store: Arc::from(opened.name),
            settings: settings.calls,
            remedies: opened.remedies,
            login: opened.login,
            secrets: settings.secrets().into(),
            requests: meters.requests.clone(),
            retries: meters.retries.clone(),
        };
        let (uploads, no_listing) = (opened.uploads, AtomicBool::new(false));
        let operator = opened.operator.map(|operator| counted(operator, &meters.http));
        Ok(Self {
            operator: Mutex::new(operator),
            settings,
            folder,
            caller,
            meters,
            uploads,
            no_listing,
            failed_listings: AtomicU32::new(0),
        })
    }

    /// The operator, once the store can be used at all.
    async fn operator(&self, action: &'static str, object: &str) -> Result<Operator, StorageError> {
        let known = self.operator.lock().clone();
        let Some(folder) = self.folder.clone() else {
            return known.ok_or_else(|| StorageError::Internal {
                action,
                object: object.to_owned().into(),
                why: "no operator".to_owned().into(),
                source: None,
            });
        };
        let options = self.settings.driver.clone();
        // A disk that hangs must hang none of the runtime's threads.
        let look = tokio::task::spawn_blocking(move || {
            folder.require_root()?;
            match known {
                Some(operator) => Ok(operator),
                None => folder_operator(&folder, &options)
                    .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned()),
            }
        });
        let limit = self.settings.calls.call_timeout;
        let looked = tokio::time::timeout(limit, look).await.map_err(|_| StorageError::Timeout {
            action,
            object: object.to_owned().into(),
            store: self.caller.store.to_string().into(),
            waited_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            limit: "`storage.s3.api.call.timeout`",
        })?;
        let operator =
            looked.unwrap_or_else(|error| Err(error.to_string())).map_err(|why| StorageError::Misconfigured {
                action,
                object: object.to_owned().into(),
                store: self.caller.store.to_string().into(),
                why: why.into(),
                remedy: self.caller.remedies.misconfigured,
                source: None,
            })?;
        Ok(self.operator.lock().get_or_insert(operator).clone())
    }

    async fn delete_one(&self, operator: &Operator, name: &str) -> Result<(), StorageError> {
        let mut call = self.caller.call("delete", name);
        while call.attempt(operator.delete(name)).await?.is_none() {}
        Ok(())
    }

    /// Deletes objects by one request. False if none is known to be deleted, as OpenDAL keeps nothing of why, or as the answer
    /// is none to a batch: each has to be asked for by itself then.
    async fn delete_at_once(&self, operator: &Operator, object: &str, names: &[String]) -> Result<bool, StorageError> {
        let mut call = self.caller.call("delete", object);
        loop {
            let deleted = async {
                match operator.delete_iter(names.to_vec()).await {
                    Err(error) if ["zero successes", NO_BATCH].iter().any(|why| error.message().contains(why)) => {
                        Ok(false)
                    }
                    other => other.map(|()| true),
                }
            };
            if let Some(is_done) = call.attempt(deleted).await? {
                return Ok(is_done);
            }
        }
    }

    /// Aborts what uploads of these objects are open, by one listing for each folder that they are in. Where these can't
    /// be listed, nothing is, and lifecycle rules of the bucket are left.
    async fn abort_uploads_of(&self, keys: &[ObjectKey]) -> Result<(), StorageError> {
        if self.uploads.is_none() || self.no_listing.load(Ordering::Relaxed) {
            return Ok(());
        }
        let folder_of = |key: &ObjectKey| key.as_str().rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let folders: BTreeSet<String> = keys.iter().map(folder_of).collect();
        for folder in folders {
            let in_it: Vec<_> = keys.iter().filter(|key| folder_of(key) == folder).collect();
            let prefix = match in_it.as_slice() {
                [one] => one.to_string(),
                _ if folder.is_empty() => String::new(),
                _ => format!("{folder}/"),
            };
            let listed = match self.list_uploads(&prefix).await {
                Ok(listed) => listed,
                // The delete is made again, and so is this; but a store that never answers it must not keep deletes from ending.
                Err(error)
                    if error.is_retriable() && self.failed_listings.fetch_add(1, Ordering::Relaxed) < LISTINGS =>
                {
                    return Err(error);
                }
                Err(error) => {
                    // A right may be given later; a request that a server doesn't know stays unknown.
                    let is_unknown = matches!(error, StorageError::Internal { .. } | StorageError::Unsupported { .. });
                    self.no_listing.store(is_unknown, Ordering::Relaxed);
                    tracing::debug!(%error, "unfinished uploads can't be listed, so deletes leave them to the bucket's lifecycle rules");
                    return Ok(());
                }
            };
            self.failed_listings.store(0, Ordering::Relaxed);
            for upload in listed.iter().filter(|upload| in_it.contains(&&upload.key)) {
                match self.abort_upload(&upload.key, &upload.id).await {
                    Ok(()) => tracing::info!(object = %upload.key, "an upload that was never ended was removed"),
                    Err(error @ StorageError::Refused { .. }) => {
                        tracing::warn!(object = %upload.key, %error, "an upload that was never ended stays: grant the right to abort uploads, or give the bucket a lifecycle rule for them");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    async fn synced(&self, action: &'static str, key: &ObjectKey) -> Result<(), StorageError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        folder.sync_parents(key.as_str()).await.map_err(|error| StorageError::Unreachable {
            action,
            object: key.to_string().into(),
            store: self.caller.store.to_string().into(),
            waited_ms: 0,
            attempts: 1,
            why: format!("its folder can't be synced: {error}").into(),
            remedy: self.caller.remedies.unreachable,
            source: Some(Arc::new(error) as Cause),
        })
    }
}

/// An object's bytes by one request: for more than it may have, which the store answers with what there is. Inner `None` if
/// it has more than `bytes_max`; outer `None` if the answer doesn't tell whether that was all, as for an empty one.
async fn read_at_once(operator: &Operator, key: &str, bytes_max: u64) -> opendal::Result<Option<Option<Vec<Bytes>>>> {
    let reader = operator.reader(key).await?;
    let mut stream = reader.clone().into_stream(0..bytes_max.saturating_add(1)).await?;
    let (mut pieces, mut length) = (Vec::new(), 0_u64);
    loop {
        match stream.try_next().await {
            Ok(Some(buffer)) => {
                length = length.saturating_add(buffer.len() as u64);
                if length > bytes_max {
                    return Ok(Some(None));
                }
                pieces.extend(buffer);
            }
            Ok(None) => return Ok(Some(Some(pieces))),
            // The driver misses what was asked for beyond the end.
            Err(error) if Trouble::of(&error).kind == TroubleKind::Short => {
                let is_all = length > 0 && reader.metadata().is_some_and(|whole| whole.content_length() == length);
                return Ok(is_all.then_some(Some(pieces)));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The same by two requests, the first of which is for the length.
async fn read_knowing_its_length(
    operator: &Operator,
    key: &str,
    bytes_max: u64,
) -> opendal::Result<Option<Vec<Bytes>>> {
    let (mut pieces, mut length) = (Vec::new(), 0_u64);
    let mut stream = operator.reader(key).await?.into_stream(..).await?;
    while let Some(buffer) = stream.try_next().await? {
        length = length.saturating_add(buffer.len() as u64);
        if length > bytes_max {
            return Ok(None);
        }
        pieces.extend(buffer);
    }
    Ok(Some(pieces))
}

/// One buffer of many, nothing copied. Without the empty ones, of which OpenDAL's file writer never gets past the first.
pub(super) fn joined(mut body: Vec<Bytes>) -> Buffer {
    body.retain(|bytes| !bytes.is_empty());
    Buffer::from(body)
}

/// The folder of a file may be removed, as an empty one, between the two steps of writing it.
pub(super) fn again_if_the_folder_went(error: opendal::Error, folder: Option<&Folder>) -> opendal::Error {
    match error.kind() {
        opendal::ErrorKind::NotFound if folder.is_some() => error.set_temporary(),
        _ => error,
    }
}

#[async_trait]
impl ObjectStore for DriverStore {
    fn name(&self) -> &str {
        &self.caller.store
    }

    async fn put(&self, key: &ObjectKey, body: Vec<Bytes>) -> Result<(), StorageError> {
        let operator = self.operator("put", key.as_str()).await?;
        let body = joined(body);
        let mut call = self.caller.call("put", key.as_str());
        loop {
            let written = async {
                let written = operator.write_options(key.as_str(), body.clone(), WriteOptions::default()).await;
                written.map_err(|error| again_if_the_folder_went(error, self.folder.as_ref()))
            };
            if call.attempt(written).await?.is_some() {
                break;
            }
        }
        self.meters.bytes_written.add(body.len() as u64);
        self.synced("put", key).await
    }

    async fn upload(&self, key: &ObjectKey, in_flight: usize) -> Result<Box<dyn Upload>, StorageError> {
        let operator = self.operator("upload", key.as_str()).await?;
        let options = WriteOptions { concurrent: in_flight.max(1), ..WriteOptions::default() };
        let mut call = self.caller.call("upload", key.as_str());
        let writer = loop {
            if let Some(writer) = call.attempt(operator.writer_options(key.as_str(), options.clone())).await? {
                break writer;
            }
        };
        let (folder, bytes_written) = (self.folder.as_ref(), &self.meters.bytes_written);
        Ok(Box::new(DriverUpload::new(writer, operator, key, &self.caller, folder, bytes_written)))
    }

    async fn read(&self, key: &ObjectKey, range: Range<u64>, take: Take<'_>) -> Result<(), StorageError> {
        if range.is_empty() {
            return Ok(());
        }
        let operator = self.operator("get", key.as_str()).await?;
        let mut call = self.caller.call("get", key.as_str());
        let (wanted, mut come) = (range.end - range.start, 0);
        while come < wanted {
            // What has come was taken, so another attempt goes on behind it.
            let rest = range.start + come..range.end;
            let read = async {
                let mut stream = operator.reader(key.as_str()).await?.into_stream(rest).await?;
                while let Some(buffer) = stream.try_next().await? {
                    self.meters.bytes_read.add(buffer.len() as u64);
                    // Handed out, it would stand behind the range.
                    if buffer.len() as u64 > wanted - come {
                        return Err(too_much(wanted));
                    }
                    for piece in Iterator::filter(buffer, |piece| !piece.is_empty()) {
                        come += piece.len() as u64;
                        take(piece);
                    }
                }
                Ok(())
            };
            if call.attempt(read).await?.is_some() {
                break;
            }
        }
        if come != wanted {
            return Err(StorageError::Corrupt {
                action: "get",
                object: key.to_string().into(),
                store: self.caller.store.to_string().into(),
                place: format!("bytes {} to {}", range.start, range.end - 1).into(),
                why: format!("{come} bytes came instead of {wanted}").into(),
            });
        }
        Ok(())
    }

    async fn get_whole(&self, key: &ObjectKey, bytes_max: u64) -> Result<Vec<Bytes>, StorageError> {
        let operator = self.operator("get", key.as_str()).await?;
        let mut call = self.caller.call("get", key.as_str());
        let got = loop {
            let is_far = matches!(self.settings.kind, StoreKind::S3(_) | StoreKind::Gcs(_) | StoreKind::Azure(_));
            let read = async {
                if is_far && let Some(got) = read_at_once(&operator, key.as_str(), bytes_max).await? {
                    return Ok(got);
                }
                read_knowing_its_length(&operator, key.as_str(), bytes_max).await
            };
            if let Some(got) = call.attempt(read).await? {
                break got;
            }
        };
        self.meters.bytes_read.add(got.iter().flatten().map(|piece| piece.len() as u64).sum());
        got.ok_or_else(|| StorageError::Corrupt {
            action: "get",
            object: key.to_string().into(),
            store: self.caller.store.to_string().into(),
            place: "the object".to_owned().into(),
            why: format!("it has more than {bytes_max} bytes").into(),
        })
    }

    async fn size(&self, key: &ObjectKey) -> Result<u64, StorageError> {
        let operator = self.operator("stat", key.as_str()).await?;
        let mut call = self.caller.call("stat", key.as_str());
        let found = loop {
            match call.attempt(operator.stat(key.as_str())).await {
                Ok(None) => {}
                Ok(Some(metadata)) => break Ok(metadata.content_length()),
                Err(error) => break Err(error),
            }
        };
        // The answer to a HEAD has no body that could say whether it is the object or the bucket that isn't there.
        match found {
            Err(StorageError::NotFound { .. }) if matches!(self.settings.kind, StoreKind::S3(_)) => {
                match self.get(key, 0..1).await {
                    Ok(_) | Err(StorageError::NotFound { .. } | StorageError::Corrupt { .. }) => found,
                    // Not known to be missing.
                    Err(error) => Err(error),
                }
            }
            found => found,
        }
    }

    async fn list(&self, prefix: &str) -> Result<Box<dyn Pages>, StorageError> {
        let prefix = &*as_kept(prefix);
        let operator = self.operator("list", prefix).await?;
        if let Some(folder) = &self.folder {
            return Ok(Box::new(FolderPages::new(folder.root(), prefix, &self.caller)));
        }
        Ok(Box::new(DriverPages::new(operator, prefix, &self.caller)))
    }

    async fn delete(&self, keys: &[ObjectKey]) -> Result<(), StorageError> {
        for batch in keys.chunks(PAGE) {
            let Some(first) = batch.first() else { continue };
            let object = match batch.len() {
                1 => first.to_string(),
                count => format!("{first} and {} more", count - 1),
            };
            let operator = self.operator("delete", &object).await?;
            let names: Vec<String> = batch.iter().map(ToString::to_string).collect();
            // Batches of GCS and Azure save nothing but connections, and answer "not found" for each object of a missing bucket or
            // container, which the driver takes for deleted.
            let is_batched = !matches!(self.settings.kind, StoreKind::Gcs(_) | StoreKind::Azure(_));
            if !(is_batched && self.delete_at_once(&operator, &object, &names).await?) {
                let each: Vec<_> = names.iter().map(|name| self.delete_one(&operator, name).boxed()).collect();
                stream::iter(each).buffer_unordered(DELETES_AT_ONCE).try_collect::<()>().await?;
            }
            if let Some(folder) = &self.folder {
                for key in batch {
                    folder.remove_temporaries(key.as_str()).await;
                    folder.remove_empty_parents(key.as_str()).await;
                }
            }
            self.abort_uploads_of(batch).await?;
        }
        Ok(())
    }

    async fn list_uploads(&self, prefix: &str) -> Result<Vec<OpenUpload>, StorageError> {
        let Some(uploads) = &self.uploads else { return Ok(Vec::new()) };
        let mut call = self.caller.call("list uploads below", prefix);
        loop {
            if let Some(found) = call.attempt(uploads.list(prefix)).await? {
                return Ok(found);
            }
        }
    }

    async fn abort_upload(&self, key: &ObjectKey, id: &str) -> Result<(), StorageError> {
        let Some(uploads) = &self.uploads else { return Ok(()) };
        let mut call = self.caller.call("abort an upload of", key.as_str());
        while call.attempt(uploads.abort(key, id)).await?.is_none() {}
        Ok(())
    }

    async fn check(&self, key: &ObjectKey) -> Result<(), StorageError> {
        const PROBE: &[u8] = b"Undercroft checks that it can write here; this object may be deleted.\n";
        self.put(key, vec![Bytes::from_static(PROBE)]).await?;
        let read = self.get(key, 0..PROBE.len() as u64).await;
        self.delete(std::slice::from_ref(key)).await?;
        if read?.concat() == PROBE {
            return Ok(());
        }
        Err(StorageError::Corrupt {
            action: "check",
            object: key.to_string().into(),
            store: self.caller.store.to_string().into(),
            place: "the object".to_owned().into(),
            why: "what was read is not what was written".to_owned().into(),
        })
    }
}
