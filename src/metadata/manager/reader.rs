//! The thread that reads the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::metadata::log::{LogError, LogEvent, LogReader};
use crate::metadata::partition::Outcome;

use super::core::Core;
use super::directory::MetaPartition;
use super::env::RETRY_PAUSE_MAX;
use super::intake::Intake;
use super::quiet::Quiet;
use super::startup;

const POLL_MAX: Duration = Duration::from_millis(500);
/// A broker's listener goes down before this manager is closed, and a cluster's brokers are restarted.
const PATIENCE: Duration = Duration::from_secs(10);
const READING: &str = "reading the log of remote segment metadata";

/// A metadata partition as the thread sees it.
struct Reading {
    meta: Arc<MetaPartition>,
    /// The next offset that was not applied yet.
    position: i64,
    /// The last record that was applied: a log that has another one at its offset is another log.
    last: LastRecord,
    /// The round that was asked for when the read began that runs now.
    round: u64,
    is_assigned: bool,
    /// Whether the poll under way has moved the position.
    is_moved: bool,
}

/// The readings, by the number of their metadata partition: a lookup for each record must cost next to nothing.
#[derive(Default)]
struct Readings(Vec<Option<Reading>>);

/// A copy of a record, in memory that is used again: nobody asks for it unless the log is read again, so it must be
/// cheap to take.
#[derive(Default)]
struct LastRecord {
    /// None if there is none yet.
    offset: Option<i64>,
    timestamp_ms: i64,
    key_len: Option<usize>,
    value_len: Option<usize>,
    /// Key and value, one after the other.
    bytes: Vec<u8>,
}

/// What one poll brought, told to the waiters at once.
#[derive(Default)]
struct Progress {
    /// Partitions whose position moved.
    moved: Vec<i32>,
    exceptions: HashMap<i32, Vec<(i64, Outcome)>>,
    are_rounds_met: bool,
}

impl Reading {
    fn move_to(&mut self, position: i64, progress: &mut Progress) {
        self.position = position;
        if !std::mem::replace(&mut self.is_moved, true) {
            progress.moved.push(self.meta.index);
        }
    }
}

impl Readings {
    fn get_mut(&mut self, index: i32) -> Option<&mut Reading> {
        self.0.get_mut(usize::try_from(index).ok()?)?.as_mut()
    }

    fn get_or_begin(&mut self, meta: Arc<MetaPartition>) -> &mut Reading {
        // Metadata partitions are numbered from 0.
        let index = usize::try_from(meta.index).unwrap_or_default();
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index].get_or_insert_with(|| Reading {
            meta,
            position: 0,
            last: LastRecord::default(),
            round: 0,
            is_assigned: false,
            is_moved: false,
        })
    }

    fn remove(&mut self, index: i32) -> Option<Reading> {
        self.0.get_mut(usize::try_from(index).ok()?)?.take()
    }

    fn iter(&self) -> impl Iterator<Item = &Reading> {
        self.0.iter().flatten()
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Reading> {
        self.0.iter_mut().flatten()
    }
}

