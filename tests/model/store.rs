//! The object store: which attempts have objects, and uploads that were given up and may still be completed.

use std::collections::BTreeSet;

use crate::op::S;

/// Longest time after which an upload that was given up is completed.
pub const LATE_PUT_MS: i64 = 60_000;

#[derive(Debug, Default)]
pub struct Store {
    objects: BTreeSet<S>,
    late: Vec<(S, i64)>,
    pub is_down: bool,
}

impl Store {
    pub fn put(&mut self, seg: S) {
        self.objects.insert(seg);
    }

    pub fn put_later(&mut self, seg: S, now_ms: i64) {
        self.late.push((seg, now_ms + LATE_PUT_MS));
    }

    /// Completes the upload number `i` of those that were given up.
    pub fn land(&mut self, i: usize) -> Option<S> {
        (i < self.late.len()).then(|| self.late.remove(i).0).inspect(|&seg| self.put(seg))
    }

    /// Completes the first that is overdue.
    pub fn land_overdue(&mut self, now_ms: i64) -> Option<S> {
        let i = self.late.iter().position(|&(_, deadline)| deadline <= now_ms)?;
        self.land(i)
    }

    pub fn late(&self) -> usize {
        self.late.len()
    }

    pub fn has(&self, seg: S) -> bool {
        self.objects.contains(&seg)
    }

    /// True if there was something.
    pub fn delete(&mut self, seg: S) -> bool {
        self.objects.remove(&seg)
    }

    pub fn objects(&self) -> impl Iterator<Item = S> {
        self.objects.iter().copied()
    }
}
