//! Reads the partitions of an embedded log.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::super::{LogError, LogEvent, LogReader};
use super::file::HEADER_LEN;
use super::frame::{self, Parsed};
use super::shared::Shared;

const CHUNK_LEN: usize = 256 << 10;

pub(super) struct EmbeddedReader {
    shared: Arc<Shared>,
    cursors: BTreeMap<i32, Cursor>,
    is_woken: Arc<AtomicBool>,
    buffer: Vec<u8>,
}

struct Cursor {
    file: Arc<File>,
    generation: u64,
    position: u64,
    next_offset: i64,
    /// The end that was told last.
    told: Option<i64>,
    is_broken: bool,
}

impl EmbeddedReader {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, cursors: BTreeMap::new(), is_woken: Arc::default(), buffer: Vec::new() }
    }
}

impl LogReader for EmbeddedReader {
    fn assign(&mut self, partition: i32, from_offset: i64) -> Result<(), LogError> {
        let view = self.shared.view(partition, "assign")?;
        let cursor = Cursor {
            file: view.file,
            generation: view.generation,
            position: HEADER_LEN as u64,
            next_offset: from_offset,
            told: None,
            is_broken: false,
        };
        self.cursors.insert(partition, cursor);
        Ok(())
    }

    fn unassign(&mut self, partition: i32) -> Result<(), LogError> {
        self.shared.check_open("unassign")?;
        self.cursors.remove(&partition);
        Ok(())
    }

    fn poll(&mut self, timeout: Duration, sink: &mut dyn FnMut(LogEvent<'_>)) -> Result<(), LogError> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            let seen = self.shared.changes();
            let mut is_anything_told = false;
            for (&partition, cursor) in &mut self.cursors {
                let view = self.shared.view(partition, "poll")?;
                is_anything_told |= cursor.advance(partition, &view, &mut self.buffer, sink);
            }
            self.shared.check_open("poll")?;
            let is_woken = self.is_woken.swap(false, Ordering::AcqRel);
            if is_anything_told || is_woken || !self.shared.wait_for_change(seen, deadline, &self.is_woken) {
                return Ok(());
            }
        }
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let (shared, is_woken) = (Arc::clone(&self.shared), Arc::clone(&self.is_woken));
        Arc::new(move || {
            is_woken.store(true, Ordering::Release);
            shared.notify();
        })
    }
}

impl Cursor {
    /// Hands out what there is, at most one chunk; tells whether there was anything.
    fn advance(
        &mut self,
        partition: i32,
        view: &super::shared::View,
        buffer: &mut Vec<u8>,
        sink: &mut dyn FnMut(LogEvent<'_>),
    ) -> bool {
        if self.is_broken {
            return false;
        }
        if self.generation != view.generation {
            // Compaction moved the records; their offsets are the same.
            (self.file, self.generation, self.position) = (Arc::clone(&view.file), view.generation, HEADER_LEN as u64);
        }
        if self.position >= view.len {
            let is_news = self.told != Some(view.next_offset);
            if is_news {
                self.told = Some(view.next_offset);
                sink(LogEvent::End { partition, next_offset: view.next_offset });
            }
            return is_news;
        }
        if let Err(why) = self.read_chunk(partition, view.len, buffer, sink) {
            self.is_broken = true;
            let what = format!("read partition {partition}");
            let error = LogError::Corrupt { what, log: view.name.clone(), why };
            sink(LogEvent::Trouble { partition: Some(partition), error });
        }
        true
    }

    fn read_chunk(
        &mut self,
        partition: i32,
        len: u64,
        buffer: &mut Vec<u8>,
        sink: &mut dyn FnMut(LogEvent<'_>),
    ) -> Result<(), String> {
        let left = usize::try_from(len - self.position).unwrap_or(usize::MAX);
        let mut want = CHUNK_LEN.min(left);
        loop {
            buffer.resize(want, 0);
            self.file.read_exact_at(buffer, self.position).map_err(|error| error.to_string())?;
            let mut used = 0;
            let stopped = loop {
                match frame::parse(&buffer[used..]) {
                    Parsed::Frame(frame, len) => {
                        used += len;
                        if frame.offset >= self.next_offset {
                            self.next_offset = frame.offset.saturating_add(1);
                            let frame::Frame { offset, timestamp_ms, key, value, .. } = frame;
                            sink(LogEvent::Record { partition, offset, timestamp_ms, key, value });
                        }
                    }
                    stopped => break stopped,
                }
            };
            let at = self.position + used as u64;
            match stopped {
                Parsed::Short(needed) if used == 0 && needed <= left => want = needed,
                Parsed::Short(_) if used == 0 => return Err(format!("the record at byte {at} is cut off")),
                Parsed::Bad(why) => return Err(format!("the record at byte {at}: {why}")),
                Parsed::Short(_) | Parsed::Frame(..) => {
                    self.position = at;
                    return Ok(());
                }
            }
        }
    }
}
