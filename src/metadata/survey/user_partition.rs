//! What is known of one user partition, and from which records.

use std::collections::{BTreeMap, HashMap};

use crate::metadata::partition::{Entry, Outcome, PartitionState};
use crate::model::{KafkaUuid, PartitionDelete, SegmentId, SegmentMetadata, SegmentState, TopicIdPartition};
use crate::wire::{Record, RecordKey, SegmentKey, UpdateRecord, WholeSegment};

use super::reading::{Place, ReadKey};
use super::trace::{KeptUpdates, Trace, counts};

/// State of a user partition as a manager has it, and the records that it rests on.
#[derive(Debug)]
pub struct UserPartition {
    partition: TopicIdPartition,
    metadata_partition: i32,
    pub(super) state: PartitionState,
    traces: HashMap<KafkaUuid, Trace>,
    kept: BTreeMap<KafkaUuid, KeptUpdates>,
    deletion: Option<(Place, PartitionDelete)>,
    deleted_segments: u64,
    last: Option<Place>,
}

impl UserPartition {
    pub(super) fn new(partition: TopicIdPartition, metadata_partition: i32) -> Self {
        Self {
            state: PartitionState::new(partition.clone()),
            partition,
            metadata_partition,
            traces: HashMap::new(),
            kept: BTreeMap::new(),
            deletion: None,
            deleted_segments: 0,
            last: None,
        }
    }

    #[must_use]
    pub fn partition(&self) -> &TopicIdPartition {
        &self.partition
    }

    /// Metadata partition that its records stand in.
    #[must_use]
    pub fn metadata_partition(&self) -> i32 {
        self.metadata_partition
    }

    /// Segments in every state but DELETE_SEGMENT_FINISHED, by start offset.
    #[must_use]
    pub fn segments(&self) -> Vec<SegmentMetadata> {
        self.state.list(None)
    }

    /// Records that a segment rests on.
    #[must_use]
    pub fn trace(&self, segment: KafkaUuid) -> Option<&Trace> {
        self.traces.get(&segment)
    }

    /// Segments of which only updates were met.
    pub fn kept(&self) -> impl Iterator<Item = (KafkaUuid, &KeptUpdates)> {
        self.kept.iter().map(|(&segment, kept)| (segment, kept))
    }

    /// Segments whose deletion has ended and of which records are still in the log.
    #[must_use]
    pub fn deleted_segments(&self) -> u64 {
        self.deleted_segments
    }

    /// The last mark of the whole partition's deletion.
    #[must_use]
    pub fn deletion(&self) -> Option<&PartitionDelete> {
        self.deletion.as_ref().map(|(_, delete)| delete)
    }

    /// The last record about it.
    #[must_use]
    pub fn last(&self) -> Option<Place> {
        self.last
    }

    pub(super) fn apply(&mut self, place: Place, key: &ReadKey, record: &Record) -> Outcome {
        self.last = Some(place);
        let id = match record {
            Record::Segment(whole) => Some(&whole.metadata.id),
            Record::Update(record) => Some(&record.update.id),
            Record::PartitionDelete(_) | Record::Snapshot | Record::Level(_) => None,
        };
        let before = id.and_then(|id| self.state.state_of(id));
        let outcome = self.state.take(entry(place, key.known(), Some(record)));
        match record {
            Record::Segment(whole) => self.trace_whole(place, key, whole, (before, outcome)),
            Record::Update(record) => self.trace_update(place, key, record, (before, outcome)),
            Record::PartitionDelete(record) => self.deletion = Some((place, record.delete.clone())),
            Record::Snapshot | Record::Level(_) => {}
        }
        outcome
    }

