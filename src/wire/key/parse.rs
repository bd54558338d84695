//! From bytes to keys.

use std::str::FromStr;
use std::sync::Arc;

use super::{LEVEL_KEY, Lane, PartitionKey, RecordKey, SegmentKey};
use crate::model::{KafkaUuid, LeaderEpoch, Offset};

/// Why bytes are no key of ours. The record's value is judged without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no key of a metadata record: byte {position}: {what}")]
pub struct KeyError {
    /// Where the field begins that is wrong.
    pub position: usize,
    pub what: &'static str,
}

/// Reads a record's key. What it accepts, it prints again byte for byte.
///
/// # Errors
/// [`KeyError`]; any bytes give one or a key.
pub fn parse_key(key: &[u8]) -> Result<RecordKey, KeyError> {
    parse_key_with(key, |_, name| name.into())
}

/// As [`parse_key`]; `share` makes the topic's name, whose id it is told, one that is shared
/// ([`Names`](crate::wire::Names)).
///
/// # Errors
/// As [`parse_key`].
pub fn parse_key_with(key: &[u8], share: impl FnOnce(KafkaUuid, &str) -> Arc<str>) -> Result<RecordKey, KeyError> {
    let text =
        std::str::from_utf8(key).map_err(|error| KeyError { position: error.valid_up_to(), what: "not UTF-8" })?;
    if text == LEVEL_KEY {
        return Ok(RecordKey::Level);
    }
    let mut fields = Fields { rest: Some(text), position: 0 };
    let topic_id = fields.id("topic id is missing or no id")?;
    let partition = PartitionKey {
        topic_id,
        topic: share(topic_id, fields.topic()?),
        partition: fields.number("partition is missing or no number")?,
    };
    if partition.partition < 0 {
        return Err(KeyError { position: fields.position, what: "partition is negative" });
    }
    if fields.rest == Some("PARTITION") {
        return Ok(RecordKey::Partition(partition));
    }
    let end_offset = Offset(fields.number("end offset is missing or no number")?);
    let leader_epoch = LeaderEpoch(fields.number("leader epoch is missing or no number")?);
    let (attempt, lane) = attempt_and_lane(&mut fields)?;
    Ok(RecordKey::Segment(SegmentKey { partition, end_offset, leader_epoch, attempt, lane }))
}

/// What follows the KIP's five fields.
fn attempt_and_lane(fields: &mut Fields<'_>) -> Result<(Option<KafkaUuid>, Lane), KeyError> {
    // The words of the lanes are shorter than an id, so an id is never taken for one.
    let attempt = fields.clone().next("").ok().and_then(|(text, _)| text.parse().ok());
    if attempt.is_some() {
        fields.next("attempt")?;
    }
    if fields.rest.is_none() {
        return Ok((attempt, Lane::Base));
    }
    let (word, position) = fields.next("lane is missing")?;
    let lane = match word {
        "UPDATE" => Lane::Update,
        "DEL" => Lane::Delete { segment: fields.id("segment id is missing or no id")? },
        "GONE" => Lane::Gone { segment: fields.id("segment id is missing or no id")? },
        "CLAIM" => Lane::Claim { segment: fields.id("segment id is missing or no id")?, nonce: fields.nonce()? },
        "REWRITE" => Lane::Rewrite {
            segment: fields.id("segment id is missing or no id")?,
            writer_epoch: LeaderEpoch(fields.number("writer epoch is missing or no number")?),
        },
        _ => return Err(KeyError { position, what: "unknown word or no segment id" }),
    };
    match fields.rest {
        None => Ok((attempt, lane)),
        Some(_) => Err(KeyError { position: fields.position, what: "more fields than the key has" }),
    }
}

/// The fields between colons that are still to be read.
#[derive(Clone)]
struct Fields<'a> {
    rest: Option<&'a str>,
    /// Where `rest` begins.
    position: usize,
}

impl<'a> Fields<'a> {
    /// The next field and where it begins.
    fn next(&mut self, missing: &'static str) -> Result<(&'a str, usize), KeyError> {
        let position = self.position;
        let rest = self.rest.ok_or(KeyError { position, what: missing })?;
        let (field, rest) = match rest.split_once(':') {
            Some((field, rest)) => (field, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        self.position = position + field.len() + usize::from(rest.is_some());
        Ok((field, position))
    }

    fn id(&mut self, what: &'static str) -> Result<KafkaUuid, KeyError> {
        let (field, position) = self.next(what)?;
        field.parse().map_err(|_| KeyError { position, what })
    }

    fn topic(&mut self) -> Result<&'a str, KeyError> {
        let (field, position) = self.next("topic name is missing")?;
        if field.is_empty() {
            return Err(KeyError { position, what: "topic name is empty" });
        }
        Ok(field)
    }

    /// A decimal number in its only spelling: no plus, no leading zero.
    fn number<N: FromStr>(&mut self, what: &'static str) -> Result<N, KeyError> {
        let (field, position) = self.next(what)?;
        let digits = field.strip_prefix('-').unwrap_or(field);
        let is_canonical = field == "0" || digits.starts_with(|first: char| matches!(first, '1'..='9'));
        field.parse().ok().filter(|_| is_canonical).ok_or(KeyError { position, what })
    }

    /// 16 hexadecimal digits, lower case.
    fn nonce(&mut self) -> Result<u64, KeyError> {
        let what = "claim's nonce is not 16 hexadecimal digits";
        let (field, position) = self.next(what)?;
        let is_canonical = field.len() == 16 && field.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        u64::from_str_radix(field, 16).ok().filter(|_| is_canonical).ok_or(KeyError { position, what })
    }
}
