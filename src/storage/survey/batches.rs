//! Record batches of a segment in Aiven's layout: it has no checksum for bytes that are not encrypted and none that says
//! which chunk is which, but a broker put one into each batch.
//!
//! Of a batch: 8 bytes base offset, 4 of length (of all behind it), 4 of leader epoch, 1 of magic (2), 4 of CRC-32C of all
//! behind that.

use crc_fast::{CrcAlgorithm, Digest};

/// Bytes in front of those that the checksum is of.
const HEAD: usize = 21;
/// Bytes that the length is not of.
const BEFORE_LENGTH: u64 = 12;
/// The shortest batch, with no record in it.
const BATCH_BYTES_MIN: u64 = 61;
const MAGIC: u8 = 2;

/// Checks the batches of one segment, in pieces of any length and in the memory of one header.
pub(super) struct Batches {
    segment_size: u64,
    position: u64,
    head: Vec<u8>,
    open: Option<Open>,
    fault: Option<Fault>,
    is_cut: bool,
}

struct Open {
    start: u64,
    left: u64,
    digest: Digest,
    crc: u32,
}

/// What stopped the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The segment doesn't begin with a batch: of the format before Kafka 0.11, or no segment at all.
    NoBatches,
    /// Where in the segment, and what is wrong.
    Corrupt(u64, String),
}

impl Batches {
    pub(super) fn new(segment_size: u64) -> Self {
        Self { segment_size, position: 0, head: Vec::with_capacity(HEAD), open: None, fault: None, is_cut: false }
    }

    /// The next bytes didn't come. Where a batch begins behind them nobody knows.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Takes the next bytes of the segment. Behind a fault, or a piece that didn't come, nothing is looked at.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while self.fault.is_none() && !self.is_cut && !bytes.is_empty() {
            let count = match &mut self.open {
                Some(open) => {
                    let count = usize::try_from(open.left).unwrap_or(usize::MAX).min(bytes.len());
                    open.digest.update(&bytes[..count]);
                    open.left -= count as u64;
                    count
                }
                None => {
                    let count = (HEAD - self.head.len()).min(bytes.len());
                    self.head.extend_from_slice(&bytes[..count]);
                    count
                }
            };
            bytes = &bytes[count..];
            self.position += count as u64;
            self.step();
        }
    }

    /// What was wrong, once there are no more bytes.
    pub(super) fn end(self) -> Option<Fault> {
        let start = self.position - self.head.len() as u64;
        match (self.fault, &self.open) {
            (Some(fault), _) => Some(fault),
            (None, _) if self.is_cut => None,
            // A segment's size is where its last batch ends.
            (None, Some(open)) => Some(Fault::Corrupt(open.start, "a record batch is cut off".to_owned())),
            (None, None) if self.head.is_empty() => None,
            (None, None) if start == 0 => Some(Fault::NoBatches),
            (None, None) => Some(Fault::Corrupt(start, "a record batch is cut off".to_owned())),
        }
    }

    fn step(&mut self) {
        if let Some(open) = self.open.take_if(|open| open.left == 0) {
            let found = u32::try_from(open.digest.finalize() & u64::from(u32::MAX)).unwrap_or_default();
            if found != open.crc {
                let why = format!("a record batch has crc {found:08x}, its header says {:08x}", open.crc);
                self.fault = Some(Fault::Corrupt(open.start, why));
            }
            return;
        }
        let &[_, _, _, _, _, _, _, _, l0, l1, l2, l3, _, _, _, _, magic, c0, c1, c2, c3] = self.head.as_slice() else {
            return;
        };
        let start = self.position - HEAD as u64;
        let length = BEFORE_LENGTH + u64::from(u32::from_be_bytes([l0, l1, l2, l3]));
        let is_batch = magic == MAGIC && length >= BATCH_BYTES_MIN && start + length <= self.segment_size;
        self.head.clear();
        if is_batch {
            let (digest, crc) = (Digest::new(CrcAlgorithm::Crc32Iscsi), u32::from_be_bytes([c0, c1, c2, c3]));
            self.open = Some(Open { start, left: length - HEAD as u64, digest, crc });
        } else if start == 0 {
            self.fault = Some(Fault::NoBatches);
        } else {
            self.fault = Some(Fault::Corrupt(start, "no record batch begins where one must".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch with a right checksum.
    fn batch(payload: &[u8]) -> Vec<u8> {
        let mut body = vec![0; 40];
        body.extend(payload);
        let length = u32::try_from(9 + body.len()).expect("small");
        let mut batch = vec![0; 8];
        batch.extend(length.to_be_bytes());
        batch.extend([0, 0, 0, 5, MAGIC]);
        batch.extend(crc_fast::crc32_iscsi(&body).to_be_bytes());
        batch.extend(body);
        batch
    }

    fn checked(bytes: &[u8], piece: usize) -> Option<Fault> {
        let mut batches = Batches::new(bytes.len() as u64);
        bytes.chunks(piece).for_each(|piece| batches.feed(piece));
        batches.end()
    }

    #[test]
    fn batches_are_right_however_they_come() {
        let segment = [batch(b"one"), batch(b""), batch(&[7; 500])].concat();
        for piece in [1, 7, 21, 64, 10_000] {
            assert_eq!(checked(&segment, piece), None, "{piece}");
        }
        assert_eq!(checked(&[], 1), None);
    }

    #[test]
    fn every_flipped_bit_that_a_batch_is_proof_against_is_found() {
        let (first, second) = (batch(b"one"), batch(b"two"));
        let segment = [&first[..], &second].concat();
        for at in first.len()..segment.len() {
            // Base offset and leader epoch are the broker's and in no checksum.
            let of_header = at - first.len();
            if of_header < 8 || (12..16).contains(&of_header) {
                continue;
            }
            let mut broken = segment.clone();
            broken[at] ^= 4;
            assert!(
                matches!(checked(&broken, 50), Some(Fault::Corrupt(start, _)) if start == first.len() as u64),
                "{at}"
            );
        }
    }

    #[test]
    fn a_piece_that_did_not_come_hides_no_fault_before_it_and_makes_none_behind_it() {
        let (first, second) = (batch(b"one"), batch(b"two"));
        let whole = [&first[..], &second].concat();
        let mut broken = whole.clone();
        broken[40] ^= 1;
        for cut in 0..whole.len() {
            for (segment, is_whole) in [(&whole, true), (&broken, cut < first.len())] {
                let mut batches = Batches::new(segment.len() as u64);
                batches.feed(&segment[..cut]);
                batches.cut();
                batches.feed(&segment[(cut + 1)..]);
                let fault = batches.end();
                assert!(fault.is_none() == is_whole && fault != Some(Fault::NoBatches), "{cut}: {fault:?}");
            }
        }
    }

    #[test]
    fn cut_it_is_corrupt_and_what_is_no_batch_is_said_to_be_none() {
        let (first, second) = (batch(b"one"), batch(b"two"));
        let segment = [&first[..], &second].concat();
        for cut in first.len() + 1..segment.len() {
            assert!(matches!(checked(&segment[..cut], 9), Some(Fault::Corrupt(..))), "{cut}");
        }
        assert_eq!(checked(b"0123456789", 3), Some(Fault::NoBatches));
        assert_eq!(checked(&[0; 100], 3), Some(Fault::NoBatches));
        assert!(matches!(checked(&[&first[..], &[0; 100]].concat(), 3), Some(Fault::Corrupt(..))));
    }
}
