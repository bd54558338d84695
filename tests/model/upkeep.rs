//! What a leader does by its own timer: cleaning up after attempts, backfill, tombstones.

use std::collections::HashSet;

use undercroft::metadata::partition::Unsettled;
use undercroft::metadata::plan::dangling::{Delays, Evidence, OwnCopy, Stage, Store, Verdict, judge};
use undercroft::metadata::plan::{self, Draft, DraftBody};
use undercroft::model::{KafkaUuid, LeaderEpoch, SegmentState};
use undercroft::wire::{Lane, RecordKey, SegmentKey};

use crate::broker::Ticket;
use crate::fault::Fault;
use crate::op::{B, Op, S};
use crate::store::LATE_PUT_MS;
use crate::tasks::{COPY_MS, Written};
use crate::world::{SETTLE_MS, World, seg_of, segment_id, uuid};

pub const DELAYS: Delays = Delays {
    // A copy, an upload that comes late, and clocks that differ.
    lease_ms: COPY_MS + LATE_PUT_MS + 120_000,
    delete_patience_ms: 300_000,
    grace_ms: LATE_PUT_MS + 30_000,
    backoff_ms: 10_000,
    backoff_max_ms: 300_000,
};

impl World {
    pub(crate) fn upkeep(&mut self, b: B, nonce: u16) -> bool {
        let (now_ms, faults) = (self.now_ms, self.faults);
        let broker = self.broker(b);
        if !broker.is_alive || broker.is_stock || broker.leadership.is_none() {
            return false;
        }
        if !broker.standing(now_ms, &faults).is_current {
            return false;
        }
        let mut segments: Vec<Unsettled> = broker.reader.state.unsettled().collect();
        if broker.knows_topic_gone {
            let finished = broker.reader.state.list(None).into_iter();
            segments.extend(finished.filter(|of| of.state == SegmentState::CopyFinished).map(|metadata| Unsettled {
                metadata,
                is_claimed: false,
                is_copy_over: true,
                seen_ms: 0,
            }));
        }
        segments.sort_by_key(|segment| segment.metadata.id.uuid);
        let mut has_changed = false;
        self.broker(b).is_in_upkeep = true;
        for segment in segments {
            has_changed |= self.keep_up(b, &segment, nonce);
        }
        self.broker(b).is_in_upkeep = false;
        has_changed
    }

    /// What timers do while nothing else happens. `sleeper` does nothing; if there is no such broker, nobody sleeps.
    pub(crate) fn pass_quietly(&mut self, sleeper: B, rounds: u8, s: u16, nonce: u16) -> bool {
        for round in 0..u16::from(rounds) {
            self.apply(Op::Tick { s: s.into() });
            for b in (0..self.brokers.len() as B).filter(|&b| b != sleeper) {
                self.settle(b);
                self.upkeep(b, nonce.wrapping_add(round));
                self.backfill(b, usize::MAX);
                self.settle(b);
                self.tombstones(b, usize::MAX);
                self.settle(b);
            }
            self.compact(100, 100);
        }
        rounds > 0
    }

    /// One step for one segment.
    fn keep_up(&mut self, b: B, segment: &Unsettled, nonce: u16) -> bool {
        let (now_ms, faults, is_down) = (self.now_ms, self.faults, self.store.is_down);
        let seg = seg_of(segment.metadata.id.uuid);
        let broker = self.broker(b);
        let mut cleaning = broker.cleanings.get(&seg).copied().unwrap_or_default();
        if let Some((ticket, then)) = cleaning.waits {
            match broker.answer(ticket) {
                None => return false,
                Some(Ok(())) => cleaning.cleanup.stage = then,
                Some(Err(())) => {}
            }
            cleaning.waits = None;
        }
        let own = match (broker.tasks.contains_key(&seg), broker.ended.get(&seg)) {
            (true, _) => OwnCopy::Open,
            (false, Some(&is_finish_said)) => OwnCopy::Ended { is_finish_said },
            (false, None) => OwnCopy::No,
        };
        let evidence = Evidence {
            own,
            process_began_ms: broker.began_ms,
            is_topic_gone: broker.knows_topic_gone,
            store: if is_down { Store::Down } else { Store::Usable },
            cleanup: cleaning.cleanup,
        };
        let standing = broker.standing(now_ms, &faults);
        let (wall_ms, began) = (standing.now_ms, cleaning.cleanup);
        let verdict = judge(segment, &evidence, &standing, &DELAYS);
        let cleanup = &mut cleaning.cleanup;
        let written = match verdict {
            Verdict::Keep | Verdict::Wait => None,
            Verdict::Claim => {
                // Brokers draw their own.
                let nonce = u64::from(nonce) << 8 | u64::from(b);
                let sent = self.claim(b, seg, if faults.has(Fault::NonceReused) { 0 } else { nonce });
                if faults.has(Fault::ClaimActedOnEarly) && sent.is_some() {
                    self.delete_objects(seg);
                }
                sent.map(|ticket| (ticket, Stage::Idle))
            }
            Verdict::BeginDelete => self.wait_for(b, seg, SegmentState::DeleteStarted, Stage::Begun),
            Verdict::Delete if is_down => {
                cleanup.stage = Stage::Failed;
                cleanup.failures += 1;
                cleanup.failed_ms = wall_ms;
                None
            }
            Verdict::Delete => {
                self.delete_objects(seg);
                cleanup.stage = match faults.has(Fault::NoSecondLook) {
                    true => Stage::Gone,
                    false => Stage::Deleted { at_ms: wall_ms },
                };
                None
            }
            Verdict::ListAgain if self.store.has(seg) => {
                self.delete_objects(seg);
                cleanup.stage = Stage::Deleted { at_ms: wall_ms };
                None
            }
            Verdict::ListAgain => {
                cleanup.stage = Stage::Gone;
                None
            }
            Verdict::Finish => self.wait_for(b, seg, SegmentState::DeleteFinished, Stage::Idle),
            Verdict::GiveBack => self.wait_for(b, seg, SegmentState::Dangling, Stage::Idle),
        };
        let has_changed = written.is_some() || cleaning.cleanup != began;
        cleaning.waits = written;
        self.broker(b).cleanings.insert(seg, cleaning);
        has_changed
    }

