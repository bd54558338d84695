//! A file per metadata partition with what was known of it, so that a restart reads only what is new.
//!
//! In: what the reader knows, when enough has changed and when it ends. Out: what an earlier process knew, if it is of this
//! very log and so young that nothing can have passed by since. What is restored answers nobody before the log itself has
//! shown the last record that it rests on, and its end.

mod file;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::metadata::log::LogShape;
use crate::metadata::plan::Level;

use super::core::Core;
use super::delay::now_ms;
use super::directory::MetaPartition;
use super::reading::Reading;
use file::{Contents, Origin, Useless};

/// Records after which a checkpoint is worth its work, and how often one is written at most.
const ENOUGH_RECORDS: u64 = 20_000;
const PAUSE_MIN: Duration = Duration::from_secs(60);
/// After this any change is worth one.
const PAUSE: Duration = Duration::from_secs(600);
/// How long the end of a manager may be held up.
const CLOSE_MAX: Duration = Duration::from_secs(3);
/// Clocks are corrected; a checkpoint from farther in the future is not believed.
const AHEAD_MAX_MS: i64 = 300_000;

/// All checkpoints of a manager; used by its reader's thread.
pub(super) struct Checkpoints {
    folder: Option<PathBuf>,
    cluster_id: String,
    is_discard_said: bool,
    is_failure_said: Arc<Mutex<bool>>,
}

/// What an earlier process knew.
pub(super) struct Restored {
    pub(super) position: i64,
    pub(super) last: (i64, u64),
    pub(super) unkeyed: u64,
    /// How long ago everything was known.
    pub(super) age: Duration,
}

/// The last write of a partition's checkpoint: its position. An older one that comes later is dropped.
pub(super) type Slot = Arc<Mutex<i64>>;

impl Checkpoints {
    pub(super) fn of(core: &Core) -> Self {
        let folder = core.options.checkpoints.folder(core.env.log_dir.as_deref());
        let cluster_id = core.env.cluster_id.clone().unwrap_or_default();
        Self { folder, cluster_id, is_discard_said: false, is_failure_said: Arc::default() }
    }

    /// Fills the states of `meta` with what is known from earlier, if that is of use.
    pub(super) fn restore(
        &mut self,
        core: &Core,
        meta: &MetaPartition,
        away_max: Option<Duration>,
    ) -> Option<Restored> {
        let (path, origin) = self.place(core.shape().as_ref(), meta.index)?;
        let read = file::read(&path).and_then(|bytes| bytes.map(|bytes| file::decode(&bytes, &origin)).transpose());
        let judged = read.and_then(|contents| {
            contents.map(|contents| judge(&contents, away_max).map(|age| (contents, age))).transpose()
        });
        let (contents, age) = match judged {
            Ok(found) => found?,
            Err(why) => {
                self.discard(core, meta.index, &path, &why);
                return None;
            }
        };
        let mut live = 0;
        for state in contents.states {
            live += i64::try_from(state.live_segments()).unwrap_or(0);
            let place = meta.state(state.partition());
            *place.write() = state;
        }
        core.instruments.segments_live.add(live);
        core.instruments.checkpoints_restored.increment();
        if let Some(level) = Level::from_number(contents.level) {
            meta.set_level(level);
        }
        tracing::debug!("metadata partition {}: {live} segments from {}", meta.index, path.display());
        Some(Restored { position: contents.position, last: contents.last, unkeyed: contents.unkeyed, age })
    }

    /// One line for all of them: what is wrong with one is mostly wrong with the others.
    fn discard(&mut self, core: &Core, index: i32, path: &Path, why: &Useless) {
        core.instruments.checkpoints_discarded.increment();
        if std::mem::replace(&mut self.is_discard_said, true) {
            tracing::debug!("metadata partition {index}: checkpoint {} is discarded: {why}", path.display());
        } else {
            tracing::warn!(
                "metadata partition {index}: checkpoint {} is discarded, and the log read from its start: {why} (others \
                 are discarded without a word)",
                path.display()
            );
        }
        self.remove(path);
    }

    /// What is written of `index` is of no use any more.
    pub(super) fn forget(&self, core: &Core, index: i32) {
        if let Some((path, _)) = self.place(core.shape().as_ref(), index) {
            self.remove(&path);
        }
    }

