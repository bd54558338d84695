//! A state as bytes and back, for a checkpoint: all that later records and lookups can tell from another state.
//!
//! Rows, not the memory's layout: lists are sorted, counts and indexes are made anew. `docs/FORMATS.md` has the bytes.

use bytes::Bytes;

use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, PartitionDeleteState, SegmentEpochs, SegmentId, SegmentMetadata,
    SegmentState, SegmentUpdate, TopicIdPartition, is_topic_name,
};
use crate::wire::{Malformed, Reader, Writer};

use super::lineage::Lineage;
use super::naming::{KeyName, LaneName, Naming};
use super::segment::{Gone, KeptUpdate, Orphan, Segment};
use super::slab::Slotted;
use super::{Mark, PartitionState};

const HAS_SEGMENT_ID: u8 = 1 << 3;
const IS_USUAL: u8 = 1 << 4;

const IS_CLAIMED: u8 = 1;
const IS_STATE_KEYED: u8 = 2;
const IS_TXN_INDEX_EMPTY: u8 = 4;
const HAS_SEEN: u8 = 8;
const NAMING_HAS_SEGMENT_ID: u8 = 16;

impl PartitionState {
    /// Writes the state down.
    #[doc(hidden)]
    pub fn save(&self, out: &mut Writer) {
        save_partition(&self.partition, out);
        out.i64(self.newest_ms);
        match self.mark {
            None => out.u8(0),
            Some(mark) => {
                out.u8(1 + mark.state as u8);
                out.u8(u8::from(mark.is_keyed));
                out.i64(mark.seen_ms);
            }
        }
        let marks: Vec<_> = self.watermarks.all().collect();
        save_offsets(&marks, out);
        let highest = self.lineages.iter().filter_map(|lineage| Some((lineage.epoch, lineage.highest()?)));
        save_offsets(&highest.collect::<Vec<_>>(), out);
        let mut segments: Vec<_> = self.live.iter().collect();
        segments.sort_unstable_by_key(|segment| segment.uuid());
        count(segments.len(), out);
        for segment in segments {
            self.save_segment(segment, out);
        }
        let mut gone: Vec<_> = self.gone.iter().collect();
        gone.sort_unstable_by_key(|gone| gone.uuid());
        count(gone.len(), out);
        for gone in gone {
            let naming = gone.naming();
            out.uuid(gone.uuid());
            out.varlong(gone.end_offset.0);
            out.u8(naming_flag(naming) | if gone.is_state_keyed { IS_STATE_KEYED } else { 0 });
            out.i32(naming.epoch.0);
            out.i64(gone.seen_ms);
            save_names(&self.other_keys.names(gone.holder()), gone.end_offset, naming, out);
        }
        count(self.fading.len(), out);
        for &(timestamp_ms, uuid) in &self.fading {
            out.i64(timestamp_ms);
            out.uuid(uuid);
        }
        let mut orphans: Vec<_> = self.orphans.iter().collect();
        orphans.sort_unstable_by_key(|&(&uuid, _)| uuid);
        count(orphans.len(), out);
        for (&uuid, orphan) in orphans {
            save_orphan(uuid, orphan, out);
        }
    }

    fn save_segment(&self, segment: &Segment, out: &mut Writer) {
        let (uuid, naming) = (segment.uuid(), segment.naming());
        let seen_ms = self.unsettled.get(&uuid).copied();
        let metadata = segment.to_metadata(&self.partition, &self.blobs);
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        out.uuid(uuid);
        out.u8(flag(segment.is_claimed, IS_CLAIMED)
            | flag(segment.is_state_keyed, IS_STATE_KEYED)
            | flag(metadata.is_txn_index_empty, IS_TXN_INDEX_EMPTY)
            | flag(seen_ms.is_some(), HAS_SEEN)
            | naming_flag(naming));
        if let Some(seen_ms) = seen_ms {
            out.i64(seen_ms);
        }
        out.u8(metadata.state as u8);
        out.i32(naming.epoch.0);
        out.varlong(metadata.start_offset.0);
        out.varlong(metadata.end_offset.0);
        out.varlong(metadata.max_timestamp_ms);
        out.i32(metadata.broker_id.0);
        out.varlong(metadata.event_timestamp_ms);
        out.i32(metadata.size_bytes);
        save_offsets(metadata.epochs.entries(), out);
        out.compact_nullable_bytes(metadata.custom_metadata.as_deref());
        save_names(&self.other_keys.names(segment.holder()), segment.end_offset, naming, out);
    }

