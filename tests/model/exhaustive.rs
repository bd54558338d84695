//! All short histories of one segment, record by record, with the cleaner at every point.
//!
//! Random histories seldom meet what needs a certain record at a certain place. Here every order of the records that
//! writers may have written of one segment is tried, whatever made them come in that order: `:UPDATE` once, claims each
//! once, deletions and returns in their lane, the end in its own, rewrites with any state that the segment has had, and
//! each of them without a key too, as stock brokers write. The law must hold for all of them; of histories with records that
//! have no key, for those that the check before `compact` lets pass.

use undercroft::metadata::partition::{Entry, PartitionState};
use undercroft::metadata::plan::Laws;
use undercroft::model::SegmentState::{self, CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
use undercroft::model::{BrokerId, LeaderEpoch, Offset, SegmentEpochs, SegmentMetadata, SegmentUpdate};
use undercroft::wire::{Lane, Record, RecordKey, SegmentKey, UpdateRecord, WholeSegment};

use crate::log::{Log, Stored};
use crate::reference::{Reference, agree};
use crate::run::number;
use crate::world::{segment_id, user_partition, uuid};

const EPOCH: LeaderEpoch = LeaderEpoch(5);
const END: Offset = Offset(9);

/// A record about the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letter {
    /// Its first.
    Add {
        has_key: bool,
    },
    Update {
        state: SegmentState,
        has_key: bool,
    },
    Claim {
        nonce: u64,
    },
    Rewrite {
        state: SegmentState,
        epoch: i32,
    },
}

impl Letter {
    fn stored(self, log: &mut Log) -> Stored {
        let whole = |state| {
            let metadata = SegmentMetadata {
                id: segment_id(0),
                start_offset: Offset(0),
                end_offset: END,
                max_timestamp_ms: 0,
                broker_id: BrokerId(0),
                event_timestamp_ms: 0,
                epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(0))]).expect("one epoch"),
                size_bytes: 1,
                custom_metadata: None,
                state,
                is_txn_index_empty: false,
            };
            Record::Segment(WholeSegment { metadata, leader_epoch: EPOCH })
        };
        let update = |state| {
            let update = SegmentUpdate {
                id: segment_id(0),
                broker_id: BrokerId(0),
                event_timestamp_ms: 0,
                custom_metadata: None,
                state,
            };
            Record::Update(UpdateRecord { update, leader_epoch: EPOCH, end_offset: Some(END) })
        };
        let segment = uuid(0);
        let (lane, body, has_key) = match self {
            Self::Add { has_key } => (Lane::Base, whole(CopyStarted), has_key),
            Self::Update { state, has_key } => {
                let lane = match state {
                    CopyStarted | CopyFinished => Lane::Update,
                    DeleteStarted | Dangling => Lane::Delete { segment },
                    DeleteFinished => Lane::Gone { segment },
                };
                (lane, update(state), has_key)
            }
            Self::Claim { nonce } => (Lane::Claim { segment, nonce }, update(Dangling), true),
            Self::Rewrite { state, epoch } => {
                (Lane::Rewrite { segment, writer_epoch: LeaderEpoch(epoch) }, whole(state), true)
            }
        };
        let partition = user_partition();
        let key =
            SegmentKey { partition: (&partition).into(), end_offset: END, leader_epoch: EPOCH, attempt: None, lane };
        let key = has_key.then_some(RecordKey::Segment(key));
        let key_number = key.as_ref().map(|key| log.number(key));
        Stored { key, key_number, body: Some(body), timestamp_ms: 0, writer: 0, seg: Some(0) }
    }
}

/// What a reader of `log` knows.
fn read(log: &Log, laws: Laws) -> PartitionState {
    let mut state = PartitionState::with_laws(user_partition(), laws);
    for (offset, stored) in log.left_from(0) {
        let (key, body) = (stored.key.as_ref(), stored.body.as_ref());
        let _ = state.take(Entry { offset: offset as i64, timestamp_ms: 0, seen_ms: 0, key, body });
    }
    state
}

/// Searches all histories of at most `length` records; the first that breaks the law.
fn first_broken(length: usize, laws: Laws) -> (Option<Vec<Letter>>, usize) {
    let mut word = Vec::new();
    let mut tried = 0;
    (extend(&mut word, length, laws, &mut tried), tried)
}

