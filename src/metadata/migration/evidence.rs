//! What the topic's records say of levels and keys.

use std::collections::HashMap;

use crate::metadata::partition::{Entry, PartitionState};
use crate::metadata::survey::{Meaning, Place, ReadKey, Reading, Survey, Verdict};
use crate::model::{KafkaUuid, SegmentId, SegmentMetadata, SegmentState, TopicIdPartition};
use crate::wire::{PartitionKey, RecordKey};

/// Everything that was read of the topic.
///
/// Whether a log cleaner would lose something is not looked up but tried: beside the state of each user partition stands
/// the one that a reader comes to who is never shown the records without a key.
#[derive(Debug)]
pub struct Evidence {
    survey: Survey,
    metas: Vec<MetaEvidence>,
    pairs: HashMap<TopicIdPartition, Pair>,
}

/// What one metadata partition has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetaEvidence {
    pub records: u64,
    pub unkeyed: Unkeyed,
    /// The last level record; `None` is level 0.
    pub level: Option<LevelSeen>,
}

/// Records without a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unkeyed {
    pub count: u64,
    pub first: Option<Place>,
    pub last: Option<Place>,
    /// The last one behind the first level record above 0: whoever wrote it keeps to no level.
    pub last_behind_level: Option<Place>,
}

/// A level record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelSeen {
    pub level: i8,
    pub place: Place,
}

/// A fact that would be lost with the records without a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resting {
    pub segment: SegmentId,
    pub fact: RestingFact,
}

/// Which fact of a segment it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RestingFact {
    /// That it exists.
    Base,
    /// Its state, or what goes with it.
    State,
    /// That it is deleted: it would come back.
    Deletion,
}

#[derive(Debug)]
struct Pair {
    whole: PartitionState,
    keyed: PartitionState,
}

impl Evidence {
    /// Of a topic with so many partitions.
    #[must_use]
    pub fn new(partitions: i32) -> Self {
        let metas = vec![MetaEvidence::default(); usize::try_from(partitions).unwrap_or(0)];
        Self { survey: Survey::new(partitions), metas, pairs: HashMap::new() }
    }

    /// The same records as `metadata verify` sees them.
    #[must_use]
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// By number of the metadata partition.
    #[must_use]
    pub fn metas(&self) -> &[MetaEvidence] {
        &self.metas
    }

    /// Takes the next record of a metadata partition.
    pub fn take(&mut self, place: Place, key: Option<&[u8]>, value: Option<&[u8]>) {
        let reading = self.survey.take(place, key, value);
        let Some(meta) = usize::try_from(place.partition).ok().and_then(|at| self.metas.get_mut(at)) else { return };
        meta.records += 1;
        let is_keyed = !matches!(reading.key, ReadKey::None);
        if !is_keyed {
            meta.note_unkeyed(place);
        }
        if let Meaning::Level(record) = &reading.meaning {
            meta.level = Some(LevelSeen { level: record.level, place });
        }
        self.apply(&reading, is_keyed);
    }

    /// What becomes of the record is not asked here: the survey has judged it, and counted it.
    fn apply(&mut self, reading: &Reading, is_keyed: bool) {
        let body = match (&reading.meaning, reading.verdict) {
            (Meaning::Record(record), Verdict::Judged(_)) => Some(record),
            (Meaning::Tombstone, _) => None,
            _ => return,
        };
        let key = reading.key.known();
        let partition = match body {
            Some(record) => record.partition().cloned(),
            None => key.and_then(RecordKey::partition).map(PartitionKey::to_partition),
        };
        let Some(partition) = partition else { return };
        let new =
            || Pair { whole: PartitionState::new(partition.clone()), keyed: PartitionState::new(partition.clone()) };
        let pair = self.pairs.entry(partition.clone()).or_insert_with(new);
        let Place { offset, timestamp_ms, .. } = reading.place;
        let entry = Entry { offset, timestamp_ms, seen_ms: timestamp_ms, key, body };
        let _ = pair.whole.take(entry);
        if is_keyed {
            let _ = pair.keyed.take(entry);
        }
    }

    /// Number of segments short of the end of their deletion.
    #[must_use]
    pub fn live_segments(&self) -> u64 {
        self.pairs.values().map(|pair| u64::try_from(pair.whole.live_segments()).unwrap_or(u64::MAX)).sum()
    }

