//! Delayed upload: holds a segment back in the call that would add it, so that nothing of it is written anywhere.
//!
//! A broker before 4.4 gives a plugin the segment and nothing of its log or its topic. The topic's retention is asked of
//! the cluster, the size of the log is read from the broker's own files. What cannot be known makes eligible; what
//! is only not known yet holds back for the minute at most that the question takes.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::config::{Config, ConfigError};
use crate::metadata::MetadataError;
use crate::metadata::log::SettingsOf;
use crate::model::{SegmentMetadata, TopicIdPartition};
use crate::tiering::{ClosedSegment, CopyPolicy, LocalRetention, Verdict, judge};

use super::core::Core;
use super::inquiry::{Answer, Settings, look};
use super::local_log;

/// What is configured, and who waits.
pub(super) struct Delay {
    policy: CopyPolicy,
    /// Partitions whose next segment was held back when it was last asked for.
    held: Mutex<HashSet<TopicIdPartition>>,
}

impl Delay {
    /// Reads the configuration and says what of it has no effect.
    pub(super) fn new(config: &Config) -> Result<Self, ConfigError> {
        let policy = CopyPolicy::read(config)?;
        for warning in policy.warnings() {
            tracing::warn!("{warning}");
        }
        Ok(Self { policy, held: Mutex::default() })
    }
}

/// Lets a segment in, or tells why not yet.
pub(super) fn admit(core: &Arc<Core>, segment: &SegmentMetadata) -> Result<(), MetadataError> {
    let why = why_held_back(core, segment);
    core.delay.note(core, &segment.id.partition, why.is_some());
    why.map_or(Ok(()), |why| {
        core.instruments.copies_held_back.increment();
        Err(MetadataError::TooYoung { segment: segment.id.clone(), why })
    })
}

/// Partitions that are no longer led here hold nothing back.
pub(super) fn forget<'a>(core: &Core, partitions: impl Iterator<Item = &'a TopicIdPartition>) {
    for partition in partitions {
        core.delay.note(core, partition, false);
        core.inquiry.forget(&SettingsOf::Topic(Arc::clone(&partition.topic)));
    }
}

impl Delay {
    fn note(&self, core: &Core, partition: &TopicIdPartition, is_held: bool) {
        let mut held = self.held.lock();
        let is_news = if is_held { held.insert(partition.clone()) } else { held.remove(partition) };
        if is_news {
            core.instruments.partitions_held_back.set(i64::try_from(held.len()).unwrap_or(i64::MAX));
        }
    }
}

fn why_held_back(core: &Arc<Core>, segment: &SegmentMetadata) -> Option<String> {
    let partition = &segment.id.partition;
    let lag = core.delay.policy.lag_of(&partition.topic)?;
    let (of_topic, of_broker) = (SettingsOf::Topic(Arc::clone(&partition.topic)), SettingsOf::OwnBroker);
    let (topic, broker) = (look(core, &of_topic), look(core, &of_broker));
    let retention = match &topic {
        Answer::Known(settings) => local_retention(settings),
        Answer::Unknown => None,
        Answer::Pending => return Some(being_asked(&of_topic)),
    };
    let log_dirs = log_dirs(core, &broker);
    let is_size_pending = Cell::new(false);
    let bytes_behind = || {
        let bytes = local_log::bytes_behind(&log_dirs, partition, segment.end_offset);
        is_size_pending.set(bytes.is_none() && broker == Answer::Pending);
        bytes
    };
    let closed = ClosedSegment { max_timestamp_ms: segment.max_timestamp_ms, now_ms: now_ms() };
    match judge(lag, retention, closed, bytes_behind) {
        Verdict::HeldBack(held) => Some(held.to_string()),
        Verdict::Eligible if is_size_pending.get() => Some(being_asked(&of_broker)),
        Verdict::Eligible => None,
    }
}

fn being_asked(of: &SettingsOf) -> String {
    format!("the settings of {of} are being asked for")
}

/// `None` if the answer doesn't have it: then no limit is known that a delay would have to keep.
fn local_retention(settings: &Settings) -> Option<LocalRetention> {
    let number = |name: &str| settings.get(name)?.parse::<i64>().ok();
    let total = (number("retention.ms")?, number("retention.bytes")?);
    let local = |name| number(name).unwrap_or(-2);
    Some(LocalRetention::effective((local("local.retention.ms"), local("local.retention.bytes")), total))
}

/// Every log folder if the broker told them; the first one, which a broker hands to its plugins, before.
fn log_dirs(core: &Core, broker: &Answer) -> Vec<PathBuf> {
    let told = match broker {
        Answer::Known(settings) => {
            ["log.dirs", "log.dir"].iter().find_map(|name| settings.get(*name).filter(|dirs| !dirs.trim().is_empty()))
        }
        Answer::Pending | Answer::Unknown => None,
    };
    match told {
        Some(dirs) => dirs.split(',').map(|dir| PathBuf::from(dir.trim())).collect(),
        None => core.env.log_dir.iter().cloned().collect(),
    }
}

pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
