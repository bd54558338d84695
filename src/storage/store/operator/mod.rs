//! Operators of OpenDAL, set up from our settings, and what an operator is told when they don't work.

use std::collections::HashMap;
use std::sync::Arc;

use opendal::{HttpTransporter, OperationContext, Operator, services};

use super::super::settings::{S3Settings, StoreSettings};
use super::super::{Cause, StorageError};
use super::calls::Remedies;
use super::folder::Folder;
use super::http::{BoundedTransport, client};

pub(super) const S3_REMEDIES: Remedies = Remedies {
    unreachable: "`storage.s3.endpoint.url`, the network and the store",
    refused: "`storage.aws.access.key.id`, `storage.aws.secret.access.key` and the rights on the bucket",
    misconfigured: "`storage.s3.bucket.name`, `storage.s3.region` and `storage.s3.endpoint.url`",
};

pub(super) const FOLDER_REMEDIES: Remedies = Remedies {
    unreachable: "the disk of `storage.root`, its free space above all",
    refused: "the rights on `storage.root`",
    misconfigured: "`storage.root`: it must be a folder in which the broker's user may write",
};

pub(super) fn s3_operator(
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
pub(super) fn unusable(error: &opendal::Error) -> StorageError {
    StorageError::Config(crate::config::ConfigError::Unsupported {
        key: "storage.*".to_owned(),
        value: "[several]".to_owned(),
        why: error.to_string(),
    })
}

/// Of a folder that is there. Touches the disk.
pub(super) fn folder_operator(folder: &Folder, options: &[(String, String)]) -> opendal::Result<Operator> {
    let own = [
        ("root".to_owned(), folder.root().to_string_lossy().into_owned()),
        ("atomic_write_dir".to_owned(), folder.temporary().to_string_lossy().into_owned()),
    ];
    Operator::from_iter::<services::Fs>(options.iter().cloned().chain(own))
}
