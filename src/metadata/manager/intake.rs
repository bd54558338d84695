//! From the bytes of a record to the state that it changes.

use std::collections::HashSet;
use std::sync::Arc;

use crate::metadata::partition::{KeyFacts, Outcome, Refusal};
use crate::metadata::plan::key_facts;
use crate::model::TopicIdPartition;
use crate::wire::{self, DecodeError, LevelRecord, Record, RecordKey};

use super::core::Core;
use super::directory::MetaPartition;
use super::levels;

/// Applies records and counts them. What cannot be read is said once per kind and passed over.
pub(super) struct Intake {
    core: Arc<Core>,
    said: HashSet<&'static str>,
}

impl Intake {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, said: HashSet::new() }
    }

    /// Applies one record. A record that says nothing of a segment counts as applied.
    pub(super) fn record(
        &mut self,
        meta: &MetaPartition,
        offset: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Outcome {
        let core = Arc::clone(&self.core);
        let skipped = &core.instruments.records_skipped;
        let Some(value) = value else {
            skipped.increment();
            return Outcome::Applied;
        };
        let key = match key.map(wire::parse_key) {
            Some(Ok(key)) => Some(key),
            Some(Err(error)) => {
                self.say("key", || format!("{error}; the record is judged without it"), meta, offset);
                None
            }
            None => None,
        };
        match wire::decode(value) {
            Ok(record) => self.apply(meta, key.as_ref(), record),
            Err(error) => self.unreadable(meta, offset, &error),
        }
    }

    fn apply(&mut self, meta: &MetaPartition, key: Option<&RecordKey>, record: Record) -> Outcome {
        let partition = match &record {
            Record::Segment(whole) => &whole.metadata.id.partition,
            Record::Update(record) => &record.update.id.partition,
            Record::PartitionDelete(record) => &record.delete.partition,
            Record::Level(level) => {
                self.core.instruments.records_skipped.increment();
                self.level(meta, *level);
                return Outcome::Applied;
            }
            Record::Snapshot => {
                self.core.instruments.records_skipped.increment();
                return Outcome::Applied;
            }
        };
        let facts = key_facts(key, partition);
        let outcome = self.apply_to(meta, &partition.clone(), facts, record);
        let instruments = &self.core.instruments;
        match outcome {
            Outcome::Applied => instruments.records_applied.increment(),
            Outcome::Kept => instruments.records_kept.increment(),
            Outcome::Refused(_) => instruments.records_refused.increment(),
        }
        outcome
    }

    /// It says what writers may write from now on, and nothing about the records before it.
    fn level(&self, meta: &MetaPartition, record: LevelRecord) {
        match levels::said(record) {
            Some(level) => {
                if meta.set_level(level) {
                    self.core.count_partitions();
                }
            }
            None => self.newer(meta, &format!("level {} is not known", record.level)),
        }
    }

    fn newer(&self, meta: &MetaPartition, what: &str) {
        if !self.core.options.are_newer_records_ignored && meta.set_too_new() {
            tracing::error!(
                "metadata partition {}: {what}; its partitions are not ready until this plugin is upgraded or \
                 `undercroft.metadata.ignore.newer.records` is set",
                meta.index
            );
            self.core.count_partitions();
        }
    }

    fn apply_to(&self, meta: &MetaPartition, partition: &TopicIdPartition, facts: KeyFacts, record: Record) -> Outcome {
        let state = meta.state(partition);
        let mut state = state.write();
        let before = state.live_segments();
        let outcome = match record {
            Record::Segment(whole) => state.apply_segment(&whole.metadata, facts),
            Record::Update(record) => state.apply_update(record.update, facts),
            Record::PartitionDelete(record) => state.apply_partition_delete(&record.delete),
            Record::Snapshot | Record::Level(_) => Outcome::Applied,
        };
        match state.live_segments() {
            after if after > before => self.core.instruments.segments_live.add(1),
            after if after < before => self.core.instruments.segments_live.add(-1),
            _ => {}
        }
        outcome
    }

    fn unreadable(&mut self, meta: &MetaPartition, offset: i64, error: &DecodeError) -> Outcome {
        let kind = match error {
            DecodeError::NewerVersion { .. } => "newer version",
            DecodeError::UnknownApiKey { .. } => "unknown kind",
            DecodeError::UnknownState { .. } => "unknown state",
            DecodeError::Malformed(_) => "malformed",
        };
        if matches!(error, DecodeError::NewerVersion { .. }) {
            self.core.instruments.records_newer.increment();
            self.newer(meta, &format!("offset {offset}: {error}"));
        } else {
            self.core.instruments.records_unparsable.increment();
        }
        self.say(kind, || format!("{error}; passed over"), meta, offset);
        Outcome::Refused(Refusal::Impossible("it cannot be read"))
    }

    fn say(&mut self, kind: &'static str, text: impl FnOnce() -> String, meta: &MetaPartition, offset: i64) {
        if self.said.insert(kind) {
            tracing::warn!(
                "metadata partition {} offset {offset}: {} (further ones of this kind are only counted)",
                meta.index,
                text()
            );
        }
    }
}
