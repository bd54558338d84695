//! What the storage side knows for the metadata side, and asks of it: copies, outages, condemned segments.
#![allow(clippy::disallowed_methods, reason = "shell: reads the clock and hands it in")]

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::StorageError;
use super::breaker::{Breaker, BreakerSettings, Outage, Turn};
use super::copies::Copies;
use super::layout::CUSTOM_METADATA_BYTES_MAX;
use super::metrics::JointMetrics;
use crate::model::{CopyEnd, KafkaUuid, SegmentId, SegmentLedger, SegmentMetadata};

const SAID_AGAIN: Duration = Duration::from_secs(300);

/// Shared by everything of one manager that copies or deletes.
pub(super) struct Joint {
    started: Instant,
    copies: Mutex<Copies>,
    /// Of copies: while it is open, none should begin.
    uploads: Mutex<Breaker>,
    /// Of deletes: while it is open, they are handed over untried.
    deletes: Mutex<Breaker>,
    ledger: RwLock<Option<Weak<dyn SegmentLedger>>>,
    store: Box<str>,
    metrics: JointMetrics,
    given_up_said: Mutex<Option<Instant>>,
}

/// Held by the task that makes a copy: one that is lost with its task has failed.
pub(super) struct Copying {
    joint: Arc<Joint>,
    segment: KafkaUuid,
}

impl Joint {
    pub(super) fn new(uploads: BreakerSettings, deletes: BreakerSettings, store: &str, metrics: JointMetrics) -> Self {
        Self {
            started: Instant::now(),
            copies: Mutex::default(),
            uploads: Mutex::new(Breaker::new(uploads)),
            deletes: Mutex::new(Breaker::new(deletes)),
            ledger: RwLock::new(None),
            store: store.into(),
            metrics,
            given_up_said: Mutex::default(),
        }
    }

    pub(super) fn join(&self, ledger: Weak<dyn SegmentLedger>) {
        *self.ledger.write() = Some(ledger);
    }

    pub(super) fn part(&self) {
        *self.ledger.write() = None;
    }

    fn ledger(&self) -> Option<Arc<dyn SegmentLedger>> {
        self.ledger.read().as_ref().and_then(Weak::upgrade)
    }

    /// Whether somebody is there who may take deletes over.
    pub(super) fn is_joined(&self) -> bool {
        self.ledger().is_some()
    }

    pub(super) fn is_condemned(&self, segment: &SegmentId) -> bool {
        self.ledger().is_some_and(|ledger| ledger.is_condemned(segment))
    }

    pub(super) fn next_segment(&self, segment: &SegmentMetadata) -> Option<SegmentMetadata> {
        self.ledger()?.next_segment(segment)
    }

    /// Offers a delete that failed. What the caller stopped is not handed over: nobody waits for its answer.
    pub(super) fn take_over(&self, segment: &SegmentMetadata, error: &StorageError) -> bool {
        let is_stopped = matches!(error, StorageError::Cancelled { .. } | StorageError::Closed { .. });
        if is_stopped || !self.hand_over(segment) {
            return false;
        }
        tracing::debug!(segment = %segment.id, %error, "deleted later: the metadata side took it over");
        true
    }

    /// Offers a delete that was done and may not last: a write of this process's own copy of it may still arrive, and be
    /// removed by nobody if the process ends before.
    pub(super) fn take_over_late(&self, segment: &SegmentMetadata) -> bool {
        let is_taken = self.copies.lock().may_come_late(&segment.id.uuid) && self.hand_over(segment);
        if is_taken {
            tracing::debug!(segment = %segment.id, "deleted, and looked for again: its copy may not have ended");
        }
        is_taken
    }

    /// The host's delete of a segment was done. What a metadata side has on record as finished is settled, so of what is not
    /// the host thought better after the copy.
    pub(super) fn deleted(&self, segment: &SegmentMetadata) {
        if !self.is_joined() || !self.copies.lock().given_up(&segment.id.uuid) {
            return;
        }
        let (now, mut said) = (Instant::now(), self.given_up_said.lock());
        let is_news = said.is_none_or(|at| now.duration_since(at) >= SAID_AGAIN);
        if !is_news {
            tracing::debug!(segment = %segment.id, "given up by the broker after its copy had succeeded");
            return;
        }
        *said = Some(now);
        tracing::warn!(
            "{}: the copy succeeded, and the broker gave it up and deleted it. If its log says that the custom metadata is \
             too large, set `remote.log.metadata.custom.metadata.max.bytes` of the broker to {CUSTOM_METADATA_BYTES_MAX}, \
             which is Kafka's default and enough for any segment, and restart the broker (said once in five minutes)",
            segment.id
        );
    }

