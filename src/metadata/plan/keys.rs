//! Which key a record gets.
//!
//! | record | key |
//! |---|---|
//! | add | base, or base with the segment's id if the base key was ever another segment's or the epoch is unknown |
//! | COPY_SEGMENT_FINISHED | the segment's base, lane UPDATE |
//! | DELETE_SEGMENT_STARTED, return to DANGLING | lane DEL |
//! | DELETE_SEGMENT_FINISHED | lane GONE |
//! | DANGLING of an attempt that was found open | lane CLAIM, a new key for each record |
//! | what rested on a record without a key, said again | lane REWRITE |
//!
//! The epoch in the key is that of the add, whoever writes later. Two records of different segments never share a key,
//! and of one segment only those in which the later makes the earlier worthless: that is what compaction relies on.

use crate::metadata::partition::Naming;
use crate::model::{KafkaUuid, Offset, SegmentState, TopicIdPartition};
use crate::wire::{Lane, RecordKey, SegmentKey};

use super::Laws;

/// Key of the record that makes a segment known.
#[must_use]
pub fn add_key(partition: &TopicIdPartition, end_offset: Offset, segment: KafkaUuid, naming: Naming) -> RecordKey {
    segment_key(partition, end_offset, segment, naming, Lane::Base)
}

/// Key of an update. `claim_nonce` must be new for each call; it is used only for a claim.
#[must_use]
pub fn update_key(
    partition: &TopicIdPartition,
    end_offset: Offset,
    segment: KafkaUuid,
    naming: Naming,
    steps: (SegmentState, SegmentState),
    claim_nonce: u64,
) -> RecordKey {
    update_key_under(Laws::ALL, partition, end_offset, segment, naming, steps, claim_nonce)
}

/// As [`update_key`], where rules may be switched off.
pub(super) fn update_key_under(
    laws: Laws,
    partition: &TopicIdPartition,
    end_offset: Offset,
    segment: KafkaUuid,
    naming: Naming,
    (from, to): (SegmentState, SegmentState),
    claim_nonce: u64,
) -> RecordKey {
    let nonce = if laws.claims_have_own_keys { claim_nonce } else { 0 };
    let lane = match to {
        _ if !laws.lanes_are_apart => Lane::Update,
        SegmentState::CopyStarted => Lane::Base,
        SegmentState::CopyFinished => Lane::Update,
        SegmentState::Dangling if from == SegmentState::CopyStarted => Lane::Claim { segment, nonce },
        SegmentState::DeleteStarted | SegmentState::Dangling => Lane::Delete { segment },
        SegmentState::DeleteFinished => Lane::Gone { segment },
    };
    segment_key(partition, end_offset, segment, naming, lane)
}

/// Key of all records about a partition's deletion.
#[must_use]
pub fn partition_delete_key(partition: &TopicIdPartition) -> RecordKey {
    RecordKey::Partition(partition.into())
}

pub(super) fn segment_key(
    partition: &TopicIdPartition,
    end_offset: Offset,
    segment: KafkaUuid,
    naming: Naming,
    lane: Lane,
) -> RecordKey {
    RecordKey::Segment(SegmentKey {
        partition: partition.into(),
        end_offset,
        leader_epoch: naming.epoch,
        attempt: naming.has_segment_id.then_some(segment),
        lane,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::LeaderEpoch;
    use crate::model::SegmentState::{CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};

    const SEGMENT: KafkaUuid = KafkaUuid([9; 16]);
    const SHORT: Naming = Naming { epoch: LeaderEpoch(5), has_segment_id: false };
    const LONG: Naming = Naming { epoch: LeaderEpoch(5), has_segment_id: true };

    fn partition() -> TopicIdPartition {
        TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3)
    }

    fn update(naming: Naming, from: SegmentState, to: SegmentState) -> String {
        update_key(&partition(), Offset(99), SEGMENT, naming, (from, to), 1).to_string()
    }

    #[test]
    fn every_record_has_its_lane() {
        let (base, id) = (format!("{}:orders:3:99:5", KafkaUuid([7; 16])), SEGMENT.to_string());
        assert_eq!(add_key(&partition(), Offset(99), SEGMENT, SHORT).to_string(), base);
        for (from, to, lane) in [
            (CopyStarted, CopyFinished, ":UPDATE".to_owned()),
            (CopyFinished, DeleteStarted, format!(":DEL:{id}")),
            (DeleteStarted, Dangling, format!(":DEL:{id}")),
            (DeleteStarted, DeleteFinished, format!(":GONE:{id}")),
            (CopyStarted, Dangling, format!(":CLAIM:{id}:0000000000000001")),
        ] {
            assert_eq!(update(SHORT, from, to), format!("{base}{lane}"));
            assert_eq!(update(LONG, from, to), format!("{base}:{id}{lane}"));
        }
    }

    #[test]
    fn an_unknown_epoch_puts_the_segments_id_into_every_key() {
        let base = format!("{}:orders:3:99:-1:{SEGMENT}", KafkaUuid([7; 16]));
        assert_eq!(add_key(&partition(), Offset(99), SEGMENT, Naming::UNKNOWN).to_string(), base);
        assert_eq!(update(Naming::UNKNOWN, CopyStarted, CopyFinished), format!("{base}:UPDATE"));
    }
}
