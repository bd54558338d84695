//! Writers, a log and a cleaner in memory, and what must be true of them. One file per group of rules.

mod backfill;
mod claims;
mod histories;
mod keys;
mod kip;
mod law;
mod leaders;
mod tombstones;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;

use super::*;
use crate::metadata::partition::{Entry, Naming, Outcome, PartitionState};
use crate::model::SegmentState::{self, CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate,
    TopicIdPartition,
};
use crate::wire::{Lane, Record, RecordKey, UpdateRecord, WholeSegment};

/// What tombstones wait for.
const Z_MS: i64 = 600_000;
const ME: BrokerId = BrokerId(4);

fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3)
}

fn id(number: u8) -> SegmentId {
    SegmentId { partition: partition(), uuid: KafkaUuid([number; 16]) }
}

/// Offsets `start..=end`, all of epoch 0, about to be copied.
fn segment(number: u8, start: i64, end: i64) -> SegmentMetadata {
    SegmentMetadata {
        id: id(number),
        start_offset: Offset(start),
        end_offset: Offset(end),
        max_timestamp_ms: 0,
        broker_id: ME,
        event_timestamp_ms: 0,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(start))]).expect("epochs"),
        size_bytes: 1,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: false,
    }
}

fn to(number: u8, state: SegmentState) -> SegmentUpdate {
    SegmentUpdate { id: id(number), broker_id: ME, event_timestamp_ms: 1, custom_metadata: None, state }
}

#[derive(Debug, Clone)]
struct Stored {
    offset: i64,
    seen_ms: i64,
    key: Option<RecordKey>,
    body: Option<Record>,
}

/// A log of one partition's records, and a reader that has met all of them.
struct World {
    log: Vec<Stored>,
    next: i64,
    now_ms: i64,
    reader: PartitionState,
    standing: Standing,
    nonce: u64,
    /// The log as it would be without a cleaner.
    ever: Vec<Stored>,
}

impl World {
    /// Of a leader of epoch 5, at level 2.
    fn new() -> Self {
        Self::with_laws(Laws::ALL)
    }

    fn with_laws(laws: Laws) -> Self {
        let leadership = Some(LeaderEpoch(5));
        let standing = Standing { level: Level::Two, me: ME, leadership, is_current: true, now_ms: 0 };
        let reader = PartitionState::with_laws(partition(), laws);
        Self { log: Vec::new(), next: 0, now_ms: 0, reader, standing, nonce: 0, ever: Vec::new() }
    }

    fn lead(&mut self, epoch: i32) {
        self.standing.leadership = Some(LeaderEpoch(epoch));
    }

    fn pass(&mut self, ms: i64) {
        self.now_ms += ms;
        self.standing.now_ms = self.now_ms;
    }

    fn append(&mut self, key: Option<RecordKey>, body: Option<Record>) -> Outcome {
        let stored = Stored { offset: self.next, seen_ms: self.now_ms, key, body };
        self.next += 1;
        let outcome = self.reader.take(entry(&stored));
        self.ever.push(stored.clone());
        self.log.push(stored);
        outcome
    }

    fn write(&mut self, draft: Draft) -> Outcome {
        let body = draft.record();
        self.append(Some(draft.key), body)
    }

    /// What the leader writes when it is asked to; its key as text, without what all have in common.
    fn add(&mut self, segment: SegmentMetadata) -> String {
        let draft = add(&mut self.reader, &self.standing, segment).expect("may add");
        let key = short(&draft.key);
        assert_eq!(self.write(draft), Outcome::Applied);
        key
    }

    /// As the stock manager writes it.
    fn add_without_key(&mut self, metadata: SegmentMetadata) {
        let leader_epoch = LeaderEpoch::UNKNOWN;
        let _ = self.append(None, Some(Record::Segment(WholeSegment { metadata, leader_epoch })));
    }

    fn draft(&mut self, number: u8, state: SegmentState) -> Result<Step, Denied> {
        self.nonce += 1;
        update(&self.reader, &self.standing, to(number, state), self.nonce)
    }

    fn step(&mut self, number: u8, state: SegmentState) -> String {
        match self.draft(number, state).expect("may update") {
            Step::Write(draft) => {
                let key = short(&draft.key);
                let _ = self.write(draft);
                key
            }
            Step::AlreadySo => String::new(),
        }
    }

    fn steps(&mut self, number: u8, states: &[SegmentState]) {
        for &state in states {
            self.step(number, state);
        }
    }

    fn step_without_key(&mut self, number: u8, state: SegmentState) -> Outcome {
        let (update, leader_epoch) = (to(number, state), LeaderEpoch::UNKNOWN);
        self.append(None, Some(Record::Update(UpdateRecord { update, leader_epoch, end_offset: None })))
    }

