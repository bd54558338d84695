//! What a manager is made from.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, ConfigError, Side, metadata as keys};
use crate::metadata::MetadataError;
use crate::metadata::log::MetadataLog;
use crate::metadata::log::embedded::{EmbeddedLog, EmbeddedOptions};
use crate::metadata::log::kafka::{CLIENT_PREFIXES, KafkaLog};
use crate::model::BrokerId;

use super::upkeep;

/// What a manager is given by its process.
#[derive(Debug, Clone)]
pub struct MetadataEnv {
    /// Where background work runs. It must have a clock (`enable_time`).
    pub runtime: tokio::runtime::Handle,
    /// -1 if there is no broker.
    pub broker_id: BrokerId,
    pub log_dir: Option<PathBuf>,
    pub cluster_id: Option<String>,
}

impl MetadataEnv {
    /// Takes what a broker passes as configuration: `broker.id` (or `node.id`), `log.dir`, `cluster.id`.
    ///
    /// # Errors
    /// [`MetadataError::Config`] if one of the numbers is none.
    pub fn from_config(config: &Config, runtime: tokio::runtime::Handle) -> Result<Self, MetadataError> {
        let id = config.integer(&keys::BROKER_ID)?.or(config.integer(&keys::NODE_ID)?);
        Ok(Self {
            runtime,
            broker_id: BrokerId(id.and_then(|id| i32::try_from(id).ok()).unwrap_or(-1)),
            log_dir: config.text(&keys::LOG_DIR).map(PathBuf::from),
            cluster_id: config.text(&keys::CLUSTER_ID).map(str::to_owned),
        })
    }
}

/// No pause between two tries is longer.
pub(super) const RETRY_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Checked settings of the manager itself.
#[derive(Debug)]
pub(super) struct Options {
    pub(super) consume_wait: Duration,
    /// First pause between two tries; it doubles up to [`RETRY_PAUSE_MAX`].
    pub(super) retry_pause: Duration,
    pub(super) are_newer_records_ignored: bool,
    pub(super) upkeep: upkeep::Options,
    /// A leader decides by what it knows only if that is younger (T of the rules).
    pub(super) decide: Duration,
    pub(super) checkpoints: CheckpointPath,
}

/// Where checkpoints are, as far as the configuration says it.
#[derive(Debug)]
pub(super) enum CheckpointPath {
    Off,
    /// With the broker's own files.
    LogDir,
    Folder(PathBuf),
}

impl CheckpointPath {
    fn read(config: &Config) -> Self {
        match config.text(&keys::CHECKPOINT_PATH) {
            None | Some("") => Self::LogDir,
            Some("off") => Self::Off,
            Some(path) => Self::Folder(PathBuf::from(path)),
        }
    }

    /// The folder; none if there are to be no checkpoints, or nobody says where.
    pub(super) fn folder(&self, log_dir: Option<&Path>) -> Option<PathBuf> {
        match self {
            Self::Off => None,
            Self::LogDir => log_dir.map(Path::to_owned),
            Self::Folder(folder) => Some(folder.clone()),
        }
    }
}

impl Options {
    pub(super) fn read(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            consume_wait: config.millis(&keys::CONSUME_WAIT_MS)?,
            retry_pause: config.millis(&keys::INITIALIZATION_RETRY_INTERVAL_MS)?.min(RETRY_PAUSE_MAX),
            are_newer_records_ignored: config.boolean(&keys::IGNORE_NEWER_RECORDS)?,
            upkeep: upkeep::Options::read(config)?,
            decide: config.millis(&keys::DECIDE_MS)?,
            checkpoints: CheckpointPath::read(config),
        })
    }
}

/// How keys begin that belong to somebody else: a client's, or a topic's.
#[must_use]
pub fn open_prefixes() -> Vec<&'static str> {
    [CLIENT_PREFIXES, &[keys::TOPIC_PREFIX]].concat()
}

/// Checks all values. Keys that nobody knows are the host's to warn of: it asks with [`Config::check`] itself.
pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    config.check(Side::Metadata, &open_prefixes()).map(|_| ())
}

/// The log that the configuration names, not opened yet.
pub(super) fn choose_log(config: &Config, env: &MetadataEnv) -> Result<Arc<dyn MetadataLog>, MetadataError> {
    match config.text(&keys::LOG) {
        Some("embedded") => Ok(Arc::new(EmbeddedLog::new(embedded_options(config, env)?))),
        // The table knows no third.
        _ => Ok(Arc::new(KafkaLog::open(config, env.broker_id)?)),
    }
}

fn embedded_options(config: &Config, env: &MetadataEnv) -> Result<EmbeddedOptions, ConfigError> {
    let Some(path) = config.text(&keys::EMBEDDED_PATH) else {
        let why = "`undercroft.metadata.log = embedded` needs a folder of its own, outside of `log.dir`";
        return Err(ConfigError::missing(&keys::EMBEDDED_PATH, why));
    };
    let folder = PathBuf::from(path);
    let log_dir = env.log_dir.clone().or_else(|| config.text(&keys::LOG_DIR).map(PathBuf::from));
    if log_dir.is_some_and(|log_dir| real(&folder).starts_with(real(&log_dir))) {
        let why =
            "it is inside of `log.dir`, where Kafka takes each folder for a partition's and doesn't start any more";
        return Err(ConfigError::bad_value(&keys::EMBEDDED_PATH, path, why));
    }
    Ok(EmbeddedOptions {
        folder,
        partitions: i32::try_from(config.unsigned(&keys::EMBEDDED_PARTITIONS)?).unwrap_or(i32::MAX),
        compact_bytes_min: config.unsigned(&keys::EMBEDDED_COMPACT_BYTES_MIN)?,
    })
}

/// An absolute path without links and dots, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            part => real.push(part),
        }
        if let Ok(target) = real.canonicalize() {
            real = target;
        }
    }
    real
}
