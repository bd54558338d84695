//! A log in local files: the default for hosts without Kafka.
//!
//! A folder with one file per partition, a file `shape` that says how many there are, and a file `lock` that the one
//! process that writes holds locked. An append resolves when its bytes are on disk. When more than half of a file is
//! older records of keys that were written again, the file is written anew with the last record of each key.
#![allow(clippy::disallowed_methods, reason = "shell: stamps records and waits with deadlines")]

mod file;
mod frame;
mod read_only;
mod reader;
mod shared;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use crossbeam_channel::Sender;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{Cleanup, LogError, LogReader, LogShape, MetadataLog};
use crate::model::LeaderEpoch;

use file::{FileError, PartitionFile};
pub use read_only::open_read_only;
use shared::{Shared, View};
use writer::{Append, Command, Writer};

const CLOSE_MAX: Duration = Duration::from_secs(10);

/// What an embedded log is made from.
#[derive(Debug, Clone)]
pub struct EmbeddedOptions {
    pub folder: PathBuf,
    /// Must be the same each time the folder is opened.
    pub partitions: i32,
    /// A file is not compacted before this much of it is dead.
    pub compact_bytes_min: u64,
}

/// See the module. Opened by `ensure`, not before.
pub struct EmbeddedLog {
    options: EmbeddedOptions,
    stage: Arc<Mutex<Stage>>,
}

enum Stage {
    Unopened,
    Open(Open),
    Closed,
}

struct Open {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    ended: Option<oneshot::Receiver<()>>,
}

impl EmbeddedLog {
    /// Touches nothing yet.
    #[must_use]
    pub fn new(options: EmbeddedOptions) -> Self {
        Self { options, stage: Arc::new(Mutex::new(Stage::Unopened)) }
    }

    fn with_open<T>(&self, what: &str, use_it: impl FnOnce(&Open) -> Result<T, LogError>) -> Result<T, LogError> {
        match &*self.stage.lock() {
            Stage::Open(open) => use_it(open),
            Stage::Closed => Err(LogError::Closed { what: what.to_owned() }),
            Stage::Unopened => Err(LogError::Unreachable {
                what: what.to_owned(),
                log: name(&self.options.folder),
                why: "it is not open yet".to_owned(),
            }),
        }
    }

    fn start_append(
        &self,
        partition: i32,
        key: Option<Bytes>,
        value: Option<Bytes>,
    ) -> Result<oneshot::Receiver<Result<i64, LogError>>, LogError> {
        let length = frame::len(key.as_deref(), value.as_deref());
        if length > frame::BODY_LEN_MAX {
            let why = format!("the record has {length} bytes, at most {} are possible", frame::BODY_LEN_MAX);
            return Err(LogError::Internal { what: "append".to_owned(), why });
        }
        self.with_open("append", |open| {
            open.shared.view(partition, "append to")?;
            let (reply, answer) = oneshot::channel();
            let partition = usize::try_from(partition).unwrap_or(usize::MAX);
            open.commands
                .send(Command::Append(Append { partition, key, value, reply }))
                .map_err(|_| LogError::Closed { what: "append".to_owned() })?;
            Ok(answer)
        })
    }
}

#[async_trait]
impl MetadataLog for EmbeddedLog {
    async fn ensure(&self) -> Result<LogShape, LogError> {
        let (stage, options) = (Arc::clone(&self.stage), self.options.clone());
        let opening = tokio::task::spawn_blocking(move || {
            let mut stage = stage.lock();
            match &*stage {
                Stage::Open(_) => {}
                Stage::Closed => return Err(LogError::Closed { what: "open".to_owned() }),
                Stage::Unopened => *stage = Stage::Open(open(&options)?),
            }
            Ok(shape(options.partitions))
        });
        opening
            .await
            .unwrap_or_else(|error| Err(LogError::Internal { what: "open".to_owned(), why: error.to_string() }))
    }

    fn append<'a, 'b>(
        &'a self,
        partition: i32,
        key: Option<Bytes>,
        value: Option<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<i64, LogError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        // Not an `async fn`: the record has its place in the order when this returns.
        let started = self.start_append(partition, key, value);
        Box::pin(async move { started?.await.unwrap_or_else(|_| Err(LogError::Closed { what: "append".to_owned() })) })
    }

    fn reader(&self) -> Result<Box<dyn LogReader>, LogError> {
        self.with_open("read", |open| {
            let reader: Box<dyn LogReader> = Box::new(reader::EmbeddedReader::new(Arc::clone(&open.shared)));
            Ok(reader)
        })
    }

