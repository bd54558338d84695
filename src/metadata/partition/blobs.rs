//! Custom metadata of all segments of a partition, end to end.

use std::collections::HashMap;

/// Where a segment's custom metadata is. It is a few dozen bytes as a rule: an allocation for each would cost as much
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blob {
    at: u32,
    len: u32,
}

impl Blob {
    /// Without custom metadata, which is something else than with none of its bytes.
    pub(super) const NONE: Self = Self { at: 0, len: u32::MAX };
    const LARGE: u32 = u32::MAX - 1;

    fn is_large(self) -> bool {
        self.len == Self::LARGE
    }

    fn small_len(self) -> usize {
        if self.len >= Self::LARGE { 0 } else { self.len as usize }
    }
}

/// Brokers allow 128 bytes unless told otherwise.
const SMALL_MAX: usize = 1024;
/// Less garbage than this is not worth a sweep.
const GARBAGE_MIN: usize = 2048;

#[derive(Debug, Default)]
pub(super) struct Blobs {
    bytes: Vec<u8>,
    garbage: usize,
    /// What is longer than anybody needs, by number.
    large: HashMap<u32, Box<[u8]>>,
    next_large: u32,
}

impl Blobs {
    pub(super) fn get(&self, blob: Blob) -> Option<&[u8]> {
        match blob {
            Blob::NONE => None,
            _ if blob.is_large() => self.large.get(&blob.at).map(|bytes| &**bytes),
            Blob { at, len } => self.bytes.get(at as usize..at as usize + len as usize),
        }
    }

    pub(super) fn put(&mut self, bytes: Option<&[u8]>) -> Blob {
        let Some(bytes) = bytes else { return Blob::NONE };
        match (u32::try_from(self.bytes.len()), u32::try_from(bytes.len())) {
            (Ok(at), Ok(len)) if bytes.len() <= SMALL_MAX => {
                if self.bytes.capacity() - self.bytes.len() < bytes.len() {
                    self.bytes.reserve_exact((self.bytes.len() / 8).max(bytes.len() * 4));
                }
                self.bytes.extend_from_slice(bytes);
                Blob { at, len }
            }
            _ => {
                let at = self.next_large;
                self.next_large = self.next_large.wrapping_add(1);
                self.large.insert(at, bytes.into());
                Blob { at, len: Blob::LARGE }
            }
        }
    }

    /// Puts `bytes` in the place of `blob`, which nobody uses any more.
    pub(super) fn replace(&mut self, blob: Blob, bytes: Option<&[u8]>) -> Blob {
        if self.get(blob) == bytes {
            return blob;
        }
        self.discard(blob);
        self.put(bytes)
    }

    pub(super) fn discard(&mut self, blob: Blob) {
        self.garbage += blob.small_len();
        if blob.is_large() {
            self.large.remove(&blob.at);
        }
    }

    /// Throws away what nobody uses, if that is most of it. `used` gives each blob that is in use, once.
    pub(super) fn sweep<'a>(&mut self, used: impl Iterator<Item = &'a mut Blob>) {
        if self.garbage < GARBAGE_MIN || self.garbage * 2 < self.bytes.len() {
            return;
        }
        let mut kept = Vec::with_capacity(self.bytes.len() - self.garbage.min(self.bytes.len()));
        for blob in used.filter(|blob| blob.len < Blob::LARGE) {
            let from = blob.at as usize;
            // Shorter than the old list, in which every place fits.
            blob.at = u32::try_from(kept.len()).unwrap_or(u32::MAX);
            kept.extend_from_slice(self.bytes.get(from..from + blob.small_len()).unwrap_or_default());
        }
        self.bytes = kept;
        self.garbage = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_not_none_and_long_ones_are_kept_too() {
        let mut blobs = Blobs::default();
        let long = vec![7; SMALL_MAX + 1];
        let all: [Option<&[u8]>; 4] = [None, Some(b""), Some(b"abc"), Some(&long)];
        let put: Vec<_> = all.iter().map(|bytes| blobs.put(*bytes)).collect();
        assert_eq!(put.iter().map(|&blob| blobs.get(blob)).collect::<Vec<_>>(), all);
        assert_eq!(blobs.replace(put[2], Some(b"abc")), put[2], "the same bytes stay where they are");
        blobs.discard(put[3]);
        assert!(blobs.large.is_empty());
    }

    #[test]
    fn a_sweep_leaves_what_is_used() {
        let mut blobs = Blobs::default();
        let mut used: Vec<Blob> = (0..200_u8).map(|n| blobs.put(Some(&[n; 40]))).collect();
        let large = blobs.put(Some(&[1; 2000]));
        for blob in used.split_off(20) {
            blobs.discard(blob);
        }
        used.extend([large, Blob::NONE]);
        blobs.sweep(used.iter_mut());
        assert_eq!((blobs.bytes.len(), blobs.garbage), (800, 0));
        for (n, blob) in (0..20_u8).zip(&used) {
            assert_eq!(blobs.get(*blob), Some(&[n; 40][..]));
        }
        assert_eq!((blobs.get(used[20]), blobs.get(used[21])), (Some(&[1; 2000][..]), None));
    }
}
