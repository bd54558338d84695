//! Which store, how it is reached, and how long it may take.

use std::time::Duration;

use super::size;
use crate::config::{Config, ConfigError, Key, storage as keys};

#[derive(Debug, Clone)]
pub(in super::super) struct StoreSettings {
    pub(in super::super) kind: StoreKind,
    pub(in super::super) calls: CallSettings,
    /// `storage.opendal.*`, the prefix taken off.
    pub(in super::super) driver: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub(in super::super) enum StoreKind {
    Filesystem {
        root: String,
    },
    S3(Box<S3Settings>),
    /// For tests: gone with the manager.
    Memory,
}

#[derive(Clone)]
pub(in super::super) struct S3Settings {
    pub(in super::super) bucket: String,
    pub(in super::super) region: String,
    pub(in super::super) endpoint: Option<String>,
    pub(in super::super) is_path_style: bool,
    pub(in super::super) storage_class: Option<String>,
    pub(in super::super) access_key: Option<String>,
    pub(in super::super) secret_key: Option<String>,
    pub(in super::super) session_token: Option<String>,
    pub(in super::super) is_certificate_checked: bool,
}

impl std::fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Settings")
            .field("bucket", &self.bucket)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// Bounds of a call to the store.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct CallSettings {
    pub(in super::super) call_timeout: Duration,
    pub(in super::super) attempt_timeout: Duration,
    pub(in super::super) connect_timeout: Duration,
    pub(in super::super) idle_connections: usize,
    pub(in super::super) attempts: u32,
    pub(in super::super) retry_delay: Duration,
}

impl StoreSettings {
    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let class = config.required(&keys::BACKEND, "it says where segments are kept: `filesystem` or `s3`")?;
        let kind = match class.trim() {
            "filesystem" | "fs" | "io.aiven.kafka.tieredstorage.storage.filesystem.FileSystemStorage" => {
                let root = config.required(&keys::ROOT, "the `filesystem` store needs a folder")?;
                StoreKind::Filesystem { root: root.to_owned() }
            }
            "s3" | "io.aiven.kafka.tieredstorage.storage.s3.S3Storage" => StoreKind::S3(Box::new(s3(config)?)),
            "memory" => StoreKind::Memory,
            "gcs"
            | "azure"
            | "io.aiven.kafka.tieredstorage.storage.gcs.GcsStorage"
            | "io.aiven.kafka.tieredstorage.storage.azure.AzureBlobStorage" => {
                return Err(ConfigError::Unsupported {
                    key: keys::BACKEND.name.to_owned(),
                    value: class.to_owned(),
                    why: "this version has `filesystem` and `s3`".to_owned(),
                });
            }
            _ => {
                return Err(ConfigError::BadValue {
                    key: keys::BACKEND.name.to_owned(),
                    value: class.to_owned(),
                    why: "no such store".to_owned(),
                    range: "filesystem, s3".to_owned(),
                });
            }
        };
        let driver =
            config.with_prefix(keys::DRIVER_PREFIX).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let calls = CallSettings {
            call_timeout: config.millis(&keys::S3_CALL_TIMEOUT)?,
            attempt_timeout: config.millis(&keys::S3_ATTEMPT_TIMEOUT)?,
            connect_timeout: config.millis(&keys::CONNECT_TIMEOUT)?,
            idle_connections: size(config.unsigned(&keys::IDLE_CONNECTIONS)?),
            attempts: u32::try_from(config.unsigned(&keys::RETRY_ATTEMPTS)?).unwrap_or(u32::MAX),
            retry_delay: config.millis(&keys::RETRY_DELAY)?,
        };
        Ok(Self { kind, calls, driver })
    }
}

fn s3(config: &Config) -> Result<S3Settings, ConfigError> {
    let own = |key: &'static Key| config.text(key).filter(|value| !value.is_empty()).map(str::to_owned);
    let bucket = config.required(&keys::S3_BUCKET, "the `s3` store needs a bucket")?.to_owned();
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if !(3..=255).contains(&bucket.len()) || !bucket.bytes().all(is_in_name) || bucket.contains("..") {
        return Err(ConfigError::BadValue {
            key: keys::S3_BUCKET.name.to_owned(),
            value: bucket,
            why: "no bucket can be called so".to_owned(),
            range: "3 to 255 letters, digits, `.`, `-` and `_`".to_owned(),
        });
    }
    let endpoint = own(&keys::S3_ENDPOINT);
    if let Some(url) = endpoint.as_deref().filter(|url| reqwest::Url::parse(url).is_err() || !url.starts_with("http")) {
        return Err(ConfigError::BadValue {
            key: keys::S3_ENDPOINT.name.to_owned(),
            value: url.to_owned(),
            why: "not a URL".to_owned(),
            range: "http://host[:port] or https://host[:port]".to_owned(),
        });
    }
    let region = match (own(&keys::S3_REGION), &endpoint) {
        (Some(region), _) => region,
        (None, Some(_)) => "us-east-1".to_owned(),
        (None, None) => {
            config.required(&keys::S3_REGION, "without an endpoint the region says where the bucket is")?.to_owned()
        }
    };
    let (access_key, secret_key) = (own(&keys::AWS_ACCESS_KEY), own(&keys::AWS_SECRET_KEY));
    for (set, missing, other) in
        [(&access_key, &secret_key, &keys::AWS_SECRET_KEY), (&secret_key, &access_key, &keys::AWS_ACCESS_KEY)]
    {
        if set.is_some() && missing.is_none() {
            return Err(ConfigError::Missing {
                key: other.name.to_owned(),
                why: "the other half of the key pair is set".to_owned(),
            });
        }
    }
    let is_path_style = match config.text(&keys::S3_PATH_STYLE) {
        Some(_) => config.boolean(&keys::S3_PATH_STYLE)?,
        None => endpoint.is_some() || bucket.contains('.'),
    };
    Ok(S3Settings {
        bucket,
        region,
        endpoint,
        is_path_style,
        storage_class: own(&keys::S3_STORAGE_CLASS),
        access_key,
        secret_key,
        session_token: own(&keys::AWS_SESSION_TOKEN),
        is_certificate_checked: config.boolean(&keys::AWS_CERTIFICATE_CHECK)?,
    })
}
