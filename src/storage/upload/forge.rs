//! Where blocks are transformed: several pieces of a segment at once, on threads that may block, in the order of the segment.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::super::StorageError;
use super::super::blocking::blocking;
use super::super::transform::Contexts;
use super::source::Source;

/// Bytes of a segment that are worth a thread's while.
const PIECE: u64 = 1 << 20;

/// Makes stored blocks out of plain ones.
pub(super) trait Work: Send + Sync + 'static {
    /// Bytes of the segment in a block.
    fn block_bytes(&self) -> u64;

    /// The most that one block takes as it is stored.
    fn stored_bytes_max(&self) -> u64;

    /// Writes a block to the beginning of `out`; its length.
    fn block(&self, contexts: &mut Contexts, number: u32, plain: &[u8], out: &mut [u8]) -> Result<usize, String>;
}

/// Threads and memory for transforming, of one manager.
pub(super) struct Forge {
    level: i32,
    threads: usize,
    free: Arc<Semaphore>,
    contexts: Mutex<Vec<Contexts>>,
}

/// Blocks in a row, as they are stored.
pub(super) struct Piece {
    bytes: Vec<u8>,
    filled: usize,
    pub(super) lengths: Vec<u32>,
}

impl Piece {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }
}

impl Forge {
    pub(super) fn new(level: i32, threads: usize) -> Self {
        let threads = threads.max(1);
        Self { level, threads, free: Arc::new(Semaphore::new(threads)), contexts: Mutex::new(Vec::new()) }
    }

    /// Bytes that a copy of a segment of `size` bytes has in memory here.
    pub(super) fn bytes(&self, work: &dyn Work, size: u64) -> u64 {
        let blocks = size.div_ceil(work.block_bytes());
        let most = self.threads as u64 * blocks_per_piece(work);
        work.stored_bytes_max().saturating_mul(most.min(blocks))
    }

    /// A segment, piece by piece.
    pub(super) fn pieces(self: &Arc<Self>, source: &Source, size: u64, work: Arc<dyn Work>) -> Pieces {
        Pieces {
            forge: Arc::clone(self),
            source: source.clone(),
            next: 0,
            blocks: size.div_ceil(work.block_bytes()),
            size,
            work,
            begun: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    fn contexts(&self) -> Result<Contexts, String> {
        let spare = self.contexts.lock().pop();
        spare.map_or_else(|| Contexts::new(self.level), Ok)
    }

    /// Does something with contexts, on the thread of the caller.
    pub(super) fn with_contexts<T>(&self, work: impl FnOnce(&mut Contexts) -> Result<T, String>) -> Result<T, String> {
        let mut contexts = self.contexts()?;
        let done = work(&mut contexts);
        self.contexts.lock().push(contexts);
        done
    }
}

/// Of very small blocks fewer: sealing makes them several times as long.
fn blocks_per_piece(work: &dyn Work) -> u64 {
    (PIECE / work.block_bytes()).min(2 * PIECE / work.stored_bytes_max()).max(1)
}

/// Pieces of one segment. Dropped, it stops what hasn't begun.
pub(super) struct Pieces {
    forge: Arc<Forge>,
    source: Source,
    next: u64,
    blocks: u64,
    size: u64,
    work: Arc<dyn Work>,
    begun: VecDeque<JoinHandle<Result<Piece, StorageError>>>,
    spare: Vec<Vec<u8>>,
}

impl Pieces {
    /// The next piece; nothing behind the last one. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Result<Option<Piece>, StorageError> {
        while self.next < self.blocks && self.begun.len() < self.forge.threads {
            let end = (self.next + blocks_per_piece(self.work.as_ref())).min(self.blocks);
            self.begin(self.next..end);
            self.next = end;
        }
        let Some(first) = self.begun.front_mut() else { return Ok(None) };
        let made = first.await;
        self.begun.pop_front();
        made.unwrap_or_else(|error| Err(self.source.defect(format!("a thread that transforms it ended: {error}"))))
            .map(Some)
    }

    /// Takes the buffer of a piece that is done with.
    pub(super) fn give_back(&mut self, piece: Piece) {
        self.spare.push(piece.bytes);
    }

    fn begin(&mut self, blocks: Range<u64>) {
        let (forge, source, work) = (Arc::clone(&self.forge), self.source.clone(), Arc::clone(&self.work));
        let (size, buffer) = (self.size, self.spare.pop().unwrap_or_default());
        self.begun.push_back(tokio::spawn(async move {
            // Fails only if the semaphore were closed, which nobody does.
            let _thread = Arc::clone(&forge.free).acquire_owned().await.ok();
            let object = source.object().to_owned();
            blocking("copy", &object, move || make(&forge, &source, work.as_ref(), blocks, size, buffer)).await
        }));
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        for begun in &self.begun {
            begun.abort();
        }
    }
}

fn make(
    forge: &Forge,
    source: &Source,
    work: &dyn Work,
    blocks: Range<u64>,
    size: u64,
    mut bytes: Vec<u8>,
) -> Result<Piece, StorageError> {
    let defect = |why: String| source.defect(why);
    let mut contexts = forge.contexts().map_err(defect)?;
    let most = to_usize(work.stored_bytes_max());
    let room = most.saturating_mul(to_usize(blocks.end - blocks.start));
    if bytes.len() < room {
        bytes.resize(room, 0);
    }
    // Taken out, so that it and the rest of the contexts can be used at once.
    let mut plain = std::mem::take(&mut contexts.plain);
    let (mut filled, mut lengths) = (0, Vec::with_capacity(to_usize(blocks.end - blocks.start)));
    for number in blocks {
        let position = number * work.block_bytes();
        let length = to_usize(work.block_bytes().min(size.saturating_sub(position)));
        if plain.len() < length {
            plain.resize(length, 0);
        }
        source.read_at(position, &mut plain[..length])?;
        let number = u32::try_from(number).map_err(|_| defect("it has too many chunks".to_owned()))?;
        let stored = work.block(&mut contexts, number, &plain[..length], &mut bytes[filled..]).map_err(defect)?;
        lengths.push(u32::try_from(stored).map_err(|_| defect("a chunk is too long".to_owned()))?);
        filled += stored;
    }
    contexts.plain = plain;
    forge.contexts.lock().push(contexts);
    Ok(Piece { bytes, filled, lengths })
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
