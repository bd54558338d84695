//! The indexes of a segment: files that are opened and measured before there is memory for them, and read once there is.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::super::blocking::blocking;
use super::super::small_file::open_regular_file;
use super::super::{SegmentFiles, StorageError};
use super::heads;
use super::source::{failure, wrong};
use crate::model::IndexType;

/// Bytes of all indexes of a segment. A segment has at most 2^31 - 1 bytes, and by default an entry of 8 and one of 12 bytes
/// for every 4096 of them: 10 MiB. This much is left to brokers that have an entry for every hundredth byte; a file that is
/// longer is no index.
const BYTES_MAX: u64 = 512 << 20;

/// Indexes that can be read, in the order in which they lie in an object.
#[derive(Debug, Clone)]
pub(super) struct Indexes {
    object: Arc<str>,
    files: Arc<[Index]>,
    leader_epochs: Bytes,
}

#[derive(Debug)]
struct Index {
    kind: IndexType,
    file: File,
    path: PathBuf,
    length: u64,
}

impl Indexes {
    pub(super) async fn open(object: &str, files: &SegmentFiles) -> Result<Self, StorageError> {
        let (files, name) = (files.clone(), object.to_owned());
        blocking("copy", object, move || {
            let mut room = BYTES_MAX.saturating_sub(files.leader_epochs.len() as u64);
            let mut open = |kind, path: &Path| {
                let index = Index::open(&name, kind, path)?;
                room = room.checked_sub(index.length).ok_or_else(|| {
                    let why = format!(
                        "it has {} bytes, and all indexes of a segment together may have {BYTES_MAX}; check \
                         `index.interval.bytes` of the topic, and whether it is an index at all",
                        index.length
                    );
                    wrong(&name, path, why)
                })?;
                Ok::<_, StorageError>(index)
            };
            let mut opened = vec![
                open(IndexType::Offset, &files.offset_index)?,
                open(IndexType::Timestamp, &files.time_index)?,
                open(IndexType::ProducerSnapshot, &files.producer_snapshot)?,
            ];
            if let Some(path) = &files.transaction_index {
                opened.push(open(IndexType::Transaction, path)?);
            }
            Ok(Self { object: name.into(), files: opened.into(), leader_epochs: files.leader_epochs })
        })
        .await
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|index| index.length).sum::<u64>() + self.leader_epochs.len() as u64
    }

    /// Some entries of the offset index, from its beginning to its end.
    pub(super) async fn offset_entries(&self) -> Result<Vec<u8>, StorageError> {
        let indexes = self.clone();
        blocking("copy", &self.object, move || {
            let mut entries = Vec::new();
            let Some(index) = indexes.files.iter().find(|index| index.kind == IndexType::Offset) else {
                return Ok(entries);
            };
            for position in heads::entries(index.length) {
                let mut entry = [0; heads::INDEX_ENTRY];
                index.read_at(&indexes.object, position, &mut entry)?;
                entries.extend(entry);
            }
            Ok(entries)
        })
        .await
    }

    /// All that is in them. Whoever calls has the memory for [`Self::bytes`].
    pub(super) async fn read(&self) -> Result<Vec<(IndexType, Bytes)>, StorageError> {
        let indexes = self.clone();
        blocking("copy", &self.object, move || {
            let read = |index: &Index| {
                let mut bytes = vec![0; usize::try_from(index.length).unwrap_or(usize::MAX)];
                index.read_at(&indexes.object, 0, &mut bytes)?;
                Ok((index.kind, Bytes::from(bytes)))
            };
            let mut all = indexes.files.iter().map(read).collect::<Result<Vec<_>, StorageError>>()?;
            all.push((IndexType::LeaderEpoch, indexes.leader_epochs));
            Ok(all)
        })
        .await
    }
}

impl Index {
    fn open(object: &str, kind: IndexType, path: &Path) -> Result<Self, StorageError> {
        let explain = |error| failure(object, path, error);
        let file = open_regular_file(path).map_err(explain)?;
        let length = file.metadata().map_err(explain)?.len();
        Ok(Self { kind, file, path: path.to_owned(), length })
    }

    fn read_at(&self, object: &str, position: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        self.file.read_exact_at(buffer, position).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                wrong(object, &self.path, format!("it had {} bytes and has become shorter", self.length))
            }
            _ => failure(object, &self.path, error),
        })
    }
}
