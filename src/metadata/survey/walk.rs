//! Reads a log from its beginning to its end.
#![allow(clippy::disallowed_methods, reason = "shell: gives up when nothing comes for a while")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::metadata::log::{LogError, LogEvent, ReadOnlyLog};

use super::Place;

const SLICE: Duration = Duration::from_millis(100);

/// A record on its way: place, key, value.
type Sink<'a> = dyn FnMut(Place, Option<&[u8]>, Option<&[u8]>) + 'a;

/// Hands each record to `sink` until the end of every partition was met once. The reader can be polled further.
///
/// Gives false if `stop` said so before.
///
/// # Errors
/// The log's, if it doesn't pass by itself or nothing comes for `patience`.
pub fn walk_to_end(
    log: &mut ReadOnlyLog,
    patience: Duration,
    stop: &dyn Fn() -> bool,
    sink: &mut Sink<'_>,
) -> Result<bool, LogError> {
    let mut open: BTreeSet<i32> = (0..log.shape.partitions).collect();
    for &partition in &open {
        log.reader.assign(partition, 0)?;
    }
    let (mut progress, mut trouble, mut fatal) = (Instant::now(), None, None);
    while !open.is_empty() {
        if stop() {
            return Ok(false);
        }
        log.reader.poll(SLICE, &mut |event| match event {
            LogEvent::Record { partition, offset, timestamp_ms, key, value } => {
                progress = Instant::now();
                sink(Place { partition, offset, timestamp_ms }, key, value);
            }
            LogEvent::End { partition, .. } => {
                progress = Instant::now();
                open.remove(&partition);
            }
            LogEvent::Trouble { error, .. } if error.is_retriable() => trouble = Some(error),
            LogEvent::Trouble { error, .. } => fatal = Some(error),
        })?;
        if let Some(error) = fatal {
            return Err(error);
        }
        if progress.elapsed() >= patience {
            return Err(trouble.unwrap_or_else(|| given_up(log, &open, progress.elapsed())));
        }
    }
    Ok(true)
}

fn given_up(log: &ReadOnlyLog, open: &BTreeSet<i32>, waited: Duration) -> LogError {
    let partitions: Vec<_> = open.iter().take(5).map(ToString::to_string).collect();
    let more = if open.len() > partitions.len() { " and more" } else { "" };
    LogError::Timeout {
        what: format!("read metadata partition {}{more} to its end", partitions.join(", ")),
        log: log.name.clone(),
        waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
    }
}