    fn hand_over(&self, segment: &SegmentMetadata) -> bool {
        let is_taken = self.ledger().is_some_and(|ledger| ledger.take_over_delete(segment));
        self.metrics.deletes_handed_over.add(u64::from(is_taken));
        is_taken
    }

    pub(super) fn begin(self: &Arc<Self>, segment: KafkaUuid) -> Copying {
        self.copies.lock().begun(segment);
        Copying { joint: Arc::clone(self), segment }
    }

    pub(super) fn is_copying(&self, segment: &KafkaUuid) -> bool {
        self.copies.lock().is_copying(segment, self.started.elapsed())
    }

    pub(super) fn copy_end(&self, segment: &KafkaUuid) -> Option<CopyEnd> {
        self.copies.lock().end(segment)
    }

    pub(super) fn settled(&self, segment: &KafkaUuid) {
        self.copies.lock().settled(segment);
    }

    /// Learns of the store from the end of a copy.
    pub(super) fn copy_met<T>(&self, outcome: &Result<T, StorageError>) {
        let turn = met(&self.uploads, self.started.elapsed(), outcome);
        match turn {
            Turn::Opened => {
                self.metrics.outage.set(1);
                self.metrics.outages.increment();
                let why = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
                tracing::warn!(
                    store = &*self.store,
                    %why,
                    "copies failed one after the other: further ones are held back, but for one now and then"
                );
            }
            Turn::Closed { after } => {
                self.metrics.outage.set(0);
                tracing::info!(store = &*self.store, after_ms = millis(after), "the store takes copies again");
            }
            Turn::None => {}
        }
    }

    /// Learns of the store from the end of a delete.
    pub(super) fn delete_met<T>(&self, outcome: &Result<T, StorageError>) {
        match met(&self.deletes, self.started.elapsed(), outcome) {
            Turn::Opened => tracing::warn!(
                store = &*self.store,
                "deletes failed one after the other: while that lasts, they are handed to the metadata side untried"
            ),
            Turn::Closed { after } => {
                tracing::info!(store = &*self.store, after_ms = millis(after), "the store takes deletes again");
            }
            Turn::None => {}
        }
    }

    /// Why no copy should begin now.
    pub(super) fn copy_outage(&self) -> Option<String> {
        let Outage { lasts, next_try_in, why } = self.uploads.lock().ask(self.started.elapsed())?;
        self.metrics.held_back.increment();
        Some(format!(
            "copies to {} have failed for {} ms, so none begins before one of them succeeds; the next one is let \
             through in {} ms: {why}",
            self.store,
            millis(lasts),
            millis(next_try_in)
        ))
    }

    /// What a delete would most probably fail with now.
    pub(super) fn delete_outage(&self) -> Option<String> {
        self.deletes.lock().ask(self.started.elapsed()).map(|outage| outage.why)
    }
}

fn met<T>(breaker: &Mutex<Breaker>, now: Duration, outcome: &Result<T, StorageError>) -> Turn {
    match outcome {
        Ok(_) => breaker.lock().succeeded(now),
        Err(error) if error.is_retriable() => breaker.lock().failed(now, &error.to_string()),
        Err(_) => Turn::None,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Copying {
    pub(super) fn ended(&self, end: CopyEnd) {
        self.joint.copies.lock().ended(self.segment, self.joint.started.elapsed(), end);
    }

    /// The store has confirmed that nothing of a failed copy is there.
    pub(super) fn removed(&self) {
        self.joint.copies.lock().removed(&self.segment);
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        let mut copies = self.joint.copies.lock();
        if copies.is_running(&self.segment) {
            copies.ended(self.segment, self.joint.started.elapsed(), CopyEnd::Failed { is_removed: false });
        }
    }
}
