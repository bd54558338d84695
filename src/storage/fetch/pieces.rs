//! Bytes as they came from the store, handed out in other pieces.

use bytes::{Buf as _, Bytes};

pub(super) struct Pieces(std::vec::IntoIter<Bytes>, Bytes);

impl Pieces {
    pub(super) fn new(pieces: Vec<Bytes>) -> Self {
        Self(pieces.into_iter(), Bytes::new())
    }

    /// The next `length` bytes, or what is left of them.
    pub(super) fn take(&mut self, length: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(length);
        while out.len() < length {
            if self.1.is_empty() {
                let Some(next) = self.0.next() else { break };
                self.1 = next;
            }
            let count = self.1.len().min(length - out.len());
            out.extend_from_slice(&self.1[..count]);
            self.1.advance(count);
        }
        out
    }
}
