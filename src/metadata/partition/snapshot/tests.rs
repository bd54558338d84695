//! Random histories, saved and loaded at any point.

use super::*;
use crate::metadata::partition::Entry;
use crate::model::PartitionDelete;
use crate::wire::{
    Lane, PartitionDeleteRecord, PartitionKey, Record, RecordKey, SegmentKey, UpdateRecord, WholeSegment,
};

/// SplitMix64: the same numbers each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn small(&mut self, limit: u64) -> i32 {
        i32::try_from(self.below(limit)).expect("small")
    }

    fn is_one_in(&mut self, limit: u64) -> bool {
        self.below(limit) == 0
    }
}

fn partition() -> TopicIdPartition {
    TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3)
}

struct Written {
    key: Option<RecordKey>,
    body: Option<Record>,
    at_ms: i64,
}

fn written(dice: &mut Dice, at_ms: i64) -> Written {
    let number = u8::try_from(dice.below(12)).expect("small");
    let uuid = KafkaUuid([number; 16]);
    let id = SegmentId { partition: partition(), uuid };
    let state = SegmentState::ALL[usize::try_from(dice.below(5)).expect("small")];
    let end_offset = Offset(i64::from(number / 3) * 10 + 9);
    let epoch = LeaderEpoch(i32::from(number % 3));
    let custom = [None, Some(Bytes::from_static(b"x")), Some(Bytes::new())];
    let custom_metadata = custom[usize::try_from(dice.below(3)).expect("small")].clone();
    let lane = match dice.below(6) {
        0 => Lane::Base,
        1 => Lane::Update,
        2 => Lane::Delete { segment: uuid },
        3 => Lane::Gone { segment: uuid },
        4 => Lane::Claim { segment: uuid, nonce: u64::MAX - dice.below(3) },
        _ => Lane::Rewrite { segment: uuid, writer_epoch: LeaderEpoch(dice.small(3)) },
    };
    let key = RecordKey::Segment(SegmentKey {
        partition: (&partition()).into(),
        end_offset: if dice.is_one_in(9) { Offset(77) } else { end_offset },
        leader_epoch: if dice.is_one_in(9) { LeaderEpoch(9) } else { epoch },
        attempt: dice.is_one_in(3).then_some(uuid),
        lane,
    });
    let event_timestamp_ms = i64::from(dice.small(1000));
    let broker_id = BrokerId(dice.small(3));
    let body = match dice.below(8) {
        0 => None,
        1..=3 => {
            let epochs = vec![(epoch, Offset(end_offset.0 - 9)), (LeaderEpoch(epoch.0 + 1), Offset(end_offset.0 - 4))];
            let metadata = SegmentMetadata {
                id,
                start_offset: Offset(end_offset.0 - 9),
                end_offset,
                max_timestamp_ms: -1,
                broker_id,
                event_timestamp_ms,
                epochs: SegmentEpochs::new(epochs).expect("epochs"),
                size_bytes: 10 + dice.small(5),
                custom_metadata,
                state: if dice.is_one_in(2) { SegmentState::CopyStarted } else { state },
                is_txn_index_empty: dice.is_one_in(2),
            };
            Some(Record::Segment(WholeSegment { metadata, leader_epoch: epoch }))
        }
        4 if dice.is_one_in(4) => {
            let state = PartitionDeleteState::from_number(dice.small(3)).expect("a state");
            let delete = PartitionDelete { partition: partition(), state, broker_id, event_timestamp_ms };
            let record = PartitionDeleteRecord { delete, leader_epoch: epoch, end_offset: None };
            let key = dice.is_one_in(2).then(|| RecordKey::Partition(PartitionKey::from(&partition())));
            return Written { key, body: Some(Record::PartitionDelete(record)), at_ms };
        }
        _ => {
            let update = SegmentUpdate { id, broker_id, event_timestamp_ms, custom_metadata, state };
            Some(Record::Update(UpdateRecord { update, leader_epoch: epoch, end_offset: None }))
        }
    };
    let key = (body.is_none() || !dice.is_one_in(3)).then_some(key);
    Written { key, body, at_ms }
}

fn take(state: &mut PartitionState, written: &Written) {
    let _ = state.take(Entry {
        offset: written.at_ms,
        timestamp_ms: written.at_ms,
        seen_ms: written.at_ms + 5,
        key: written.key.as_ref(),
        body: written.body.as_ref(),
    });
}

fn saved(state: &PartitionState) -> Bytes {
    let mut out = Writer::new();
    state.save(&mut out);
    out.into_bytes()
}

fn loaded(bytes: &[u8]) -> PartitionState {
    let mut input = Reader::new(bytes);
    let state = PartitionState::load(&mut input).expect("loads");
    input.finish("state").expect("nothing is left");
    state
}

/// All that anybody can ask.
fn told(state: &PartitionState) -> String {
    let mut unsettled: Vec<_> = state.unsettled().collect();
    unsettled.sort_by_key(|segment| segment.metadata.id.uuid);
    let mut null_keys: Vec<_> = state.rests_on_null_keys().map(|(id, fact)| (id.uuid, fact)).collect();
    null_keys.sort_unstable();
    let epochs = (0..5).map(LeaderEpoch);
    let lookups: Vec<_> = epochs
        .map(|epoch| {
            let finds: Vec<_> = (0..50).map(|offset| state.find(epoch, Offset(offset)).map(|found| found.id)).collect();
            (state.highest_offset(epoch), finds, state.list(Some(epoch)))
        })
        .collect();
    format!(
        "{:?} {:?} {unsettled:?} {null_keys:?} {lookups:?} {:?} {:?} {:?}",
        state.work(),
        state.list(None),
        state.deletion(),
        state.leftovers(),
        state.lone_mark_seen_ms()
    )
}

#[test]
fn a_state_that_was_saved_and_loaded_tells_and_becomes_the_same() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let mut state = PartitionState::new(partition());
        let mut now_ms = 1_000;
        for _ in 0..dice.below(120) {
            // Sometimes long enough to forget what is gone.
            now_ms += if dice.is_one_in(20) { 2_000_000 } else { 10 };
            take(&mut state, &written(&mut dice, now_ms));
        }
        let bytes = saved(&state);
        let mut other = loaded(&bytes);
        assert_eq!(saved(&other), bytes, "seed {seed}");
        assert_eq!(told(&other), told(&state), "seed {seed}");
        for _ in 0..60 {
            now_ms += if dice.is_one_in(20) { 2_000_000 } else { 10 };
            let written = written(&mut dice, now_ms);
            take(&mut state, &written);
            take(&mut other, &written);
        }
        assert_eq!(saved(&other), saved(&state), "seed {seed}: later records");
        assert_eq!(told(&other), told(&state), "seed {seed}: later records");
    }
}

#[test]
fn bytes_that_are_cut_or_changed_anywhere_never_do_harm() {
    let mut dice = Dice(7);
    let mut state = PartitionState::new(partition());
    for at_ms in 0..150 {
        take(&mut state, &written(&mut dice, at_ms));
    }
    let bytes = saved(&state);
    for len in 0..bytes.len() {
        assert!(PartitionState::load(&mut Reader::new(&bytes[..len])).is_err(), "cut to {len}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1 << (at % 8);
        if let Ok(state) = PartitionState::load(&mut Reader::new(&changed)) {
            let _ = told(&state);
        }
    }
}
