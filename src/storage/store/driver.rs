//! Every store, through OpenDAL.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use opendal::options::{ListOptions, ReadOptions, WriteOptions};
use opendal::{Buffer, HttpTransporter, OperationContext, Operator, services};
use parking_lot::Mutex;

use super::super::layout::ObjectKey;
use super::super::settings::{S3Settings, StoreKind, StoreSettings};
use super::super::{Cause, StorageError};
use super::calls::{Caller, Remedies};
use super::folder::{Folder, TEMPORARY};
use super::http::{BoundedTransport, client};
use super::{Listed, ObjectStore, Pages, Upload};
use crate::metrics::Counter;

const PAGE: usize = 1000;

/// What calls to the store are counted with.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct StoreMeters {
    pub(in super::super) requests: Counter,
    pub(in super::super) retries: Counter,
    pub(in super::super) bytes_read: Counter,
    pub(in super::super) bytes_written: Counter,
}

/// A store behind an OpenDAL operator.
pub(in super::super) struct DriverStore {
    /// Of a folder, made when the folder is there: making it earlier would create the folder.
    operator: Mutex<Option<Operator>>,
    settings: StoreSettings,
    folder: Option<Folder>,
    caller: Caller,
    meters: StoreMeters,
}

impl DriverStore {
    /// Sets a store up without asking it anything.
    pub(in super::super) fn open(
        settings: StoreSettings,
        runtime: tokio::runtime::Id,
        meters: StoreMeters,
    ) -> Result<Self, StorageError> {
        let (name, remedies, folder) = match &settings.kind {
            StoreKind::Filesystem { root } => (format!("folder `{root}`"), FOLDER_REMEDIES, Some(Folder::new(root))),
            StoreKind::S3(s3) => {
                let endpoint = s3.endpoint.clone().unwrap_or_else(|| format!("Amazon S3, region {}", s3.region));
                (format!("bucket `{}` at {endpoint}", s3.bucket), S3_REMEDIES, None)
            }
            StoreKind::Memory => ("memory".to_owned(), FOLDER_REMEDIES, None),
        };
        let operator = match &settings.kind {
            StoreKind::Filesystem { .. } => None,
            StoreKind::S3(s3) => Some(s3_operator(s3, &settings, runtime)?),
            StoreKind::Memory => Some(Operator::new(services::Memory::default()).map_err(|error| unusable(&error))?),
        };
        let caller = Caller {
            store: Arc::from(name),
            settings: settings.calls,
            remedies,
            requests: meters.requests.clone(),
            retries: meters.retries.clone(),
        };
        Ok(Self { operator: Mutex::new(operator), settings, folder, caller, meters })
    }

    /// The operator, once the store can be used at all.
    fn operator(&self, action: &'static str, object: &str) -> Result<Operator, StorageError> {
        if let Some(folder) = &self.folder {
            folder.require_root(action, object, &self.caller.store)?;
        }
        let mut operator = self.operator.lock();
        if let Some(operator) = operator.as_ref() {
            return Ok(operator.clone());
        }
        let Some(folder) = &self.folder else {
            return Err(StorageError::Internal {
                action,
                object: object.to_owned().into(),
                why: "no operator".to_owned().into(),
                source: None,
            });
        };
        let own = [
            ("root".to_owned(), folder.root().to_string_lossy().into_owned()),
            ("atomic_write_dir".to_owned(), folder.temporary().to_string_lossy().into_owned()),
        ];
        let options = self.settings.driver.iter().cloned().chain(own);
        let made = Operator::from_iter::<services::Fs>(options).map_err(|error| StorageError::Misconfigured {
            action,
            object: object.to_owned().into(),
            store: self.caller.store.to_string().into(),
            why: error.to_string().lines().next().unwrap_or_default().to_owned().into(),
            remedy: FOLDER_REMEDIES.misconfigured,
            source: Some(Arc::new(error) as Cause),
        })?;
        Ok(operator.insert(made).clone())
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
            remedy: FOLDER_REMEDIES.unreachable,
            source: Some(Arc::new(error) as Cause),
        })
    }
}

const S3_REMEDIES: Remedies = Remedies {
    unreachable: "`storage.s3.endpoint.url`, the network and the store",
    refused: "`storage.aws.access.key.id`, `storage.aws.secret.access.key` and the rights on the bucket",
    misconfigured: "`storage.s3.bucket.name`, `storage.s3.region` and `storage.s3.endpoint.url`",
};

