//! From bytes to records.

use std::sync::Arc;

use bytes::Bytes;

use super::{FRAME_VERSION, LevelRecord, PartitionDeleteRecord, Record, UpdateRecord, WholeSegment, api_key, tag};
use crate::model::{
    BrokerId, EpochsError, KafkaUuid, LeaderEpoch, Offset, PartitionDelete, PartitionDeleteState, SegmentEpochs,
    SegmentId, SegmentMetadata, SegmentState, SegmentUpdate, TopicIdPartition,
};
use crate::wire::{Malformed, Reader};

/// Why a value is no record that we can use. The reader counts it, says so once per kind, and goes on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Somebody newer writes here: what it says is not known, so lookups may miss segments.
    #[error(
        "record of kind {api_key} has version {version}, and versions up to 1 are known; a newer writer is at work"
    )]
    NewerVersion { api_key: u32, version: u32 },
    /// A kind of record that nobody had when this was built.
    #[error("record of unknown kind {api_key}")]
    UnknownApiKey { api_key: u32 },
    /// A state that nobody had when this was built.
    #[error("record of kind {api_key} has unknown state {state}")]
    UnknownState { api_key: u32, state: i8 },
    /// Not a record, or a damaged one.
    #[error("malformed record: {0}")]
    Malformed(#[from] Malformed),
}

/// Reads a record's value, version 0 or 1.
///
/// Tagged fields that its version doesn't have are passed over: a stock broker reads such records too.
///
/// # Errors
/// [`DecodeError`]; any bytes give one or a record.
pub fn decode(value: &[u8]) -> Result<Record, DecodeError> {
    decode_with(value, |_, name| name.into())
}

/// As [`decode`]; `share` makes the topic's name, whose id it is told, one that is shared ([`Names`](crate::wire::Names)).
///
/// # Errors
/// As [`decode`].
pub fn decode_with(value: &[u8], share: impl FnOnce(KafkaUuid, &str) -> Arc<str>) -> Result<Record, DecodeError> {
    let mut reader = Reader::new(value);
    let (kind, version) = header(&mut reader)?;
    let record = match kind {
        api_key::SEGMENT => Record::Segment(segment(&mut reader, version, share)?),
        api_key::UPDATE => Record::Update(update(&mut reader, version, share)?),
        api_key::PARTITION_DELETE => Record::PartitionDelete(partition_delete(&mut reader, version, share)?),
        api_key::LEVEL => Record::Level(level(&mut reader)?),
        _ => return Ok(Record::Snapshot),
    };
    reader.finish("record")?;
    Ok(record)
}

/// Makes a topic's name, whose id it is told, one that others have too.
trait Share: FnOnce(KafkaUuid, &str) -> Arc<str> {}
impl<T: FnOnce(KafkaUuid, &str) -> Arc<str>> Share for T {}

fn header(reader: &mut Reader<'_>) -> Result<(u8, u32), DecodeError> {
    let start = reader.clone();
    if reader.uvarint("frame version")? != u32::from(FRAME_VERSION) {
        return Err(start.malformed("frame version", "not 1").into());
    }
    let api_key = reader.uvarint("api key")?;
    let kind = u8::try_from(api_key).ok().filter(|&kind| kind <= api_key::SNAPSHOT || kind == api_key::LEVEL);
    let kind = kind.ok_or(DecodeError::UnknownApiKey { api_key })?;
    match reader.uvarint("api version")? {
        version @ 0..=1 if kind != api_key::LEVEL || version == 0 => Ok((kind, version)),
        version => Err(DecodeError::NewerVersion { api_key, version }),
    }
}

