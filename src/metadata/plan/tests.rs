//! What the keys are for: a cleaner may drop every record but the last of its key, at any time, and nobody notices.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use crate::metadata::partition::{KeyFacts, PartitionState};
use crate::model::SegmentState::{CopyFinished, CopyStarted, DeleteFinished, DeleteStarted};
use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate,
    TopicIdPartition,
};

#[derive(Debug, Clone)]
enum Event {
    Whole(SegmentMetadata),
    Update(SegmentUpdate),
}

/// A record: its key as text, what the key says, and its event.
type Stored = (String, KeyFacts, Event);

#[derive(Debug, Clone)]
enum Op {
    /// An attempt to copy offsets up to one of few ends, in one of few epochs, -1 being an unknown one.
    Add {
        start: i64,
        length: i64,
        epoch: i32,
    },
    Step {
        segment: usize,
        to: SegmentState,
    },
    /// The cleaner runs over everything before this share of the log, in percent.
    Compact {
        share: usize,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let to = prop_oneof![Just(CopyFinished), Just(DeleteStarted), Just(DeleteFinished)];
    prop_oneof![
        3 => (0..3_i64, 0..3_i64, -1..3_i32)
            .prop_map(|(start, length, epoch)| Op::Add { start: start * 10, length: length * 10 + 9, epoch }),
        6 => (0..64_usize, to).prop_map(|(segment, to)| Op::Step { segment, to }),
        1 => (0..=100_usize).prop_map(|share| Op::Compact { share }),
    ]
}

fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3)
}

fn whole(number: u8, start: i64, end: i64) -> SegmentMetadata {
    SegmentMetadata {
        id: SegmentId { partition: partition(), uuid: KafkaUuid([number; 16]) },
        start_offset: Offset(start),
        end_offset: Offset(end),
        max_timestamp_ms: 0,
        broker_id: BrokerId(0),
        event_timestamp_ms: 0,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(start))]).expect("epochs"),
        size_bytes: 1,
        custom_metadata: None,
        state: CopyStarted,
        is_txn_index_empty: false,
    }
}

fn apply(state: &mut PartitionState, (_, facts, event): &Stored) {
    let _ = match event {
        Event::Whole(metadata) => state.apply_segment(metadata, *facts),
        Event::Update(update) => state.apply_update(update.clone(), *facts),
    };
}

/// As Kafka's cleaner: what stands before `dirty_end` and has a later record of its key there goes.
fn compact(log: &mut Vec<Stored>, dirty_end: usize) {
    let last: HashMap<String, usize> =
        log[..dirty_end].iter().enumerate().map(|(at, (key, ..))| (key.clone(), at)).collect();
    let mut at = 0;
    log.retain(|(key, ..)| {
        at += 1;
        at > dirty_end || last.get(key) == Some(&(at - 1))
    });
}

/// All that can be asked of a state.
fn answers(state: &PartitionState) -> (BTreeMap<String, SegmentState>, Vec<Option<SegmentMetadata>>, Option<Offset>) {
    let listed = state.list(None).into_iter().map(|found| (found.id.uuid.to_string(), found.state)).collect();
    let found = (0..50).map(|offset| state.find(LeaderEpoch(0), Offset(offset))).collect();
    (listed, found, state.highest_offset(LeaderEpoch(0)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// For every history of leaders that keep to the steps and a cleaner that runs at any point, a reader of what is left
    /// knows what a reader of everything knows, and no segment's first record is ever dropped for another one's.
    #[test]
    fn a_compacted_log_says_what_the_whole_log_said(ops in proptest::collection::vec(op(), 1..80)) {
        let (mut state, mut log, mut added) = (PartitionState::new(partition()), Vec::<Stored>::new(), Vec::new());
        for op in ops {
            let stored = match op {
                Op::Add { start, length, epoch } => {
                    let metadata = whole(u8::try_from(added.len()).expect("small"), start, start + length);
                    let naming = state.claim_naming(&metadata.id, metadata.end_offset, LeaderEpoch(epoch));
                    let key = add_key(&partition(), metadata.end_offset, metadata.id.uuid, naming);
                    added.push(metadata.id.clone());
                    (key.to_string(), key_facts(Some(&key), &partition()), Event::Whole(metadata))
                }
                Op::Step { segment, to } if !added.is_empty() => {
                    let id: &SegmentId = &added[segment % added.len()];
                    let (Some(from), Some((end, naming))) = (state.state_of(id), state.naming_of(id)) else { continue };
                    // Nobody says a second time that a copy has finished: when it did decides what it covers.
                    if !from.writer_may(to) || (from, to) == (CopyFinished, CopyFinished) {
                        continue;
                    }
                    let key = update_key(&partition(), end, id.uuid, naming, (from, to), 0);
                    let update = SegmentUpdate {
                        id: id.clone(),
                        broker_id: BrokerId(0),
                        event_timestamp_ms: 0,
                        custom_metadata: None,
                        state: to,
                    };
                    (key.to_string(), key_facts(Some(&key), &partition()), Event::Update(update))
                }
                Op::Step { .. } => continue,
                Op::Compact { share } => {
                    let dirty_end = log.len() * share / 100;
                    compact(&mut log, dirty_end);
                    continue;
                }
            };
            apply(&mut state, &stored);
            log.push(stored);
            let mut reader = PartitionState::new(partition());
            log.iter().for_each(|stored| apply(&mut reader, stored));
            prop_assert_eq!(answers(&reader), answers(&state));
        }
        let end = log.len();
        compact(&mut log, end);
        let bases: BTreeSet<_> = log
            .iter()
            .filter_map(|(.., event)| if let Event::Whole(whole) = event { Some(whole.id.uuid) } else { None })
            .collect();
        prop_assert_eq!(bases.len(), added.len(), "each attempt is still named");
    }
}
