//! Looking into a folder without its lock, also while a manager writes to it.
//!
//! A frame that is not whole yet is the end for now. One that was damaged tells itself by what follows it, as when the
//! folder is opened to be written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::file::{FileError, HEADER_LEN, read_base};
use super::frame::{self, Frame, Parsed};
use super::name;
use crate::metadata::log::{LogError, LogEvent, LogReader, ReadOnlyLog};

const CHUNK_LEN: usize = 256 << 10;
/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Opens the log in `folder` as it is. What a manager has appended and not made durable yet may be shown.
///
/// # Errors
/// [`LogError::Mismatch`] if there is no log in the folder, [`LogError::Refused`] without the right to read it,
/// [`LogError::Corrupt`] if it cannot be one.
pub fn open_read_only(folder: &Path) -> Result<ReadOnlyLog, LogError> {
    let path = folder.join("shape");
    let failed = |why| LogError::Corrupt { what: "open".to_owned(), log: name(folder), why };
    let shape = fs::read_to_string(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LogError::Mismatch {
            what: "open".to_owned(),
            log: name(folder),
            why: "there is no such log: the folder has no file `shape`; give the folder that \
                  `undercroft.metadata.embedded.path` names"
                .to_owned(),
        },
        _ => cannot("open", folder, &error),
    })?;
    let partitions = shape.strip_prefix("undercroft metadata log 1\npartitions ").map(str::trim_end);
    let partitions: i32 = partitions
        .and_then(|number| number.parse().ok())
        .filter(|&number| number > 0)
        .ok_or_else(|| failed(format!("{} says {shape:?}, which no release writes", path.display())))?;
    let reader = FolderReader {
        folder: folder.to_owned(),
        partitions,
        cursors: BTreeMap::new(),
        is_woken: Arc::default(),
        buffer: Vec::new(),
    };
    Ok(ReadOnlyLog {
        name: name(folder),
        shape: super::shape(partitions),
        reader: Box::new(reader),
        warnings: Vec::new(),
    })
}

fn cannot(what: &str, folder: &Path, error: &io::Error) -> LogError {
    let (what, log, why) = (what.to_owned(), name(folder), error.to_string());
    match error.kind() {
        io::ErrorKind::PermissionDenied => LogError::Refused { what, log, why },
        _ => LogError::Unreachable { what, log, why },
    }
}

struct FolderReader {
    folder: PathBuf,
    partitions: i32,
    cursors: BTreeMap<i32, Cursor>,
    is_woken: Arc<(Mutex<bool>, Condvar)>,
    buffer: Vec<u8>,
}

struct Cursor {
    path: PathBuf,
    partition: i32,
    file: File,
    inode: u64,
    /// So many bytes were on disk before the file had its name.
    base: u64,
    position: u64,
    next_offset: i64,
    /// The end that was told last.
    told: Option<i64>,
    is_broken: bool,
}

impl LogReader for FolderReader {
    fn assign(&mut self, partition: i32, from_offset: i64) -> Result<(), LogError> {
        if !(0..self.partitions).contains(&partition) {
            let why = format!("the log has {} partitions", self.partitions);
            return Err(LogError::Internal { what: format!("assign partition {partition}"), why });
        }
        let path = self.folder.join(format!("partition-{partition}.log"));
        let cursor = Cursor::open(path, partition, from_offset);
        self.cursors.insert(partition, cursor.map_err(|error| error.into_log(&self.folder, partition))?);
        Ok(())
    }

    fn unassign(&mut self, partition: i32) -> Result<(), LogError> {
        self.cursors.remove(&partition);
        Ok(())
    }

    fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(LogEvent<'_>)) -> Result<(), LogError> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            let mut is_anything_told = false;
            for (&partition, cursor) in self.cursors.iter_mut().filter(|(_, cursor)| !cursor.is_broken) {
                match cursor.advance(&mut self.buffer, sink) {
                    Ok(told) => is_anything_told |= told,
                    Err(error) => {
                        cursor.is_broken = true;
                        is_anything_told = true;
                        let error = error.into_log(&self.folder, partition);
                        sink(LogEvent::Trouble { partition: Some(partition), error });
                    }
                }
            }
            let left = deadline.map_or(LOOK_EVERY, |deadline| deadline.saturating_duration_since(Instant::now()));
            let mut is_woken = self.is_woken.0.lock();
            if !*is_woken && !is_anything_told && !left.is_zero() {
                self.is_woken.1.wait_for(&mut is_woken, left.min(LOOK_EVERY));
            }
            if std::mem::take(&mut *is_woken) || is_anything_told || left.is_zero() {
                return Ok(());
            }
        }
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let is_woken = Arc::clone(&self.is_woken);
        Arc::new(move || {
            *is_woken.0.lock() = true;
            is_woken.1.notify_all();
        })
    }
}

