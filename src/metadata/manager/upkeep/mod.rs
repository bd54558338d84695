//! What a manager does by itself: nothing that a copy or a deletion left behind is forgotten.
//!
//! In: the state of the partitions led here and of those nobody leads any more, the storage side, the time. Out: records
//! (claims, ends of deletions, facts again, tombstones), deleted objects, gauges. Never: a wait in a caller's thread.
//!
//! `rounds` decides when and where, `care` takes one segment as far as it goes (what to do is decided by
//! [`crate::metadata::plan::judge`]), `records` keeps the log small, `caretaker` knows which topics are gone. What is only
//! known here: the copies that were begun (`attempts`), how far a cleanup is (`cases`). `ledger` answers the storage side.

mod attempts;
mod care;
mod caretaker;
mod cases;
mod health;
mod instruments;
mod ledger;
mod place;
mod records;
mod rolls;
mod rounds;
mod sightings;
mod turns;

pub(super) use ledger::Ledger;
pub(super) use place::Place;
#[cfg(test)]
pub(super) use rounds::round;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use tokio::sync::Semaphore;

use crate::config::{Config, ConfigError, metadata as keys};
use crate::metadata::MetadataError;
use crate::metadata::partition::PartitionState;
use crate::metadata::plan::{Delays, Level, Standing};
use crate::metrics::Registry;
use crate::model::{KafkaUuid, ObjectsError, SegmentId, SegmentMetadata, SegmentObjects, SegmentState, SegmentUpdate};

use super::core::Core;
use super::delay::now_ms;
use super::quiet::Quiet;
use super::supervise::supervise;
use attempts::Attempts;
use cases::Cases;
use health::Health;
use instruments::Instruments;
use rolls::Rolls;
use sightings::Sightings;
use turns::{Nudges, Turns};

/// Segments and partitions that are worked on at one time.
const ROOM: usize = 16;
const SAID_AGAIN: Duration = Duration::from_secs(300);
const BACKOFF_MAX_MS: i64 = 3_600_000;
/// Looks for deleted topics are so many times the grace apart.
const GRACES_PER_LOOK: u32 = 5;

/// Checked settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    pub(super) interval: Duration,
    grace: Duration,
    lease_ms: i64,
    pub(super) tombstone_delay_ms: i64,
}

/// All that upkeep remembers.
pub(super) struct Upkeep {
    pub(super) attempts: Attempts,
    pub(super) cases: Cases,
    pub(super) instruments: Instruments,
    pub(super) nudges: Nudges,
    turns: Turns,
    rolls: Rolls,
    health: Mutex<Health>,
    options: Options,
    objects: RwLock<Option<Arc<dyn SegmentObjects>>>,
    /// When this process began, as far as its attempts are concerned.
    began_ms: i64,
    room: Arc<Semaphore>,
    sightings: Mutex<Sightings>,
    next_look: Mutex<Option<Instant>>,
    can_look: AtomicBool,
    quiet: Mutex<Quiet>,
    delete_failure_said: Mutex<Option<Instant>>,
}

impl Options {
    pub(super) fn read(config: &Config) -> Result<Self, ConfigError> {
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Ok(Self {
            interval: config.millis(&keys::UPKEEP_INTERVAL_MS)?,
            grace: config.millis(&keys::UPKEEP_GRACE_MS)?,
            lease_ms: ms(config.millis(&keys::COPY_LEASE_MS)?),
            tombstone_delay_ms: ms(config.millis(&keys::TOMBSTONE_DELAY_MS)?),
        })
    }
}

/// Lets an attempt begin unless the store is known to be down: it would only leave something behind.
pub(super) fn admit(core: &Core, segment: &SegmentId) -> Result<(), MetadataError> {
    let Some(why) = core.upkeep.objects().and_then(|objects| objects.outage()) else { return Ok(()) };
    core.upkeep.instruments.attempts_held_back.increment();
    Err(MetadataError::StoreDown { segment: segment.clone(), why })
}

/// What to write when the broker says something of a segment. Where it says that a deletion has ended that is ours to
/// end, it is told that it has: the segment dangles again until it really has, or the state stays (`None`).
pub(super) fn take_over_end(
    core: &Core,
    from: Option<SegmentState>,
    standing: &Standing,
    update: SegmentUpdate,
) -> Option<SegmentUpdate> {
    let is_open = matches!(from, Some(SegmentState::DeleteStarted | SegmentState::Dangling));
    let may_be_ours = update.state == SegmentState::DeleteFinished && is_open && core.upkeep.objects().is_some();
    if !may_be_ours || !core.upkeep.cases.hide(&update.id) {
        return Some(update);
    }
    let may_dangle = standing.level > Level::Zero && standing.leadership.is_some() && standing.is_current;
    let is_ours_anew = core.upkeep.cases.is_owed(&update.id) && from == Some(SegmentState::DeleteStarted);
    (may_dangle && is_ours_anew).then_some(SegmentUpdate { state: SegmentState::Dangling, ..update })
}

