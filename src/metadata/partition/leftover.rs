//! Keys that the log has for nothing.

use crate::model::{KafkaUuid, LeaderEpoch, Offset};
use crate::wire::RecordKey;

use super::PartitionState;
use super::naming::{KeyName, LaneName};
use super::segment::Orphan;
use super::slab::Slotted;

/// Keys of one segment that is gone or was never known.
#[derive(Debug)]
pub(in crate::metadata) struct Leftover {
    pub(in crate::metadata) segment: KafkaUuid,
    pub(in crate::metadata) end_offset: Offset,
    /// Keys that its existence can rest on.
    pub(in crate::metadata) base_keys: Vec<RecordKey>,
    pub(in crate::metadata) other_keys: Vec<RecordKey>,
    /// The highest leadership that is named in one of them.
    pub(in crate::metadata) epoch: LeaderEpoch,
    /// When the last record under one of them was read.
    pub(in crate::metadata) seen_ms: i64,
}

impl PartitionState {
    /// What the log has of segments that are gone and of segments that are not known, by end offset and segment.
    pub(in crate::metadata) fn leftovers(&self) -> Vec<Leftover> {
        let gone = self.gone.iter().filter(|gone| !self.other_keys.is_empty(gone.holder()));
        let gone = gone.map(|gone| self.leftover(gone.uuid(), &self.other_keys.names(gone.holder()), gone.seen_ms));
        let orphans = self.orphans.iter().map(|(&id, orphan)| {
            let names: Vec<_> = orphan.updates.iter().filter_map(|kept| kept.name).collect();
            self.leftover(id, &names, orphan.seen_ms)
        });
        let mut leftovers: Vec<_> = gone.chain(orphans).collect();
        leftovers.sort_unstable_by_key(|leftover| (leftover.end_offset, leftover.segment));
        leftovers
    }

    /// Whether the log has a mark of the partition's deletion under its key and nothing else of the partition, and when it
    /// was read.
    pub(in crate::metadata) fn lone_mark_seen_ms(&self) -> Option<i64> {
        let mark = self.mark.filter(|mark| mark.is_keyed)?;
        // Updates without a key hold nothing up: nobody can empty what has no key.
        let is_keyed = |orphan: &Orphan| orphan.updates.iter().any(|kept| kept.name.is_some());
        let has_orphans = self.orphans.values().any(is_keyed);
        let is_alone = self.live.is_empty() && !has_orphans && self.work().gone_with_keys == 0;
        is_alone.then_some(mark.seen_ms)
    }

    /// Whether a live segment has a record under a key that names no segment.
    fn is_lived_in(&self, name: KeyName) -> bool {
        let is_short = !name.has_segment_id && matches!(name.lane, LaneName::Base | LaneName::Update);
        is_short && self.live.iter().any(|live| self.other_keys.has(live.holder(), name))
    }

    fn leftover(&self, segment: KafkaUuid, names: &[KeyName], seen_ms: i64) -> Leftover {
        let names: Vec<_> = names.iter().copied().filter(|&name| !self.is_lived_in(name)).collect();
        let keys = |is_base: bool| {
            let wanted = names.iter().filter(move |name| name.is_base_type() == is_base);
            wanted.map(|name| name.to_key(&self.partition, segment)).collect()
        };
        let epochs = names.iter().map(|name| match name.lane {
            LaneName::Rewrite { writer_epoch } => writer_epoch.max(name.epoch),
            _ => name.epoch,
        });
        Leftover {
            segment,
            end_offset: names.iter().map(|name| name.end_offset).max().unwrap_or(Offset(-1)),
            base_keys: keys(true),
            other_keys: keys(false),
            epoch: epochs.max().unwrap_or(LeaderEpoch::UNKNOWN),
            seen_ms,
        }
    }
}
