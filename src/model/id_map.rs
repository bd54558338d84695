//! Maps by ids.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map by ids that were made at random or are few: several lookups for each record of a log must cost little.
///
/// Its hash has no secret. Who could choose ids so that they collide is a broker of the cluster, whose records we trust.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;
/// As [`IdMap`].
pub type IdSet<K> = HashSet<K, BuildHasherDefault<IdHasher>>;

/// Takes in eight bytes by one multiplication, whose two halves are folded into one.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdHasher(u64);

/// Digits of pi: odd, and about half of the bits are set.
const FACTOR: u64 = 0x243f_6a88_85a3_08d3;

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ FACTOR.rotate_left(32)) * u128::from(FACTOR);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of the product")]
        let folded = (product as u64) ^ ((product >> 64) as u64);
        self.0 = folded;
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_i32(&mut self, word: i32) {
        self.write_u64(word.cast_unsigned().into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, Hash};

    use super::*;
    use crate::model::{KafkaUuid, TopicIdPartition};

    fn hash(value: impl Hash) -> u64 {
        BuildHasherDefault::<IdHasher>::default().hash_one(value)
    }

    #[test]
    fn ids_that_differ_little_go_to_different_places() {
        // A table takes the lowest bits for the place and the highest ones for a first comparison.
        let mut low = HashSet::new();
        let mut high = HashSet::new();
        for number in 0..1_000 {
            let hash = hash(TopicIdPartition::new(KafkaUuid([7; 16]), "orders", number));
            low.insert(hash % 4_096);
            high.insert(hash >> 57);
        }
        assert!(low.len() > 850, "{} places for 1,000 partitions", low.len());
        assert!(high.len() > 100, "{} of 128", high.len());
    }

    #[test]
    fn every_byte_of_an_id_counts() {
        let plain = hash(KafkaUuid([0; 16]));
        for at in 0..16 {
            let mut bytes = [0; 16];
            bytes[at] = 1;
            assert_ne!(hash(KafkaUuid(bytes)), plain, "byte {at}");
        }
    }
}
