//! From the bytes of a record to the state that it changes.

use std::collections::HashSet;
use std::sync::Arc;

use crate::metadata::partition::{Entry, Outcome, Refusal};
use crate::metadata::plan::Level;
use crate::model::TopicIdPartition;
use crate::wire::{self, DecodeError, LevelRecord, Names, PartitionKey, Record, RecordKey};

use super::core::Core;
use super::directory::{MetaPartition, SharedState};

/// Applies records and counts them. What cannot be read is said once per kind and passed over.
pub(super) struct Intake {
    core: Arc<Core>,
    said: HashSet<&'static str>,
    names: Names,
    /// Where the last record went: mostly the next one goes there too.
    last: Option<(Arc<MetaPartition>, TopicIdPartition, SharedState)>,
}

/// A record as the log hands it over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raw<'a> {
    pub(super) offset: i64,
    pub(super) timestamp_ms: i64,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
}

impl Intake {
    pub(super) fn new(core: Arc<Core>) -> Self {
        Self { core, said: HashSet::new(), names: Names::new(), last: None }
    }

    /// Holds no state any longer: one that only the reader holds on to would never be let go.
    pub(super) fn let_go(&mut self) {
        self.last = None;
    }

    /// Applies one record. A record that says nothing of a segment counts as applied. `seen_ms` is now, by our clock.
    pub(super) fn record(&mut self, meta: &Arc<MetaPartition>, raw: Raw<'_>, seen_ms: i64) -> Outcome {
        let Raw { offset, timestamp_ms, key, value } = raw;
        let key = match key.map(|key| wire::parse_key_with(key, |id, name| self.names.share(id, name))) {
            Some(Ok(key)) => Some(key),
            Some(Err(error)) => {
                self.say("key", || format!("{error}; the record is judged without it"), meta, offset);
                None
            }
            None => None,
        };
        let body = match value.map(|value| wire::decode_with(value, |id, name| self.names.share(id, name))).transpose()
        {
            Ok(body) => body,
            Err(error) => return self.unreadable(meta, offset, &error),
        };
        if let Some(Record::Level(level)) = body {
            self.level(meta, level);
        }
        let of_key = match &body {
            Some(_) => None,
            None => key.as_ref().and_then(RecordKey::partition).map(PartitionKey::to_partition),
        };
        let partition = body.as_ref().and_then(Record::partition).or(of_key.as_ref());
        let outcome = partition.map(|partition| {
            let entry = Entry { offset, timestamp_ms, seen_ms, key: key.as_ref(), body: body.as_ref() };
            self.apply(meta, partition, entry)
        });
        let instruments = &self.core.instruments;
        match outcome {
            _ if body.is_none() => instruments.records_skipped.increment(),
            None => instruments.records_skipped.increment(),
            Some(Outcome::Applied) => instruments.records_applied.increment(),
            Some(Outcome::Kept) => instruments.records_kept.increment(),
            Some(Outcome::Refused(_)) => instruments.records_refused.increment(),
        }
        outcome.unwrap_or(Outcome::Applied)
    }

    /// It says what writers may write from now on, and nothing about the records before it.
    fn level(&self, meta: &MetaPartition, record: LevelRecord) {
        match Level::from_number(record.level) {
            Some(level) => {
                if meta.set_level(level) {
                    self.core.count_partitions();
                }
            }
            None => self.newer(meta, &format!("level {} is not known", record.level)),
        }
    }

    fn newer(&self, meta: &MetaPartition, what: &str) {
        meta.note_newer();
        if !self.core.options.are_newer_records_ignored && meta.set_too_new() {
            tracing::error!(
                "metadata partition {}: {what}; its partitions are not ready until this plugin is upgraded or \
                 `undercroft.metadata.ignore.newer.records` is set",
                meta.index
            );
            self.core.count_partitions();
        }
    }

    fn apply(&mut self, meta: &Arc<MetaPartition>, partition: &TopicIdPartition, entry: Entry<'_>) -> Outcome {
        let is_same = |(of, last, _): &(Arc<_>, _, _)| Arc::ptr_eq(of, meta) && last == partition;
        if !self.last.as_ref().is_some_and(is_same) {
            self.last = Some((Arc::clone(meta), partition.clone(), meta.state(partition)));
        }
        let Some((_, _, state)) = &self.last else { return Outcome::Applied };
        let mut state = state.write();
        let before = state.live_segments();
        let outcome = state.take(entry);
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