    #[expect(clippy::unused_self, reason = "only whoever has checkpoints removes one")]
    fn remove(&self, path: &Path) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::debug!("{} cannot be removed: {error}", path.display());
            }
            _ => {}
        }
    }

    /// Writes a checkpoint in the background, if one is due.
    pub(super) fn keep(&self, core: &Core, reading: &mut Reading, now: Instant) {
        let since = reading.saved.map(|at| now.saturating_duration_since(at));
        let is_enough = reading.unsaved >= ENOUGH_RECORDS && since.is_none_or(|since| since >= PAUSE_MIN);
        let is_time = reading.unsaved > 0 && since.unwrap_or_else(|| reading.open_for(now)) >= PAUSE;
        // What cannot be kept yet is looked at again soon: a first start has read all, and may be killed at any time.
        if !(is_enough || is_time) || !reading.is_whole() {
            return;
        }
        reading.saved = Some(now);
        if let Some(write) = self.save(core, reading) {
            core.env.runtime.spawn_blocking(write);
        }
    }

    /// Writes all that has changed, at the end. A write under way is waited for.
    pub(super) fn keep_all<'a>(&self, core: &Core, readings: impl Iterator<Item = &'a mut Reading>) {
        let begin = Instant::now();
        for reading in readings {
            if begin.elapsed() > CLOSE_MAX {
                tracing::debug!("no time is left for all checkpoints");
                return;
            }
            if reading.unsaved > 0
                && let Some(write) = self.save(core, reading)
            {
                write();
            }
        }
    }

    /// Takes down what is known now, and gives what is left to do.
    fn save(&self, core: &Core, reading: &mut Reading) -> Option<impl FnOnce() + Send + 'static> {
        let meta = Arc::clone(&reading.meta);
        let (path, origin) = self.place(core.shape().as_ref(), meta.index)?;
        let last = reading.last.to_known().filter(|_| reading.is_whole() && meta.is_sound())?;
        let as_of_ms = now_ms().saturating_sub_unsigned(u64::try_from(reading.away(Instant::now()).as_millis()).ok()?);
        let contents = Contents {
            as_of_ms,
            position: reading.position,
            last,
            unkeyed: reading.unkeyed,
            level: meta.level().number(),
            states: Vec::new(),
        };
        let states = meta.states.lock().clone();
        let mut out = file::begin(&origin, &contents, states.len());
        states.values().for_each(|state| state.read().save(&mut out));
        let bytes = file::end(out);
        reading.unsaved = 0;
        let (slot, position) = (Arc::clone(&reading.slot), reading.position);
        let (is_failure_said, written) =
            (Arc::clone(&self.is_failure_said), core.instruments.checkpoints_written.clone());
        Some(move || {
            let mut newest = slot.lock();
            if *newest >= position {
                return;
            }
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            match made.and_then(|()| file::write(&path, &bytes)) {
                Ok(()) => {
                    *newest = position;
                    written.increment();
                }
                Err(error) if !std::mem::replace(&mut *is_failure_said.lock(), true) => {
                    tracing::warn!(
                        "checkpoint {} cannot be written ({error}); a restart will read the log from its start. Set \
                         `undercroft.metadata.checkpoint.path`",
                        path.display()
                    );
                }
                Err(_) => {}
            }
        })
    }

    /// Where the checkpoint of a partition is and what it must be of; nothing if the log can't be told from another one.
    fn place(&self, shape: Option<&LogShape>, index: i32) -> Option<(PathBuf, Origin)> {
        let shape = shape.filter(|shape| !shape.is_ours_alone)?;
        let path = self.folder.as_ref()?.join(format!("undercroft-metadata-{index}.checkpoint"));
        let origin = Origin {
            cluster_id: self.cluster_id.clone(),
            log_id: shape.id?,
            partitions: shape.partitions,
            index,
            release: env!("CARGO_PKG_VERSION").to_owned(),
        };
        Some((path, origin))
    }
}

/// The age of a checkpoint that is young enough.
fn judge(contents: &Contents, away_max: Option<Duration>) -> Result<Duration, Useless> {
    let age_ms = now_ms().saturating_sub(contents.as_of_ms);
    if age_ms < -AHEAD_MAX_MS {
        return Err(Useless::Stale("it is from the future; was the clock put back?".to_owned()));
    }
    let age = Duration::from_millis(u64::try_from(age_ms).unwrap_or(0));
    match away_max {
        Some(max) if age > max => Err(Useless::Stale(format!(
            "it is {} min old, and after {} min deletions may have passed by",
            age.as_secs() / 60,
            max.as_secs() / 60
        ))),
        _ => Ok(age),
    }
}