/// Begins upkeep, in the background, once the log is usable.
pub(super) fn spawn(core: &Arc<Core>) {
    // It is in the log, and nobody waits for upkeep.
    let note = |_: &Core, _| {};
    supervise(core, "looking after what copies and deletions leave", note, rounds::run);
}

impl Upkeep {
    pub(super) fn new(options: Options, registry: &mut Registry, now_ms: i64) -> Self {
        Self {
            attempts: Attempts::default(),
            cases: Cases::default(),
            instruments: Instruments::register(registry),
            nudges: Nudges::default(),
            turns: Turns::default(),
            rolls: Rolls::default(),
            health: Mutex::default(),
            options,
            objects: RwLock::default(),
            began_ms: now_ms,
            room: Arc::new(Semaphore::new(ROOM)),
            sightings: Mutex::default(),
            next_look: Mutex::default(),
            can_look: AtomicBool::new(true),
            quiet: Mutex::new(Quiet::patient(Duration::from_secs(600))),
            delete_failure_said: Mutex::default(),
        }
    }

    /// The storage side of this process is this one from now on.
    pub(super) fn join(&self, objects: Arc<dyn SegmentObjects>) {
        *self.objects.write() = Some(objects);
    }

    /// The storage side is of no use any more. What it owed is the broker's to delete again, and shown to it.
    pub(super) fn part(&self) {
        *self.objects.write() = None;
    }

    pub(super) fn objects(&self) -> Option<Arc<dyn SegmentObjects>> {
        self.objects.read().clone()
    }

    fn delays(&self) -> Delays {
        let ms = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let grace_ms = ms(self.options.grace);
        Delays {
            lease_ms: self.options.lease_ms,
            delete_patience_ms: grace_ms,
            grace_ms,
            backoff_ms: ms(self.options.interval),
            backoff_max_ms: BACKOFF_MAX_MS,
        }
    }

    /// What became of a COPY_FINISHED of the host's.
    pub(super) fn finish_ended(&self, segment: &SegmentId, now_ms: i64, error: Option<&MetadataError>) {
        self.attempts.heard(segment, now_ms, false);
        if error.is_none() {
            self.attempts.forget(segment);
            if let Some(objects) = self.objects() {
                objects.settled(segment);
            }
        }
        if matches!(error, Some(MetadataError::Refused { .. })) {
            self.instruments.late_finishes_refused.increment();
        }
    }

    /// What of a listing the broker is to see: nothing that it believes to be deleted, and no abandoned copy that is
    /// removed here, as it would be ended before what arrives late is looked for.
    pub(super) fn shown(&self, mut listed: Vec<SegmentMetadata>) -> Vec<SegmentMetadata> {
        if self.objects.read().is_none() {
            return listed;
        }
        let is_hidden =
            |segment: &SegmentMetadata| segment.state == SegmentState::Dangling || self.cases.is_hidden(&segment.id);
        listed.retain(|segment| !is_hidden(segment));
        listed
    }

    /// Whether a listing may have anything that the broker is not to see.
    pub(super) fn hides(&self, state: &PartitionState) -> bool {
        state.work().dangling.count > 0 || self.cases.is_any_hidden()
    }

    /// Whether a topic was seen gone twice.
    pub(super) fn is_gone(&self, topic: &KafkaUuid) -> bool {
        self.sightings.lock().is_gone(topic)
    }

    fn is_look_due(&self) -> bool {
        let (now, mut next) = (Instant::now(), self.next_look.lock());
        let pause = self.options.grace * GRACES_PER_LOOK;
        let due = *next.get_or_insert(now + pause);
        let is_due = now >= due && self.can_look.load(Ordering::Acquire);
        if is_due {
            *next = Some(now + pause);
        }
        is_due
    }

    /// Whether the store may be tried; see [`Health::may_try`].
    fn may_try(&self) -> bool {
        self.health.lock().may_try(now_ms(), self.delays().backoff_ms)
    }

    /// Whether it may not. Nobody is expected to try.
    fn is_store_down(&self) -> bool {
        self.health.lock().is_down(now_ms())
    }

    fn tried<T>(&self, result: &Result<T, ObjectsError>) {
        self.health.lock().ended(result, now_ms(), self.delays().backoff_ms);
    }

    /// A delete failed and is tried again: said once in five minutes, as in an outage each one fails.
    fn delete_failed(&self, segment: &SegmentId, error: &ObjectsError) {
        let now = Instant::now();
        let mut said = self.delete_failure_said.lock();
        if said.is_some_and(|at| now.duration_since(at) < SAID_AGAIN) {
            tracing::debug!("{segment}: its objects could not be deleted: {error}");
        } else {
            *said = Some(now);
            tracing::warn!(
                "{segment}: its objects could not be deleted, which is tried again (further ones within five minutes are \
                 only counted): {error}"
            );
        }
    }

    /// There is nobody to ask.
    fn look_no_more(&self) {
        self.can_look.store(false, Ordering::Release);
    }
}