    async fn leader_epoch(&self, _topic: &str, _partition: i32) -> Result<LeaderEpoch, LogError> {
        Err(LogError::Unsupported { what: "ask for a leader epoch".to_owned(), log: name(&self.options.folder) })
    }

    async fn close(&self) {
        let open = std::mem::replace(&mut *self.stage.lock(), Stage::Closed);
        if let Stage::Open(mut open) = open
            && let Some(ended) = open.ended.take()
        {
            open.stop();
            // The sender is dropped, never used: an error is the end that is waited for.
            if tokio::time::timeout(CLOSE_MAX, ended).await.is_err() {
                tracing::warn!("{}: the disk still works on the last append", name(&self.options.folder));
            }
        }
    }
}

impl Open {
    fn stop(&self) {
        self.shared.close();
        // A writer that has ended already needs no word.
        let _ = self.commands.send(Command::Stop);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Its compaction keeps tombstones for ever.
fn shape(partitions: i32) -> LogShape {
    LogShape { cleanup: Cleanup::Compact, is_ours_alone: true, ..LogShape::of(partitions) }
}

fn name(folder: &Path) -> String {
    format!("embedded log {}", folder.display())
}

fn open(options: &EmbeddedOptions) -> Result<Open, LogError> {
    let failed = |what: &str, error: FileError| {
        let (what, log) = (what.to_owned(), name(&options.folder));
        match error {
            FileError::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                LogError::Refused { what, log, why: error.to_string() }
            }
            FileError::Io(error) => LogError::Unreachable { what, log, why: error.to_string() },
            FileError::Corrupt(why) | FileError::Replaced(why) => LogError::Corrupt { what, log, why },
        }
    };
    fs::create_dir_all(&options.folder).map_err(|error| failed("create the folder", error.into()))?;
    let lock = lock(options, &failed)?;
    check_shape(options, &failed)?;
    let path = |partition| options.folder.join(format!("partition-{partition}.log"));
    let files = (0..options.partitions).map(|partition| PartitionFile::open(&path(partition), partition));
    let files = files.collect::<Result<Vec<_>, _>>().map_err(|error| failed("open", error))?;
    let views = files.iter().map(|opened| View {
        name: name(&options.folder),
        file: Arc::clone(&opened.file),
        generation: 0,
        len: opened.len,
        next_offset: opened.next_offset,
    });
    let shared = Arc::new(Shared::new(views.collect()));
    let (commands, received) = crossbeam_channel::unbounded();
    let (ended_sender, ended) = oneshot::channel();
    let writer = Writer {
        name: name(&options.folder),
        files,
        shared: Arc::clone(&shared),
        commands: received,
        compact_bytes_min: options.compact_bytes_min,
        _lock: lock,
        _ended: ended_sender,
        broken: BTreeMap::new(),
    };
    std::thread::Builder::new()
        .name("undercroft-log".to_owned())
        .spawn(move || writer.run())
        .map_err(|error| failed("start the writer of", error.into()))?;
    Ok(Open { shared, commands, ended: Some(ended) })
}

fn lock(options: &EmbeddedOptions, failed: &dyn Fn(&str, FileError) -> LogError) -> Result<File, LogError> {
    let path = options.folder.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| failed("open the lock of", error.into()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::Mismatch {
            what: "open".to_owned(),
            log: name(&options.folder),
            why: format!(
                "another manager, in this process or another, holds {}; close that one or give this one a folder of \
                 its own",
                path.display()
            ),
        }),
        Err(TryLockError::Error(error)) => Err(failed("lock", error.into())),
    }
}

/// Compares the folder with the options; makes the files of a new one.
fn check_shape(options: &EmbeddedOptions, failed: &dyn Fn(&str, FileError) -> LogError) -> Result<(), LogError> {
    let shape = options.folder.join("shape");
    let wanted = format!("undercroft metadata log 1\npartitions {}\n", options.partitions);
    match fs::read_to_string(&shape) {
        Ok(found) if found == wanted => Ok(()),
        Ok(found) => Err(LogError::Mismatch {
            what: "open".to_owned(),
            log: name(&options.folder),
            why: format!("{} says {found:?} where {wanted:?} is expected", shape.display()),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            for partition in 0..options.partitions {
                let path = options.folder.join(format!("partition-{partition}.log"));
                if !path.exists() {
                    PartitionFile::create(&path, partition).map_err(|error| failed("create", error.into()))?;
                }
            }
            file::create_whole(&shape, wanted.as_bytes()).map_err(|error| failed("create", error.into()))
        }
        Err(error) => Err(failed("open", error.into())),
    }
}
