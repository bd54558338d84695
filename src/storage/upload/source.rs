//! The broker's files. Read by position on blocking threads; never trusted to stay as they are.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::blocking::blocking;
use super::super::layout::compact::{BlockSize, seal_block};
use super::super::small_file::open_regular_file;
use super::super::{Cause, StorageError};
use super::heads;
use crate::model::{KafkaUuid, SegmentMetadata};

/// An open log file.
#[derive(Debug, Clone)]
pub(super) struct Source {
    file: Arc<File>,
    path: PathBuf,
    object: String,
    segment: KafkaUuid,
    size: u64,
    block_size: BlockSize,
}

pub(super) fn failure(object: &str, path: &Path, error: io::Error) -> StorageError {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "it is not there".to_owned(),
        _ => error.to_string(),
    };
    StorageError::Source {
        object: object.to_owned().into(),
        path: path.to_owned(),
        why: why.into(),
        source: Some(Arc::new(error) as Cause),
    }
}

/// A file that can be read and is not what it should be.
pub(super) fn wrong(object: &str, path: &Path, why: String) -> StorageError {
    StorageError::Source { object: object.to_owned().into(), path: path.to_owned(), why: why.into(), source: None }
}

impl Source {
    pub(super) async fn open(
        segment: &SegmentMetadata,
        path: &Path,
        object: &str,
        block_size: BlockSize,
    ) -> Result<Self, StorageError> {
        let (path, name) = (path.to_owned(), object.to_owned());
        let (uuid, size) = (segment.id.uuid, u64::try_from(segment.size_bytes).unwrap_or(0));
        blocking("copy", object, move || {
            let file = open_regular_file(&path).map_err(|error| failure(&name, &path, error))?;
            let source = Self { file: Arc::new(file), path, object: name, segment: uuid, size, block_size };
            source.check_size()?;
            Ok(source)
        })
        .await
    }

    /// The object that it becomes.
    pub(super) fn object(&self) -> &str {
        &self.object
    }

    /// Something that should not happen whatever is in the file.
    pub(super) fn defect(&self, why: String) -> StorageError {
        StorageError::Internal { action: "copy", object: self.object.clone().into(), why: why.into(), source: None }
    }

    fn wrong(&self, why: String) -> StorageError {
        wrong(&self.object, &self.path, why)
    }

    /// Fills `buffer` with the bytes from `position` on. Blocks.
    pub(super) fn read_at(&self, position: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        self.file.read_exact_at(buffer, position).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.wrong(format!(
                "it ends before byte {}, the metadata says {}",
                position + buffer.len() as u64,
                self.size
            )),
            _ => failure(&self.object, &self.path, error),
        })
    }

    /// Whether the producers compressed what is in it, by some batches from its beginning to its end. Where batches are,
    /// entries of the offset index say.
    pub(super) async fn is_compressed(&self, offset_entries: &[u8]) -> Result<bool, StorageError> {
        let (source, positions) = (self.clone(), heads::positions(offset_entries, self.size));
        blocking("copy", &self.object, move || {
            let mut codecs = Vec::with_capacity(positions.len());
            for position in positions {
                let mut head = [0; heads::LENGTH];
                source.read_at(position, &mut head)?;
                codecs.push(heads::is_compressed(&head));
            }
            Ok(heads::judge(&codecs))
        })
        .await
    }

    fn check_size(&self) -> Result<(), StorageError> {
        let found = self.file.metadata().map_err(|error| failure(&self.object, &self.path, error))?.len();
        if found == self.size {
            return Ok(());
        }
        Err(self.wrong(format!("it has {found} bytes, the segment's metadata says {}", self.size)))
    }

    /// Reads blocks into `buffer`, each followed by its checksum. The buffer keeps its capacity.
    pub(super) async fn read_blocks(&self, blocks: Range<u64>, mut buffer: Vec<u8>) -> Result<Vec<u8>, StorageError> {
        let source = self.clone();
        blocking("copy", &self.object, move || {
            let mut end = 0_usize;
            for number in blocks {
                let position = number * source.block_size.bytes();
                let length = source.block_size.bytes().min(source.size - position.min(source.size));
                let length = usize::try_from(length).unwrap_or(0);
                if buffer.len() < end + length + 4 {
                    buffer.resize(end + length + 4, 0);
                }
                let data = &mut buffer[end..end + length];
                source.read_at(position, data)?;
                let number = u32::try_from(number).map_err(|_| source.wrong("it is too long".to_owned()))?;
                let seal = seal_block(&source.segment, number, &buffer[end..end + length]);
                buffer[end + length..end + length + 4].copy_from_slice(&seal);
                end += length + 4;
            }
            buffer.truncate(end);
            Ok(buffer)
        })
        .await
    }

    /// Fails unless the file is still there and as long as it was.
    pub(super) async fn check_unchanged(&self) -> Result<(), StorageError> {
        let source = self.clone();
        blocking("copy", &self.object, move || {
            source.check_size()?;
            std::fs::metadata(&source.path).map_err(|error| failure(&source.object, &source.path, error))?;
            Ok(())
        })
        .await
    }
}