    fn wait_for(&mut self, b: B, seg: S, to: SegmentState, then: Stage) -> Option<(Ticket, Stage)> {
        match self.write_update(b, seg, to, 0) {
            Written::Sent(ticket) => Some((ticket, then)),
            Written::AlreadySo | Written::Denied => None,
        }
    }

    fn claim(&mut self, b: B, seg: S, nonce: u64) -> Option<Ticket> {
        let (now_ms, faults) = (self.now_ms, self.faults);
        let ticket = self.ticket();
        let broker = self.broker(b);
        let standing = broker.standing(now_ms, &faults);
        let draft = plan::claim(&broker.reader.state, &standing, &segment_id(seg), nonce).ok()?;
        broker.send(&draft, standing.level, ticket, now_ms);
        self.counts.claims += 1;
        Some(ticket)
    }

    pub(crate) fn backfill(&mut self, b: B, max: usize) -> bool {
        let (now_ms, faults, epoch) = (self.now_ms, self.faults, self.epoch);
        let broker = self.broker(b);
        if !broker.is_alive || broker.is_stock {
            return false;
        }
        let mut standing = broker.standing(now_ms, &faults);
        if standing.leadership.is_none() && faults.has(Fault::BackfillByAnyone) {
            standing.leadership = Some(LeaderEpoch(epoch));
        }
        let settled: Vec<S> = broker
            .rewrites
            .iter()
            .filter(|&(_, &ticket)| broker.answer(ticket).is_some())
            .map(|(&seg, _)| seg)
            .collect();
        for seg in settled {
            broker.rewrites.remove(&seg);
        }
        let in_flight: HashSet<KafkaUuid> = broker.rewrites.keys().map(|&seg| uuid(seg)).collect();
        let drafts = plan::backfill(&broker.reader.state, &standing, &in_flight, max);
        for draft in &drafts {
            let ticket = self.ticket();
            let seg = match &draft.body {
                DraftBody::Segment { metadata, .. } => Some(seg_of(metadata.id.uuid)),
                DraftBody::Update { update, .. } => Some(seg_of(update.id.uuid)),
                _ => None,
            };
            let broker = self.broker(b);
            broker.send(draft, standing.level, ticket, now_ms);
            if let Some(seg) = seg {
                broker.rewrites.insert(seg, ticket);
            }
        }
        self.counts.backfills += drafts.len() as u64;
        !drafts.is_empty()
    }

    pub(crate) fn tombstones(&mut self, b: B, max: usize) -> bool {
        let (now_ms, faults) = (self.now_ms, self.faults);
        let broker = self.broker(b);
        if !broker.is_alive || broker.is_stock {
            return false;
        }
        let settle_ms = if faults.has(Fault::NoSettling) { 0 } else { SETTLE_MS };
        let standing = broker.standing(now_ms, &faults);
        let mut drafts = plan::tombstones(&broker.reader.state, &standing, settle_ms, max);
        if faults.has(Fault::TombstoneByEndOffset) {
            drafts = drafts.iter().flat_map(|draft| self.same_end_offset(draft)).collect();
        }
        if faults.has(Fault::UpdateTombstonedFirst) {
            drafts = drafts.iter().flat_map(|draft| self.lanes_first(draft)).collect();
        }
        for draft in &drafts {
            let ticket = self.ticket();
            self.broker(b).send(draft, standing.level, ticket, now_ms);
        }
        !drafts.is_empty()
    }

    /// Fault: what was to be one segment's tombstone goes to all base keys of its end offset.
    fn same_end_offset(&self, draft: &Draft) -> Vec<Draft> {
        let RecordKey::Segment(key) = &draft.key else { return vec![draft.clone()] };
        let of_end = |other: &SegmentKey| other.lane == Lane::Base && other.end_offset == key.end_offset;
        self.tombstones_of(|other, _| of_end(other))
    }

    /// Fault: the other keys of the segment come before its base.
    fn lanes_first(&self, draft: &Draft) -> Vec<Draft> {
        let RecordKey::Segment(key) = &draft.key else { return vec![draft.clone()] };
        let owner = self.log.all.iter().find(|stored| stored.key.as_ref() == Some(&draft.key)).and_then(|of| of.seg);
        if key.lane != Lane::Base {
            return vec![draft.clone()];
        }
        let lanes = self.tombstones_of(|other, seg| !other.is_base_type() && owner == Some(seg));
        if lanes.is_empty() { vec![draft.clone()] } else { lanes }
    }

    /// Tombstones for the keys that have a record that is not null.
    fn tombstones_of(&self, mut which: impl FnMut(&SegmentKey, S) -> bool) -> Vec<Draft> {
        let mut last = std::collections::BTreeMap::new();
        for stored in &self.log.all {
            if let (Some(number), Some(RecordKey::Segment(key)), Some(seg)) =
                (stored.key_number, &stored.key, stored.seg)
            {
                last.insert(number, (key, seg, stored.body.is_none()));
            }
        }
        let wanted = last.into_values().filter(|&(key, seg, is_null)| !is_null && which(key, seg));
        wanted.map(|(key, ..)| Draft { key: key.clone().into(), body: DraftBody::Tombstone }).collect()
    }
}
