//! What is asked of the state.

use bytes::Bytes;

use crate::model::{LeaderEpoch, Offset, SegmentId, SegmentMetadata, SegmentState};

use super::PartitionState;
use super::naming::Naming;
use super::segment::Segment;
use super::slab::Slotted;

impl PartitionState {
    /// The finished segment that serves `offset` of `epoch`.
    #[must_use]
    pub fn find(&self, epoch: LeaderEpoch, offset: Offset) -> Option<SegmentMetadata> {
        self.find_known(epoch, offset).map(|segment| self.metadata(segment))
    }

    /// The first segment at or behind `offset` that may have aborted transactions, as long as each segment of the same
    /// `epoch` begins right behind the one before it. A caller goes on with the next epoch by itself.
    #[must_use]
    pub fn next_with_transaction_index(&self, epoch: LeaderEpoch, offset: Offset) -> Option<SegmentMetadata> {
        let mut at = offset;
        loop {
            let segment = self.find_known(epoch, at)?;
            if !segment.is_txn_index_empty {
                return Some(self.metadata(segment));
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
        self.lineage(epoch)?.highest()
    }

    /// Segments in every state but DELETE_SEGMENT_FINISHED, of one epoch or of all, by start offset.
    #[must_use]
    pub fn list(&self, epoch: Option<LeaderEpoch>) -> Vec<SegmentMetadata> {
        let mut found: Vec<&Segment> = match epoch {
            Some(epoch) => self.of_epoch(epoch),
            None => self.live.iter().collect(),
        };
        found.sort_unstable_by_key(|segment| (segment.start_offset, segment.end_offset, segment.uuid()));
        found.into_iter().map(|segment| self.metadata(segment)).collect()
    }

    /// Sum of the sizes of what [`PartitionState::list`] shows of `epoch`, in every state, as Kafka counts it.
    #[must_use]
    pub fn size_bytes(&self, epoch: LeaderEpoch) -> u64 {
        self.of_epoch(epoch).into_iter().map(|segment| u64::try_from(segment.size_bytes).unwrap_or(0)).sum()
    }

    /// State of a segment; DELETE_SEGMENT_FINISHED for one whose deletion has ended.
    #[must_use]
    pub fn state_of(&self, segment: &SegmentId) -> Option<SegmentState> {
        match self.live.get(segment.uuid) {
            Some(known) => Some(known.state),
            None => self.gone.contains(segment.uuid).then_some(SegmentState::DeleteFinished),
        }
    }

    /// End offset and naming of a segment, from which the keys of its further records are made.
    #[must_use]
    pub fn naming_of(&self, segment: &SegmentId) -> Option<(Offset, Naming)> {
        let live = self.live.get(segment.uuid).map(|known| (known.end_offset, known.naming()));
        live.or_else(|| self.gone.get(segment.uuid).map(|gone| (gone.end_offset, gone.naming())))
    }

    /// Custom metadata of a segment as of now.
    #[must_use]
    pub fn custom_metadata_of(&self, segment: &SegmentId) -> Option<Bytes> {
        self.live.get(segment.uuid)?.custom_metadata(&self.blobs)
    }

    /// Whether its state is DANGLING because somebody found the attempt abandoned.
    #[must_use]
    pub fn is_claimed(&self, segment: &SegmentId) -> bool {
        self.live.get(segment.uuid).is_some_and(|known| known.is_claimed)
    }

    /// A segment as it is now.
    #[must_use]
    pub fn metadata_of(&self, segment: &SegmentId) -> Option<SegmentMetadata> {
        Some(self.metadata(self.live.get(segment.uuid)?))
    }

    /// Decides the name of a segment that is about to be added; no other one gets the same from now on. A segment that is
    /// known keeps its own.
    pub(in crate::metadata) fn choose_naming(
        &mut self,
        segment: &SegmentId,
        end_offset: Offset,
        epoch: LeaderEpoch,
    ) -> Naming {
        match self.live.get(segment.uuid) {
            Some(known) => known.naming(),
            None => {
                let naming = self.watermarks.choose(epoch, end_offset);
                let laws = self.laws();
                let needs_id =
                    if epoch.is_known() { laws.short_key_has_one_owner } else { laws.unknown_epoch_needs_id };
                Naming { has_segment_id: naming.has_segment_id && needs_id, ..naming }
            }
        }
    }

    pub(super) fn metadata(&self, segment: &Segment) -> SegmentMetadata {
        segment.to_metadata(&self.partition, &self.blobs)
    }

    fn find_known(&self, epoch: LeaderEpoch, offset: Offset) -> Option<&Segment> {
        self.lineage(epoch)?.find(&self.live, offset)
    }

    /// Segments in every state that have the epoch, in no order.
    fn of_epoch(&self, epoch: LeaderEpoch) -> Vec<&Segment> {
        let finished = self.lineage(epoch).into_iter().flat_map(|lineage| lineage.places());
        let finished = finished.filter_map(|place| self.live.at(place));
        let unsettled = self.unsettled.keys().filter_map(|&uuid| self.live.get(uuid));
        finished.chain(unsettled.filter(|segment| segment.range_of(epoch).is_some())).collect()
    }
}
