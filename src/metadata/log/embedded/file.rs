//! The file of one partition: opened, checked, mended, compacted.
//!
//! ```text
//! file   := header | frame*
//! header := "UCMETLOG" | u32 version (1) | i32 partition | u64 base | u32 CRC-32C of what is before
//! ```
//! The first `base` bytes were on disk before the file got its name.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crc_fast::{CrcAlgorithm, checksum};

use super::frame::{self, Frame, Parsed};

const MAGIC: &[u8; 8] = b"UCMETLOG";
const VERSION: u32 = 1;
pub(super) const HEADER_LEN: usize = 28;
const CHUNK_LEN: usize = 1 << 20;

/// Why a file cannot be used.
#[derive(Debug)]
pub(super) enum FileError {
    Io(io::Error),
    /// Bytes that were once acknowledged are wrong.
    Corrupt(String),
    /// A compacted file took the place of this one and could not be opened.
    Replaced(String),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// An open file with what its writer has to know.
#[derive(Debug)]
pub(super) struct PartitionFile {
    path: PathBuf,
    partition: i32,
    pub(super) file: Arc<File>,
    pub(super) len: u64,
    pub(super) next_offset: i64,
    /// Length of the last frame of each key, by the key's hash: only an estimate of what a compaction would free.
    live: HashMap<u64, usize>,
    dead_bytes: u64,
}

fn header(partition: i32, base: u64) -> [u8; HEADER_LEN] {
    let mut bytes = [0; HEADER_LEN];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_be_bytes());
    bytes[12..16].copy_from_slice(&partition.to_be_bytes());
    bytes[16..24].copy_from_slice(&base.to_be_bytes());
    let crc = checksum(CrcAlgorithm::Crc32Iscsi, &bytes[..24]);
    bytes[24..].copy_from_slice(&crc.to_be_bytes()[4..]);
    bytes
}

pub(super) fn read_base(file: &File, partition: i32) -> Result<u64, FileError> {
    let mut bytes = [0; HEADER_LEN];
    file.read_exact_at(&mut bytes, 0).map_err(|_| FileError::Corrupt("its header is cut off".to_owned()))?;
    let base =
        u64::from_be_bytes([bytes[16], bytes[17], bytes[18], bytes[19], bytes[20], bytes[21], bytes[22], bytes[23]]);
    if bytes == header(partition, base) {
        return Ok(base);
    }
    if bytes.starts_with(MAGIC) && bytes[8..12] != VERSION.to_be_bytes() {
        return Err(FileError::Corrupt("its header has a version that this release does not know".to_owned()));
    }
    Err(FileError::Corrupt("its header is not that of this partition's log".to_owned()))
}