    fn trace_whole(
        &mut self,
        place: Place,
        key: &ReadKey,
        whole: &WholeSegment,
        (before, outcome): (Option<SegmentState>, Outcome),
    ) {
        let id = &whole.metadata.id;
        let form = key.form_for(&self.partition);
        match before {
            None if counts(outcome) => self.created(place, key, whole),
            Some(from) => {
                if let Some(trace) = self.traces.get_mut(&id.uuid) {
                    // Refused as a step, it still says that the segment exists.
                    trace.note_whole(place, form);
                    if counts(outcome) {
                        trace.note_state(place, form, (from, whole.metadata.state));
                    }
                }
                self.sweep(id);
            }
            None => {}
        }
    }

    /// A segment is known now, and what waited for it was applied.
    fn created(&mut self, place: Place, key: &ReadKey, whole: &WholeSegment) {
        let id = &whole.metadata.id;
        let form = key.form_for(&self.partition);
        let mut trace = Trace::begin(place, form, whole.metadata.state);
        let now = self.state.state_of(id);
        for (place, form, to) in self.kept.remove(&id.uuid).map(|kept| kept.updates).unwrap_or_default() {
            if Some(to) == now || to == SegmentState::CopyFinished {
                trace.note_state(place, form, (whole.metadata.state, to));
            }
        }
        self.traces.insert(id.uuid, trace);
        self.sweep(id);
    }

    fn trace_update(
        &mut self,
        place: Place,
        key: &ReadKey,
        record: &UpdateRecord,
        (before, outcome): (Option<SegmentState>, Outcome),
    ) {
        let id = &record.update.id;
        let form = key.form_for(&self.partition);
        match outcome {
            Outcome::Kept => {
                let kept = self.kept.entry(id.uuid).or_insert_with(KeptUpdates::new);
                kept.updates.push((place, form, record.update.state));
                kept.base = kept.base.take().or_else(|| key.segment_key().cloned());
            }
            Outcome::Applied => {
                if let (Some(trace), Some(from)) = (self.traces.get_mut(&id.uuid), before) {
                    trace.note_state(place, form, (from, record.update.state));
                }
                self.sweep(id);
            }
            Outcome::Refused(_) => {}
        }
    }

    /// Lets go of a segment that is no more.
    fn sweep(&mut self, id: &SegmentId) {
        let is_gone = self.state.state_of(id) == Some(SegmentState::DeleteFinished);
        if is_gone && self.traces.remove(&id.uuid).is_some() {
            self.deleted_segments += 1;
        }
    }

    /// The record of a key is no more.
    pub(super) fn forget(&mut self, place: Place, known: &RecordKey) {
        self.last = Some(place);
        let _ = self.state.take(entry(place, Some(known), None));
        match known {
            RecordKey::Segment(key) => self.forget_segment(key),
            RecordKey::Partition(_) => self.deletion = None,
            RecordKey::Level => {}
        }
        let Self { traces, state, partition, .. } = self;
        // A live segment whose base key is emptied is not known any more.
        traces.retain(|&uuid, _| state.state_of(&SegmentId { partition: partition.clone(), uuid }).is_some());
    }

    fn forget_segment(&mut self, key: &SegmentKey) {
        if !key.is_base_type() {
            return;
        }
        let is_of = |base: &SegmentKey| {
            (base.end_offset, base.leader_epoch, base.attempt) == (key.end_offset, key.leader_epoch, key.attempt)
        };
        for kept in self.kept.values_mut().filter(|kept| kept.base.as_ref().is_some_and(is_of)) {
            kept.is_forgotten = true;
        }
    }

    /// Key of the last record about the whole partition's deletion, and that record.
    pub(super) fn deletion_record(&self) -> Option<(Place, RecordKey, &PartitionDelete)> {
        let (place, delete) = self.deletion.as_ref()?;
        Some((*place, RecordKey::Partition((&self.partition).into()), delete))
    }
}

fn entry<'a>(place: Place, key: Option<&'a RecordKey>, body: Option<&'a Record>) -> Entry<'a> {
    let Place { offset, timestamp_ms, .. } = place;
    Entry { offset, timestamp_ms, seen_ms: timestamp_ms, key, body }
}