    /// A state as [`PartitionState::save`] wrote it.
    ///
    /// # Errors
    /// [`Malformed`] for bytes that it never writes.
    #[doc(hidden)]
    pub fn load(input: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut state = Self::new(load_partition(input)?);
        state.newest_ms = input.i64("newest time")?;
        state.mark = load_mark(input)?;
        for (epoch, offset) in load_offsets(input, "watermarks")? {
            state.watermarks.note(epoch, offset);
        }
        for (epoch, offset) in load_offsets(input, "highest offsets")? {
            let at = state.lineages.partition_point(|lineage| lineage.epoch < epoch);
            let mut lineage = Lineage::new(epoch);
            lineage.reach(offset);
            state.lineages.insert(at, lineage);
        }
        for _ in 0..input.compact_array_len(40, "segments")? {
            state.load_segment(input)?;
        }
        for _ in 0..input.compact_array_len(31, "gone segments")? {
            state.load_gone(input)?;
        }
        for _ in 0..input.compact_array_len(24, "fading segments")? {
            let timestamp_ms = input.i64("timestamp")?;
            state.begin_to_fade(input.uuid("fading segment")?, timestamp_ms);
        }
        for _ in 0..input.compact_array_len(25, "unknown segments")? {
            let (uuid, orphan) = load_orphan(input, &state.partition)?;
            state.orphans.insert(uuid, orphan);
        }
        let known = state.live.iter().map(Segment::uuid).chain(state.gone.iter().map(Gone::uuid));
        let known: Vec<_> = known.chain(state.orphans.keys().copied()).collect();
        for uuid in known {
            state.work = state.work.plus(state.share(uuid));
        }
        Ok(state)
    }

    fn load_segment(&mut self, input: &mut Reader<'_>) -> Result<(), Malformed> {
        let at = input.clone();
        let uuid = input.uuid("segment")?;
        let flags = input.u8("flags")?;
        let seen_ms = (flags & HAS_SEEN != 0).then(|| input.i64("time of the last record")).transpose()?;
        let state = load_state(input)?;
        let naming = load_naming(flags, input)?;
        let metadata = SegmentMetadata {
            id: SegmentId { partition: self.partition.clone(), uuid },
            start_offset: Offset(input.varlong("start offset")?),
            end_offset: Offset(input.varlong("end offset")?),
            max_timestamp_ms: input.varlong("max timestamp")?,
            broker_id: BrokerId(input.i32("broker")?),
            event_timestamp_ms: input.varlong("event timestamp")?,
            size_bytes: input.i32("size")?,
            epochs: SegmentEpochs::new(load_offsets(input, "epochs")?)
                .map_err(|_| at.malformed("epochs", "not those of a segment"))?,
            custom_metadata: input.compact_nullable_bytes("custom metadata")?.map(Bytes::copy_from_slice),
            state,
            is_txn_index_empty: flags & IS_TXN_INDEX_EMPTY != 0,
        };
        if metadata.why_impossible().is_some() || state == SegmentState::DeleteFinished || self.live.contains(uuid) {
            return Err(at.malformed("segment", "cannot be so"));
        }
        let blob = self.blobs.put(metadata.custom_metadata.as_deref());
        let mut segment = Segment::new(&metadata, naming, blob);
        segment.state = state;
        segment.is_claimed = flags & IS_CLAIMED != 0;
        segment.is_state_keyed = flags & IS_STATE_KEYED != 0;
        for name in load_names(input, metadata.end_offset, naming)? {
            segment.usual_keys = self.other_keys.note(segment.holder(), name);
        }
        let place = self.live.insert(segment);
        if state == SegmentState::CopyFinished {
            self.with_lineages(place, |lineage, live, _| lineage.finish(live, place));
        }
        if let Some(seen_ms) = seen_ms {
            self.unsettled.insert(uuid, seen_ms);
        }
        Ok(())
    }

