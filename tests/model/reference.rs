//! What the whole log says, read by the rules as they are written down and not by the code under test.
//!
//! 1. Only a whole record creates a segment. Updates of an unknown one are kept, and replayed when it comes.
//! 2. COPY_STARTED goes anywhere; COPY_FINISHED to a deletion, and to DANGLING unless that is a claim; DANGLING to a
//!    deletion; DELETE_STARTED to its end, and to DANGLING unless that is a claim. A whole record changes only
//!    COPY_STARTED, but a whole COPY_FINISHED over a DANGLING that was a claim gives COPY_FINISHED.
//! 3. When the last key that carries a whole record is null, the segment is forgotten; what its other keys say is kept.

use std::collections::BTreeMap;

use undercroft::model::SegmentState::{self, CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
use undercroft::wire::{Lane, Record, RecordKey};

use crate::log::{KeyNumber, Stored};
use crate::op::S;

/// State of a segment; the flag tells whether DANGLING is a claim.
pub type Known = Option<(SegmentState, bool)>;

#[derive(Debug, Default)]
struct Segment {
    known: Known,
    /// Keys whose last record is a whole one. `None`: a record without a key.
    bases: Vec<Option<KeyNumber>>,
    /// The last update of each other key, in log order.
    updates: Vec<(Option<KeyNumber>, SegmentState, bool)>,
    /// What the segment was from which offset on.
    history: Vec<(usize, Known)>,
}

#[derive(Debug, Default)]
pub struct Reference {
    segments: BTreeMap<S, Segment>,
}

/// Whether an update goes from `from` to `to`.
fn accepts(from: SegmentState, to: SegmentState, is_claim: bool) -> bool {
    match (from, to) {
        (CopyStarted, _) => true,
        (CopyFinished, DeleteStarted | DeleteFinished) => true,
        (CopyFinished | DeleteStarted, Dangling) => !is_claim,
        (Dangling, DeleteStarted | DeleteFinished) | (DeleteStarted, DeleteFinished) => true,
        (from, to) => from == to,
    }
}

impl Segment {
    fn update(&mut self, to: SegmentState, is_claim: bool) {
        let Some((from, was_claim)) = self.known else { return };
        if accepts(from, to, is_claim) {
            // A claim of what was given back makes no claim of it; a return makes one of no claim.
            let is_claimed = to == Dangling && is_claim && (from != Dangling || was_claim);
            self.known = Some((to, is_claimed));
        }
    }
}

impl Reference {
    /// Takes the next record.
    pub fn take(&mut self, offset: usize, stored: &Stored) {
        let (Some(seg), key) = (stored.seg, stored.key_number) else { return };
        let lane = match &stored.key {
            Some(RecordKey::Segment(key)) => Some(key.lane),
            _ => None,
        };
        let is_claim = matches!(lane, Some(Lane::Claim { .. }));
        let segment = self.segments.entry(seg).or_default();
        let before = segment.known;
        match &stored.body {
            Some(Record::Segment(whole)) => {
                let to = whole.metadata.state;
                if !segment.bases.contains(&key) {
                    segment.bases.push(key);
                }
                match segment.known {
                    None => {
                        segment.known = Some((to, to == Dangling && is_claim));
                        for (_, to, is_claim) in segment.updates.clone() {
                            segment.update(to, is_claim);
                        }
                    }
                    Some((CopyStarted, _)) => segment.update(to, is_claim),
                    Some((Dangling, true)) if to == CopyFinished => segment.known = Some((CopyFinished, false)),
                    Some(_) => {}
                }
            }
            Some(Record::Update(update)) => {
                segment.updates.retain(|(of, ..)| of.is_none() || *of != key);
                segment.updates.push((key, update.update.state, is_claim));
                segment.update(update.update.state, is_claim);
            }
            Some(_) => {}
            None => {
                segment.updates.retain(|(of, ..)| *of != key);
                let had_base = segment.bases.contains(&key);
                segment.bases.retain(|of| *of != key);
                if had_base && segment.bases.is_empty() {
                    segment.known = None;
                }
            }
        }
        if segment.known != before || segment.history.is_empty() {
            segment.history.push((offset, segment.known));
        }
    }

    /// What the segment is, from all records.
    pub fn now(&self, seg: S) -> Option<SegmentState> {
        self.segments.get(&seg)?.known.map(|(state, _)| state)
    }

    /// What the segment was before `end`.
    pub fn before(&self, seg: S, end: usize) -> Option<SegmentState> {
        let history = &self.segments.get(&seg)?.history;
        let at = history.partition_point(|&(offset, _)| offset < end);
        history[..at].last().and_then(|(_, known)| known.map(|(state, _)| state))
    }

    pub fn segments(&self) -> impl Iterator<Item = (S, Option<SegmentState>)> {
        self.segments.iter().map(|(&seg, segment)| (seg, segment.known.map(|(state, _)| state)))
    }
}

/// Whether two readers agree on a segment: one that is deleted may be absent.
pub fn agree(one: Option<SegmentState>, other: Option<SegmentState>) -> bool {
    let lasting = |state: Option<SegmentState>| state.filter(|&state| state != DeleteFinished);
    lasting(one) == lasting(other)
}
