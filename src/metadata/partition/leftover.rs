//! Keys that the log has for nothing.

use std::collections::HashSet;

use crate::model::{KafkaUuid, LeaderEpoch, Offset};
use crate::wire::RecordKey;

use super::PartitionState;
use super::naming::{KeyName, LaneName};
use super::segment::{Gone, Orphan};
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
        let lived_in = self.lived_in();
        let gone = self.gone.iter().filter(|gone| !self.other_keys.is_empty(gone.holder()));
        let names_of = |gone: &Gone| self.other_keys.names(gone.holder());
        let gone = gone.map(|gone| self.leftover(gone.uuid(), &names_of(gone), gone.seen_ms, &lived_in));
        let orphans = self.orphans.iter().map(|(&id, orphan)| {
            let names: Vec<_> = orphan.updates.iter().filter_map(|kept| kept.name).collect();
            self.leftover(id, &names, orphan.seen_ms, &lived_in)
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

    /// Keys that name no segment and under which a live one has a record. All at once: to look through the live segments
    /// for each key of each that is gone would hold up whoever waits for the state.
    fn lived_in(&self) -> HashSet<KeyName> {
        let is_short = |name: &KeyName| !name.has_segment_id && matches!(name.lane, LaneName::Base | LaneName::Update);
        self.live.iter().flat_map(|live| self.other_keys.names(live.holder())).filter(is_short).collect()
    }

    fn leftover(&self, segment: KafkaUuid, names: &[KeyName], seen_ms: i64, lived_in: &HashSet<KeyName>) -> Leftover {
        let names: Vec<_> = names.iter().copied().filter(|name| !lived_in.contains(name)).collect();
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