    /// An update that somebody decided who knew less: under the segment's key, whatever its state is.
    fn late(&mut self, number: u8, (from, state): (SegmentState, SegmentState)) -> Outcome {
        self.nonce += 1;
        let (end_offset, naming) = self.reader.naming_of(&id(number)).expect("known");
        let key = update_key(&partition(), end_offset, id(number).uuid, naming, (from, state), self.nonce);
        self.late_under(key, number, state)
    }

    fn late_under(&mut self, key: RecordKey, number: u8, state: SegmentState) -> Outcome {
        let record = UpdateRecord { update: to(number, state), leader_epoch: LeaderEpoch(5), end_offset: None };
        self.append(Some(key), Some(Record::Update(record)))
    }

    fn claim(&mut self, number: u8) -> String {
        self.nonce += 1;
        let draft = claim(&self.reader, &self.standing, &id(number), self.nonce).expect("may claim");
        let key = short(&draft.key);
        let _ = self.write(draft);
        key
    }

    fn backfill(&mut self) -> Vec<String> {
        let drafts = backfill(&self.reader, &self.standing, &HashSet::new(), usize::MAX);
        self.write_all(drafts)
    }

    fn tombstones(&mut self) -> Vec<String> {
        let drafts = tombstones(&self.reader, &self.standing, Z_MS, usize::MAX);
        self.write_all(drafts)
    }

    /// Waits, and empties what may be emptied until nothing is left to do.
    fn sweep(&mut self) {
        self.pass(Z_MS);
        while !self.tombstones().is_empty() {}
    }

    fn write_all(&mut self, drafts: Vec<Draft>) -> Vec<String> {
        let keys = drafts.iter().map(|draft| short(&draft.key)).collect();
        drafts.into_iter().for_each(|draft| _ = self.write(draft));
        keys
    }

    /// As Kafka's cleaner: of each key the last record stays, records without a key go.
    fn clean(&mut self) {
        self.clean_until(self.next);
    }

    /// Up to this offset.
    fn clean_until(&mut self, end: i64) {
        let dirty = self.log.iter().filter(|stored| stored.offset < end);
        let last: HashMap<String, i64> =
            dirty.filter_map(|stored| Some((stored.key.as_ref()?.to_string(), stored.offset))).collect();
        self.log.retain(|stored| {
            let is_last = || stored.key.as_ref().is_some_and(|key| last.get(&key.to_string()) == Some(&stored.offset));
            stored.offset >= end || is_last()
        });
    }

    /// Tombstones go too, as they do when delete.retention.ms is over.
    fn clean_all(&mut self) {
        self.clean();
        self.log.retain(|stored| stored.body.is_some());
    }

    /// What somebody knows who reads what the log has now.
    fn fresh(&self) -> PartitionState {
        let mut state = self.reader.restarted();
        self.log.iter().for_each(|stored| _ = state.take(entry(stored)));
        state
    }

    /// The leader reads the log again, as after a crash.
    fn restart(&mut self) {
        self.reader = self.fresh();
    }

    /// Keys that have a record, as text without what all have in common.
    fn keys(&self) -> BTreeSet<String> {
        let last: BTreeMap<String, bool> =
            self.log.iter().filter_map(|stored| Some((short(stored.key.as_ref()?), stored.body.is_some()))).collect();
        last.into_iter().filter_map(|(key, has_value)| has_value.then_some(key)).collect()
    }

    fn state(&self, number: u8) -> Option<SegmentState> {
        self.reader.state_of(&id(number))
    }

    /// The law: a reader of the cleaned log knows what a reader of everything knows.
    #[track_caller]
    fn assert_law(&self) {
        assert_eq!(live(&self.fresh()), live(&self.reader));
    }

    #[track_caller]
    fn clean_and_assert_law(&mut self) {
        self.clean();
        self.assert_law();
    }
}

fn entry(stored: &Stored) -> Entry<'_> {
    let (key, body) = (stored.key.as_ref(), stored.body.as_ref());
    Entry { offset: stored.offset, timestamp_ms: stored.seen_ms, seen_ms: stored.seen_ms, key, body }
}

/// All that is not gone: states, custom metadata, who claimed, and what serves which offset.
fn live(state: &PartitionState) -> (Vec<(String, bool)>, Vec<Option<KafkaUuid>>) {
    let listed = state.list(None).into_iter();
    let listed = listed.map(|found| {
        let is_claimed = state.is_claimed(&found.id);
        (format!("{} {} {:?}", found.id.uuid, found.state, found.custom_metadata), is_claimed)
    });
    let served = (0..50).map(|offset| state.find(LeaderEpoch(0), Offset(offset)).map(|found| found.id.uuid));
    (listed.collect(), served.collect())
}

/// A key without its partition, with the test's numbers for segments.
fn short(key: &RecordKey) -> String {
    let mut text = key.to_string();
    for number in 0..=20_u8 {
        text = text.replace(&KafkaUuid([number; 16]).to_string(), &number.to_string());
    }
    text.replacen("7:orders:3:", "", 1)
}

fn custom(text: &'static str) -> Option<Bytes> {
    Some(Bytes::from_static(text.as_bytes()))
}
