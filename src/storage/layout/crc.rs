//! CRC-32C over bytes and where they belong.

use crc_fast::{CrcAlgorithm, Digest};

use crate::model::KafkaUuid;

/// CRC-32C of `bytes`.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

/// CRC-32C of `segment | number | bytes`: right only for these bytes at this place of this segment.
pub(super) fn crc32c_at(segment: &KafkaUuid, number: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    let mut place = [0; 20];
    place[..16].copy_from_slice(&segment.0);
    place[16..].copy_from_slice(&number.to_be_bytes());
    digest.update(&place);
    digest.update(bytes);
    truncated(digest.finalize())
}

/// CRC-32C of slices in a row.
pub(super) fn crc32c_of(slices: &[&[u8]]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for slice in slices {
        digest.update(slice);
    }
    truncated(digest.finalize())
}

/// The library hands out every width in 64 bits.
fn truncated(crc: u64) -> u32 {
    u32::try_from(crc & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_castagnoli_crc() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c_of(&[b"1234", b"56789"]), 0xe306_9283);
    }

    #[test]
    fn the_place_counts() {
        let (one, two) = (KafkaUuid([1; 16]), KafkaUuid([2; 16]));
        let crc = crc32c_at(&one, 7, b"data");
        assert_ne!(crc, crc32c_at(&two, 7, b"data"));
        assert_ne!(crc, crc32c_at(&one, 8, b"data"));
        let mut whole = vec![1; 16];
        whole.extend([0, 0, 0, 7]);
        whole.extend(b"data");
        assert_eq!(crc, crc32c(&whole));
    }
}
