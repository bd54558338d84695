//! zstd, one frame at a time, into a buffer whose size is known before.

/// The longest frame that an encoder makes of `length` bytes (`ZSTD_compressBound`).
pub(in super::super) fn compressed_length_max(length: u64) -> u64 {
    const SMALL: u64 = 128 << 10;
    length + (length >> 8) + SMALL.saturating_sub(length).checked_shr(11).unwrap_or(0)
}

/// A frame of the level that Aiven's plugin has; it says how long its content is.
pub(in super::super) fn compress_table(content: &[u8]) -> Result<Vec<u8>, String> {
    let most = usize::try_from(compressed_length_max(content.len() as u64)).map_err(|_| "too long a table")?;
    let mut frame = vec![0; most];
    let length = zstd_safe::compress(&mut frame[..], content, 3)
        .map_err(|code| format!("zstd: {}", zstd_safe::get_error_name(code)))?;
    frame.truncate(length);
    Ok(frame)
}

/// Decompresses a frame that must give exactly `length` bytes. What the frame says of itself is compared before anything
/// is allocated, so a frame that would give more costs nothing.
pub(in super::super) fn decompress(frame: &[u8], length: usize) -> Result<Vec<u8>, String> {
    match content_length(frame)? {
        content if content == length as u64 => unpack(frame, length),
        content => Err(format!("its zstd frame holds {content} bytes instead of {length}")),
    }
}

/// Decompresses a frame that says how long its content is, if that is at most `length_max` bytes.
pub(in super::super) fn decompress_at_most(frame: &[u8], length_max: usize) -> Result<Vec<u8>, String> {
    let content = content_length(frame)?;
    match usize::try_from(content) {
        Ok(length) if length <= length_max => unpack(frame, length),
        _ => Err(format!("its zstd frame holds {content} bytes, and {length_max} is the most")),
    }
}

fn content_length(frame: &[u8]) -> Result<u64, String> {
    match zstd_safe::get_frame_content_size(frame) {
        Ok(Some(length)) => Ok(length),
        Ok(None) => Err("its zstd frame doesn't say how long its content is".to_owned()),
        Err(_) => Err("it is no zstd frame".to_owned()),
    }
}

fn unpack(frame: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let words = |code| format!("its zstd frame is damaged: {}", zstd_safe::get_error_name(code));
    let end = zstd_safe::find_frame_compressed_size(frame).map_err(words)?;
    if end != frame.len() {
        return Err(format!("its zstd frame ends after {end} of {} bytes", frame.len()));
    }
    let mut content = vec![0; length];
    match zstd_safe::decompress(&mut content[..], frame).map_err(words)? {
        count if count == length => Ok(content),
        count => Err(format!("its zstd frame gave {count} bytes instead of {length}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(content: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; usize::try_from(compressed_length_max(content.len() as u64)).expect("small")];
        let length = zstd_safe::compress(&mut frame[..], content, 3).expect("fits");
        frame.truncate(length);
        frame
    }

    #[test]
    fn a_frame_gives_exactly_what_it_must() {
        for length in [0, 1, 1000, 300_000] {
            let content = vec![7; length];
            let frame = frame(&content);
            assert_eq!(decompress(&frame, length), Ok(content.clone()));
            assert_eq!(decompress_at_most(&frame, length), Ok(content));
            assert!(decompress(&frame, length + 1).is_err());
        }
    }

    #[test]
    fn a_bomb_is_refused_by_its_header() {
        let bomb = frame(&vec![0; 1 << 24]);
        assert!(bomb.len() < 1 << 12);
        assert_eq!(decompress(&bomb, 1000), Err("its zstd frame holds 16777216 bytes instead of 1000".to_owned()));
        assert!(decompress_at_most(&bomb, 10 << 20).is_err());
        // One that says less than it holds: magic, single segment with one byte of size, then a block of 16 MiB of zeros.
        let mut liar = bomb.clone();
        let header = 4 + 1 + 4;
        liar.splice(4..header, [0x20, 100]);
        assert!(decompress(&liar, 100).is_err());
    }

    #[test]
    fn cut_doubled_or_without_a_length_it_is_refused() {
        let frame = frame(b"content of a frame, content of a frame");
        for cut in 0..frame.len() {
            assert!(decompress(&frame[..cut], 38).is_err(), "{cut}");
        }
        assert!(decompress(&[&frame[..], &frame].concat(), 38).is_err());
        // Window descriptor in the place of the content's size.
        assert!(decompress(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x01, 0x00, 0x00], 0).is_err());
    }
}
