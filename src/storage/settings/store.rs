//! Which store, and how long it may take.

use std::time::Duration;

use super::azure::AzureSettings;
use super::gcs::GcsSettings;
use super::http::HttpSettings;
use super::s3::S3Settings;
use super::{azure, gcs, s3};
use crate::config::{Config, ConfigError, storage as keys};

#[derive(Clone)]
pub(in super::super) struct StoreSettings {
    pub(in super::super) kind: StoreKind,
    pub(in super::super) calls: CallSettings,
    pub(in super::super) http: HttpSettings,
    /// `storage.opendal.*`, the prefix taken off.
    pub(in super::super) driver: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub(in super::super) enum StoreKind {
    Filesystem {
        root: String,
    },
    S3(Box<S3Settings>),
    Gcs(Box<GcsSettings>),
    Azure(Box<AzureSettings>),
    /// A service of OpenDAL that was built in by a cargo feature, set up by `storage.opendal.*` alone.
    Service(&'static str),
    /// For tests: gone with the manager.
    Memory,
}

/// Bounds of a call to the store.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct CallSettings {
    pub(in super::super) call_timeout: Duration,
    pub(in super::super) attempt_timeout: Duration,
    pub(in super::super) attempts: u32,
    pub(in super::super) retry_delay: Duration,
}

/// Services of OpenDAL beyond the usual ones: name, and whether this build has it.
const SERVICES: &[(&str, bool)] = &[
    ("b2", cfg!(feature = "services-b2")),
    ("cos", cfg!(feature = "services-cos")),
    ("oss", cfg!(feature = "services-oss")),
];

/// Of the driver's options only which are set: any of them may be a secret.
impl std::fmt::Debug for StoreSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let driver: Vec<_> = self.driver.iter().map(|(name, _)| name).collect();
        f.debug_struct("StoreSettings")
            .field("kind", &self.kind)
            .field("calls", &self.calls)
            .field("http", &self.http)
            .field("driver", &driver)
            .finish()
    }
}

/// What names of a driver's secret options have in them.
const SECRET_PARTS: [&str; 6] = ["credential", "key", "password", "secret", "token", "signature"];

impl StoreSettings {
    /// Values that no message may have in it, whoever else repeats them.
    pub(in super::super) fn secrets(&self) -> Vec<String> {
        let of_kind = match &self.kind {
            StoreKind::S3(s3) => s3.secrets(),
            StoreKind::Azure(azure) => azure.secrets(),
            StoreKind::Filesystem { .. } | StoreKind::Gcs(_) | StoreKind::Service(_) | StoreKind::Memory => Vec::new(),
        };
        let of_proxy = self.http.proxy.as_ref().and_then(|proxy| proxy.login.as_ref());
        let of_proxy = of_proxy.map(|(_, password)| password.clone());
        let is_secret = |name: &str| SECRET_PARTS.iter().any(|part| name.contains(part));
        let of_driver = self.driver.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.clone());
        of_kind.into_iter().chain(of_proxy).chain(of_driver).collect()
    }

    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let driver =
            config.with_prefix(keys::DRIVER_PREFIX).map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
        let calls = CallSettings {
            call_timeout: config.millis(&keys::S3_CALL_TIMEOUT)?,
            attempt_timeout: config.millis(&keys::S3_ATTEMPT_TIMEOUT)?,
            attempts: u32::try_from(config.unsigned(&keys::RETRY_ATTEMPTS)?).unwrap_or(u32::MAX),
            retry_delay: config.millis(&keys::RETRY_DELAY)?,
        };
        Ok(Self { kind: kind(config)?, calls, http: HttpSettings::parse(config)?, driver: driver.collect() })
    }
}

fn kind(config: &Config) -> Result<StoreKind, ConfigError> {
    let why = "it says where segments are kept: `filesystem`, `s3`, `gcs` or `azure`";
    let class = config.required(&keys::BACKEND, why)?;
    match class {
        "filesystem" | "fs" | "io.aiven.kafka.tieredstorage.storage.filesystem.FileSystemStorage" => {
            let root = config.required(&keys::ROOT, "the `filesystem` store needs a folder")?;
            Ok(StoreKind::Filesystem { root: root.to_owned() })
        }
        "s3" | "io.aiven.kafka.tieredstorage.storage.s3.S3Storage" => Ok(StoreKind::S3(Box::new(s3::parse(config)?))),
        "gcs" | "io.aiven.kafka.tieredstorage.storage.gcs.GcsStorage" => {
            Ok(StoreKind::Gcs(Box::new(gcs::parse(config)?)))
        }
        "azure" | "io.aiven.kafka.tieredstorage.storage.azure.AzureBlobStorage" => {
            Ok(StoreKind::Azure(Box::new(azure::parse(config)?)))
        }
        "memory" => Ok(StoreKind::Memory),
        other => match SERVICES.iter().find(|(name, _)| *name == other) {
            Some(&(name, true)) => Ok(StoreKind::Service(name)),
            Some((name, false)) => {
                let why = format!("this build lacks it: build with `--features services-{name}`");
                Err(ConfigError::unsupported(&keys::BACKEND, other, &why))
            }
            None => Err(ConfigError::BadValue {
                key: keys::BACKEND.name.to_owned(),
                value: other.to_owned(),
                why: "no such store".to_owned(),
                range: "filesystem, s3, gcs, azure".to_owned(),
            }),
        },
    }
}
