//! What may be written to a metadata partition: its level record, and who writes the first one.
//!
//! A compacted partition without any record is one that was created by us, or for us: it gets the record of level 2
//! before anything else. Everybody who meets it so writes one, as nobody knows of the others, and two say the same.

use std::sync::Arc;
use std::time::Duration;

use crate::metadata::log::{LogError, LogShape};
use crate::metadata::plan::Level;
use crate::wire::{LevelRecord, RecordKey, encode_level};

use super::core::Core;
use super::delay::now_ms;
use super::directory::MetaPartition;
use super::env::RETRY_PAUSE_MAX;
use super::quiet::Quiet;

const DOING: &str = "writing the level of an empty metadata partition";
const PATIENCE: Duration = Duration::from_secs(30);

/// The topic was created just now: all its partitions get their level, also those that nobody here will read.
pub(super) async fn of_new_log(core: &Arc<Core>, shape: &LogShape) {
    if !shape.is_new || !shape.cleanup.is_compacted() || shape.is_ours_alone {
        return;
    }
    let appends = (0..shape.partitions).map(|index| append(core, index));
    for appended in futures_util::future::join_all(appends).await {
        if let Err(error) = appended {
            // Whoever reads the partition first finds it empty and writes it.
            tracing::debug!("{DOING}: {error}");
        }
    }
}

/// The end of a partition was met there.
pub(super) fn end_is_met(core: &Arc<Core>, meta: &Arc<MetaPartition>, end: i64, shape: Option<&LogShape>) {
    let is_due = shape.is_some_and(|shape| shape.cleanup.is_compacted() && !shape.is_ours_alone);
    if !is_due || end > 0 || meta.level() > Level::Zero || !meta.await_level() {
        return;
    }
    let (core, meta) = (Arc::clone(core), Arc::clone(meta));
    core.env.runtime.clone().spawn(async move {
        let mut quiet = Quiet::patient(PATIENCE);
        let mut pause = core.options.retry_pause;
        // Until the reader meets one: somebody else's will do.
        while meta.is_level_awaited() && !core.is_closed() {
            match append(&core, meta.index).await {
                Ok(_) => {
                    quiet.succeeded(DOING);
                    core.sleep(core.options.consume_wait).await;
                }
                Err(error) => {
                    core.instruments.log_failures.increment();
                    quiet.failed(DOING, &error);
                    meta.set_trouble(error.to_string(), false);
                    core.sleep(pause).await;
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                }
            }
        }
    });
}

/// Somebody may have had the log compacted just now.
pub(super) fn look_for_loss(core: &Core, shape: &LogShape) {
    let mut is_said = core.is_loss_said.lock();
    // Whoever does it twice is told twice.
    *is_said &= shape.cleanup.is_compacted();
    let metas: Vec<_> = core.directory.read().meta.values().cloned().collect();
    // What is not read to its end may find keys farther on.
    for meta in metas.iter().filter(|meta| meta.met() > 0 && !meta.is_read_again()) {
        warn_of_loss(meta, Some(shape), &mut is_said);
    }
}

/// A round is over: tells once if the log cleaner may drop what only records without a key say. Nothing is done about it, as
/// that needs the migration.
pub(super) fn warn_of_loss(meta: &MetaPartition, shape: Option<&LogShape>, is_said: &mut bool) {
    if *is_said || !shape.is_some_and(|shape| shape.cleanup.is_compacted() && !shape.is_ours_alone) {
        return;
    }
    let facts: usize = meta.states.lock().values().map(|state| state.read().work().unkeyed_facts).sum();
    if facts > 0 {
        *is_said = true;
        tracing::error!(
            "the metadata log is compacted, and in metadata partition {} alone {facts} facts about remote segments stand in \
             records without a key, which the log cleaner drops without a word: those segments will be forgotten, and \
             their data neither read nor deleted. Set its cleanup.policy to `delete` and its retention.ms to -1 now, and \
             migrate it with `undercroft metadata migrate`, which compacts it when that is safe",
            meta.index
        );
    }
}

/// Says level 2 of a partition; resolves to the record's offset.
pub(super) async fn append(core: &Core, index: i32) -> Result<i64, LogError> {
    let record = LevelRecord { level: Level::Two.number(), timestamp_ms: now_ms() };
    core.log.append(index, Some(RecordKey::Level.to_bytes()), Some(encode_level(record))).await
}