    fn load_gone(&mut self, input: &mut Reader<'_>) -> Result<(), Malformed> {
        let at = input.clone();
        let uuid = input.uuid("gone segment")?;
        let end_offset = Offset(input.varlong("end offset")?);
        let flags = input.u8("flags")?;
        let naming = load_naming(flags, input)?;
        let seen_ms = input.i64("time of the last record")?;
        if self.gone.contains(uuid) || self.live.contains(uuid) {
            return Err(at.malformed("gone segment", "stands twice"));
        }
        let mut gone = Gone::known(uuid, end_offset, naming, seen_ms);
        gone.is_state_keyed = flags & IS_STATE_KEYED != 0;
        for name in load_names(input, end_offset, naming)? {
            gone.usual_keys = self.other_keys.note(gone.holder(), name);
        }
        self.gone.insert(gone);
        Ok(())
    }
}

/// The length of a list, as [`Reader::compact_array_len`] reads it.
fn count(len: usize, out: &mut Writer) {
    out.len(len.saturating_add(1));
}

fn save_partition(partition: &TopicIdPartition, out: &mut Writer) {
    out.uuid(partition.topic_id);
    out.compact_string(&partition.topic);
    out.i32(partition.partition);
}

fn load_partition(input: &mut Reader<'_>) -> Result<TopicIdPartition, Malformed> {
    let topic_id = input.uuid("topic id")?;
    let topic = input.compact_string("topic")?;
    if !is_topic_name(topic) {
        return Err(input.malformed("topic", "not a topic's name"));
    }
    Ok(TopicIdPartition::new(topic_id, topic, input.i32("partition")?))
}

fn load_mark(input: &mut Reader<'_>) -> Result<Option<Mark>, Malformed> {
    let number = i32::from(input.u8("mark")?) - 1;
    if number < 0 {
        return Ok(None);
    }
    let state = PartitionDeleteState::from_number(number).ok_or_else(|| input.malformed("mark", "no such state"))?;
    Ok(Some(Mark { state, is_keyed: input.u8("mark's key")? != 0, seen_ms: input.i64("mark's time")? }))
}

fn load_state(input: &mut Reader<'_>) -> Result<SegmentState, Malformed> {
    let number = i32::from(input.u8("state")?);
    SegmentState::from_number(number).ok_or_else(|| input.malformed("state", "no such state"))
}

fn save_offsets(offsets: &[(LeaderEpoch, Offset)], out: &mut Writer) {
    count(offsets.len(), out);
    for &(epoch, offset) in offsets {
        out.i32(epoch.0);
        out.varlong(offset.0);
    }
}

fn load_offsets(input: &mut Reader<'_>, field: &'static str) -> Result<Vec<(LeaderEpoch, Offset)>, Malformed> {
    let count = input.compact_array_len(5, field)?;
    (0..count).map(|_| Ok((LeaderEpoch(input.i32(field)?), Offset(input.varlong(field)?)))).collect()
}

fn naming_flag(naming: Naming) -> u8 {
    if naming.has_segment_id { NAMING_HAS_SEGMENT_ID } else { 0 }
}

fn load_naming(flags: u8, input: &mut Reader<'_>) -> Result<Naming, Malformed> {
    let epoch = LeaderEpoch(input.i32("epoch")?);
    Ok(Naming { epoch, has_segment_id: flags & NAMING_HAS_SEGMENT_ID != 0 })
}

fn save_names(names: &[KeyName], end_offset: Offset, naming: Naming, out: &mut Writer) {
    count(names.len(), out);
    for name in names {
        save_name(name, end_offset, naming, out);
    }
}

fn load_names(input: &mut Reader<'_>, end_offset: Offset, naming: Naming) -> Result<Vec<KeyName>, Malformed> {
    (0..input.compact_array_len(1, "keys")?).map(|_| load_name(input, end_offset, naming)).collect()
}

