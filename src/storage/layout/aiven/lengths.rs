//! The table of stored lengths in a manifest.

use super::ManifestError;
use super::json::corrupt;

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
