//! Under which keys a segment's records are written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::model::{KafkaUuid, LeaderEpoch, Offset};

/// What all keys of one segment begin with, beside its partition and end offset. Decided once, when the segment is
/// added, and kept by everybody who writes of it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Naming {
    /// Epoch of the leadership that added it; unknown if its first record has no key.
    pub epoch: LeaderEpoch,
    /// Whether every key carries the segment's id too, because the short key is another segment's or the epoch unknown.
    pub has_segment_id: bool,
}

impl Naming {
    /// Of a segment whose first record has no key, or whose writer does not know its epoch.
    pub const UNKNOWN: Self = Self { epoch: LeaderEpoch::UNKNOWN, has_segment_id: true };
}

/// What the key of a record adds to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyFacts {
    /// `None` if the record has no key, or one that names no segment.
    pub naming: Option<Naming>,
    /// Whether it was written by somebody who found an abandoned attempt.
    pub is_claim: bool,
}

/// Who was first with an end offset in an epoch. A short key belongs to one segment for ever, also after its deletion:
/// a later record under the same key would let compaction drop the only one that names the first attempt's objects.
#[derive(Debug, Default)]
pub(super) struct KeyOwners(HashMap<(Offset, LeaderEpoch), KafkaUuid>);

impl KeyOwners {
    /// Notes that `segment` has records for this end offset and epoch.
    pub(super) fn note(&mut self, end_offset: Offset, epoch: LeaderEpoch, segment: KafkaUuid) {
        if epoch.is_known() {
            self.0.entry((end_offset, epoch)).or_insert(segment);
        }
    }

    /// The name for the first record of `segment`. The short key is the segment's from now on if it was free, so that
    /// two adds in flight never share it.
    pub(super) fn claim(&mut self, end_offset: Offset, epoch: LeaderEpoch, segment: KafkaUuid) -> Naming {
        if !epoch.is_known() {
            return Naming::UNKNOWN;
        }
        let has_segment_id = match self.0.entry((end_offset, epoch)) {
            Entry::Vacant(free) => {
                free.insert(segment);
                false
            }
            Entry::Occupied(owner) => *owner.get() != segment,
        };
        Naming { epoch, has_segment_id }
    }
}
