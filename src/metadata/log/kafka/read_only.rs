//! Looking into the topic without being a manager.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::native::Admin;
use super::reader::KafkaReader;
use super::settings::Settings;
use super::translate::JavaSettings;
use super::{TOPIC, topic};
use crate::metadata::log::{LogError, ReadOnlyLog};

/// Finds the topic, whatever number of partitions it has, and makes a reader for it. Blocks up to `timeout`.
///
/// Two clients, neither of which may create a topic; there is no group, so the cluster stores nothing of the reader. The
/// rights that it needs are Describe and Read on the topic.
///
/// # Errors
/// [`LogError::Config`] with the client's own name of the setting; [`LogError::Mismatch`] if there is no such topic.
pub fn open_read_only(client: &JavaSettings, timeout: Duration) -> Result<ReadOnlyLog, LogError> {
    let mut settings = Settings::read_only(client)?;
    let admin = Admin::new(&settings.admin)?;
    let name = format!("topic {TOPIC} at {}", settings.servers);
    let shape = topic::look(&admin, &settings, timeout, &|| false)?.ok_or_else(|| LogError::Mismatch {
        what: "find the topic".to_owned(),
        log: name.clone(),
        why: "there is no such topic; brokers create it when tiered storage is enabled and first used".to_owned(),
    })?;
    settings.partitions = shape.partitions;
    let warnings = std::mem::take(&mut settings.warnings);
    let reader = KafkaReader::new(Arc::new(settings), Arc::new(AtomicBool::new(false)), Arc::default())?;
    Ok(ReadOnlyLog { name, shape, reader: Box::new(reader), warnings })
}
