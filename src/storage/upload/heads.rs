//! Heads of record batches: what producers did to what is in a segment.

/// Bytes of a batch that tell: up to its attributes.
pub(super) const LENGTH: usize = 23;
/// Batches that are looked at.
const SAMPLES: usize = 16;
/// Bytes of an entry of an offset index.
pub(super) const INDEX_ENTRY: usize = 8;

/// Where the entries lie that are looked at, in an offset index of `length` bytes.
pub(super) fn entries(length: u64) -> impl Iterator<Item = u64> {
    let (entry, count) = (INDEX_ENTRY as u64, length / INDEX_ENTRY as u64);
    let step = count.div_ceil(SAMPLES as u64 - 1).max(1);
    (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX)).map(move |number| number * entry)
}

/// Where to look in a segment of `size` bytes: at its beginning, and where some entries of its offset index (relative offset
/// and position, four bytes each) say that a batch begins.
pub(super) fn positions(offset_index: &[u8], size: u64) -> Vec<u64> {
    let indexed = entries(offset_index.len() as u64).filter_map(|entry| {
        let position = offset_index.get(usize::try_from(entry).ok()? + 4..)?.first_chunk()?;
        Some(u64::from(u32::from_be_bytes(*position)))
    });
    let mut positions: Vec<_> = std::iter::once(0).chain(indexed).collect();
    positions.sort_unstable();
    positions.dedup();
    positions.retain(|position| position.saturating_add(LENGTH as u64) <= size);
    positions
}

/// Whether the batch (or, before version 2, the message) that begins so is compressed; `None` if none begins so.
pub(super) fn is_compressed(head: &[u8; LENGTH]) -> Option<bool> {
    let length = i32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    let codec = match head[16] {
        0 | 1 => head[17] & 7,
        2 => head[22] & 7,
        _ => return None,
    };
    (length > 0 && codec <= 4).then_some(codec != 0)
}

/// Whether most of the batches that were seen are compressed. Where none was, nothing speaks against compressing.
pub(super) fn judge(seen: &[Option<bool>]) -> bool {
    let count = |wanted| seen.iter().filter(|one| **one == Some(wanted)).count();
    count(true) > count(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(magic: u8, codec: u8) -> [u8; LENGTH] {
        let mut head = [0; LENGTH];
        head[11] = 100;
        head[16] = magic;
        head[if magic == 2 { 22 } else { 17 }] = codec | 0x10;
        head
    }

    #[test]
    fn the_codec_stands_in_the_attributes_of_each_version() {
        for magic in 0..=2 {
            for codec in 0..=4 {
                assert_eq!(is_compressed(&head(magic, codec)), Some(codec != 0), "{magic} {codec}");
            }
            assert_eq!(is_compressed(&head(magic, 5)), None);
        }
        assert_eq!(is_compressed(&head(3, 0)), None);
        assert_eq!(is_compressed(&[0; LENGTH]), None, "a length of 0");
    }

    #[test]
    fn batches_from_beginning_to_end_are_looked_at() {
        let entry = |at: u32| [[0; 4], (at * 4096).to_be_bytes()].concat();
        let index: Vec<u8> = (1..=1000).flat_map(entry).collect();
        let found = positions(&index, 4_096_100);
        assert_eq!(found.len(), SAMPLES);
        assert_eq!((found[0], found[1]), (0, 4096));
        assert!(found[SAMPLES - 1] > 3_500_000, "{found:?}");
        assert_eq!(positions(&[], 100), [0]);
        assert_eq!(positions(&[], 22), [0_u64; 0], "no batch fits");
        assert_eq!(positions(&[1; 80], 100), [0], "what lies behind the end is not looked at");
    }

    #[test]
    fn of_an_index_of_any_length_some_entries_are_read() {
        for count in [0, 1, 15, 16, 1000, 1 << 26] {
            let found: Vec<u64> = entries(count * 8 + 7).collect();
            assert_eq!(found.first().copied(), (count > 0).then_some(0), "{count}");
            assert!(
                found.len() < SAMPLES && found.iter().all(|at| at % 8 == 0 && at / 8 < count),
                "{count}: {found:?}"
            );
            assert!(found.last().is_none_or(|last| last / 8 >= count / 2), "{count}: {found:?}");
        }
    }

    #[test]
    fn most_decide() {
        assert!(judge(&[Some(true), None, Some(true), Some(false)]));
        assert!(!judge(&[Some(true), Some(false)]));
        assert!(!judge(&[None, None]));
        assert!(!judge(&[]));
    }
}