fn save_name(name: &KeyName, end_offset: Offset, naming: Naming, out: &mut Writer) {
    let lane = match name.lane {
        LaneName::Base => 0,
        LaneName::Update => 1,
        LaneName::Delete => 2,
        LaneName::Gone => 3,
        LaneName::Claim { .. } => 4,
        LaneName::Rewrite { .. } => 5,
    };
    let is_usual = (name.end_offset, name.epoch) == (end_offset, naming.epoch);
    let id = if name.has_segment_id { HAS_SEGMENT_ID } else { 0 };
    out.u8(lane | id | if is_usual { IS_USUAL } else { 0 });
    if !is_usual {
        out.varlong(name.end_offset.0);
        out.i32(name.epoch.0);
    }
    match name.lane {
        LaneName::Claim { nonce } => out.i64(nonce.cast_signed()),
        LaneName::Rewrite { writer_epoch } => out.i32(writer_epoch.0),
        LaneName::Base | LaneName::Update | LaneName::Delete | LaneName::Gone => {}
    }
}

fn load_name(input: &mut Reader<'_>, end_offset: Offset, naming: Naming) -> Result<KeyName, Malformed> {
    let tag = input.u8("key")?;
    let (end_offset, epoch) = match tag & IS_USUAL != 0 {
        true => (end_offset, naming.epoch),
        false => (Offset(input.varlong("key's end offset")?), LeaderEpoch(input.i32("key's epoch")?)),
    };
    let lane = match tag & 7 {
        0 => LaneName::Base,
        1 => LaneName::Update,
        2 => LaneName::Delete,
        3 => LaneName::Gone,
        4 => LaneName::Claim { nonce: input.i64("claim")?.cast_unsigned() },
        5 => LaneName::Rewrite { writer_epoch: LeaderEpoch(input.i32("rewrite")?) },
        _ => return Err(input.malformed("key", "no such lane")),
    };
    Ok(KeyName { end_offset, epoch, has_segment_id: tag & HAS_SEGMENT_ID != 0, lane })
}

/// What a kept update's name is told against: there is no segment.
const NOWHERE: (Offset, Naming) = (Offset(-1), Naming { epoch: LeaderEpoch(i32::MIN), has_segment_id: true });

fn save_orphan(uuid: KafkaUuid, orphan: &Orphan, out: &mut Writer) {
    out.uuid(uuid);
    out.i64(orphan.seen_ms);
    count(orphan.updates.len(), out);
    for KeptUpdate { update, name } in &orphan.updates {
        out.u8(update.state as u8);
        out.i32(update.broker_id.0);
        out.varlong(update.event_timestamp_ms);
        out.compact_nullable_bytes(update.custom_metadata.as_deref());
        save_names(name.as_slice(), NOWHERE.0, NOWHERE.1, out);
    }
}

fn load_orphan(input: &mut Reader<'_>, partition: &TopicIdPartition) -> Result<(KafkaUuid, Orphan), Malformed> {
    let uuid = input.uuid("unknown segment")?;
    let mut orphan = Orphan { updates: Vec::new(), seen_ms: input.i64("time of the last record")? };
    for _ in 0..input.compact_array_len(8, "updates")? {
        let update = SegmentUpdate {
            id: SegmentId { partition: partition.clone(), uuid },
            state: load_state(input)?,
            broker_id: BrokerId(input.i32("broker")?),
            event_timestamp_ms: input.varlong("event timestamp")?,
            custom_metadata: input.compact_nullable_bytes("custom metadata")?.map(Bytes::copy_from_slice),
        };
        let name = match input.compact_array_len(1, "key")? {
            0 => None,
            1 => Some(load_name(input, NOWHERE.0, NOWHERE.1)?),
            _ => return Err(input.malformed("key", "more than one")),
        };
        orphan.updates.push(KeptUpdate { update, name });
    }
    Ok((uuid, orphan))
}

#[cfg(test)]
mod tests;