const FOLDER_REMEDIES: Remedies = Remedies {
    unreachable: "the disk of `storage.root`, its free space above all",
    refused: "the rights on `storage.root`",
    misconfigured: "`storage.root`: it must be a folder in which the broker's user may write",
};

fn s3_operator(
    s3: &S3Settings,
    settings: &StoreSettings,
    runtime: tokio::runtime::Id,
) -> Result<Operator, StorageError> {
    let mut options = HashMap::from([
        ("bucket".to_owned(), s3.bucket.clone()),
        ("region".to_owned(), s3.region.clone()),
        ("enable_virtual_host_style".to_owned(), (!s3.is_path_style).to_string()),
    ]);
    for (name, value) in [
        ("endpoint", &s3.endpoint),
        ("access_key_id", &s3.access_key),
        ("secret_access_key", &s3.secret_key),
        ("session_token", &s3.session_token),
        ("default_storage_class", &s3.storage_class),
    ] {
        if let Some(value) = value {
            options.insert(name.to_owned(), value.clone());
        }
    }
    if s3.access_key.is_some() {
        // What is configured counts; nothing in the environment may take its place.
        options.insert("disable_config_load".to_owned(), "true".to_owned());
        options.insert("disable_ec2_metadata".to_owned(), "true".to_owned());
    }
    options.extend(settings.driver.iter().cloned());
    let operator = Operator::from_iter::<services::S3>(options).map_err(|error| unusable(&error))?;
    let client =
        client(runtime, s3.is_certificate_checked, &settings.calls).map_err(|error| StorageError::Internal {
            action: "open",
            object: "HTTP client".to_owned().into(),
            why: error.to_string().into(),
            source: Some(Arc::new(error) as Cause),
        })?;
    let transport = BoundedTransport::new(client, settings.calls.attempt_timeout);
    Ok(operator.with_context(OperationContext::new().with_http_transport(HttpTransporter::new(transport))))
}

/// The driver doesn't take its options: the only place where a bad `storage.opendal.*` is noticed.
fn unusable(error: &opendal::Error) -> StorageError {
    StorageError::Config(crate::config::ConfigError::Unsupported {
        key: "storage.*".to_owned(),
        value: "[several]".to_owned(),
        why: error.to_string(),
    })
}

/// One buffer of many, nothing copied. Without the empty ones, of which OpenDAL's file writer never gets past the first.
fn joined(mut body: Vec<Bytes>) -> Buffer {
    body.retain(|bytes| !bytes.is_empty());
    Buffer::from(body)
}

