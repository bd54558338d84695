//! Under which keys the log has records of one segment.

use crate::model::Offset;

use super::naming::{KeyName, LaneName, Naming};

/// The keys of one segment whose last record has a value, refused records included: all that has to be emptied before
/// the log has nothing of it.
///
/// The usual keys are bits; only claims, rewrites and what another writer did otherwise are written out.
#[derive(Debug, Default)]
pub(super) struct KeyBook {
    usual: u8,
    #[expect(clippy::box_collection, reason = "almost no segment has any: one word, not three")]
    others: Option<Box<Vec<KeyName>>>,
}

const LANES: [LaneName; 4] = [LaneName::Base, LaneName::Update, LaneName::Delete, LaneName::Gone];
/// Bits of the keys that carry the segment's id are the plain ones' shifted by this.
const WITH_ID: usize = LANES.len();
const BASES: u8 = 1 | 1 << WITH_ID;

impl KeyBook {
    /// There is a record under `name` now.
    pub(super) fn note(&mut self, name: KeyName, end_offset: Offset, naming: Naming) {
        match bit(name, end_offset, naming) {
            Some(bit) => self.usual |= bit,
            None => {
                let others = self.others.get_or_insert_default();
                if !others.contains(&name) {
                    others.push(name);
                }
            }
        }
    }

    /// The key was emptied. Tells whether it had a record.
    pub(super) fn strike(&mut self, name: KeyName, end_offset: Offset, naming: Naming) -> bool {
        if let Some(bit) = bit(name, end_offset, naming) {
            let had = self.usual & bit != 0;
            self.usual &= !bit;
            return had;
        }
        let Some(others) = self.others.as_mut() else { return false };
        let before = others.len();
        others.retain(|other| *other != name);
        let had = others.len() < before;
        if others.is_empty() {
            self.others = None;
        }
        had
    }

    pub(super) fn has(&self, name: KeyName, end_offset: Offset, naming: Naming) -> bool {
        match bit(name, end_offset, naming) {
            Some(bit) => self.usual & bit != 0,
            None => self.others.as_ref().is_some_and(|others| others.contains(&name)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.usual == 0 && self.others.is_none()
    }

    /// Whether a record that the segment's existence can rest on has a key.
    pub(super) fn has_base_type(&self) -> bool {
        self.usual & BASES != 0
            || self.others.as_ref().is_some_and(|others| others.iter().any(|name| name.is_base_type()))
    }

    /// Whether somebody has claimed the segment, or has tried to.
    pub(super) fn has_claim(&self) -> bool {
        self.others.as_ref().is_some_and(|others| others.iter().any(|name| name.is_claim()))
    }

    /// The keys without the segment's id that could be another segment's too are no longer this one's.
    pub(super) fn strike_short(&mut self, end_offset: Offset, naming: Naming) {
        for lane in [LaneName::Base, LaneName::Update] {
            self.strike(KeyName { end_offset, epoch: naming.epoch, has_segment_id: false, lane }, end_offset, naming);
        }
    }

    /// All of them, the base keys first.
    pub(super) fn names(&self, end_offset: Offset, naming: Naming) -> Vec<KeyName> {
        let usual = [false, true].into_iter().flat_map(|has_segment_id| {
            LANES.map(|lane| KeyName { end_offset, epoch: naming.epoch, has_segment_id, lane })
        });
        let usual = usual.filter(|&name| bit(name, end_offset, naming).is_some_and(|bit| self.usual & bit != 0));
        let mut names: Vec<_> = usual.chain(self.others.iter().flat_map(|others| others.iter().copied())).collect();
        names.sort_by_key(|name| !name.is_base_type());
        names
    }
}

/// The bit of a usual key.
fn bit(name: KeyName, end_offset: Offset, naming: Naming) -> Option<u8> {
    let lane = LANES.iter().position(|&lane| lane == name.lane)?;
    let is_usual = name.end_offset == end_offset && name.epoch == naming.epoch;
    is_usual.then(|| 1 << (lane + if name.has_segment_id { WITH_ID } else { 0 }))
}
