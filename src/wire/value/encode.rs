//! From the model to bytes.

use bytes::Bytes;

use super::{FRAME_VERSION, LevelRecord, Version, api_key, tag};
use crate::model::{
    LeaderEpoch, Offset, PartitionDelete, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate, TopicIdPartition,
};
use crate::wire::Writer;

/// Longer than all but the rarest records: names of topics have at most 249 bytes.
const CAPACITY: usize = 256;

/// Value of a whole-segment record. `leader_epoch` is written only in [`Version::V1`], and only if it is known.
#[must_use]
pub fn encode_segment(segment: &SegmentMetadata, leader_epoch: LeaderEpoch, version: Version) -> Bytes {
    let mut writer = begin(api_key::SEGMENT, version);
    put_segment_id(&mut writer, &segment.id);
    writer.i64(segment.start_offset.0);
    writer.i64(segment.end_offset.0);
    writer.i32(segment.broker_id.0);
    writer.i64(segment.max_timestamp_ms);
    writer.i64(segment.event_timestamp_ms);
    put_epochs(&mut writer, &segment.epochs);
    writer.i32(segment.size_bytes);
    writer.compact_nullable_bytes(segment.custom_metadata.as_deref());
    writer.u8(segment.state as u8);
    let epoch = leader_epoch.0.to_be_bytes();
    let tags: [(bool, u32, &[u8]); 2] = [
        (segment.is_txn_index_empty, tag::TXN_INDEX_EMPTY, &[1]),
        (version >= Version::V1 && leader_epoch.is_known(), tag::SEGMENT_LEADER_EPOCH, &epoch),
    ];
    put_tags(&mut writer, &tags);
    writer.into_bytes()
}

/// Value of an update record. `leader_epoch` and `end_offset` are written only in [`Version::V1`], and only if known.
#[must_use]
pub fn encode_update(
    update: &SegmentUpdate,
    leader_epoch: LeaderEpoch,
    end_offset: Option<Offset>,
    version: Version,
) -> Bytes {
    let mut writer = begin(api_key::UPDATE, version);
    put_segment_id(&mut writer, &update.id);
    writer.i32(update.broker_id.0);
    writer.i64(update.event_timestamp_ms);
    writer.compact_nullable_bytes(update.custom_metadata.as_deref());
    writer.u8(update.state as u8);
    put_epoch_and_end(&mut writer, leader_epoch, end_offset, version);
    writer.into_bytes()
}

/// Value of a partition-delete record; `leader_epoch` and `end_offset` as in [`encode_update`].
#[must_use]
pub fn encode_partition_delete(
    delete: &PartitionDelete,
    leader_epoch: LeaderEpoch,
    end_offset: Option<Offset>,
    version: Version,
) -> Bytes {
    let mut writer = begin(api_key::PARTITION_DELETE, version);
    put_partition(&mut writer, &delete.partition);
    writer.i32(delete.broker_id.0);
    writer.i64(delete.event_timestamp_ms);
    writer.u8(delete.state as u8);
    put_epoch_and_end(&mut writer, leader_epoch, end_offset, version);
    writer.into_bytes()
}

/// Value of a level record; it has one version only.
#[must_use]
pub fn encode_level(level: LevelRecord) -> Bytes {
    let mut writer = begin(api_key::LEVEL, Version::V0);
    writer.u8(level.level.cast_unsigned());
    writer.i64(level.timestamp_ms);
    writer.no_tagged_fields();
    writer.into_bytes()
}

fn begin(api_key: u8, version: Version) -> Writer {
    let mut writer = Writer::with_capacity(CAPACITY);
    writer.put(&[FRAME_VERSION, api_key, version.number()]);
    writer
}

fn put_segment_id(writer: &mut Writer, id: &SegmentId) {
    put_partition(writer, &id.partition);
    writer.uuid(id.uuid);
    writer.no_tagged_fields();
}

fn put_partition(writer: &mut Writer, partition: &TopicIdPartition) {
    writer.compact_string(&partition.topic);
    writer.uuid(partition.topic_id);
    writer.i32(partition.partition);
    writer.no_tagged_fields();
}

fn put_epochs(writer: &mut Writer, epochs: &SegmentEpochs) {
    let entries = epochs.entries();
    writer.len(entries.len().saturating_add(1));
    for (epoch, offset) in entries {
        writer.i32(epoch.0);
        writer.i64(offset.0);
        writer.no_tagged_fields();
    }
}

fn put_epoch_and_end(writer: &mut Writer, epoch: LeaderEpoch, end_offset: Option<Offset>, version: Version) {
    let end_offset = end_offset.filter(|offset| offset.0 >= 0);
    let (epoch_bytes, end_bytes) = (epoch.0.to_be_bytes(), end_offset.map(|offset| offset.0.to_be_bytes()));
    let tags: [(bool, u32, &[u8]); 2] = [
        (version >= Version::V1 && epoch.is_known(), tag::LEADER_EPOCH, &epoch_bytes),
        (version >= Version::V1 && end_offset.is_some(), tag::END_OFFSET, end_bytes.as_ref().map_or(&[], |b| b)),
    ];
    put_tags(writer, &tags);
}

/// Writes those tagged fields that are wanted.
fn put_tags(writer: &mut Writer, tags: &[(bool, u32, &[u8])]) {
    let wanted: Vec<(u32, &[u8])> =
        tags.iter().filter(|(is_wanted, ..)| *is_wanted).map(|&(_, tag, value)| (tag, value)).collect();
    writer.tagged_fields(&wanted);
}
