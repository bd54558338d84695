//! The table of stored lengths in a manifest.

use super::ManifestError;
use super::json::corrupt;

/// Writes a table of lengths. The differences are those to the least of all lengths but the last, in as few bytes as the
/// greatest of them needs.
pub(super) fn encode_lengths(lengths: &[u64]) -> Result<Vec<u8>, String> {
    let int = |length: &u64| match i32::try_from(*length) {
        Ok(int) => Ok(int.to_be_bytes()),
        Err(_) => Err(format!("a chunk of {length} bytes")),
    };
    let count = u32::try_from(lengths.len()).map_err(|_| "too many chunks")?.to_be_bytes();
    let mut table = count.to_vec();
    let Some((last, others)) = lengths.split_last() else { return Ok(table) };
    if let Some(base) = others.iter().min() {
        let greatest = others.iter().map(|length| length - base).max().unwrap_or(0);
        let width = match greatest {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xff_ffff => 3,
            _ => 4_u8,
        };
        table.extend(int(base)?);
        table.push(width);
        for length in others {
            int(length)?;
            let difference = u32::try_from(length - base).unwrap_or(u32::MAX).to_be_bytes();
            table.extend(&difference[4 - usize::from(width)..]);
        }
    }
    table.extend(int(last)?);
    Ok(table)
}

/// Reads a table of lengths: `count`, then either nothing, the one length, or `base | width | differences | last`.
///
/// # Errors
/// [`ManifestError::Corrupt`] if it has more or fewer bytes than it says, or a length that is no Java int.
pub(super) fn decode_lengths(bytes: &[u8]) -> Result<Vec<u32>, ManifestError> {
    let cut = || corrupt("the table of chunks is cut off or too long");
    let int = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes);
    let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut)?;
    let lengths = match (int(count), rest) {
        (0, []) => Vec::new(),
        (1, rest) => vec![int(rest.try_into().map_err(|_| cut())?)],
        (count, &[b0, b1, b2, b3, width, ref rest @ ..]) if count >= 2 && (1..=4).contains(&width) => {
            let base = u32::from_be_bytes([b0, b1, b2, b3]);
            let (differences, last) = rest.split_last_chunk::<4>().ok_or_else(cut)?;
            if differences.len() as u64 != u64::from(count - 1) * u64::from(width) {
                return Err(cut());
            }
            let mut lengths = Vec::with_capacity(differences.len() / usize::from(width) + 1);
            for difference in differences.chunks_exact(usize::from(width)) {
                let difference = difference.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
                lengths.push(base.checked_add(difference).ok_or_else(|| corrupt("a chunk's length is too large"))?);
            }
            lengths.push(int(last));
            lengths
        }
        _ => return Err(cut()),
    };
    match lengths.iter().find(|length| i32::try_from(**length).is_err()) {
        Some(length) => Err(corrupt(format!("a chunk of {length} bytes"))),
        None => Ok(lengths),
    }
}
