//! Every history is brought to rest: all is delivered or lost, one leader is left, and does its work until there is none.
//! Then nothing may be left over.

use undercroft::model::SegmentState;
use undercroft::wire::{Record, RecordKey};

use crate::op::{B, How, S, Setup};
use crate::world::{DELETE_RETENTION_MS, DELIVERY_MS, SETTLE_MS, World};

/// More rounds than any history needs.
const ROUNDS_MAX: usize = 120;

impl World {
    /// Brings the history to its end and checks what is left.
    pub fn end(&mut self, setup: &Setup) {
        self.come_to_rest(setup);
        if self.violation.is_none() {
            self.settle_segments();
        }
        if self.violation.is_none() {
            self.check_objects();
        }
        if self.violation.is_none() {
            self.empty_keys();
            self.check_leftovers();
        }
    }

    fn each(&mut self, mut act: impl FnMut(&mut Self, B) -> bool) -> bool {
        let count = self.brokers.len() as B;
        (0..count).fold(false, |has_changed, b| act(self, b) | has_changed)
    }

    fn pass(&mut self, ms: i64) {
        self.apply(crate::op::Op::Tick { s: u32::try_from(ms / 1000).unwrap_or(u32::MAX) });
    }

    /// One leader, all up, nothing on its way.
    fn come_to_rest(&mut self, setup: &Setup) {
        self.is_converted = true;
        self.store.is_down = false;
        if setup.crash_at_end {
            self.each(Self::crash);
        }
        self.each(Self::settle);
        for b in 0..self.brokers.len() as B {
            if self.broker(b).is_stock {
                self.crash(b);
            }
        }
        self.pass(DELIVERY_MS + 1000);
        self.each(|world, b| world.start(b, true));
        self.each(Self::settle);
        self.apply(crate::op::Op::Elect { b: setup.skew_s[0].unsigned_abs() as B % 3 });
        self.each(|world, b| world.apply(crate::op::Op::Learn { b, epoch: true }));
        self.apply(crate::op::Op::Level { to: 1, restart: false });
        self.each(Self::settle);
    }

    /// Until every segment is live or gone, and says so under a key.
    fn settle_segments(&mut self) {
        for round in 0..ROUNDS_MAX {
            let mut has_changed = false;
            for b in 0..self.brokers.len() as B {
                let tasks: Vec<S> = self.broker(b).tasks.keys().copied().collect();
                for seg in tasks {
                    has_changed |= self.step(b, seg, How::Well);
                }
                has_changed |= self.upkeep(b, u16::try_from(round).unwrap_or(u16::MAX).wrapping_add(50_000));
                has_changed |= self.backfill(b, 100);
            }
            self.each(Self::settle);
            self.pass(SETTLE_MS / 10);
            self.each(Self::settle);
            let is_settled = self.full.unsettled().next().is_none() && self.store.late() == 0;
            let is_idle = self.brokers.iter().all(|broker| broker.tasks.is_empty());
            let is_gone = self.topic_gone_ms.is_none()
                || self.reference.segments().all(|(_, state)| state != Some(SegmentState::CopyFinished));
            if !has_changed && is_settled && is_idle && is_gone {
                break;
            }
        }
        if self.level == 1 && !self.apply(crate::op::Op::Level { to: 2, restart: false }) {
            let rests: Vec<_> = self.full.rests_on_null_keys().map(|(id, fact)| format!("{id}: {fact:?}")).collect();
            self.fail("backfill ends", rests.join(", "));
        }
        self.each(Self::settle);
        self.check_rebuild();
    }

    /// Every object is a live segment's, and every live segment has its objects.
    fn check_objects(&mut self) {
        let unsettled = self.full.unsettled().next();
        if let Some(segment) = unsettled {
            let (id, state) = (segment.metadata.id, segment.metadata.state);
            return self.fail("every attempt is settled in the end", format!("{id} is {state}"));
        }
        let is_live = |world: &Self, seg| world.reference.now(seg) == Some(SegmentState::CopyFinished);
        let orphan = self.store.objects().find(|&seg| !is_live(self, seg));
        if let Some(seg) = orphan {
            let state = self.reference.now(seg);
            return self.fail("no object is left over", format!("segment {seg} is {state:?}"));
        }
        let bare = self.reference.segments().find(|&(seg, _)| is_live(self, seg) && !self.store.has(seg));
        if let Some((seg, _)) = bare {
            self.fail("a live segment has its objects", format!("segment {seg}, in the end"));
        }
        let live = self.reference.segments().find(|&(seg, _)| is_live(self, seg));
        if let (Some((seg, _)), Some(_)) = (live, self.topic_gone_ms) {
            self.fail("nothing is left of a deleted topic", format!("segment {seg} is live"));
        }
    }

    /// Until nobody has a tombstone to write, and the cleaner has dropped them all.
    fn empty_keys(&mut self) {
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            self.pass(SETTLE_MS / 2 + 1000);
            self.each(Self::settle);
            let has_written = self.each(|world, b| world.tombstones(b, 100));
            self.each(Self::settle);
            quiet = if has_written { 0 } else { quiet + 1 };
            if self.violation.is_some() || quiet > 3 {
                break;
            }
        }
        for _ in 0..3 {
            self.apply(crate::op::Op::Compact { dirty: 100, swapped: 100 });
            self.pass(DELETE_RETENTION_MS + 1000);
        }
        self.each(Self::settle);
        self.check_rebuild();
    }

    /// What is left in the log is what live segments need.
    fn check_leftovers(&mut self) {
        let is_live = |seg| self.reference.now(seg) == Some(SegmentState::CopyFinished);
        let leftover = self.log.left_from(0).find(|(_, stored)| match (&stored.key, stored.seg) {
            (Some(RecordKey::Level), _) => false,
            (Some(RecordKey::Partition(_)), _) => true,
            (_, Some(seg)) => !is_live(seg),
            (_, None) => true,
        });
        if let Some((offset, stored)) = leftover {
            let key = stored.key.as_ref().map(ToString::to_string);
            let what = match &stored.body {
                None => "a tombstone".to_owned(),
                Some(Record::Segment(whole)) => format!("whole, {}", whole.metadata.state),
                Some(Record::Update(update)) => format!("update, {}", update.update.state),
                Some(other) => format!("{other:?}"),
            };
            self.fail("nothing is left of what is gone", format!("offset {offset}, {key:?}: {what}"));
        }
    }
}
