//! The storage side's configuration, checked and typed.

mod azure;
mod fetch;
mod gcs;
mod http;
mod s3;
mod store;
#[cfg(test)]
mod tests;
mod transform;
mod upload;

use std::time::Duration;

use super::breaker::BreakerSettings;
use super::cache::DiskSettings;
use super::layout::as_kept;
use super::transform::KeyPairFiles;
use crate::config::{Config, ConfigError, Side, storage as keys};

pub(super) use azure::{AzureLogin, AzureSettings};
pub(super) use fetch::FetchSettings;
pub(super) use gcs::{GcsSettings, GoogleLogin};
pub(super) use http::{HttpSettings, ProxySettings};
pub(super) use s3::{AwsLogin, S3Encryption, S3Settings};
pub(super) use store::{CallSettings, StoreKind, StoreSettings};
pub(super) use transform::{LayoutChoice, TransformSettings};
pub(super) use upload::UploadSettings;
use upload::{KEY_FILES, key_file, key_pair_ids, key_pairs};

/// Deletes in a row that fail before the next ones are handed over untried. Few, because a broker that deletes a topic
/// waits for one after the other, on a thread that all its topics need.
const DELETE_FAILURES: usize = 2;

/// Everything that a manager is told.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) store: StoreSettings,
    pub(super) key_prefix: String,
    pub(super) upload: UploadSettings,
    pub(super) transform: TransformSettings,
    pub(super) fetch: FetchSettings,
    /// Chunks on disk, if there is a folder for them.
    pub(super) disk: Option<DiskSettings>,
    pub(super) outage: OutageSettings,
    pub(super) key_pairs: Vec<KeyPairFiles>,
    /// What an operator should hear once: keys that nobody knows or that change nothing.
    pub(super) warnings: Vec<String>,
}

/// When the store counts as down, and what then happens to deletes.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutageSettings {
    pub(super) uploads: BreakerSettings,
    pub(super) deletes: BreakerSettings,
    pub(super) handover: Duration,
}

impl Settings {
    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let mut warnings = warnings(config)?;
        let (transform, notes) = TransformSettings::parse(config)?;
        warnings.extend(notes);
        warnings.extend(note_on_prefix(config));
        let store = StoreSettings::parse(config)?;
        let uploads = BreakerSettings {
            failures: size(config.unsigned(&keys::OUTAGE_FAILURES)?),
            window: config.millis(&keys::OUTAGE_WINDOW)?,
            interval: config.millis(&keys::OUTAGE_INTERVAL)?,
        };
        Ok(Self {
            key_prefix: key_prefix(config)?,
            upload: UploadSettings::parse(config, &store)?,
            transform,
            fetch: FetchSettings::parse(config)?,
            disk: fetch::disk(config)?,
            outage: OutageSettings {
                uploads,
                deletes: BreakerSettings { failures: DELETE_FAILURES, ..uploads },
                handover: config.millis(&keys::DELETE_HANDOVER)?,
            },
            key_pairs: key_pairs(config),
            warnings,
            store,
        })
    }
}

/// A prefix that leads nowhere else: `..` in a folder's path leads out of the folder, and a store's driver may drop `.`.
fn key_prefix(config: &Config) -> Result<String, ConfigError> {
    let prefix = config.text(&keys::KEY_PREFIX).unwrap_or_default();
    // What stands behind the last slash is the beginning of a name only.
    let folders = prefix.rsplit_once('/').map_or("", |(folders, _)| folders);
    if folders.split('/').any(|folder| matches!(folder, "." | "..")) || prefix.chars().any(char::is_control) {
        return Err(ConfigError::BadValue {
            key: keys::KEY_PREFIX.name.to_owned(),
            value: prefix.escape_default().to_string(),
            why: "it leads out of the store".to_owned(),
            range: "text without `.` and `..` between slashes and without control characters".to_owned(),
        });
    }
    Ok(as_kept(prefix).into_owned())
}

/// What an operator hears whose prefix is another one in every store.
fn note_on_prefix(config: &Config) -> Option<String> {
    let given = config.text(&keys::KEY_PREFIX).unwrap_or_default();
    let kept = as_kept(given);
    (kept != given).then(|| {
        format!(
            "`key.prefix` is `{kept}` and not `{given}`: names of objects begin with no slash and have no two in a row. What another \
             plugin wrote to a bucket under names that have these is not found"
        )
    })
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn warnings(config: &Config) -> Result<Vec<String>, ConfigError> {
    for &(name, honoured, why) in keys::NOT_YET {
        match config.raw(name).map(str::trim) {
            Some(value) if !value.is_empty() && !value.eq_ignore_ascii_case(honoured) => {
                return Err(ConfigError::Unsupported {
                    key: name.to_owned(),
                    value: value.to_owned(),
                    why: why.to_owned(),
                });
            }
            _ => {}
        }
    }
    let unknown = config.check(Side::Storage, &[keys::DRIVER_PREFIX])?;
    let files: Vec<_> = key_pair_ids(config).flat_map(|id| KEY_FILES.map(|which| key_file(id, which))).collect();
    Ok(unknown
        .into_iter()
        .filter(|warning| !is_harmless(&warning.key) && !files.contains(&warning.key))
        .map(|warning| {
            let name = &warning.key;
            match (keys::WITHOUT_EFFECT.iter().find(|(known, _)| known == name), warning.did_you_mean) {
                (Some((_, why)), _) => format!("`{name}` has no effect: {why}"),
                (None, Some(near)) => format!("`{name}` is unknown and has no effect; did you mean `{near}`?"),
                (None, None) => format!("`{name}` is unknown and has no effect"),
            }
        })
        .collect())
}

/// Keys that are set to what holds anyway.
fn is_harmless(name: &str) -> bool {
    keys::NOT_YET.iter().any(|(known, _, _)| *known == name)
}