    /// Facts that rest on records without a key, in the order of their partitions.
    #[must_use]
    pub fn resting(&self) -> Vec<Resting> {
        let mut found: Vec<_> = self.pairs.values().flat_map(Pair::resting).collect();
        found.sort_unstable_by(|a, b| {
            let order = |resting: &Resting| (resting.segment.partition.partition, resting.segment.uuid);
            (&a.segment.partition.topic, order(a)).cmp(&(&b.segment.partition.topic, order(b)))
        });
        found
    }

    /// Segments with such facts as each state itself keeps account of them, by which leaders write again.
    #[cfg(test)]
    pub(super) fn accounted(&self) -> std::collections::BTreeSet<KafkaUuid> {
        let all = self.pairs.values().flat_map(|pair| pair.whole.rests_on_null_keys());
        all.map(|(segment, _)| segment.uuid).collect()
    }

    /// Number of records without a key.
    #[must_use]
    pub fn unkeyed_count(&self) -> u64 {
        self.metas.iter().map(|meta| meta.unkeyed.count).sum()
    }

    /// The newest record without a key, by its time.
    #[must_use]
    pub fn newest_unkeyed(&self) -> Option<Place> {
        self.metas.iter().filter_map(|meta| meta.unkeyed.last).max_by_key(|place| place.timestamp_ms)
    }

    /// The newest record without a key that stands behind a level record above 0.
    #[must_use]
    pub fn newest_behind_level(&self) -> Option<Place> {
        self.metas.iter().filter_map(|meta| meta.unkeyed.last_behind_level).max_by_key(|place| place.timestamp_ms)
    }

    /// Lowest and highest level of all metadata partitions.
    #[must_use]
    pub fn levels(&self) -> (i8, i8) {
        let levels = || self.metas.iter().map(MetaEvidence::level_number);
        (levels().min().unwrap_or(0), levels().max().unwrap_or(0))
    }

    /// Time of the last level record.
    #[must_use]
    pub fn newest_level_ms(&self) -> Option<i64> {
        self.metas.iter().filter_map(|meta| meta.level).map(|seen| seen.place.timestamp_ms).max()
    }

    /// Live segments: equal for two readings that know the same ones, each in the same state.
    #[cfg(test)]
    pub(super) fn live_by_id(&self) -> std::collections::BTreeMap<KafkaUuid, (String, SegmentState)> {
        let all = self.pairs.values().flat_map(|pair| pair.whole.list(None));
        all.map(|segment| (segment.id.uuid, (segment.id.partition.to_string(), segment.state))).collect()
    }
}

impl MetaEvidence {
    /// Its level; 0 without a record of it.
    #[must_use]
    pub fn level_number(&self) -> i8 {
        self.level.map_or(0, |seen| seen.level)
    }

    fn note_unkeyed(&mut self, place: Place) {
        self.unkeyed.count += 1;
        self.unkeyed.first.get_or_insert(place);
        self.unkeyed.last = Some(place);
        if self.level_number() > 0 {
            self.unkeyed.last_behind_level = Some(place);
        }
    }
}

impl Pair {
    fn resting(&self) -> Vec<Resting> {
        let keyed: HashMap<KafkaUuid, SegmentMetadata> =
            self.keyed.list(None).into_iter().map(|segment| (segment.id.uuid, segment)).collect();
        let lost = self.whole.list(None).into_iter().filter_map(|segment| {
            let fact = match keyed.get(&segment.id.uuid) {
                None if self.keyed.state_of(&segment.id).is_none() => RestingFact::Base,
                Some(kept) if is_same(kept, &segment) => return None,
                None | Some(_) => RestingFact::State,
            };
            Some(Resting { segment: segment.id, fact })
        });
        let returned = keyed.values().filter(|segment| {
            !self.whole.state_of(&segment.id).is_some_and(|state| state != SegmentState::DeleteFinished)
        });
        let returned = returned.map(|segment| Resting { segment: segment.id.clone(), fact: RestingFact::Deletion });
        lost.chain(returned).collect()
    }
}

/// Whether a segment says the same to those who read it; who said it when is no part of that.
fn is_same(a: &SegmentMetadata, b: &SegmentMetadata) -> bool {
    a.state == b.state
        && a.custom_metadata == b.custom_metadata
        && a.epochs == b.epochs
        && (a.start_offset, a.end_offset, a.size_bytes) == (b.start_offset, b.end_offset, b.size_bytes)
}