fn segment(reader: &mut Reader<'_>, version: u32, share: impl Share) -> Result<WholeSegment, DecodeError> {
    let id = segment_id(reader, share)?;
    let (start_offset, end_offset) = offsets(reader)?;
    let broker_id = BrokerId(reader.i32("broker id")?);
    let max_timestamp_ms = reader.i64("max timestamp")?;
    let event_timestamp_ms = reader.i64("event timestamp")?;
    let epochs = epochs(reader)?;
    let size_bytes = reader.i32("segment size")?;
    let custom_metadata = custom_metadata(reader)?;
    let state = segment_state(reader, api_key::SEGMENT)?;
    let mut is_txn_index_empty = false;
    let mut leader_epoch = LeaderEpoch::UNKNOWN;
    reader.tagged_fields("segment's tagged fields", |tag, value| {
        match tag {
            tag::TXN_INDEX_EMPTY => is_txn_index_empty = value.u8("transaction index empty")? != 0,
            tag::SEGMENT_LEADER_EPOCH if version >= 1 => leader_epoch = tagged_epoch(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let metadata = SegmentMetadata {
        id,
        start_offset,
        end_offset,
        max_timestamp_ms,
        broker_id,
        event_timestamp_ms,
        epochs,
        size_bytes,
        custom_metadata,
        state,
        is_txn_index_empty,
    };
    Ok(WholeSegment { metadata, leader_epoch })
}

fn update(reader: &mut Reader<'_>, version: u32, share: impl Share) -> Result<UpdateRecord, DecodeError> {
    let update = SegmentUpdate {
        id: segment_id(reader, share)?,
        broker_id: BrokerId(reader.i32("broker id")?),
        event_timestamp_ms: reader.i64("event timestamp")?,
        custom_metadata: custom_metadata(reader)?,
        state: segment_state(reader, api_key::UPDATE)?,
    };
    let (leader_epoch, end_offset) = epoch_and_end(reader, version, "update's tagged fields")?;
    Ok(UpdateRecord { update, leader_epoch, end_offset })
}

fn partition_delete(
    reader: &mut Reader<'_>,
    version: u32,
    share: impl Share,
) -> Result<PartitionDeleteRecord, DecodeError> {
    let delete = PartitionDelete {
        partition: partition(reader, share)?,
        broker_id: BrokerId(reader.i32("broker id")?),
        event_timestamp_ms: reader.i64("event timestamp")?,
        state: {
            let state = reader.i8("partition delete state")?;
            PartitionDeleteState::from_number(state.into())
                .ok_or(DecodeError::UnknownState { api_key: api_key::PARTITION_DELETE.into(), state })?
        },
    };
    let (leader_epoch, end_offset) = epoch_and_end(reader, version, "partition delete's tagged fields")?;
    Ok(PartitionDeleteRecord { delete, leader_epoch, end_offset })
}

fn level(reader: &mut Reader<'_>) -> Result<LevelRecord, Malformed> {
    let level = LevelRecord { level: reader.i8("level")?, timestamp_ms: reader.i64("level's timestamp")? };
    reader.tagged_fields("level's tagged fields", |_, _| Ok(false))?;
    Ok(level)
}

fn epoch_and_end(
    reader: &mut Reader<'_>,
    version: u32,
    field: &'static str,
) -> Result<(LeaderEpoch, Option<Offset>), Malformed> {
    let mut leader_epoch = LeaderEpoch::UNKNOWN;
    let mut end_offset = None;
    reader.tagged_fields(field, |tag, value| {
        match tag {
            tag::LEADER_EPOCH if version >= 1 => leader_epoch = tagged_epoch(value)?,
            tag::END_OFFSET if version >= 1 => end_offset = Some(value.i64("end offset")?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok((leader_epoch, end_offset.filter(|&offset| offset >= 0).map(Offset)))
}

/// Any negative number means that the writer didn't know.
fn tagged_epoch(value: &mut Reader<'_>) -> Result<LeaderEpoch, Malformed> {
    let epoch = LeaderEpoch(value.i32("leader epoch")?);
    Ok(if epoch.is_known() { epoch } else { LeaderEpoch::UNKNOWN })
}

fn segment_id(reader: &mut Reader<'_>, share: impl Share) -> Result<SegmentId, Malformed> {
    let partition = partition(reader, share)?;
    let uuid = reader.uuid("segment id")?;
    reader.tagged_fields("segment id's tagged fields", |_, _| Ok(false))?;
    Ok(SegmentId { partition, uuid })
}

fn partition(reader: &mut Reader<'_>, share: impl Share) -> Result<TopicIdPartition, Malformed> {
    let topic = reader.compact_string("topic name")?;
    let topic_id = reader.uuid("topic id")?;
    let start = reader.clone();
    let partition = reader.i32("partition")?;
    if partition < 0 {
        return Err(start.malformed("partition", "negative"));
    }
    reader.tagged_fields("partition's tagged fields", |_, _| Ok(false))?;
    Ok(TopicIdPartition { topic_id, topic: share(topic_id, topic), partition })
}

/// Kafka's constructor has the same two conditions.
fn offsets(reader: &mut Reader<'_>) -> Result<(Offset, Offset), Malformed> {
    let start = reader.clone();
    let start_offset = reader.i64("start offset")?;
    if start_offset < 0 {
        return Err(start.malformed("start offset", "negative"));
    }
    let start = reader.clone();
    let end_offset = reader.i64("end offset")?;
    if end_offset < start_offset {
        return Err(start.malformed("end offset", "before the start offset"));
    }
    Ok((Offset(start_offset), Offset(end_offset)))
}

fn epochs(reader: &mut Reader<'_>) -> Result<SegmentEpochs, Malformed> {
    /// Epoch, offset and an empty tagged-field section.
    const ENTRY_SIZE_MIN: usize = 4 + 8 + 1;
    let start = reader.clone();
    let len = reader.compact_array_len(ENTRY_SIZE_MIN, "leader epochs")?;
    let mut entries = Vec::with_capacity(len);
    for _ in 0..len {
        entries.push((LeaderEpoch(reader.i32("leader epoch")?), Offset(reader.i64("leader epoch's start offset")?)));
        reader.tagged_fields("leader epoch's tagged fields", |_, _| Ok(false))?;
    }
    SegmentEpochs::new(entries).map_err(|error| {
        start.malformed(
            "leader epochs",
            match error {
                EpochsError::Empty => "empty",
                EpochsError::NotAscending { .. } => "do not ascend",
            },
        )
    })
}

fn custom_metadata(reader: &mut Reader<'_>) -> Result<Option<Bytes>, Malformed> {
    Ok(reader.compact_nullable_bytes("custom metadata")?.map(Bytes::copy_from_slice))
}

fn segment_state(reader: &mut Reader<'_>, api_key: u8) -> Result<SegmentState, DecodeError> {
    let state = reader.i8("segment state")?;
    SegmentState::from_number(state.into()).ok_or(DecodeError::UnknownState { api_key: api_key.into(), state })
}
