//! Which metadata partition holds the records of a user partition.

use crate::model::KafkaUuid;

/// The partition of `__remote_log_metadata` that has the records of a user partition, exactly as a stock broker finds
/// it: brokers of both kinds must agree. `partitions` is how many there are; less than one counts as one.
///
/// ```
/// # use undercroft::wire::metadata_partition;
/// let topic_id = "AAAAAAAAAAAAAAAAAAAAyg".parse().unwrap();
/// assert_eq!(metadata_partition(&topic_id, 7, 50), 31);
/// ```
#[must_use]
pub fn metadata_partition(topic_id: &KafkaUuid, partition: i32, partitions: i32) -> i32 {
    (murmur2(hash(topic_id, partition).to_be_bytes()) & i32::MAX) % partitions.max(1)
}

/// Java's `Objects.hash(leastSignificantBits, mostSignificantBits, partition)`: the lower half comes first.
fn hash(topic_id: &KafkaUuid, partition: i32) -> i32 {
    let (most, least) = topic_id.halves();
    [long_hash(least), long_hash(most), partition]
        .into_iter()
        .fold(1_i32, |hash, item| hash.wrapping_mul(31).wrapping_add(item))
}

/// Java's `Long.hashCode`.
fn long_hash(value: i64) -> i32 {
    let bits = value.cast_unsigned();
    ((bits ^ (bits >> 32)) as u32).cast_signed()
}

/// Kafka's `Utils.murmur2` of four bytes: one little-endian word, no tail.
fn murmur2(bytes: [u8; 4]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const M: u32 = 0x5bd1_e995;
    let mut k = u32::from_le_bytes(bytes).wrapping_mul(M);
    k = (k ^ (k >> 24)).wrapping_mul(M);
    let mut h = (SEED ^ 4).wrapping_mul(M) ^ k;
    h = (h ^ (h >> 13)).wrapping_mul(M);
    (h ^ (h >> 15)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_stock_partitioner() {
        // Source: printed by Kafka 4.2's own `RemoteLogMetadataTopicPartitioner` and `Utils.murmur2`.
        // topic id, partition, hash, murmur2, and the metadata partition of 50, 5 and 3.
        let table = [
            ("AAAAAAAAAAAAAAAAAAAAyg", 7, 223_920, -1_468_235_967, [31, 1, 2]),
            ("EjRWeJq83vAAESIzRFVmdw", 0, -858_963_941, -1_316_724_992, [6, 1, 0]),
            ("EjRWeJq83vAAESIzRFVmdw", 1, -858_963_940, 1_937_933_036, [36, 1, 2]),
            ("T8fJ9Kz3RyWxP2mQ4nL7vA", 0, 957_576_922, -412_263_166, [32, 2, 1]),
        ];
        for (topic_id, partition, expected_hash, expected_murmur, of_50_5_3) in table {
            let topic_id = topic_id.parse().expect("an id");
            assert_eq!(hash(&topic_id, partition), expected_hash);
            assert_eq!(murmur2(expected_hash.to_be_bytes()), expected_murmur);
            assert_eq!([50, 5, 3].map(|count| metadata_partition(&topic_id, partition, count)), of_50_5_3);
        }
    }

    #[test]
    fn no_count_of_partitions_makes_it_panic() {
        for count in [i32::MIN, -1, 0, 1] {
            assert_eq!(metadata_partition(&KafkaUuid([7; 16]), 3, count), 0);
        }
        assert!((0..i32::MAX).contains(&metadata_partition(&KafkaUuid([7; 16]), i32::MIN, i32::MAX)));
    }
}
