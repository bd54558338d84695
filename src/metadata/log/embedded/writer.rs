//! The one thread that writes the files of an embedded log.
//!
//! It takes all appends that wait, writes them, and waits for the disk once for all of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use crossbeam_channel::Receiver;
use tokio::sync::oneshot;

use super::super::LogError;
use super::file::{FileError, PartitionFile};
use super::frame::{self, Frame};
use super::shared::Shared;

const BATCH_LEN: usize = 10_000;

pub(super) enum Command {
    Append(Append),
    Stop,
}

pub(super) struct Append {
    pub(super) partition: usize,
    pub(super) key: Option<Bytes>,
    pub(super) value: Option<Bytes>,
    pub(super) reply: oneshot::Sender<Result<i64, LogError>>,
}

pub(super) struct Writer {
    pub(super) name: String,
    pub(super) files: Vec<PartitionFile>,
    pub(super) shared: Arc<Shared>,
    pub(super) commands: Receiver<Command>,
    pub(super) compact_bytes_min: u64,
    /// Held as long as the thread runs: nobody else writes.
    pub(super) _lock: File,
    /// Dropped when the thread has ended.
    pub(super) _ended: oneshot::Sender<()>,
    /// Why nothing more may be written, by partition.
    pub(super) broken: BTreeMap<usize, String>,
}

impl Writer {
    pub(super) fn run(mut self) {
        while let Ok(Command::Append(first)) = self.commands.recv() {
            let mut batches: BTreeMap<usize, Vec<Append>> = BTreeMap::new();
            batches.entry(first.partition).or_default().push(first);
            let mut is_stopped = false;
            for command in self.commands.try_iter().take(BATCH_LEN) {
                match command {
                    Command::Append(append) => batches.entry(append.partition).or_default().push(append),
                    Command::Stop => is_stopped = true,
                }
            }
            for (partition, batch) in batches {
                self.append(partition, batch);
                self.compact(partition);
            }
            if is_stopped {
                break;
            }
        }
        for command in self.commands.try_iter() {
            if let Command::Append(append) = command {
                let _ = append.reply.send(Err(LogError::Closed { what: "append".to_owned() }));
            }
        }
    }

    fn append(&mut self, partition: usize, batch: Vec<Append>) {
        let result = match self.broken.get(&partition) {
            _ if self.shared.is_closed() => Err(LogError::Closed { what: "append".to_owned() }),
            Some(why) => Err(self.failed(partition, why)),
            None => self.write(partition, &batch),
        };
        match result {
            Ok(first) => {
                for (offset, append) in (first..).zip(batch) {
                    let _ = append.reply.send(Ok(offset));
                }
            }
            Err(error) => {
                let text = error.to_string();
                let mut error = Some(error);
                for append in batch {
                    // The others of the batch share the fate and its text.
                    let error = error.take().unwrap_or_else(|| match self.shared.is_closed() {
                        true => LogError::Closed { what: "append".to_owned() },
                        false => self.failed(partition, &text),
                    });
                    let _ = append.reply.send(Err(error));
                }
            }
        }
    }

    fn failed(&self, partition: usize, why: &str) -> LogError {
        LogError::Unreachable {
            what: format!("append to partition {partition}"),
            log: self.name.clone(),
            why: why.to_owned(),
        }
    }

    /// Writes a batch behind the end and waits for the disk; tells the offset of its first record.
    fn write(&mut self, partition: usize, batch: &[Append]) -> Result<i64, LogError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let timestamp_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let name = self.name.clone();
        let file = self.files.get_mut(partition).ok_or_else(|| LogError::Internal {
            what: format!("append to partition {partition}"),
            why: "no such partition".to_owned(),
        })?;
        let (first, durable) = (file.next_offset, file.len);
        let mut bytes = Vec::new();
        let frames: Vec<Frame<'_>> = (first..)
            .zip(batch)
            .map(|(offset, append)| Frame {
                offset,
                timestamp_ms,
                durable,
                key: append.key.as_deref(),
                value: append.value.as_deref(),
            })
            .collect();
        for frame in &frames {
            frame::put(&mut bytes, frame);
        }
        let what = format!("append to partition {partition}");
        if let Err(error) = file.file.write_all_at(&bytes, durable) {
            // Nothing was acknowledged: take back what was written, or write no more.
            if let Err(second) = file.file.set_len(durable) {
                self.broken.insert(partition, format!("{error}, then {second}; open the log again"));
            }
            return Err(LogError::Unreachable { what, log: name, why: error.to_string() });
        }
        if let Err(error) = file.file.sync_data() {
            // After a failed sync nobody knows what is on disk, and a second one would lie.
            self.broken.insert(partition, format!("sync failed earlier ({error}); open the log again"));
            return Err(LogError::Unreachable { what, log: name, why: error.to_string() });
        }
        for frame in &frames {
            file.note(frame, frame::len(frame.key, frame.value));
        }
        let (len, next_offset) = (file.len, file.next_offset);
        self.shared.publish(partition, |view| (view.len, view.next_offset) = (len, next_offset));
        Ok(first)
    }

    fn compact(&mut self, partition: usize) {
        let Some(file) = self.files.get_mut(partition) else { return };
        if self.broken.contains_key(&partition) || !file.is_worth_compacting(self.compact_bytes_min) {
            return;
        }
        match file.compact() {
            Ok(()) => {
                let (new, len) = (Arc::clone(&file.file), file.len);
                self.shared.publish(partition, |view| {
                    (view.file, view.len) = (new, len);
                    view.generation += 1;
                });
            }
            Err(FileError::Io(error)) => {
                file.postpone_compaction();
                tracing::warn!("{}: partition {partition} is not compacted now: {error}", self.name);
            }
            Err(FileError::Corrupt(why) | FileError::Replaced(why)) => {
                tracing::error!("{}: compaction of partition {partition} failed: {why}", self.name);
                self.broken.insert(partition, format!("compaction failed ({why}); open the log again"));
            }
        }
    }
}