impl Cursor {
    fn open(path: PathBuf, partition: i32, next_offset: i64) -> Result<Self, FileError> {
        let file = File::open(&path)?;
        let (inode, base) = (file.metadata()?.ino(), read_base(&file, partition)?);
        let position = HEADER_LEN as u64;
        Ok(Self { path, partition, file, inode, base, position, next_offset, told: None, is_broken: false })
    }

    /// Hands out what there is, at most one chunk; tells whether there was anything.
    fn advance(&mut self, buffer: &mut Vec<u8>, sink: &mut dyn FnMut(LogEvent<'_>)) -> Result<bool, FileError> {
        let len = self.file.metadata()?.len();
        let before = self.position;
        if self.position < len {
            self.read_chunk(len, buffer, sink)?;
        }
        if self.position > before {
            return Ok(true);
        }
        if fs::metadata(&self.path)?.ino() != self.inode {
            // Compaction moved the records; their offsets are the same.
            let told = self.told;
            *self = Self { told, ..Self::open(self.path.clone(), self.partition, self.next_offset)? };
            return Ok(true);
        }
        let is_news = self.told != Some(self.next_offset);
        if is_news {
            self.told = Some(self.next_offset);
            sink(LogEvent::End { partition: self.partition, next_offset: self.next_offset });
        }
        Ok(is_news)
    }

    /// Hands out whole frames from the position on. Stops without an error before one that is being written.
    fn read_chunk(
        &mut self,
        len: u64,
        buffer: &mut Vec<u8>,
        sink: &mut dyn FnMut(LogEvent<'_>),
    ) -> Result<(), FileError> {
        let left = usize::try_from(len - self.position).unwrap_or(usize::MAX);
        let mut want = CHUNK_LEN.min(left);
        loop {
            buffer.resize(want, 0);
            self.file.read_exact_at(buffer, self.position)?;
            let mut used = 0;
            let stopped = loop {
                match frame::parse(&buffer[used..]) {
                    Parsed::Frame(frame, len) => {
                        used += len;
                        self.hand_out(&frame, sink);
                    }
                    stopped => break stopped,
                }
            };
            self.position += used as u64;
            return match stopped {
                _ if used > 0 => Ok(()),
                Parsed::Short(needed) if needed <= left => {
                    want = needed;
                    continue;
                }
                Parsed::Bad(why) => self.judge(why),
                Parsed::Short(_) | Parsed::Frame(..) => self.judge("it is cut off"),
            };
        }
    }

    fn hand_out(&mut self, frame: &Frame<'_>, sink: &mut dyn FnMut(LogEvent<'_>)) {
        if frame.offset < self.next_offset {
            return;
        }
        self.next_offset = frame.offset.saturating_add(1);
        let (partition, &Frame { offset, timestamp_ms, key, value, .. }) = (self.partition, frame);
        sink(LogEvent::Record { partition, offset, timestamp_ms, key, value });
    }

    /// Whether what stands at the position is a frame on its way (fine) or a damaged one.
    fn judge(&self, why: &str) -> Result<(), FileError> {
        let len = self.file.metadata()?.len();
        let mut rest = vec![0; usize::try_from(len.saturating_sub(self.position)).unwrap_or(usize::MAX)];
        match self.file.read_exact_at(&mut rest, self.position) {
            // The writer cut off what it could not make durable.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        // It may have become whole meanwhile.
        let is_whole = matches!(frame::parse(&rest), Parsed::Frame(..));
        if !is_whole && (self.position < self.base || frame::proves_durable(&rest, self.position)) {
            return Err(FileError::Corrupt(format!(
                "the record at byte {} of {}: {why}, and acknowledged records follow it",
                self.position,
                self.path.display()
            )));
        }
        Ok(())
    }
}

impl FileError {
    fn into_log(self, folder: &Path, partition: i32) -> LogError {
        let what = format!("read partition {partition}");
        match self {
            Self::Io(error) => cannot(&what, folder, &error),
            Self::Corrupt(why) | Self::Replaced(why) => LogError::Corrupt { what, log: name(folder), why },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::file::PartitionFile;
    use super::*;

    fn write(folder: &Path, frames: &[&[u8]]) -> PathBuf {
        let path = folder.join("partition-0.log");
        fs::write(folder.join("shape"), "undercroft metadata log 1\npartitions 1\n").expect("writes");
        PartitionFile::create(&path, 0).expect("creates");
        append(&path, 0, frames);
        path
    }

    fn append(path: &Path, first: i64, values: &[&[u8]]) {
        let mut file = fs::OpenOptions::new().append(true).open(path).expect("opens");
        for (offset, value) in (first..).zip(values) {
            let durable = file.metadata().expect("metadata").len();
            let mut bytes = Vec::new();
            let frame = Frame { offset, timestamp_ms: 5, durable, key: None, value: Some(value) };
            frame::put(&mut bytes, &frame);
            file.write_all(&bytes).expect("writes");
        }
    }

    fn read(reader: &mut dyn LogReader) -> Vec<String> {
        let mut events = Vec::new();
        let mut sink = |event: LogEvent<'_>| {
            events.push(match event {
                LogEvent::Record { offset, .. } => format!("record {offset}"),
                LogEvent::End { next_offset, .. } => format!("end {next_offset}"),
                LogEvent::Trouble { error, .. } => format!("trouble {error}"),
            });
        };
        for _ in 0..4 {
            reader.poll(Duration::ZERO, &mut sink).expect("polls");
        }
        events
    }

    #[test]
    fn a_frame_on_its_way_is_the_end_until_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), &[b"one", b"two"]);
        let mut log = open_read_only(folder.path()).expect("opens");
        log.reader.assign(0, 0).expect("assigns");
        assert_eq!(read(&mut *log.reader), ["record 0", "record 1", "end 2"]);
        let whole = fs::read(&path).expect("reads").len();
        append(&path, 2, &[b"three"]);
        let all = fs::read(&path).expect("reads");
        fs::OpenOptions::new().write(true).open(&path).expect("opens").set_len(whole as u64 + 9).expect("cuts");
        assert_eq!(read(&mut *log.reader), Vec::<String>::new());
        assert_eq!(fs::read(&path).expect("reads").len(), whole + 9, "nothing was mended");
        let mut file = fs::OpenOptions::new().append(true).open(&path).expect("opens");
        file.write_all(&all[whole + 9..]).expect("writes");
        assert_eq!(read(&mut *log.reader), ["record 2", "end 3"]);
    }

