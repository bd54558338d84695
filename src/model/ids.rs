//! Ids, written as Kafka writes them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A 128-bit id in Kafka's notation: 16 bytes, most significant first, as base64url without padding (22 characters).
///
/// ```
/// # use undercroft::model::KafkaUuid;
/// let id: KafkaUuid = "AAAAAAAAAAAAAAAAAAAAyg".parse().unwrap();
/// assert_eq!(id.0[15], 0xca);
/// assert_eq!(id.to_string(), "AAAAAAAAAAAAAAAAAAAAyg");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KafkaUuid(pub [u8; 16]);

impl std::hash::Hash for KafkaUuid {
    /// As two words: an id is hashed several times for each record.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let (high, low) = self.halves();
        state.write_u64(high.cast_unsigned());
        state.write_u64(low.cast_unsigned());
    }
}

/// Why a text is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no Kafka id: expected 22 characters of base64url for 16 bytes")]
pub struct ParseUuidError(String);

impl KafkaUuid {
    /// The high and the low half as Java's `Uuid` has them.
    #[must_use]
    pub fn halves(&self) -> (i64, i64) {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = self.0;
        (i64::from_be_bytes([a, b, c, d, e, f, g, h]), i64::from_be_bytes([i, j, k, l, m, n, o, p]))
    }

    /// From Java's two halves.
    #[must_use]
    pub fn from_halves(most_significant: i64, least_significant: i64) -> Self {
        let [a, b, c, d, e, f, g, h] = most_significant.to_be_bytes();
        let [i, j, k, l, m, n, o, p] = least_significant.to_be_bytes();
        Self([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
    }
}

impl fmt::Display for KafkaUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for KafkaUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KafkaUuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        /// What 22 characters may come to before their last bits are looked at.
        const ROOM: usize = 18;
        let mut bytes = [0; ROOM];
        let len = if text.len() == 22 { URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).ok() } else { None };
        match (len, bytes.first_chunk()) {
            (Some(16), Some(id)) => Ok(Self(*id)),
            _ => Err(ParseUuidError(text.to_owned())),
        }
    }
}

/// Whether a topic may be called so, by Kafka's rule. Others could not be told apart in a record's key, and could lead out
/// of a store's folder.
///
/// ```
/// # use undercroft::model::is_topic_name;
/// assert!(is_topic_name("orders.eu-1_v2"));
/// assert!(!is_topic_name("orders:0") && !is_topic_name(".."));
/// ```
#[must_use]
pub fn is_topic_name(name: &str) -> bool {
    const LEN_MAX: usize = 249;
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=LEN_MAX).contains(&name.len()) && !matches!(name, "." | "..") && name.bytes().all(is_legal)
}

/// A partition of one incarnation of a topic: a topic deleted and created again has the same name and another id.
///
/// Cheap to clone. Two values with the same id and partition are the same partition, whatever the name says.
#[derive(Clone)]
pub struct TopicIdPartition {
    pub topic_id: KafkaUuid,
    pub topic: Arc<str>,
    pub partition: i32,
}

impl TopicIdPartition {
    #[must_use]
    pub fn new(topic_id: KafkaUuid, topic: &str, partition: i32) -> Self {
        Self { topic_id, topic: Arc::from(topic), partition }
    }
}

impl PartialEq for TopicIdPartition {
    fn eq(&self, other: &Self) -> bool {
        self.topic_id == other.topic_id && self.partition == other.partition
    }
}

impl Eq for TopicIdPartition {}

impl std::hash::Hash for TopicIdPartition {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.topic_id.hash(state);
        self.partition.hash(state);
    }
}

impl fmt::Display for TopicIdPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}-{}", self.topic_id, self.topic, self.partition)
    }
}

impl fmt::Debug for TopicIdPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One attempt to copy one segment (Kafka's `RemoteLogSegmentId`). A retry has another uuid.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SegmentId {
    pub partition: TopicIdPartition,
    pub uuid: KafkaUuid,
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} segment {}", self.partition, self.uuid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_halves_as_kafka_does() {
        // Source: the partitioner's table of Kafka's own `Uuid`.
        for (most, least, text) in [
            (0, 0xca, "AAAAAAAAAAAAAAAAAAAAyg"),
            (0x1234_5678_9abc_def0, 0x0011_2233_4455_6677, "EjRWeJq83vAAESIzRFVmdw"),
            (0x4fc7_c9f4_acf7_4725, 0xb13f_6990_e272_fbbc_u64 as i64, "T8fJ9Kz3RyWxP2mQ4nL7vA"),
        ] {
            let id = KafkaUuid::from_halves(most, least);
            assert_eq!(id.to_string(), text);
            assert_eq!(text.parse(), Ok(id));
            assert_eq!(id.halves(), (most, least));
        }
    }

    #[test]
    fn refuses_what_is_no_id() {
        for text in ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAyg==", "AAAAAAAAAAAAAAAAAAAA!g", "AAAAAAAAAAAAAAAAAAAAyh"] {
            assert!(text.parse::<KafkaUuid>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_topic_created_again_is_another_partition() {
        let old = TopicIdPartition::new(KafkaUuid([1; 16]), "orders", 0);
        let new = TopicIdPartition::new(KafkaUuid([2; 16]), "orders", 0);
        assert_ne!(old, new);
    }
}
