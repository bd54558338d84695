//! A stream of a segment's bytes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;

use super::super::StorageError;
use super::super::metrics::StorageMetrics;
use super::super::settings::FetchSettings;
use super::super::tasks::Tasks;
use super::Fetcher;
use super::ahead::Ahead;
use super::blocks::{Blocks, Found};
use super::finder::Finder;
use super::legs::{Leg, Run};
use super::streams::StreamId;
use super::target::{Located, Target};
use super::window::Window;

/// Bytes of a segment, from a position to an end, in order.
///
/// Asks for nothing before the first read. Dropping it, or a read of it, cancels nothing: what was asked for is kept for
/// whoever asks again.
pub struct SegmentReader {
    blocks: Arc<Blocks>,
    finder: Arc<Finder>,
    ahead: Arc<Ahead>,
    settings: FetchSettings,
    located: Located,
    /// From the first read on: the segment as it can be read, what to ask for at once, and the stream that it goes on.
    found: Option<(Arc<Target>, Window, StreamId)>,
    position: u64,
    end: u64,
    /// What came last, and what was asked for behind it: a reader needs no cache to read on.
    run: Option<Arc<Run>>,
    coming: VecDeque<Leg>,
    /// A read waits for the first of these, or did when it was dropped.
    is_waiting: bool,
    metrics: StorageMetrics,
    tasks: Tasks,
}

impl fmt::Debug for SegmentReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentReader")
            .field("segment", &self.located.segment().id)
            .field("position", &self.position)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl SegmentReader {
    pub(super) fn new(fetcher: &Fetcher, located: Located, start: u64, end: u64) -> Self {
        Self {
            blocks: Arc::clone(&fetcher.blocks),
            finder: Arc::clone(&fetcher.finder),
            ahead: Arc::clone(&fetcher.ahead),
            settings: fetcher.settings,
            located,
            found: None,
            position: start,
            end,
            run: None,
            coming: VecDeque::new(),
            is_waiting: false,
            metrics: fetcher.metrics.clone(),
            tasks: fetcher.tasks.clone(),
        }
    }

    /// The next bytes, at most one block; nothing at the end only.
    ///
    /// May be dropped at any time and called again; after an error it tries again from the same position.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Unreachable`, `Timeout` and whatever else the store says, after a short wait
    /// (`fetch.failure.delay.ms`); `Closed` or `Cancelled` if the manager was closed.
    pub async fn read(&mut self) -> Result<Bytes, StorageError> {
        if self.tasks.is_closed() {
            return Err(StorageError::Closed { action: "fetch" });
        }
        if self.position >= self.end {
            return Ok(Bytes::new());
        }
        let (target, stream) = self.target().await.inspect_err(|error| self.metrics.failed(error))?;
        let size = target.block_bytes();
        let block = self.position / size;
        let data = self.block(&target, block, stream).await.inspect_err(|error| self.metrics.failed(error))?;
        let from = usize::try_from(self.position - block * size).unwrap_or(usize::MAX);
        let to = usize::try_from((self.end - block * size).min(data.len() as u64)).unwrap_or(usize::MAX);
        if from >= to {
            return Err(StorageError::Internal {
                action: "fetch",
                object: target.key.to_string().into(),
                why: format!("chunk {block} of {} bytes has nothing at {}", data.len(), self.position).into(),
                source: None,
            });
        }
        let bytes = data.slice(from..to);
        self.position += bytes.len() as u64;
        self.metrics.fetched_bytes.add(bytes.len() as u64);
        self.ahead.delivered(stream, &target, self.position);
        Ok(bytes)
    }

    /// Position in the segment of the next byte.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes up to the end.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.end - self.position.min(self.end)
    }

    async fn target(&mut self) -> Result<(Arc<Target>, StreamId), StorageError> {
        if let Some((target, _, stream)) = &self.found {
            return Ok((Arc::clone(target), *stream));
        }
        let target = self.finder.find(&self.located).await?;
        let window = Window::new(self.settings.window_min, self.settings.window_max, target.block_bytes());
        let stream = self.ahead.open(&target, self.position);
        self.found = Some((Arc::clone(&target), window, stream));
        Ok((target, stream))
    }

    async fn block(&mut self, target: &Arc<Target>, block: u64, stream: StreamId) -> Result<Bytes, StorageError> {
        let end = self.end.div_ceil(target.block_bytes()).min(target.block_count());
        let window_end = match &mut self.found {
            Some((_, window, _)) => {
                window.move_to(self.position, end);
                window.end()
            }
            None => block + 1,
        };
        loop {
            if let Some(kept) = self.run.as_ref().and_then(|run| run.block(block)) {
                return Ok(self.blocks.bytes(kept));
            }
            while self.coming.front().is_some_and(|leg| leg.blocks.end <= block) {
                self.coming.pop_front();
            }
            // What failed while nobody read tells nothing of what the store would say now.
            let has_failed = |leg: &Leg| matches!(leg.flight.clone().now_or_never(), Some(Err(_)));
            if !self.is_waiting && self.coming.front().is_some_and(has_failed) {
                self.coming.clear();
            }
            if self.coming.front().is_none_or(|leg| block < leg.blocks.start) {
                match self.blocks.find(target, block..window_end) {
                    Found::Here(kept) => return Ok(self.blocks.bytes(&kept)),
                    Found::Coming(legs) => self.coming = legs.into(),
                }
            }
            // Behind what this read waits for.
            self.ahead.delivered(stream, target, self.position);
            let Some(flight) = self.coming.front().map(|leg| leg.flight.clone()) else { continue };
            self.is_waiting = true;
            let landed = flight.await;
            self.is_waiting = false;
            match landed {
                Ok(run) => self.run = Some(run),
                Err(error) => {
                    self.coming.clear();
                    return Err(error);
                }
            }
        }
    }
}
