//! The thread that reads the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::metadata::log::{Cleanup, LogError, LogEvent, LogReader};
use crate::metadata::partition::Outcome;

use super::checkpoint::Checkpoints;
use super::core::Core;
use super::delay::now_ms;
use super::env::RETRY_PAUSE_MAX;
use super::intake::{Intake, Raw};
use super::quiet::Quiet;
use super::reading::{Forgetting, Reading, Readings};
use super::silence::Silence;
use super::{levels, startup};

const POLL_MAX: Duration = Duration::from_millis(500);
/// A broker's listener goes down before this manager is closed, and a cluster's brokers are restarted.
const PATIENCE: Duration = Duration::from_secs(10);
const SILENCE_MAX: Duration = if cfg!(test) { Duration::from_secs(1) } else { PATIENCE };
/// How often a log that seems to be another one is looked at for the last record that is known.
const PROVE_PAUSE: Duration = Duration::from_secs(5);
const ANOTHER: &str = "the log was deleted and another one has its name, which is read from its start";
const READING: &str = "reading the log of remote segment metadata";

/// What one poll brought, told to the waiters at once.
#[derive(Default)]
struct Progress {
    /// Partitions whose position moved.
    moved: Vec<i32>,
    exceptions: HashMap<i32, Vec<(i64, Outcome)>>,
    are_rounds_met: bool,
}

impl Progress {
    fn move_to(&mut self, reading: &mut Reading, position: i64) {
        reading.position = position;
        if !std::mem::replace(&mut reading.is_moved, true) {
            self.moved.push(reading.meta.index);
        }
    }
}

/// Runs until the manager is closed.
pub(super) fn run(core: &Arc<Core>) {
    let mut thread = Thread {
        core,
        intake: Intake::new(Arc::clone(core)),
        readings: Readings::default(),
        checkpoints: Checkpoints::of(core),
        quiet: Quiet::patient(PATIENCE),
        silence: Silence::longer_than(SILENCE_MAX),
        pause: core.options.retry_pause,
        reconciled: None,
    };
    while !core.is_closed() {
        thread.take_up();
        if core.directory.read().partitions().is_none() {
            core.bell.wait(POLL_MAX);
            core.bell.take();
            continue;
        }
        let error = match core.log.reader() {
            Ok(mut reader) => {
                core.bell.set_waker(Some(reader.waker()));
                let error = thread.read(&mut *reader);
                core.bell.set_waker(None);
                error
            }
            Err(error) => Some(error),
        };
        if let Some(error) = error.filter(|_| !core.is_closed()) {
            thread.failed(&error);
        }
    }
    thread.checkpoints.keep_all(core, thread.readings.iter_mut());
}

struct Thread<'a> {
    core: &'a Arc<Core>,
    intake: Intake,
    readings: Readings,
    checkpoints: Checkpoints,
    quiet: Quiet,
    silence: Silence,
    pause: Duration,
    reconciled: Option<Instant>,
}