    #[test]
    fn a_damaged_frame_before_others_is_a_trouble_that_is_told_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), &[b"one", b"two", b"three"]);
        let mut bytes = fs::read(&path).expect("reads");
        bytes[HEADER_LEN + 20] ^= 1;
        fs::write(&path, bytes).expect("writes");
        let mut log = open_read_only(folder.path()).expect("opens");
        log.reader.assign(0, 0).expect("assigns");
        let events = read(&mut *log.reader);
        assert!(events.len() == 1 && events[0].contains("its checksum is wrong"), "{events:?}");
    }

    #[test]
    fn a_compaction_is_followed_and_shows_no_record_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = write(folder.path(), &[b"one", b"two"]);
        let mut log = open_read_only(folder.path()).expect("opens");
        log.reader.assign(0, 0).expect("assigns");
        assert_eq!(read(&mut *log.reader).len(), 3);
        PartitionFile::open(&path, 0).expect("opens").compact().expect("compacts");
        append(&path, 2, &[b"three"]);
        assert_eq!(read(&mut *log.reader), ["record 2", "end 3"]);
    }

    #[test]
    fn a_folder_without_a_log_is_named_and_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = open_read_only(folder.path()).err().expect("no log");
        assert!(matches!(&error, LogError::Mismatch { .. }), "{error}");
        assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 0);
    }
}
