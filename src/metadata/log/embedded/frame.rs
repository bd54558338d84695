//! One record as bytes of a file.
//!
//! ```text
//! frame := u32 length of the body | u32 CRC-32C of the length and the body | body
//! body  := i64 offset | i64 timestamp_ms | u64 durable | u8 flags | u32 length of the key | key | value
//! ```
//! Numbers are big-endian. Flags: 1 = has a key, 2 = has a value. `durable`: how many bytes of the file were known to be
//! on disk when the frame was written. It tells a torn end (never acknowledged) from damage in the middle.

use crc_fast::{CrcAlgorithm, Digest};

pub(super) const HEAD_LEN: usize = 8;
const FIXED_LEN: usize = 29;
/// The longest body. Kafka's limit for a whole batch is a sixteenth of it.
pub(super) const BODY_LEN_MAX: usize = 16 << 20;
const HAS_KEY: u8 = 1;
const HAS_VALUE: u8 = 2;

/// A record where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    pub(super) offset: i64,
    pub(super) timestamp_ms: i64,
    pub(super) durable: u64,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
}

/// What stands at the beginning of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed<'a> {
    /// A frame, and how many bytes it has.
    Frame(Frame<'a>, usize),
    /// The beginning of a frame that has this many bytes.
    Short(usize),
    Bad(&'static str),
}

fn checksum(parts: [&[u8]; 2]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for part in parts {
        digest.update(part);
    }
    #[allow(clippy::cast_possible_truncation, reason = "a 32-bit checksum")]
    let crc = digest.finalize() as u32;
    crc
}

/// Length of a frame with this key and value.
pub(super) fn len(key: Option<&[u8]>, value: Option<&[u8]>) -> usize {
    HEAD_LEN + FIXED_LEN + key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len)
}

/// Appends `frame` to `out`. Its body must not be longer than [`BODY_LEN_MAX`].
pub(super) fn put(out: &mut Vec<u8>, frame: &Frame<'_>) {
    let (key, value) = (frame.key.unwrap_or_default(), frame.value.unwrap_or_default());
    let mut body = Vec::with_capacity(FIXED_LEN + key.len() + value.len());
    body.extend_from_slice(&frame.offset.to_be_bytes());
    body.extend_from_slice(&frame.timestamp_ms.to_be_bytes());
    body.extend_from_slice(&frame.durable.to_be_bytes());
    body.push(if frame.key.is_some() { HAS_KEY } else { 0 } | if frame.value.is_some() { HAS_VALUE } else { 0 });
    body.extend_from_slice(&u32::try_from(key.len()).unwrap_or(u32::MAX).to_be_bytes());
    body.extend_from_slice(key);
    body.extend_from_slice(value);
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&checksum([&length, &body]).to_be_bytes());
    out.extend_from_slice(&body);
}

/// Reads the frame at the beginning of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Parsed::Short(HEAD_LEN) };
    let Some((crc, rest)) = rest.split_first_chunk::<4>() else { return Parsed::Short(HEAD_LEN) };
    let body_len = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if !(FIXED_LEN..=BODY_LEN_MAX).contains(&body_len) {
        return Parsed::Bad("its length is impossible");
    }
    let Some(body) = rest.get(..body_len) else { return Parsed::Short(HEAD_LEN + body_len) };
    if checksum([length, body]) != u32::from_be_bytes(*crc) {
        return Parsed::Bad("its checksum is wrong");
    }
    match parse_body(body) {
        Some(frame) => Parsed::Frame(frame, HEAD_LEN + body_len),
        None => Parsed::Bad("its key is longer than it is"),
    }
}

fn parse_body(body: &[u8]) -> Option<Frame<'_>> {
    let (offset, rest) = body.split_first_chunk::<8>()?;
    let (timestamp_ms, rest) = rest.split_first_chunk::<8>()?;
    let (durable, rest) = rest.split_first_chunk::<8>()?;
    let (&flags, rest) = rest.split_first()?;
    let (key_len, rest) = rest.split_first_chunk::<4>()?;
    let (key, value) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*key_len)).ok()?)?;
    Some(Frame {
        offset: i64::from_be_bytes(*offset),
        timestamp_ms: i64::from_be_bytes(*timestamp_ms),
        durable: u64::from_be_bytes(*durable),
        key: (flags & HAS_KEY != 0).then_some(key),
        value: (flags & HAS_VALUE != 0).then_some(value),
    })
}

/// Whether a whole frame that begins behind the first byte of `bytes` says that more than `position` bytes of the file
/// were on disk before it.
pub(super) fn proves_durable(bytes: &[u8], position: u64) -> bool {
    (1..bytes.len())
        .any(|at| matches!(bytes.get(at..).map(parse), Some(Parsed::Frame(frame, _)) if frame.durable > position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_parsed_and_any_flipped_bit_is_noticed() {
        for (key, value) in [(None, None), (Some(&b""[..]), Some(&b"v"[..])), (Some(&b"key"[..]), None)] {
            let frame = Frame { offset: 7, timestamp_ms: -1, durable: 99, key, value };
            let mut bytes = Vec::new();
            put(&mut bytes, &frame);
            assert_eq!(bytes.len(), len(key, value));
            assert_eq!(parse(&bytes), Parsed::Frame(frame, bytes.len()));
            for cut in 0..bytes.len() {
                assert!(matches!(parse(&bytes[..cut]), Parsed::Short(_)), "cut at {cut}");
            }
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert!(!matches!(parse(&flipped), Parsed::Frame(..)), "bit {bit}");
            }
        }
    }
}
