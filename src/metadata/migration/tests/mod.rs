//! Decisions as tables, and a migration of a cluster that is made up.

mod deciding;
mod importing;
mod pursuing;
mod resting;

use std::collections::BTreeMap;

use crate::metadata::partition::Naming;
use crate::metadata::plan::{add_key, update_key};
use crate::metadata::survey::Place;
use crate::model::SegmentState::{self, CopyFinished, CopyStarted};
use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate,
    TopicIdPartition,
};
use crate::wire::{LEVEL_KEY, LevelRecord, Version, encode_level, encode_segment, encode_update, metadata_partition};

use super::Evidence;
use super::found::{Found, FoundBroker, Runs};

pub(super) const PARTITIONS: i32 = 3;
/// A day after the first record of a log.
pub(super) const NOW_MS: i64 = 86_400_000;
const NAMING: Naming = Naming { epoch: LeaderEpoch(3), has_segment_id: false };
const STOCK: &str = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager";
const OURS: &str = "io.undercroft.kafka.UndercroftRemoteLogMetadataManager";

/// Place, key, value.
pub(super) type Written = (Place, Option<Vec<u8>>, Option<Vec<u8>>);

/// A topic, as a list of records.
#[derive(Debug, Clone, Default)]
pub(super) struct Topic {
    pub(super) records: Vec<Written>,
}

pub(super) fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 2)
}

pub(super) fn home() -> i32 {
    metadata_partition(&KafkaUuid([7; 16]), 2, PARTITIONS)
}

pub(super) fn segment(number: u8) -> SegmentMetadata {
    let start = i64::from(number) * 10;
    SegmentMetadata {
        id: SegmentId { partition: partition(), uuid: KafkaUuid([number; 16]) },
        start_offset: Offset(start),
        end_offset: Offset(start + 9),
        max_timestamp_ms: 1,
        broker_id: BrokerId(1),
        event_timestamp_ms: 1_000,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(start))]).expect("epochs"),
        size_bytes: 10,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: true,
    }
}

impl Topic {
    pub(super) fn raw(&mut self, partition: i32, at_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        let offset = self.records.iter().filter(|(place, ..)| place.partition == partition).count();
        let offset = i64::try_from(offset).expect("small");
        let place = Place { partition, offset, timestamp_ms: at_ms };
        self.records.push((place, key.map(<[u8]>::to_vec), value.map(<[u8]>::to_vec)));
    }

    pub(super) fn level(mut self, level: i8, partitions: &[i32], at_ms: i64) -> Self {
        for &partition in partitions {
            let value = encode_level(LevelRecord { level, timestamp_ms: at_ms });
            self.raw(partition, at_ms, Some(LEVEL_KEY.as_bytes()), Some(&value));
        }
        self
    }

    pub(super) fn whole(mut self, segment: &SegmentMetadata, is_keyed: bool, at_ms: i64) -> Self {
        let key = add_key(&partition(), segment.end_offset, segment.id.uuid, NAMING).to_string();
        let value = encode_segment(segment, LeaderEpoch::UNKNOWN, Version::V0);
        self.raw(home(), at_ms, is_keyed.then_some(key.as_bytes()), Some(&value));
        self
    }

    pub(super) fn update(mut self, segment: &SegmentMetadata, to: SegmentState, is_keyed: bool, at_ms: i64) -> Self {
        let update = SegmentUpdate {
            id: segment.id.clone(),
            broker_id: BrokerId(1),
            event_timestamp_ms: at_ms,
            custom_metadata: segment.custom_metadata.clone(),
            state: to,
        };
        let key = update_key(&partition(), segment.end_offset, segment.id.uuid, NAMING, (CopyFinished, to), 0);
        let value = encode_update(&update, LeaderEpoch::UNKNOWN, None, Version::V0);
        self.raw(home(), at_ms, is_keyed.then_some(key.to_string().as_bytes()), Some(&value));
        self
    }

    /// A segment as a stock broker writes it, and as we do.
    pub(super) fn copied(self, number: u8, is_keyed: bool, at_ms: i64) -> Self {
        let segment = segment(number);
        self.whole(&segment, is_keyed, at_ms).update(&segment, CopyFinished, is_keyed, at_ms)
    }

    /// What a leader writes at level 1 for a segment that has no key yet.
    pub(super) fn rewritten(self, number: u8, at_ms: i64) -> Self {
        self.whole(&SegmentMetadata { state: CopyFinished, ..segment(number) }, true, at_ms)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::new(PARTITIONS);
        for (place, key, value) in &self.records {
            evidence.take(*place, key.as_deref(), value.as_deref());
        }
        evidence
    }
}

/// Settings of a topic as a stock broker creates it.
pub(super) fn stock_settings() -> BTreeMap<String, String> {
    let pairs = [
        ("cleanup.policy", "delete"),
        ("retention.ms", "-1"),
        ("retention.bytes", "-1"),
        ("segment.ms", "604800000"),
        ("delete.retention.ms", "86400000"),
        ("min.cleanable.dirty.ratio", "0.5"),
    ];
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(super) fn broker(id: i32, is_ours: bool) -> FoundBroker {
    let runs = if is_ours { Runs::Undercroft(OURS.to_owned()) } else { Runs::Other(STOCK.to_owned()) };
    FoundBroker { id: BrokerId(id), runs }
}

/// A cluster with two brokers of ours, a stock topic with these records, a day after their first.
pub(super) fn found(topic: &Topic) -> Found {
    let evidence = topic.evidence();
    let resting = evidence.resting();
    Found {
        log: "topic".to_owned(),
        now_ms: NOW_MS,
        partitions: PARTITIONS,
        settings: stock_settings(),
        brokers: vec![broker(1, true), broker(2, true)],
        evidence,
        resting,
        lost_topics: BTreeMap::new(),
    }
}
