//! Which store is meant, and which part of it.

use std::path::{Path, PathBuf};

use clap::Args;
use tokio::runtime::{Builder, Runtime};
use undercroft::config::{Config, StoragePairs};
use undercroft::storage::StorageEnv;
use undercroft::storage::survey::{Scope, Surveyor};

use crate::Failure;
use crate::metadata;

/// Options that say where the store is.
#[derive(Args)]
#[group(skip)]
pub struct Store {
    /// Java properties file with the storage side's configuration: a broker's own (of which the keys behind `rsm.config.`
    /// are taken), or one with the keys alone
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
}

/// Options that choose a part of the store.
#[derive(Args)]
#[group(skip)]
pub struct Part {
    /// Only this topic
    #[arg(long)]
    topic: Option<String>,
    /// What names in the store begin with, in the place of `key.prefix`; nothing (`--prefix=`) for all that there is
    #[arg(long)]
    prefix: Option<String>,
}

impl Part {
    pub fn scope(&self, surveyor: &Surveyor) -> Scope {
        let prefix = self.prefix.as_deref().unwrap_or_else(|| surveyor.key_prefix());
        Scope { prefix: prefix.to_owned(), topic: self.topic.clone() }
    }

    pub fn topic(&self) -> Option<&str> {
        self.topic.as_deref()
    }
}

/// The part in words.
pub fn described(scope: &Scope) -> String {
    match (&scope.topic, scope.prefix.as_str()) {
        (None, "") => "all of it".to_owned(),
        (None, prefix) => format!("under `{prefix}`"),
        (Some(topic), "") => format!("topic {topic}"),
        (Some(topic), prefix) => format!("topic {topic} under `{prefix}`"),
    }
}

/// A store that is open, and the runtime that it works on.
pub struct Open {
    pub runtime: Runtime,
    pub surveyor: Surveyor,
}

impl Store {
    /// Opens the store, which is asked nothing yet. What is odd about the configuration goes to standard error.
    pub fn open(&self, bytes_per_second: Option<u64>) -> Result<Open, Failure> {
        open(&self.config, bytes_per_second)
    }
}

pub fn open(path: &Path, bytes_per_second: Option<u64>) -> Result<Open, Failure> {
    let failed = |why: String| Failure(format!("--config {}: {why}", path.display()));
    let config = read(path).map_err(failed)?;
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure(format!("no threads can be started: {error}")))?;
    let env = StorageEnv { runtime: runtime.handle().clone() };
    let entered = runtime.enter();
    let surveyor = Surveyor::open(&config, env, bytes_per_second).map_err(|error| failed(error.to_string()))?;
    drop(entered);
    for warning in surveyor.warnings() {
        crate::complain(&failed(warning.clone()));
    }
    Ok(Open { runtime, surveyor })
}

fn read(path: &Path) -> Result<Config, String> {
    let pairs = metadata::properties(path)?;
    let of_storage = StoragePairs::of(&pairs);
    match of_storage.placeholders().next() {
        None => Ok(of_storage.config()),
        Some((name, _)) => {
            let why = "`${…}` is for a broker's providers, which are Java code; write the value itself";
            Err(format!("{name}: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn config_of(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.properties");
        fs::write(&path, text).expect("written");
        read(&path)
    }

    #[test]
    fn a_brokers_file_and_one_of_its_own_say_the_same() {
        for text in [
            "storage.root=/a\nkey.prefix=p/\n",
            "broker.id=1\nrsm.config.storage.root=/a\nrsm.config.key.prefix=p/\nlog.dirs=/x\nrlmm.config.x=y\n",
            "remote.log.storage.manager.impl.prefix=my.\nmy.storage.root=/a\nmy.key.prefix=p/\nrsm.config.storage.root=/b\n",
        ] {
            let config = config_of(text).expect("read");
            assert_eq!((config.raw("storage.root"), config.raw("key.prefix")), (Some("/a"), Some("p/")), "{text}");
            assert_eq!((config.raw("broker.id"), config.raw("log.dirs")), (None, None));
        }
    }

    #[test]
    fn a_value_that_a_provider_would_give_is_refused() {
        let why = config_of("rsm.config.storage.aws.secret.access.key=${env:KEY}\n").expect_err("refused");
        assert!(why.starts_with("rsm.config.storage.aws.secret.access.key: "), "{why}");
        assert!(config_of("rsm.config.key.prefix=a\nssl.key=${env:KEY}\n").is_ok(), "none of the storage side's");
    }
}
