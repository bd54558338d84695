//! Which log is looked into, and which of its partitions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use undercroft::metadata::log::kafka::{JavaSettings, open_read_only as open_topic};
use undercroft::metadata::log::{ReadOnlyLog, embedded};
use undercroft::metadata::migration::Evidence;
use undercroft::metadata::survey::{Survey, walk_to_end};
use undercroft::model::TopicIdPartition;

use super::properties;
use crate::Failure;

/// Options that say where the log is.
#[derive(Args)]
#[group(skip)]
pub struct Source {
    /// A broker of the cluster whose topic `__remote_log_metadata` is read; several with commas between them
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "file", conflicts_with = "file")]
    bootstrap_server: Option<String>,
    /// Java properties file with settings of a client, as Kafka's tools take it
    #[arg(long, value_name = "FILE", requires = "bootstrap_server", conflicts_with = "file")]
    command_config: Option<PathBuf>,
    /// Folder of an embedded log, which may be in use
    #[arg(long, value_name = "DIR")]
    file: Option<PathBuf>,
    /// Give up when nothing comes for so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 15_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    timeout_ms: u64,
}

/// Options that choose user partitions.
#[derive(Args)]
#[group(skip)]
pub struct Filter {
    /// Only this topic; its name or its id
    #[arg(long)]
    pub topic: Option<String>,
    /// Only this partition of the topic
    #[arg(long, requires = "topic", value_parser = clap::value_parser!(i32).range(0..))]
    pub partition: Option<i32>,
}

impl Filter {
    pub fn takes(&self, partition: &TopicIdPartition) -> bool {
        let is_topic = |topic: &str| *topic == *partition.topic || topic == partition.topic_id.to_string();
        self.topic.as_deref().is_none_or(is_topic) && self.partition.is_none_or(|number| number == partition.partition)
    }

    pub fn is_set(&self) -> bool {
        self.topic.is_some()
    }

    /// The failure for a filter that nothing passes.
    pub fn nothing(&self, log: &str) -> Failure {
        let topic = self.topic.as_deref().unwrap_or_default();
        let partition = self.partition.map_or_else(String::new, |number| format!(" partition {number}"));
        Failure(format!(
            "{log} has no records of topic {topic}{partition}; `undercroft metadata list` shows what there is"
        ))
    }
}

impl Source {
    pub fn patience(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Opens the log. Creates nothing, locks nothing, writes nothing.
    pub fn open(&self) -> Result<ReadOnlyLog, Failure> {
        let opened = match (&self.file, &self.bootstrap_server) {
            (Some(folder), _) => embedded::open_read_only(folder),
            (None, server) => {
                let client = client(server.as_deref().unwrap_or_default(), self.command_config.as_deref())?;
                open_topic(&client, self.patience())
            }
        };
        let log = opened.map_err(|error| Failure(error.to_string()))?;
        for warning in &log.warnings {
            crate::complain(&Failure(format!("{}: {warning}", self.config_name())));
        }
        Ok(log)
    }

    /// Reads all of the log that is there now.
    pub fn survey(&self) -> Result<(ReadOnlyLog, Survey), Failure> {
        let mut log = self.open()?;
        let mut survey = Survey::new(log.shape.partitions);
        let mut sink = |place, key: Option<&[u8]>, value: Option<&[u8]>| {
            survey.take(place, key, value);
        };
        walk_to_end(&mut log, self.patience(), &|| false, &mut sink).map_err(|error| Failure(error.to_string()))?;
        Ok((log, survey))
    }

    /// As [`Source::survey`], with what matters for a level.
    pub fn evidence(&self) -> Result<(ReadOnlyLog, Evidence), Failure> {
        let mut log = self.open()?;
        let mut evidence = Evidence::new(log.shape.partitions);
        let mut sink = |place, key: Option<&[u8]>, value: Option<&[u8]>| evidence.take(place, key, value);
        walk_to_end(&mut log, self.patience(), &|| false, &mut sink).map_err(|error| Failure(error.to_string()))?;
        Ok((log, evidence))
    }

    /// Of an embedded log.
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub fn server(&self) -> &str {
        self.bootstrap_server.as_deref().unwrap_or_default()
    }

    pub fn command_config(&self) -> Option<&Path> {
        self.command_config.as_deref()
    }

    fn config_name(&self) -> String {
        self.command_config.as_deref().unwrap_or(Path::new("--command-config")).display().to_string()
    }
}

/// Settings of a client for `server`, as Kafka's tools take them from a file.
pub fn client(server: &str, command_config: Option<&Path>) -> Result<JavaSettings, Failure> {
    let mut settings = JavaSettings::new("");
    if let Some(path) = command_config {
        for (name, value) in read(path)? {
            settings.set("", &name, &value);
        }
    }
    settings.set("", "bootstrap.servers", server);
    Ok(settings)
}

fn read(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let failed = |why: String| Failure(format!("--command-config {}: {why}", path.display()));
    let pairs = properties::read(path).map_err(failed)?;
    if let Some((name, _)) = pairs.iter().find(|(name, _)| name.starts_with("config.providers")) {
        return Err(failed(format!("{name}: providers are Java code; write the values themselves into the file")));
    }
    Ok(pairs)
}
