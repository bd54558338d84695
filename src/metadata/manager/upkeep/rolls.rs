//! Quiet partitions of a compacted log: one record more, so that what they hold is compacted.
//!
//! A broker's cleaner leaves the newest file of a partition alone, and closes it only when a record comes after its time.
//! A partition that nobody writes to any more would keep its last file as it is for ever. Whoever leads the partition says
//! its level again, once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::metadata::log::SettingsOf;
use crate::metadata::log::kafka::TOPIC;
use crate::metadata::plan::Level;

use super::super::core::Core;
use super::super::inquiry::{self, Answer};
use super::super::levels;

/// What was seen of each partition.
#[derive(Default)]
pub(super) struct Rolls(Mutex<HashMap<i32, Seen>>);

struct Seen {
    end: i64,
    since: Instant,
    /// The end behind the record that was written for this purpose.
    rolled: Option<i64>,
}

impl Rolls {
    /// Takes note of a partition's end. True if nothing came for as long as `after`, and what is there was not followed by
    /// a record of ours.
    fn is_due(&self, index: i32, end: i64, now: Instant, after: Duration) -> bool {
        let mut seen = self.0.lock();
        let seen = seen.entry(index).or_insert(Seen { end, since: now, rolled: None });
        if seen.end != end {
            (seen.end, seen.since) = (end, now);
        }
        // The reader may not have met ours yet.
        let is_rolled = seen.rolled.is_some_and(|rolled| end <= rolled);
        end > 0 && !is_rolled && now.saturating_duration_since(seen.since) >= after
    }

    fn rolled(&self, index: i32, end: i64) {
        if let Some(seen) = self.0.lock().get_mut(&index) {
            seen.rolled = Some(end);
        }
    }
}

/// Writes what is due, in the partitions of the log that this broker leads.
pub(super) async fn roll(core: &Arc<Core>) {
    if core.shape().is_none_or(|shape| !shape.cleanup.is_compacted() || shape.is_ours_alone) {
        return;
    }
    let metas: Vec<_> = {
        let directory = core.directory.read();
        let is_meant = |meta: &&Arc<_>| is_rolled_here(core, meta);
        directory.meta.values().filter(is_meant).cloned().collect()
    };
    let Some(after) = (if metas.is_empty() { None } else { closes_after(core) }) else { return };
    for meta in metas {
        let end = core.waiters.lock().mark(meta.index);
        if !core.upkeep.rolls.is_due(meta.index, end, Instant::now(), after) {
            continue;
        }
        match levels::append(core, meta.index).await {
            Ok(offset) => {
                core.upkeep.rolls.rolled(meta.index, offset.saturating_add(1));
                core.upkeep.instruments.rolls.increment();
            }
            Err(error) => tracing::debug!("metadata partition {} is rolled later: {error}", meta.index),
        }
    }
}

fn is_rolled_here(core: &Core, meta: &super::super::directory::MetaPartition) -> bool {
    meta.is_cared_for() && meta.level() == Level::Two && meta.is_current(core.options.decide)
}

/// How old the newest file may get; `None` as long as nobody says it.
fn closes_after(core: &Arc<Core>) -> Option<Duration> {
    let Answer::Known(settings) = inquiry::look(core, &SettingsOf::Topic(Arc::from(TOPIC))) else { return None };
    let ms = |name: &str| settings.get(name)?.parse::<u64>().ok();
    let bounds = [ms("segment.ms"), ms("max.compaction.lag.ms")];
    bounds.into_iter().flatten().min().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_rolled_once_when_it_has_been_quiet_and_again_after_something_came() {
        let (rolls, start) = (Rolls::default(), Instant::now());
        let is_due = |end, seconds| rolls.is_due(3, end, start + Duration::from_secs(seconds), Duration::from_secs(10));
        assert!(!is_due(5, 0) && !is_due(5, 9));
        assert!(is_due(5, 10));
        assert!(!is_due(6, 11), "something came");
        assert!(!is_due(6, 20) && is_due(6, 21));
        rolls.rolled(3, 7);
        assert!(!is_due(6, 22), "ours was not read yet");
        assert!(!is_due(7, 22) && !is_due(7, 99), "only our own record");
        assert!(!is_due(9, 100) && is_due(9, 110));
        assert!(!rolls.is_due(4, 0, start + Duration::from_secs(999), Duration::ZERO), "empty");
    }
}
