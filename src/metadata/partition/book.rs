//! Under which keys the log has records of segments.

use crate::model::{KafkaUuid, Offset};

use super::naming::{KeyName, LaneName, Naming};
use super::slab::ById;

/// The usual keys of one segment whose last record has a value, refused records included: one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usual(u8);

const LANES: [LaneName; 4] = [LaneName::Base, LaneName::Update, LaneName::Delete, LaneName::Gone];
/// Bits of the keys that carry the segment's id are the plain ones' shifted by this.
const WITH_ID: usize = LANES.len();
const BASES: u8 = 1 | 1 << WITH_ID;

/// Whose keys they are: what the keys of one segment have in common, and which of the usual ones there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holder {
    pub(super) uuid: KafkaUuid,
    pub(super) end_offset: Offset,
    pub(super) naming: Naming,
    pub(super) usual: Usual,
}

/// The other keys: claims, rewrites, and what another writer did otherwise. Few segments have any. With the bits of a
/// segment they are all that has to be emptied before the log has nothing of it.
#[derive(Debug, Default)]
pub(super) struct OtherKeys(ById<Vec<KeyName>>);

impl OtherKeys {
    /// There is a record under `name` now. Gives the bits as they are then.
    pub(super) fn note(&mut self, holder: Holder, name: KeyName) -> Usual {
        if let Some(bit) = bit(holder, name) {
            return Usual(holder.usual.0 | bit);
        }
        let others = self.0.entry(holder.uuid).or_default();
        if !others.contains(&name) {
            others.push(name);
        }
        holder.usual
    }

    /// The key was emptied. Gives the bits as they are then.
    pub(super) fn strike(&mut self, holder: Holder, name: KeyName) -> Usual {
        if let Some(bit) = bit(holder, name) {
            return Usual(holder.usual.0 & !bit);
        }
        if let Some(others) = self.0.get_mut(&holder.uuid) {
            others.retain(|other| *other != name);
            if others.is_empty() {
                self.0.remove(&holder.uuid);
            }
        }
        holder.usual
    }

    /// The keys without the segment's id that could be another segment's too are no longer this one's.
    pub(super) fn strike_short(&mut self, mut holder: Holder) -> Usual {
        let Holder { end_offset, naming: Naming { epoch, .. }, .. } = holder;
        for lane in [LaneName::Base, LaneName::Update] {
            holder.usual = self.strike(holder, KeyName { end_offset, epoch, has_segment_id: false, lane });
        }
        holder.usual
    }

    /// Nothing is kept of the segment any more.
    pub(super) fn drop_all(&mut self, uuid: KafkaUuid) {
        self.0.remove(&uuid);
    }

    pub(super) fn has(&self, holder: Holder, name: KeyName) -> bool {
        match bit(holder, name) {
            Some(bit) => holder.usual.0 & bit != 0,
            None => self.of(holder.uuid).contains(&name),
        }
    }

    /// Whether any segment has other keys than the usual ones.
    pub(super) fn are_there_any(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn is_empty(&self, holder: Holder) -> bool {
        holder.usual.0 == 0 && self.of(holder.uuid).is_empty()
    }

    /// Whether a record that the segment's existence can rest on has a key.
    pub(super) fn has_base_type(&self, holder: Holder) -> bool {
        holder.usual.0 & BASES != 0 || self.of(holder.uuid).iter().any(|name| name.is_base_type())
    }

    /// Whether a record says that the copy has ended, whatever became of it: that it is done, or that somebody who knew that
    /// it was abandoned claimed the attempt.
    pub(super) fn says_copy_is_over(&self, holder: Holder) -> bool {
        self.names(holder).iter().any(|name| name.is_claim() || name.lane == LaneName::Update)
    }

    /// Whether nothing has a key but that the segment is copied, or that somebody claimed it.
    pub(super) fn is_first_but_finish(&self, holder: Holder) -> bool {
        let says_nothing = |name: &KeyName| name.is_claim() || name.lane == LaneName::Update;
        self.names(holder).iter().all(says_nothing)
    }

    /// Whether somebody has claimed the segment, or has tried to.
    pub(super) fn has_claim(&self, uuid: KafkaUuid) -> bool {
        self.of(uuid).iter().any(|name| name.is_claim())
    }

    /// All of them, the base keys first.
    pub(super) fn names(&self, holder: Holder) -> Vec<KeyName> {
        let Holder { end_offset, naming: Naming { epoch, .. }, .. } = holder;
        let usual = [false, true]
            .into_iter()
            .flat_map(|has_segment_id| LANES.map(|lane| KeyName { end_offset, epoch, has_segment_id, lane }));
        let usual = usual.filter(|&name| bit(holder, name).is_some_and(|bit| holder.usual.0 & bit != 0));
        let mut names: Vec<_> = usual.chain(self.of(holder.uuid).iter().copied()).collect();
        names.sort_by_key(|name| !name.is_base_type());
        names
    }

    fn of(&self, uuid: KafkaUuid) -> &[KeyName] {
        if self.0.is_empty() { &[] } else { self.0.get(&uuid).map_or(&[], |others| others) }
    }
}

/// The bit of a usual key.
fn bit(holder: Holder, name: KeyName) -> Option<u8> {
    let lane = LANES.iter().position(|&lane| lane == name.lane)?;
    let is_usual = name.end_offset == holder.end_offset && name.epoch == holder.naming.epoch;
    is_usual.then(|| 1 << (lane + if name.has_segment_id { WITH_ID } else { 0 }))
}
