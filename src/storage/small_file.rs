//! Files that an operator names: keys, certificates, credentials, configuration. Read as a whole, and never without a bound.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// A file of a key or of credentials.
pub const KEY_FILE_BYTES_MAX: u64 = 1 << 20;
/// A bundle of certificates, or a file of configuration.
pub const BUNDLE_BYTES_MAX: u64 = 16 << 20;

/// All bytes of a file, which must be a regular one of at most `bytes_max`. Never waits for a writer: what is not a regular file is
/// refused, with the word for what it is.
///
/// # Errors
/// What the system says; `InvalidInput` if it is no regular file, `FileTooLarge` if it is longer.
pub fn read_small_file(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular_file(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let why = format!("it has more than {bytes_max} bytes, which no such file needs");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Opens a file for reading, which must be a regular one; see [`read_small_file`].
///
/// # Errors
/// What the system says; `InvalidInput` if it is no regular file.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    // Opening a FIFO would wait for its writer, opening a device may do anything; but what is open in the end is what counts.
    require_regular(std::fs::metadata(path)?.file_type())?;
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    require_regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn require_regular(kind: std::fs::FileType) -> io::Result<()> {
    let what = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_char_device() || kind.is_block_device() => "a device",
        _ if kind.is_socket() => "a socket",
        _ => "something else",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is not a file but {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        std::fs::write(&path, b"12345").expect("written");
        assert_eq!(read_small_file(&path, 5).expect("read"), b"12345");
        let error = read_small_file(&path, 4).expect_err("too long");
        assert_eq!(error.to_string(), "it has more than 4 bytes, which no such file needs");
        let gone = read_small_file(&folder.path().join("g"), 5).expect_err("gone");
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_file_is_named_and_never_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        std::os::unix::fs::symlink(&pipe, folder.path().join("link")).expect("linked");
        for (path, what) in [
            (pipe, "a pipe"),
            (folder.path().join("link"), "a pipe"),
            ("/dev/zero".into(), "a device"),
            (folder.path().to_owned(), "a folder"),
        ] {
            let error = read_small_file(&path, 5).expect_err("refused");
            assert_eq!(error.to_string(), format!("it is not a file but {what}"), "{}", path.display());
        }
    }
}
