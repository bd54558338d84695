//! Records of an export on their way into another topic.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;

use crate::metadata::plan::{Draft, DraftBody, Level};
use crate::metadata::survey::Survey;
use crate::model::{KafkaUuid, SegmentId, SegmentState};
use crate::wire::{Record, RecordKey, metadata_partition};

/// A line of an export, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportLine {
    /// From 1 on, for messages.
    pub number: usize,
    pub key: RecordKey,
    pub record: Record,
}

/// What would be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportPlan {
    /// Metadata partition, key and value, in the order in which they have to be written.
    pub records: Vec<(i32, Bytes, Bytes)>,
    /// Segments that come, each with the state that it will have.
    pub segments: BTreeMap<KafkaUuid, (SegmentId, SegmentState)>,
    /// Segments that are left out, as the topic knows them already.
    pub known: BTreeMap<KafkaUuid, SegmentId>,
    /// Segments that get their id into their keys, as the topic has records of their partition whose keys may be the same.
    pub renamed: usize,
}

/// Why nothing can be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("line {line}: {why}")]
    Line { line: usize, why: &'static str },
    /// The topic has other states of these segments, or the same: whichever, it was filled before.
    #[error(
        "the topic knows {count} of these segments already (the first is {first}); import into a topic that is empty, or with \
         `--skip-known` only the others"
    )]
    Known { count: usize, first: SegmentId },
}

/// The records for a topic with `partitions` partitions, of which `survey` has read all and `level` tells the levels.
///
/// Values get the form of their partition's level; keys stay where the topic has no record of their partition yet.
///
/// # Errors
/// [`ImportError::Line`] for what no export has; [`ImportError::Known`] unless `are_known_skipped`.
pub fn plan_import(
    lines: &[ImportLine],
    survey: &Survey,
    partitions: i32,
    level: &dyn Fn(i32) -> Level,
    are_known_skipped: bool,
) -> Result<ImportPlan, ImportError> {
    let mut plan = ImportPlan { records: Vec::new(), segments: BTreeMap::new(), known: BTreeMap::new(), renamed: 0 };
    let mut renamed = HashSet::new();
    for line in lines {
        let wrong = |why| ImportError::Line { line: line.number, why };
        let partition = line.record.partition().ok_or_else(|| wrong("it is about no partition"))?;
        let home = metadata_partition(&partition.topic_id, partition.partition, partitions);
        if line.key.partition().is_none_or(|of| of.to_partition() != *partition) {
            return Err(wrong("its key is of another partition than its value"));
        }
        let (key, body) = match (&line.key, &line.record) {
            (RecordKey::Segment(key), Record::Segment(whole)) => {
                if whole.metadata.state != SegmentState::CopyStarted {
                    return Err(wrong("a segment begins with COPY_SEGMENT_STARTED"));
                }
                let leader_epoch = key.leader_epoch;
                (key, DraftBody::Segment { metadata: whole.metadata.clone(), leader_epoch })
            }
            (RecordKey::Segment(_), Record::Update(record)) if !level(home).may_write(record.update.state) => {
                return Err(wrong("stock brokers cannot read its state, and the topic is at level 0"));
            }
            (RecordKey::Segment(key), Record::Update(record)) => {
                let (leader_epoch, end_offset) = (key.leader_epoch, Some(key.end_offset));
                (key, DraftBody::Update { update: record.update.clone(), leader_epoch, end_offset })
            }
            (RecordKey::Partition(_), Record::PartitionDelete(record)) => {
                let (delete, leader_epoch) = (record.delete.clone(), record.leader_epoch);
                let body = DraftBody::PartitionDelete { delete, leader_epoch, end_offset: record.end_offset };
                plan.push(home, &Draft { key: line.key.clone(), body }, level(home));
                continue;
            }
            _ => return Err(wrong("its key is of another kind than its value")),
        };
        let (id, state) = match &body {
            DraftBody::Segment { metadata, .. } => (metadata.id.clone(), metadata.state),
            DraftBody::Update { update, .. } => (update.id.clone(), update.state),
            DraftBody::PartitionDelete { .. } | DraftBody::Tombstone => continue,
        };
        if survey.state_of(&id).is_some() {
            plan.known.insert(id.uuid, id);
            continue;
        }
        let mut key = key.clone();
        // A base key belongs to one segment for ever, also behind its deletion.
        if key.attempt.is_none() && survey.user_partition(&id.partition).is_some() {
            key.attempt = Some(id.uuid);
            renamed.insert(id.uuid);
        }
        if state != SegmentState::CopyStarted && !plan.segments.contains_key(&id.uuid) {
            return Err(wrong("an update of a segment that no line before it begins"));
        }
        plan.segments.insert(id.uuid, (id, state));
        plan.push(home, &Draft { key: RecordKey::Segment(key), body }, level(home));
    }
    plan.renamed = renamed.len();
    match plan.known.values().next() {
        Some(first) if !are_known_skipped => Err(ImportError::Known { count: plan.known.len(), first: first.clone() }),
        _ => Ok(plan),
    }
}

impl ImportPlan {
    fn push(&mut self, home: i32, draft: &Draft, level: Level) {
        if let Some(value) = draft.value(level) {
            self.records.push((home, draft.key.to_bytes(), value));
        }
    }

    /// What of it a later reading of the topic does not know, or knows otherwise.
    #[must_use]
    pub fn missing(&self, survey: &Survey) -> Vec<SegmentId> {
        let mut found = BTreeMap::new();
        for user in survey.user_partitions() {
            found.extend(user.segments().into_iter().map(|segment| (segment.id.uuid, segment.state)));
        }
        let is_missing = |(uuid, (_, state)): &(&KafkaUuid, &(SegmentId, SegmentState))| found.get(uuid) != Some(state);
        self.segments.iter().filter(is_missing).map(|(_, (id, _))| id.clone()).collect()
    }
}
