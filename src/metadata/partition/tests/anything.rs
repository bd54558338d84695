//! Records that no writer of sense makes.

use proptest::prelude::*;

use super::*;
use crate::metadata::plan::{Level, Standing, add_key, backfill, tombstones};

fn offset() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..30_i64, 1 => prop_oneof![Just(i64::MAX), Just(i64::MAX - 1), Just(-1), Just(i64::MIN)]]
}

fn naming() -> impl Strategy<Value = Naming> {
    (-2..3_i32, any::<bool>()).prop_map(|(epoch, has_segment_id)| Naming { epoch: LeaderEpoch(epoch), has_segment_id })
}

fn state() -> impl Strategy<Value = SegmentState> {
    (0..5_i32).prop_map(|number| SegmentState::from_number(number).expect("a state"))
}

/// A key and a record that may be about different segments, either of which may be missing.
fn record() -> impl Strategy<Value = (Option<RecordKey>, Option<Record>)> {
    let key =
        (0..4_u8, offset(), naming(), state(), state(), 0..2_u64).prop_map(|(number, end, naming, from, to, nonce)| {
            let (segment, end) = (KafkaUuid([number; 16]), Offset(end));
            match to {
                CopyStarted => add_key(&partition(), end, segment, naming),
                to => update_key(&partition(), end, segment, naming, (from, to), nonce),
            }
        });
    let epochs = proptest::collection::vec((0..3_i32, offset()), 1..4);
    let body = (0..4_u8, offset(), offset(), epochs, state(), any::<bool>()).prop_map(
        |(number, start, end, epochs, state, is_whole)| {
            let epochs = epochs.into_iter().map(|(epoch, at)| (LeaderEpoch(epoch), Offset(at))).collect();
            let epochs =
                SegmentEpochs::new(epochs).unwrap_or_else(|_| SegmentEpochs::single(LeaderEpoch(0), Offset(start)));
            let leader_epoch = LeaderEpoch::UNKNOWN;
            let metadata = SegmentMetadata { epochs, ..whole(number, start, end, &[(0, 0)], state) };
            match is_whole {
                true => Record::Segment(WholeSegment { metadata, leader_epoch }),
                false => Record::Update(UpdateRecord { update: update(number, state), leader_epoch, end_offset: None }),
            }
        },
    );
    (proptest::option::of(key), proptest::option::weighted(0.8, body))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Any records leave a state that answers, whose counts are those of what it lists, and in which the one that serves an
    /// offset has it.
    #[test]
    fn any_records_leave_a_state_that_answers(records in proptest::collection::vec(record(), 0..60)) {
        let mut subject = PartitionState::new(partition());
        for (at, (key, body)) in records.iter().enumerate() {
            let at = i64::try_from(at).expect("small") * 400_000;
            let entry = Entry { offset: at, timestamp_ms: at, seen_ms: at, key: key.as_ref(), body: body.as_ref() };
            let _ = subject.take(entry);
        }
        let listed = subject.list(None);
        prop_assert_eq!(listed.len(), subject.live_segments());
        let count = |state| listed.iter().filter(|segment| segment.state == state).count();
        let work = subject.work();
        prop_assert_eq!(
            (work.started.count, work.dangling.count, work.delete_started.count),
            (count(CopyStarted), count(Dangling), count(DeleteStarted))
        );
        prop_assert_eq!(subject.unsettled().count(), listed.len() - count(CopyFinished));
        prop_assert_eq!(subject.rests_on_null_keys().count(), work.unkeyed_facts);
        for epoch in (0..3).map(LeaderEpoch) {
            for at in (-1..31).chain([i64::MAX, i64::MIN]).map(Offset) {
                if let Some(found) = subject.find(epoch, at) {
                    prop_assert!(found.start_offset <= at || found.epochs.entries()[0].1 <= at);
                    prop_assert_eq!(found.state, CopyFinished);
                }
                let _ = subject.next_with_transaction_index(epoch, at);
            }
            prop_assert!(subject.list(Some(epoch)).len() <= listed.len());
        }
        let leadership = Some(LeaderEpoch(9));
        let standing =
            Standing { level: Level::One, me: BrokerId(1), leadership, is_current: true, now_ms: i64::MAX };
        let _ = backfill(&subject, &standing, &std::collections::HashSet::new(), 9);
        prop_assert_eq!(tombstones(&subject, &standing, 1, usize::MAX).is_empty(),
            work.gone_with_keys == 0 && subject.leftovers().iter().all(|l| l.base_keys.is_empty() && l.other_keys.is_empty()));
    }
}