impl Thread<'_> {
    fn failed(&mut self, error: &LogError) {
        self.core.instruments.reader_restarts.increment();
        self.quiet.failed(READING, error);
        *self.core.reading_failure.lock() = Some(error.to_string());
        let until = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(RETRY_PAUSE_MAX);
        while !self.core.is_closed() && Instant::now() < until {
            // A ring during the pause is not lost: the next reader looks at all assignments anyway.
            self.core.bell.take();
            self.core.bell.wait(until.saturating_duration_since(Instant::now()));
        }
        for reading in self.readings.iter_mut() {
            reading.is_assigned = false;
        }
        self.reconciled = None;
    }

    /// Forgets the log that was read if another one has taken its place.
    fn take_up(&mut self) {
        let Some(log) = self.core.log_to_take_up() else { return };
        let metas: Vec<_> = self.core.directory.read().meta.values().cloned().collect();
        for meta in metas {
            self.checkpoints.forget(self.core, meta.index);
            let live = i64::try_from(meta.live_segments()).unwrap_or(0);
            meta.begin_with_another_log(ANOTHER);
            self.core.instruments.segments_live.add(-live);
            self.core.waiters.lock().begin_with_another_log(meta.index);
            meta.ask();
        }
        let now = Instant::now();
        self.readings.iter_mut().for_each(|reading| reading.begin_with_another_log(now));
        self.reconciled = None;
        self.core.take_up_log(log);
    }

    /// Reads until the manager is closed or there is another log (nothing), or the reader is of no use any more (why).
    fn read(&mut self, reader: &mut dyn LogReader) -> Option<LogError> {
        loop {
            if self.core.is_closed() || self.core.log_to_take_up().is_some() {
                return None;
            }
            let is_due = self.reconciled.is_none_or(|at| at.elapsed() >= POLL_MAX);
            if (self.core.bell.take() || is_due)
                && let Err(error) = self.reconcile(reader)
            {
                return Some(error);
            }
            if let Err(error) = self.poll(reader) {
                return Some(error);
            }
            let now = Instant::now();
            self.readings.iter_mut().for_each(|reading| self.checkpoints.keep(self.core, reading, now));
            self.silence.look(self.core, &self.readings, now);
        }
    }

    /// Makes what is read what should be read.
    fn reconcile(&mut self, reader: &mut dyn LogReader) -> Result<(), LogError> {
        self.reconciled = Some(Instant::now());
        let has_unused = self.core.directory.read().has_unused();
        let unused = if has_unused { self.core.directory.write().take_unused() } else { Vec::new() };
        for unused in unused {
            // Whoever needs it next reads it from the start, and perhaps another log.
            self.core.waiters.lock().forget(unused.index);
            let live = i64::try_from(unused.live_segments()).unwrap_or(0);
            self.core.instruments.segments_live.add(-live);
            let mut reading = self.readings.remove(unused.index);
            self.checkpoints.keep_all(self.core, reading.iter_mut());
            if reading.is_some_and(|reading| reading.is_assigned) {
                reader.unassign(unused.index)?;
            }
        }
        let forgetting = Forgetting::of(self.core.shape().as_ref());
        let round_interval = forgetting.round_interval(self.core.options.decide);
        let wanted: Vec<_> = self.core.directory.read().meta.values().cloned().collect();
        for meta in wanted {
            let index = meta.index;
            let now = Instant::now();
            let reading = self.readings.get_or_begin(index, || {
                let restored = self.checkpoints.restore(self.core, &meta, forgetting.away_max);
                let mut reading = Reading::new(meta, now);
                if let Some(restored) = restored {
                    reading.restore(&restored);
                }
                reading
            });
            let is_old = now.saturating_duration_since(reading.began) >= round_interval;
            if is_old && reading.is_assigned && reading.meta.met() >= reading.round {
                // Nobody asks, but a leader decides only by what is known of a short while ago.
                reading.meta.ask();
            }
            let asked = reading.meta.asked();
            // One round after the other: assignments that keep coming must not put off the end for ever.
            let is_round_over = asked > reading.round && reading.meta.met() >= reading.round;
            // A log that ended too early may have its records again.
            let is_to_prove =
                reading.meta.has_lost_records() && now.saturating_duration_since(reading.began) >= PROVE_PAUSE;
            if reading.is_assigned && (is_round_over || is_to_prove) {
                // Only a read that begins now shows what was in the log when the partition was assigned.
                reader.unassign(index)?;
                reading.is_assigned = false;
            }
            if !reading.is_assigned {
                reader.assign(index, reading.from())?;
                reading.assigned(asked, now);
            }
        }
        Ok(())
    }

    fn poll(&mut self, reader: &mut dyn LogReader) -> Result<(), LogError> {
        let mut progress = Progress::default();
        let shape = self.core.shape();
        let (forgetting, cleanup) = (Forgetting::of(shape.as_ref()), shape.map(|shape| shape.cleanup));
        // One look at the clock for all that a poll brings: a poll is short.
        let (now, seen_ms) = (Instant::now(), now_ms());
        let Self { core, intake, readings, quiet, pause, .. } = self;
        let polled = reader.poll(POLL_MAX, &mut |event| match event {
            LogEvent::Record { partition, offset, timestamp_ms, key, value } => {
                let Some(reading) = readings.get_mut(partition) else { return };
                reading.heard(now);
                if offset < reading.position {
                    let is_last = reading.last.offset == Some(offset);
                    let is_same = is_last && reading.last.is(timestamp_ms, key, value);
                    if reading.is_unproven() {
                        reading.prove(is_same);
                    } else if is_last {
                        recognise(core, reading, offset, is_same);
                        progress.are_rounds_met |= !is_same;
                    }
                    return;
                }
                warn_of_moved_start(reading, offset, cleanup);
                // While it is not known to be the same log, its records are another's, and the last one stays the proof.
                if reading.meta.has_lost_records() || !reading.may_go_on(offset, now, forgetting) {
                    return;
                }
                reading.last.remember(offset, timestamp_ms, key, value);
                reading.unkeyed += u64::from(key.is_none());
                reading.unsaved += 1;
                let raw = Raw { offset, timestamp_ms, key, value };
                let outcome = intake.record(&reading.meta, raw, seen_ms);
                progress.move_to(reading, offset.saturating_add(1));
                if outcome != Outcome::Applied && reading.meta.has_writes() {
                    progress.exceptions.entry(partition).or_default().push((offset, outcome));
                }
            }
            LogEvent::End { partition, next_offset } => {
                let Some(reading) = readings.get_mut(partition) else { return };
                reading.heard(now);
                *pause = core.options.retry_pause;
                quiet.succeeded(READING);
                *core.reading_failure.lock() = None;
                if reading.is_unproven() {
                    reading.prove(false);
                    return;
                }
                if next_offset < reading.position {
                    shrunk(core, reading, next_offset);
                    progress.are_rounds_met = true;
                    return;
                }
                warn_of_moved_start(reading, next_offset, cleanup);
                let is_news = next_offset > reading.position;
                if reading.meta.has_lost_records()
                    || reading.is_to_begin_again.is_some()
                    || is_news && !reading.may_go_on(next_offset, now, forgetting)
                {
                    return;
                }
                progress.move_to(reading, next_offset);
                reading.caught_up();
                levels::end_is_met(core, &reading.meta, next_offset, shape.as_ref());
                if reading.meta.meet(reading.round) {
                    progress.are_rounds_met = true;
                    levels::warn_of_loss(&reading.meta, shape.as_ref(), &mut core.is_loss_said.lock());
                }
                if reading.meta.asked() > reading.round {
                    core.bell.ring();
                }
            }
            LogEvent::Trouble { partition, error } => {
                core.instruments.log_failures.increment();
                if core.is_doubted() && matches!(error, LogError::Mismatch { .. }) {
                    // Whoever looks at the log tells more of it.
                    tracing::debug!("{READING}: {error}");
                } else {
                    quiet.failed(READING, &error);
                }
                let is_fatal = matches!(error, LogError::Mismatch { .. } | LogError::Corrupt { .. });
                let is_meant = |index: i32| partition.is_none_or(|partition| partition == index);
                for reading in readings.iter_mut().filter(|reading| is_meant(reading.meta.index)) {
                    reading.heard(now);
                    reading.meta.set_trouble(error.to_string(), is_fatal);
                }
                if is_fatal {
                    startup::look_again(core, &error.to_string());
                }
                progress.are_rounds_met |= is_fatal;
            }
        });
        self.intake.let_go();
        self.tell(progress);
        polled?;
        self.begin_again(reader)
    }

    /// Reads from the start what may not be gone on with.
    fn begin_again(&mut self, reader: &mut dyn LogReader) -> Result<(), LogError> {
        for reading in self.readings.iter_mut() {
            let Some(why) = reading.is_to_begin_again else { continue };
            let index = reading.meta.index;
            tracing::warn!("metadata partition {index}: {why}");
            self.checkpoints.forget(self.core, index);
            let live = i64::try_from(reading.meta.live_segments()).unwrap_or(0);
            reading.meta.read_again(why);
            self.core.instruments.segments_live.add(-live);
            let is_assigned = std::mem::take(&mut reading.is_assigned);
            reading.begin_again(Instant::now());
            self.core.bell.ring();
            self.core.count_partitions();
            if is_assigned {
                reader.unassign(index)?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, progress: Progress) {
        let Progress { moved, exceptions, are_rounds_met } = progress;
        if !moved.is_empty() {
            let mut waiters = self.core.waiters.lock();
            for partition in moved {
                let Some(reading) = self.readings.get_mut(partition) else { continue };
                reading.is_moved = false;
                waiters.applied(partition, reading.position, exceptions.get(&partition).map_or(&[], Vec::as_slice));
            }
        }
        if are_rounds_met {
            self.core.count_partitions();
        }
    }
}

/// Says it if the log has dropped what was not read yet, and now begins at `offset` or behind that.
fn warn_of_moved_start(reading: &mut Reading, offset: i64, cleanup: Option<Cleanup>) {
    let Some(position) = reading.start_has_moved(offset, cleanup) else { return };
    tracing::warn!(
        "metadata partition {}: the log now begins at offset {offset}, and was read up to {position}: what lay in between is \
         lost, and segments that it told of may be unknown here. It was dropped for its age or the log's size: look at \
         the topic's retention.ms and retention.bytes",
        reading.meta.index
    );
}

/// The log is read again, and here is what was the last record of it: it tells whether it is still the same log.
fn recognise(core: &Arc<Core>, reading: &Reading, offset: i64, is_same: bool) {
    if is_same {
        reading.meta.find_records();
        return;
    }
    let index = reading.meta.index;
    lost(
        core,
        reading,
        format!(
            "metadata partition {index} has another record at offset {offset} than was read before; was the log deleted?"
        ),
    );
}

/// The log ends before what was read of it: it was made anew or cut, or is not shown to its end by a leader that has just
/// taken over. The last record that was read will tell, if it comes again.
fn shrunk(core: &Arc<Core>, reading: &Reading, end: i64) {
    let (index, position) = (reading.meta.index, reading.position);
    lost(
        core,
        reading,
        format!(
            "metadata partition {index} ends at offset {end}, but records up to {position} were read before; was the log deleted?"
        ),
    );
}

/// What is known is of another log. That does not pass when this one has grown, as the records that took the place of the
/// lost ones are not applied. Looking at the log tells whether it is one that can be begun with.
fn lost(core: &Arc<Core>, reading: &Reading, why: String) {
    reading.meta.set_trouble(why.clone(), true);
    if reading.meta.lose_records() {
        tracing::debug!("{why}");
    }
    startup::look_again(core, &why);
}