fn extend(word: &mut Vec<Letter>, length: usize, laws: Laws, tried: &mut usize) -> Option<Vec<Letter>> {
    *tried += 1;
    if !holds(word, laws) {
        return Some(word.clone());
    }
    if word.len() == length {
        return None;
    }
    for letter in letters(word) {
        word.push(letter);
        let broken = extend(word, length, laws, tried);
        word.pop();
        if broken.is_some() {
            return broken;
        }
    }
    None
}

/// What may follow.
fn letters(word: &[Letter]) -> Vec<Letter> {
    if word.is_empty() {
        return [true, false].map(|has_key| Letter::Add { has_key }).to_vec();
    }
    let is_free = |letter: &Letter| !word.contains(letter);
    let is_finished = |letter: &Letter| matches!(letter, Letter::Update { state: CopyFinished, .. });
    let has_finish = word.iter().any(is_finished);
    let has_unkeyed_base = word.contains(&Letter::Add { has_key: false });
    let mut next = Vec::new();
    for has_key in [true, false] {
        if !has_finish {
            next.push(Letter::Update { state: CopyFinished, has_key });
        }
        next.push(Letter::Update { state: DeleteStarted, has_key });
        next.push(Letter::Update { state: DeleteFinished, has_key });
    }
    next.push(Letter::Update { state: Dangling, has_key: true });
    next.extend([1, 2].map(|nonce| Letter::Claim { nonce }).into_iter().find(is_free));
    // Rewritten is what rests on a record without a key: the base with the state, or that it is finished.
    let rests = has_unkeyed_base || word.contains(&Letter::Update { state: CopyFinished, has_key: false });
    if rests {
        let wanted = had(word).into_iter().filter(|&state| has_unkeyed_base || state == CopyFinished);
        next.extend(wanted.map(|state| Letter::Rewrite { state, epoch: 6 }));
    }
    next
}

/// The states that the segment has had and in which a leader may have rewritten it.
fn had(word: &[Letter]) -> Vec<SegmentState> {
    let mut log = Log::default();
    let mut reference = Reference::default();
    let mut had = Vec::new();
    for letter in word {
        let stored = letter.stored(&mut log);
        reference.take(log.append(stored), &log.all[log.end() - 1]);
        let now = reference.now(0).filter(|&state| state != DeleteFinished);
        had.extend(now.filter(|state| !had.contains(state)));
    }
    had
}

/// The law, for one history and every point of the cleaner.
fn holds(word: &[Letter], laws: Laws) -> bool {
    let mut log = Log::default();
    let mut reference = Reference::default();
    for letter in word {
        let stored = letter.stored(&mut log);
        let offset = log.append(stored);
        reference.take(offset, &log.all[offset]);
    }
    let full = read(&log, laws);
    let said = reference.now(0);
    if !agree(full.state_of(&segment_id(0)), said) {
        return false;
    }
    let is_unkeyed =
        |letter: &Letter| matches!(letter, Letter::Add { has_key: false } | Letter::Update { has_key: false, .. });
    if word.iter().any(is_unkeyed) && full.rests_on_null_keys().next().is_some() {
        return true;
    }
    (1..=log.end()).all(|dirty_end| {
        let mut log = Log::default();
        for letter in word {
            let stored = letter.stored(&mut log);
            log.append(stored);
        }
        log.compact(dirty_end, dirty_end, 0, 0);
        agree(read(&log, laws).state_of(&segment_id(0)), said)
    })
}

/// Records of the longest history that is tried if `LENGTH` says nothing.
const LENGTH: usize = if cfg!(debug_assertions) { 5 } else { 6 };

#[test]
fn no_short_history_of_a_segment_breaks_the_law() {
    let length = number("LENGTH", LENGTH as u64) as usize;
    let (broken, tried) = first_broken(length, Laws::ALL);
    assert_eq!(broken, None, "after {tried} histories");
    assert!(tried > 5_000, "only {tried} histories");
}

/// Each of these rules is needed by some short history.
#[test]
fn short_histories_notice_readers_without_a_rule() {
    let switches: [fn(&mut Laws); 4] = [
        |laws| laws.keeps_early_updates = false,
        |laws| laws.claims_only_open_attempts = false,
        |laws| laws.whole_changes_only_open_attempts = false,
        |laws| laws.whole_finish_overrules_claim = false,
    ];
    for (at, switch) in switches.into_iter().enumerate() {
        let mut laws = Laws::ALL;
        switch(&mut laws);
        let (broken, _) = first_broken(LENGTH, laws);
        println!("{at}: {broken:?}");
        assert!(broken.is_some(), "rule {at}");
    }
}
