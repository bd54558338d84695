//! What the administrator does, and the cleaner: in this order, level record, keyed writers, backfill, check, `compact`.

use undercroft::metadata::partition::PartitionState;
use undercroft::wire::Record;

use crate::broker::take;
use crate::fault::Fault;
use crate::op::{B, Op};
use crate::world::{DELETE_RETENTION_MS, DELIVERY_MS, World, user_partition};

impl World {
    pub(crate) fn convert(&mut self) -> bool {
        !std::mem::replace(&mut self.is_converted, true)
    }

    pub(crate) fn raise_level(&mut self, to: u8, restarts: bool) -> bool {
        let has_stock = self.brokers.iter().any(|broker| broker.is_alive && broker.is_stock);
        match (self.level, to) {
            (0, 1) if self.is_converted && !has_stock => {
                self.write_level(1);
                true
            }
            (1, 2) if self.may_compact() => {
                self.write_level(2);
                self.is_compacted = true;
                // What a record without a key said may be said again anywhere before this.
                self.log.cleaned_to = self.log.end();
                if restarts {
                    for broker in self.brokers.iter_mut() {
                        broker.reader.restart(self.now_ms);
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// All that the way to a level needs, with a leader. The broker that sleeps notices nothing.
    pub(crate) fn migrate(&mut self, sleeper: B, to: u8) -> bool {
        let sleeper = self.broker(sleeper).id;
        if self.level > 0 || (self.broker(sleeper).is_stock && self.broker(sleeper).is_alive) {
            return false;
        }
        self.is_converted = true;
        let awake = (0..self.brokers.len() as B).filter(|&b| b != sleeper);
        for b in awake.clone() {
            self.settle(b);
            if self.broker(b).is_stock {
                self.crash(b);
            }
            self.start(b, true);
        }
        self.apply(Op::Tick { s: 130 });
        self.raise_level(1, false);
        for b in awake.clone() {
            self.settle(b);
            self.apply(Op::Learn { b, epoch: true });
        }
        if to < 2 {
            return true;
        }
        for b in awake {
            self.backfill(b, usize::MAX);
            self.settle(b);
        }
        self.raise_level(2, false);
        true
    }

    /// The check that comes before `compact`: by a reader of its own, of all that there is. (How old the newest record
    /// without a key is does not matter: a reader that has met one starts again at the first gap.)
    pub(crate) fn may_compact(&self) -> bool {
        if self.faults.has(Fault::CompactBeforeCheck) {
            return true;
        }
        // Stock brokers' records must have come, or never will.
        if self.last_stock_ms.is_some_and(|last_ms| self.now_ms - last_ms <= DELIVERY_MS) {
            return false;
        }
        let mut state = PartitionState::with_laws(user_partition(), self.faults.laws);
        for (offset, stored) in self.log.left_from(0) {
            if matches!(stored.body, Some(Record::Level(_))) {
                continue;
            }
            take(&mut state, offset, stored, self.now_ms);
        }
        state.rests_on_null_keys().next().is_none()
    }

    pub(crate) fn compact(&mut self, dirty: u8, swapped: u8) -> bool {
        if !self.is_compacted {
            return false;
        }
        let share = |of: usize, per_cent: u8| of * usize::from(per_cent.min(100)) / 100;
        let dirty_end = share(self.log.end(), dirty);
        let swapped_end = share(dirty_end, swapped);
        let has_changed = self.log.compact(dirty_end, swapped_end, self.now_ms, DELETE_RETENTION_MS);
        if has_changed {
            self.counts.cleaner_rounds += 1;
            self.check_rebuild();
        }
        has_changed
    }
}
