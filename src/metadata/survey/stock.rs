//! The records from which a stock manager comes to the same segments.
//!
//! A stock reader dies of a value of version 1, of a missing value and of state 4, and takes a segment only in state
//! COPY_SEGMENT_STARTED first: so a segment is an add, and an update for each state that it has reached.

use bytes::Bytes;

use crate::metadata::plan::{add_key, partition_delete_key, update_key};
use crate::model::{LeaderEpoch, SegmentMetadata, SegmentState, SegmentUpdate};
use crate::wire::{RecordKey, Version, encode_partition_delete, encode_segment, encode_update};

use super::UserPartition;
use super::trace::Trace;

/// A record for the metadata topic, version 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockRecord {
    /// Metadata partition, in a topic with as many of them.
    pub partition: i32,
    /// Stock readers pass over it; a log cleaner needs it.
    pub key: RecordKey,
    pub value: Bytes,
}

/// What is current of a user partition, in the order in which it was said: that decides which of two segments with the
/// same offsets serves reads.
///
/// Segments whose deletion has ended are left out. DANGLING is said as DELETE_SEGMENT_STARTED, which a stock broker
/// deletes again.
#[must_use]
pub fn stock_records(user: &UserPartition) -> Vec<StockRecord> {
    let mut records: Vec<(i64, StockRecord)> = Vec::new();
    let partition = user.metadata_partition();
    for segment in user.segments() {
        let Some(trace) = user.trace(segment.id.uuid) else { continue };
        let said = of_segment(user, &segment, trace).into_iter();
        records.extend(said.map(|(at, key, value)| (at, StockRecord { partition, key, value })));
    }
    // Stable: the records of a segment keep their order where one record of the log said several things.
    records.sort_by_key(|&(at, _)| at);
    let mut records: Vec<_> = records.into_iter().map(|(_, record)| record).collect();
    if let Some((_, _, delete)) = user.deletion_record() {
        let value = encode_partition_delete(delete, LeaderEpoch::UNKNOWN, None, Version::V0);
        records.push(StockRecord { partition, key: partition_delete_key(user.partition()), value });
    }
    records
}

fn of_segment(user: &UserPartition, segment: &SegmentMetadata, trace: &Trace) -> Vec<(i64, RecordKey, Bytes)> {
    let Some((end_offset, naming)) = user.state.naming_of(&segment.id) else { return Vec::new() };
    let add = SegmentMetadata { state: SegmentState::CopyStarted, ..segment.clone() };
    let key = add_key(user.partition(), end_offset, segment.id.uuid, naming);
    // An add whose record was written again later stands behind updates of its own.
    let add_at = trace.base.offset.min(trace.state.offset).min(trace.finished.map_or(i64::MAX, |place| place.offset));
    let mut records = vec![(add_at, key, encode_segment(&add, LeaderEpoch::UNKNOWN, Version::V0))];
    let last = match segment.state {
        SegmentState::Dangling => SegmentState::DeleteStarted,
        state => state,
    };
    let finished = trace.finished.map(|place| (place.offset, SegmentState::CopyFinished));
    let steps = finished.into_iter().chain((last == SegmentState::DeleteStarted).then_some((trace.state.offset, last)));
    for (at, state) in steps {
        let update = SegmentUpdate {
            id: segment.id.clone(),
            broker_id: segment.broker_id,
            event_timestamp_ms: segment.event_timestamp_ms,
            custom_metadata: segment.custom_metadata.clone(),
            state,
        };
        // The nonce is of claims only, and no claim is written here.
        let steps = (SegmentState::CopyFinished, state);
        let key = update_key(user.partition(), end_offset, segment.id.uuid, naming, steps, 0);
        records.push((at, key, encode_update(&update, LeaderEpoch::UNKNOWN, None, Version::V0)));
    }
    records
}