/// Makes what was created or renamed in `folder` survive a crash.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Puts a file with this content at `path`, whole or not at all.
pub(super) fn create_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, content)?;
    File::open(&temporary)?.sync_all()?;
    fs::rename(&temporary, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

impl PartitionFile {
    /// Creates an empty file.
    pub(super) fn create(path: &Path, partition: i32) -> io::Result<()> {
        create_whole(path, &header(partition, HEADER_LEN as u64))
    }

    /// Opens a file, reads all of it, and cuts off an end that was written in part and never acknowledged.
    pub(super) fn open(path: &Path, partition: i32) -> Result<Self, FileError> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let base = read_base(&file, partition)?;
        let mut opened = Self {
            path: path.to_owned(),
            partition,
            file: Arc::new(file),
            len: HEADER_LEN as u64,
            next_offset: 0,
            live: HashMap::new(),
            dead_bytes: 0,
        };
        let end = opened.file.metadata()?.len();
        let file = Arc::clone(&opened.file);
        let stopped = scan(&file, HEADER_LEN as u64, end, |frame, len| opened.note(frame, len))?;
        if let Some(why) = stopped {
            opened.cut_off(base, end, why)?;
        }
        Ok(opened)
    }

    fn cut_off(&mut self, base: u64, end: u64, why: &str) -> Result<(), FileError> {
        let mut rest = vec![0; usize::try_from(end - self.len).unwrap_or(usize::MAX)];
        self.file.read_exact_at(&mut rest, self.len)?;
        if self.len < base || frame::proves_durable(&rest, self.len) {
            return Err(FileError::Corrupt(format!(
                "the record at byte {} of {}: {why}, and acknowledged records follow it",
                self.len,
                self.path.display()
            )));
        }
        tracing::warn!(
            "{}: the last {} bytes are a record that was never acknowledged ({why}); cut off",
            self.path.display(),
            rest.len()
        );
        self.file.set_len(self.len)?;
        self.file.sync_all()?;
        Ok(())
    }

    /// Counts a frame that stands in the file.
    pub(super) fn note(&mut self, frame: &Frame<'_>, len: usize) {
        self.len += len as u64;
        self.next_offset = frame.offset.saturating_add(1);
        if let Some(key) = frame.key {
            let mut hasher = DefaultHasher::new();
            key.hash(&mut hasher);
            self.dead_bytes += self.live.insert(hasher.finish(), len).unwrap_or(0) as u64;
        }
    }

    /// Whether a compaction would free half of the file and at least `min_bytes`.
    pub(super) fn is_worth_compacting(&self, min_bytes: u64) -> bool {
        self.dead_bytes > self.len / 2 && self.dead_bytes >= min_bytes
    }

    /// Not to be compacted before half of the file is dead again.
    pub(super) fn postpone_compaction(&mut self) {
        self.dead_bytes = 0;
    }

    /// Writes a new file that has the last record of each key and every record without one, and puts it in place.
    pub(super) fn compact(&mut self) -> Result<(), FileError> {
        let mut last: HashMap<Box<[u8]>, i64> = HashMap::new();
        self.read(|frame| {
            if let Some(key) = frame.key {
                last.insert(Box::from(key), frame.offset);
            }
            Ok(())
        })?;
        let temporary = self.path.with_extension("tmp");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&temporary)?;
        let (mut at, mut buffer) = (HEADER_LEN as u64, Vec::with_capacity(CHUNK_LEN));
        self.read(|frame| {
            if frame.key.is_none_or(|key| last.get(key) == Some(&frame.offset)) {
                frame::put(&mut buffer, frame);
            }
            if buffer.len() >= CHUNK_LEN {
                file.write_all_at(&buffer, at)?;
                at += buffer.len() as u64;
                buffer.clear();
            }
            Ok(())
        })?;
        file.write_all_at(&buffer, at)?;
        at += buffer.len() as u64;
        file.write_all_at(&header(self.partition, at), 0)?;
        file.sync_all()?;
        fs::rename(&temporary, &self.path)?;
        let before = self.len;
        let reopened = self.path.parent().map_or(Ok(()), sync_folder).map_err(FileError::Io);
        *self = reopened.and_then(|()| Self::open(&self.path, self.partition)).map_err(|error| match error {
            FileError::Io(error) => FileError::Replaced(error.to_string()),
            FileError::Corrupt(why) | FileError::Replaced(why) => FileError::Replaced(why),
        })?;
        tracing::info!("{}: compacted from {before} to {} bytes", self.path.display(), self.len);
        Ok(())
    }

    fn read(&self, mut each: impl FnMut(&Frame<'_>) -> io::Result<()>) -> Result<(), FileError> {
        let mut failed = None;
        let stopped = scan(&self.file, HEADER_LEN as u64, self.len, |frame, _| {
            if failed.is_none() {
                failed = each(frame).err();
            }
        })?;
        match (failed, stopped) {
            (Some(error), _) => Err(FileError::Io(error)),
            (None, Some(why)) => Err(FileError::Corrupt(format!("a record of {}: {why}", self.path.display()))),
            (None, None) => Ok(()),
        }
    }
}

/// Hands each frame between two positions to `each`; tells why it stopped if that was before `end`.
fn scan(
    file: &File,
    start: u64,
    end: u64,
    mut each: impl FnMut(&Frame<'_>, usize),
) -> Result<Option<&'static str>, FileError> {
    let (mut at, mut want, mut buffer) = (start, CHUNK_LEN, Vec::new());
    while at < end {
        let left = usize::try_from(end - at).unwrap_or(usize::MAX);
        buffer.resize(want.min(left), 0);
        file.read_exact_at(&mut buffer, at)?;
        let mut used = 0;
        loop {
            match frame::parse(&buffer[used..]) {
                Parsed::Frame(frame, len) => {
                    each(&frame, len);
                    used += len;
                }
                Parsed::Short(needed) if needed > left - used => {
                    return Ok((used < left).then_some("it is cut off"));
                }
                Parsed::Short(needed) => {
                    want = needed.max(CHUNK_LEN);
                    break;
                }
                Parsed::Bad(why) => return Ok(Some(why)),
            }
        }
        at += used as u64;
    }
    Ok(None)
}
