//! Things that are found by a segment's id, close together in memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashTable;

use crate::model::KafkaUuid;

/// What a [`Slab`] holds.
pub(super) trait Slotted {
    fn uuid(&self) -> KafkaUuid;
}

/// A growing list with holes that are filled again, and an index of four bytes an entry over it. An entry's place stays
/// the same as long as the entry is there.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    index: HashTable<u32>,
}

impl<T: Slotted> Slab<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: HashTable::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    pub(super) fn place_of(&self, uuid: KafkaUuid) -> Option<u32> {
        let is_it = |&place: &u32| self.at(place).is_some_and(|entry| entry.uuid() == uuid);
        self.index.find(hash(uuid), is_it).copied()
    }

    pub(super) fn at(&self, place: u32) -> Option<&T> {
        self.slots.get(place as usize)?.as_ref()
    }

    pub(super) fn at_mut(&mut self, place: u32) -> Option<&mut T> {
        self.slots.get_mut(place as usize)?.as_mut()
    }

    pub(super) fn get(&self, uuid: KafkaUuid) -> Option<&T> {
        self.at(self.place_of(uuid)?)
    }

    pub(super) fn get_mut(&mut self, uuid: KafkaUuid) -> Option<&mut T> {
        let place = self.place_of(uuid)?;
        self.at_mut(place)
    }

    pub(super) fn contains(&self, uuid: KafkaUuid) -> bool {
        self.place_of(uuid).is_some()
    }

    /// Adds an entry whose id is not there yet.
    pub(super) fn insert(&mut self, entry: T) -> u32 {
        let hashed = hash(entry.uuid());
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = Some(entry);
                place
            }
            None => {
                self.make_room();
                self.slots.push(Some(entry));
                // More would need more memory than there is.
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        let Self { slots, index, .. } = self;
        let hash_at = |&place: &u32| slots[place as usize].as_ref().map_or(0, |entry| hash(entry.uuid()));
        index.insert_unique(hashed, place, hash_at);
        place
    }

    pub(super) fn remove(&mut self, uuid: KafkaUuid) -> Option<T> {
        let Self { slots, index, free } = self;
        let is_it = |&place: &u32| slots[place as usize].as_ref().is_some_and(|entry| entry.uuid() == uuid);
        let (place, _) = index.find_entry(hash(uuid), is_it).ok()?.remove();
        free.push(place);
        let entry = slots[place as usize].take();
        if index.is_empty() {
            // Nothing is left of a burst.
            *self = Self::new();
        }
        entry
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }

    /// By an eighth, not twofold: there is one of these for each partition, and the unused part of each counts.
    fn make_room(&mut self) {
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact((self.slots.len() / 8).max(4));
        }
    }
}

/// Ids are random already; this spreads those that tests and people make up.
pub(super) fn hash(uuid: KafkaUuid) -> u64 {
    let (high, low) = uuid.halves();
    mixed(high.cast_unsigned() ^ low.cast_unsigned().rotate_left(29))
}

fn mixed(word: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let once = word.wrapping_mul(ODD);
    (once ^ (once >> 32)).wrapping_mul(ODD)
}

/// A map for what few segments have.
pub(super) type ById<V> = HashMap<KafkaUuid, V, BuildHasherDefault<IdHasher>>;

/// Of ids only: they need no protection against those who choose them, as only brokers do.
#[derive(Debug, Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_be_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mixed(self.0.rotate_left(29) ^ word);
    }

    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Item(u8, u32);

    impl Slotted for Item {
        fn uuid(&self) -> KafkaUuid {
            KafkaUuid([self.0; 16])
        }
    }

    #[test]
    fn a_hole_is_filled_before_the_list_grows() {
        let mut slab = Slab::new();
        let places: Vec<_> = (0..5).map(|n| slab.insert(Item(n, 0))).collect();
        assert_eq!(places, [0, 1, 2, 3, 4]);
        assert_eq!(slab.remove(KafkaUuid([2; 16])), Some(Item(2, 0)));
        assert_eq!((slab.get(KafkaUuid([2; 16])), slab.len()), (None, 4));
        assert_eq!(slab.insert(Item(9, 1)), 2);
        assert_eq!(slab.get(KafkaUuid([9; 16])), Some(&Item(9, 1)));
        assert_eq!(slab.place_of(KafkaUuid([4; 16])), Some(4), "the others stay where they are");
    }

    #[test]
    fn ids_that_differ_little_are_spread() {
        let hashes: std::collections::HashSet<_> = (0..=255).map(|n| hash(KafkaUuid([n; 16])) >> 57).collect();
        assert!(hashes.len() > 64, "{}", hashes.len());
        let low: std::collections::HashSet<_> = (0..256).map(|n| hash(KafkaUuid::from_halves(0, n)) & 0xff).collect();
        assert!(low.len() > 128, "{}", low.len());
        use std::hash::BuildHasher;
        let map: ById<u8> = ById::default();
        let low: std::collections::HashSet<_> =
            (0..256).map(|n| map.hasher().hash_one(KafkaUuid::from_halves(n, 0)) & 0xff).collect();
        assert!(low.len() > 128, "{}", low.len());
    }
}