impl LastRecord {
    fn remember(&mut self, offset: i64, timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) {
        (self.offset, self.timestamp_ms) = (Some(offset), timestamp_ms);
        (self.key_len, self.value_len) = (key.map(<[u8]>::len), value.map(<[u8]>::len));
        self.bytes.clear();
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    fn is(&self, timestamp_ms: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> bool {
        let (key_len, value_len) = (key.map(<[u8]>::len), value.map(<[u8]>::len));
        (self.timestamp_ms, self.key_len, self.value_len) == (timestamp_ms, key_len, value_len)
            && self.bytes.iter().eq(key.unwrap_or_default().iter().chain(value.unwrap_or_default()))
    }
}

/// Runs until the manager is closed.
pub(super) fn run(core: &Arc<Core>) {
    let mut thread = Thread {
        core,
        intake: Intake::new(Arc::clone(core)),
        readings: Readings::default(),
        quiet: Quiet::patient(PATIENCE),
        pause: core.options.retry_pause,
        reconciled: None,
    };
    while !core.is_closed() {
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
}

struct Thread<'a> {
    core: &'a Arc<Core>,
    intake: Intake,
    readings: Readings,
    quiet: Quiet,
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

    /// Reads until the manager is closed (nothing) or the reader is of no use any more (why).
    fn read(&mut self, reader: &mut dyn LogReader) -> Option<LogError> {
        loop {
            if self.core.is_closed() {
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
            if self.readings.remove(unused.index).is_some_and(|reading| reading.is_assigned) {
                reader.unassign(unused.index)?;
            }
        }
        let wanted: Vec<_> = self.core.directory.read().meta.values().cloned().collect();
        for meta in wanted {
            let index = meta.index;
            let reading = self.readings.get_or_begin(meta);
            let asked = reading.meta.asked();
            // One round after the other: assignments that keep coming must not put off the end for ever.
            let is_round_over = asked > reading.round && reading.meta.met() >= reading.round;
            if reading.is_assigned && is_round_over {
                // Only a read that begins now shows what was in the log when the partition was assigned.
                reader.unassign(index)?;
                reading.is_assigned = false;
            }
            if !reading.is_assigned {
                reading.round = asked;
                reader.assign(index, reading.position)?;
                reading.is_assigned = true;
            }
        }
        Ok(())
    }

    fn poll(&mut self, reader: &mut dyn LogReader) -> Result<(), LogError> {
        let mut progress = Progress::default();
        let Self { core, intake, readings, quiet, pause, .. } = self;
        let polled = reader.poll(POLL_MAX, &mut |event| match event {
            LogEvent::Record { partition, offset, timestamp_ms, key, value } => {
                let Some(reading) = readings.get_mut(partition) else { return };
                if offset < reading.position {
                    if reading.last.offset == Some(offset) {
                        let is_same = reading.last.is(timestamp_ms, key, value);
                        recognise(core, reading, offset, is_same);
                        progress.are_rounds_met |= !is_same;
                    }
                    return;
                }
                reading.last.remember(offset, timestamp_ms, key, value);
                let outcome = intake.record(&reading.meta, offset, key, value);
                reading.move_to(offset.saturating_add(1), &mut progress);
                if outcome != Outcome::Applied && reading.meta.has_writes() {
                    progress.exceptions.entry(partition).or_default().push((offset, outcome));
                }
            }
            LogEvent::End { partition, next_offset } => {
                let Some(reading) = readings.get_mut(partition) else { return };
                *pause = core.options.retry_pause;
                quiet.succeeded(READING);
                *core.reading_failure.lock() = None;
                if next_offset < reading.position {
                    shrunk(core, reading, next_offset);
                    progress.are_rounds_met = true;
                    return;
                }
                reading.move_to(next_offset, &mut progress);
                progress.are_rounds_met |= reading.meta.meet(reading.round);
                if reading.meta.asked() > reading.round {
                    core.bell.ring();
                }
            }
            LogEvent::Trouble { partition, error } => {
                core.instruments.log_failures.increment();
                quiet.failed(READING, &error);
                let is_fatal = matches!(error, LogError::Mismatch { .. } | LogError::Corrupt { .. });
                let is_meant = |index: i32| partition.is_none_or(|partition| partition == index);
                for reading in readings.iter().filter(|reading| is_meant(reading.meta.index)) {
                    reading.meta.set_trouble(error.to_string(), is_fatal);
                }
                if is_fatal {
                    startup::look_again(core, &error.to_string());
                }
                progress.are_rounds_met |= is_fatal;
            }
        });
        self.tell(progress);
        polled
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
        format!("metadata partition {index} has another record at offset {offset} than was read before"),
    );
}

/// The log ends before what was read of it: it was made anew or cut, or is not shown to its end by a leader that has just
/// taken over. The last record that was read will tell, if it comes again.
fn shrunk(core: &Arc<Core>, reading: &Reading, end: i64) {
    let (index, position) = (reading.meta.index, reading.position);
    lost(
        core,
        reading,
        format!("metadata partition {index} ends at offset {end}, but records up to {position} were read before"),
    );
}

/// What is known is of another log. That does not pass when this one has grown, as the records that took the place of the
/// lost ones are not applied.
fn lost(core: &Arc<Core>, reading: &Reading, why: String) {
    if reading.meta.lose_records() {
        tracing::error!("{why}; was the log deleted? Restart this broker to go on with what the log has now");
    }
    startup::look_again(core, &why);
    reading.meta.set_trouble(why, true);
}
