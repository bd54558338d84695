//! What is asked of the state.

use bytes::Bytes;

use crate::model::{KafkaUuid, LeaderEpoch, Offset, SegmentId, SegmentMetadata, SegmentState};

use super::PartitionState;
use super::naming::Naming;
use super::segment::Segment;

impl PartitionState {
    /// The finished segment that serves `offset` of `epoch`.
    #[must_use]
    pub fn find(&self, epoch: LeaderEpoch, offset: Offset) -> Option<SegmentMetadata> {
        self.find_known(epoch, offset).map(|(uuid, segment)| segment.to_metadata(&self.partition, uuid))
    }

    /// The first segment at or behind `offset` that may have aborted transactions, as long as each segment of the same
    /// `epoch` begins right behind the one before it. A caller goes on with the next epoch by itself.
    #[must_use]
    pub fn next_with_transaction_index(&self, epoch: LeaderEpoch, offset: Offset) -> Option<SegmentMetadata> {
        let mut at = offset;
        loop {
            let (uuid, segment) = self.find_known(epoch, at)?;
            if !segment.is_txn_index_empty {
                return Some(segment.to_metadata(&self.partition, uuid));
            }
            let next = segment.end_offset.next();
            if next <= at {
                return None;
            }
            at = next;
        }
    }

    /// The highest offset of `epoch` that was ever in a finished segment, also if that segment is gone.
    #[must_use]
    pub fn highest_offset(&self, epoch: LeaderEpoch) -> Option<Offset> {
        self.lineages.get(&epoch)?.highest()
    }

    /// Segments in every state but DELETE_SEGMENT_FINISHED, of one epoch or of all, by start offset.
    #[must_use]
    pub fn list(&self, epoch: Option<LeaderEpoch>) -> Vec<SegmentMetadata> {
        let mut found: Vec<(KafkaUuid, &Segment)> = match epoch {
            Some(epoch) => self.of_epoch(epoch).collect(),
            None => self.segments.iter().map(|(&uuid, segment)| (uuid, segment)).collect(),
        };
        found.sort_unstable_by_key(|&(uuid, segment)| (segment.start_offset, segment.end_offset, uuid));
        found.into_iter().map(|(uuid, segment)| segment.to_metadata(&self.partition, uuid)).collect()
    }

    /// Sum of the sizes of what [`PartitionState::list`] shows of `epoch`, in every state, as Kafka counts it.
    #[must_use]
    pub fn size_bytes(&self, epoch: LeaderEpoch) -> u64 {
        self.of_epoch(epoch).map(|(_, segment)| u64::try_from(segment.size_bytes).unwrap_or(0)).sum()
    }

    /// State of a segment; DELETE_SEGMENT_FINISHED for one whose deletion has ended.
    #[must_use]
    pub fn state_of(&self, segment: &SegmentId) -> Option<SegmentState> {
        match self.segments.get(&segment.uuid) {
            Some(known) => Some(known.state),
            None => self.gone.contains_key(&segment.uuid).then_some(SegmentState::DeleteFinished),
        }
    }

    /// End offset and naming of a segment, from which the keys of its further records are made.
    #[must_use]
    pub fn naming_of(&self, segment: &SegmentId) -> Option<(Offset, Naming)> {
        let live = self.segments.get(&segment.uuid).map(|known| (known.end_offset, known.naming));
        live.or_else(|| self.gone.get(&segment.uuid).map(|gone| (gone.end_offset, gone.naming)))
    }

    /// Custom metadata of a segment as of now.
    #[must_use]
    pub fn custom_metadata_of(&self, segment: &SegmentId) -> Option<Bytes> {
        self.segments.get(&segment.uuid)?.custom_metadata()
    }

    /// Whether its state is DANGLING because somebody found the attempt abandoned.
    #[must_use]
    pub fn is_claimed(&self, segment: &SegmentId) -> bool {
        self.segments.get(&segment.uuid).is_some_and(|known| known.is_claimed)
    }

    /// A segment as it is now.
    #[must_use]
    pub fn metadata_of(&self, segment: &SegmentId) -> Option<SegmentMetadata> {
        Some(self.segments.get(&segment.uuid)?.to_metadata(&self.partition, segment.uuid))
    }

    /// Decides the name of a segment that is about to be added; no other one gets the same from now on. A segment that is
    /// known keeps its own.
    pub(in crate::metadata) fn choose_naming(
        &mut self,
        segment: &SegmentId,
        end_offset: Offset,
        epoch: LeaderEpoch,
    ) -> Naming {
        match self.segments.get(&segment.uuid) {
            Some(known) => known.naming,
            None => {
                let naming = self.watermarks.choose(epoch, end_offset);
                let laws = self.laws();
                let needs_id =
                    if epoch.is_known() { laws.short_key_has_one_owner } else { laws.unknown_epoch_needs_id };
                Naming { has_segment_id: naming.has_segment_id && needs_id, ..naming }
            }
        }
    }

    fn find_known(&self, epoch: LeaderEpoch, offset: Offset) -> Option<(KafkaUuid, &Segment)> {
        self.known(self.lineages.get(&epoch)?.find(offset)?)
    }

    fn of_epoch(&self, epoch: LeaderEpoch) -> impl Iterator<Item = (KafkaUuid, &Segment)> {
        let uuids = self.lineages.get(&epoch).into_iter().flat_map(|lineage| lineage.all());
        uuids.filter_map(|uuid| self.known(uuid))
    }

    fn known(&self, uuid: KafkaUuid) -> Option<(KafkaUuid, &Segment)> {
        Some((uuid, self.segments.get(&uuid)?))
    }
}