/// The folder of a file may be removed, as an empty one, between the two steps of writing it.
fn again_if_the_folder_went(error: opendal::Error, folder: Option<&Folder>) -> opendal::Error {
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
        let operator = self.operator("put", key.as_str())?;
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
        let operator = self.operator("upload", key.as_str())?;
        let options = WriteOptions { concurrent: in_flight.max(1), ..WriteOptions::default() };
        let mut call = self.caller.call("upload", key.as_str());
        let writer = loop {
            if let Some(writer) = call.attempt(operator.writer_options(key.as_str(), options.clone())).await? {
                break writer;
            }
        };
        Ok(Box::new(DriverUpload {
            writer,
            key: key.clone(),
            caller: self.caller.clone(),
            folder: self.folder.clone(),
            bytes_written: self.meters.bytes_written.clone(),
        }))
    }

    async fn get(&self, key: &ObjectKey, range: Range<u64>) -> Result<Vec<Bytes>, StorageError> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let operator = self.operator("get", key.as_str())?;
        let wanted = range.end - range.start;
        let mut call = self.caller.call("get", key.as_str());
        let buffer = loop {
            let options = ReadOptions { range: range.clone().into(), ..ReadOptions::default() };
            if let Some(buffer) = call.attempt(operator.read_options(key.as_str(), options)).await? {
                break buffer;
            }
        };
        self.meters.bytes_read.add(buffer.len() as u64);
        if buffer.len() as u64 != wanted {
            return Err(StorageError::Corrupt {
                action: "get",
                object: key.to_string().into(),
                store: self.caller.store.to_string().into(),
                place: format!("bytes {} to {}", range.start, range.end - 1).into(),
                why: format!("{} bytes came instead of {wanted}", buffer.len()).into(),
            });
        }
        Ok(Iterator::collect(buffer))
    }

    async fn size(&self, key: &ObjectKey) -> Result<u64, StorageError> {
        let operator = self.operator("stat", key.as_str())?;
        let mut call = self.caller.call("stat", key.as_str());
        loop {
            if let Some(metadata) = call.attempt(operator.stat(key.as_str())).await? {
                return Ok(metadata.content_length());
            }
        }
    }

    async fn list(&self, prefix: &str) -> Result<Box<dyn Pages>, StorageError> {
        let operator = self.operator("list", prefix)?;
        let options = ListOptions { recursive: true, ..ListOptions::default() };
        let mut call = self.caller.call("list", prefix);
        loop {
            if let Some(lister) = call.attempt(operator.lister_options(prefix, options.clone())).await? {
                return Ok(Box::new(DriverPages { lister, prefix: prefix.to_owned(), caller: self.caller.clone() }));
            }
        }
    }

    async fn delete(&self, keys: &[ObjectKey]) -> Result<(), StorageError> {
        for batch in keys.chunks(PAGE) {
            let Some(first) = batch.first() else { continue };
            let object = match batch.len() {
                1 => first.to_string(),
                count => format!("{first} and {} more", count - 1),
            };
            let operator = self.operator("delete", &object)?;
            let mut call = self.caller.call("delete", &object);
            let names: Vec<String> = batch.iter().map(ToString::to_string).collect();
            while call.attempt(operator.delete_iter(names.clone())).await?.is_none() {}
            if let Some(folder) = &self.folder {
                for key in batch {
                    folder.remove_temporaries(key.as_str()).await;
                    folder.remove_empty_parents(key.as_str()).await;
                }
            }
        }
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

struct DriverUpload {
    writer: opendal::Writer,
    key: ObjectKey,
    caller: Caller,
    folder: Option<Folder>,
    bytes_written: Counter,
}

#[async_trait]
impl Upload for DriverUpload {
    async fn part(&mut self, body: Vec<Bytes>) -> Result<(), StorageError> {
        let body = joined(body);
        let mut call = self.caller.call("upload part of", self.key.as_str());
        while call.attempt(self.writer.write(body.clone())).await?.is_none() {}
        self.bytes_written.add(body.len() as u64);
        Ok(())
    }

    async fn complete(&mut self) -> Result<(), StorageError> {
        let (folder, key) = (self.folder.as_ref(), self.key.as_str());
        let mut call = self.caller.call("complete", key);
        loop {
            let closed = async {
                if let Some(folder) = folder {
                    folder.make_parents(key).await;
                }
                self.writer.close().await.map_err(|error| again_if_the_folder_went(error, folder))
            };
            if call.attempt(closed).await?.is_some() {
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
            None => Ok(()),
        }
    }

    async fn abort(&mut self) -> Result<(), StorageError> {
        let mut call = self.caller.call("abort", self.key.as_str());
        let aborted = loop {
            match call.attempt(self.writer.abort()).await {
                Ok(None) => {}
                other => break other.map(|_| ()),
            }
        };
        if let Some(folder) = &self.folder {
            folder.remove_empty_parents(self.key.as_str()).await;
        }
        match aborted {
            // Aborted already, or never begun.
            Err(StorageError::NotFound { .. }) => Ok(()),
            other => other,
        }
    }
}

struct DriverPages {
    lister: opendal::Lister,
    prefix: String,
    caller: Caller,
}

#[async_trait]
impl Pages for DriverPages {
    async fn next(&mut self) -> Result<Vec<Listed>, StorageError> {
        let mut page = Vec::new();
        let mut call = self.caller.call("list", &self.prefix);
        loop {
            let fill = async {
                while page.len() < PAGE {
                    let Some(entry) = self.lister.next().await.transpose()? else { break };
                    // Folders show up too, on file systems the listed one itself.
                    if entry.metadata().is_file() && !entry.path().starts_with(TEMPORARY) {
                        let size = entry.metadata().content_length();
                        page.push(Listed { key: ObjectKey::new(entry.path()), size });
                    }
                }
                Ok(())
            };
            if call.attempt(fill).await?.is_some() {
                return Ok(page);
            }
        }
    }
}
