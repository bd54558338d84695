//! Memory for parts: bounded for each copy and for all of them.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::metrics::Gauge;

const KIB: u64 = 1024;

/// Memory of all copies of a manager.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    permits: Arc<Semaphore>,
    kib: u32,
    held: Gauge,
}

impl Memory {
    pub(super) fn new(bytes: u64, held: Gauge) -> Self {
        let kib = u32::try_from((bytes / KIB).min(u64::from(u32::MAX >> 3))).unwrap_or(u32::MAX >> 3);
        Self { permits: Arc::new(Semaphore::new(kib as usize)), kib, held }
    }

    /// Buffers of `buffer_bytes` for a copy, beside `extra_bytes` of its own: waits for `least` of them, and takes up to
    /// `most` if they are free.
    ///
    /// A copy gets all that it must have at once or nothing, so copies never wait for each other in a circle.
    pub(super) async fn buffers(&self, buffer_bytes: u64, extra_bytes: u64, least: usize, most: usize) -> Buffers {
        let each = u32::try_from(buffer_bytes.div_ceil(KIB)).unwrap_or(u32::MAX).clamp(1, self.kib);
        let extra = u32::try_from(extra_bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        let needed = u32::try_from(least).unwrap_or(u32::MAX).saturating_mul(each).saturating_add(extra).min(self.kib);
        // Fails only if the semaphore were closed, which nobody does.
        let mut permit = Arc::clone(&self.permits).acquire_many_owned(needed).await.ok();
        let mut count = least;
        while count < most {
            let Ok(more) = Arc::clone(&self.permits).try_acquire_many_owned(each) else { break };
            match &mut permit {
                Some(permit) => permit.merge(more),
                None => permit = Some(more),
            }
            count += 1;
        }
        let (free, returned) = mpsc::unbounded_channel();
        for _ in 0..count {
            let _ = free.send(Vec::new());
        }
        let bytes = buffer_bytes.saturating_mul(count as u64).saturating_add(extra_bytes);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.held.add(bytes);
        Buffers {
            free,
            returned,
            count,
            capacity: usize::try_from(buffer_bytes).unwrap_or(0),
            _held: Held(permit, bytes, self.held.clone()),
        }
    }
}

#[derive(Debug)]
struct Held(#[allow(dead_code, reason = "given back when dropped")] Option<OwnedSemaphorePermit>, i64, Gauge);

impl Drop for Held {
    fn drop(&mut self) {
        self.2.add(-self.1);
    }
}

/// Buffers of one copy. Each one sent comes back when the last reference to its bytes is gone, and is used again.
#[derive(Debug)]
pub(super) struct Buffers {
    free: mpsc::UnboundedSender<Vec<u8>>,
    returned: mpsc::UnboundedReceiver<Vec<u8>>,
    count: usize,
    capacity: usize,
    _held: Held,
}

impl Buffers {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Waits for a free buffer. What it holds is of no interest.
    pub(super) async fn take(&mut self) -> Vec<u8> {
        let mut buffer = self.returned.recv().await.unwrap_or_default();
        let missing = self.capacity.saturating_sub(buffer.len());
        buffer.reserve_exact(missing);
        buffer
    }

    /// Bytes of `buffer`, which comes back by itself.
    pub(super) fn lend(&self, buffer: Vec<u8>) -> Bytes {
        Bytes::from_owner(Lent { buffer, home: self.free.clone() })
    }
}

struct Lent {
    buffer: Vec<u8>,
    home: mpsc::UnboundedSender<Vec<u8>>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let _ = self.home.send(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_buffer_comes_back_when_its_last_bytes_are_gone() {
        let gauge = Gauge::default();
        let memory = Memory::new(1 << 20, gauge.clone());
        let mut buffers = memory.buffers(1024, 0, 1, 1).await;
        let mut buffer = buffers.take().await;
        buffer.extend([7; 10]);
        let bytes = buffers.lend(buffer);
        let slice = bytes.slice(2..4);
        drop(bytes);
        assert!(buffers.returned.try_recv().is_err());
        drop(slice);
        assert_eq!(buffers.take().await.capacity(), 1024);
        assert_eq!(gauge.get(), 1024);
        drop(buffers);
        assert_eq!(gauge.get(), 0);
    }

    #[tokio::test]
    async fn copies_share_what_there_is_and_wait_for_what_they_need() {
        let memory = Memory::new(10 * 1024, Gauge::default());
        let first = memory.buffers(1024, 0, 3, 6).await;
        assert_eq!(first.count(), 6);
        let second = memory.buffers(1024, 0, 3, 6).await;
        assert_eq!(second.count(), 4);
        let waiting = tokio::spawn({
            let memory = memory.clone();
            async move { memory.buffers(1024, 0, 3, 3).await.count() }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(second);
        assert_eq!(waiting.await.expect("runs"), 3);
        drop(first);
        assert_eq!(memory.buffers(1 << 30, 0, 3, 6).await.count(), 3, "more than there is, when nobody else holds any");
    }
}
