//! Which facts a cleaner would lose with the records without a key.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::metadata::migration::RestingFact::{self, Base, Deletion, State};
use crate::model::SegmentState::{DeleteFinished, DeleteStarted};

fn facts(topic: &Topic) -> Vec<RestingFact> {
    topic.evidence().resting().iter().map(|resting| resting.fact).collect()
}

#[test]
fn a_fact_rests_on_what_a_reader_without_the_unkeyed_records_does_not_come_to() {
    let (a, new) = (segment(1), Topic::default);
    let custom = SegmentMetadata { custom_metadata: Some(bytes::Bytes::from_static(b"x")), ..a.clone() };
    for (why, topic, expected) in [
        ("nothing", new(), vec![]),
        ("all keyed", new().copied(1, true, 0), vec![]),
        ("none keyed", new().copied(1, false, 0), vec![Base]),
        ("base keyed", new().whole(&a, true, 0).update(&a, CopyFinished, false, 0), vec![State]),
        ("state keyed", new().whole(&a, false, 0).update(&a, CopyFinished, true, 0), vec![Base]),
        ("written again", new().copied(1, false, 0).rewritten(1, 1), vec![]),
        (
            "written again without what the store said",
            new().copied(1, false, 0).update(&custom, CopyFinished, false, 1).rewritten(1, 2),
            vec![State],
        ),
        (
            "deleted without a key",
            new().copied(1, true, 0).update(&a, DeleteStarted, false, 1).update(&a, DeleteFinished, false, 2),
            vec![Deletion],
        ),
        (
            "deleted with a key",
            new().copied(1, true, 0).update(&a, DeleteStarted, false, 1).update(&a, DeleteFinished, true, 2),
            vec![],
        ),
        (
            "all of it without a key",
            new().copied(1, false, 0).update(&a, DeleteStarted, false, 1).update(&a, DeleteFinished, false, 2),
            vec![],
        ),
        ("deletion begun without a key", new().copied(1, true, 0).update(&a, DeleteStarted, false, 1), vec![State]),
        (
            "deletion begun again with one",
            new().copied(1, true, 0).update(&a, DeleteStarted, false, 1).update(&a, DeleteStarted, true, 2),
            vec![],
        ),
    ] {
        assert_eq!(facts(&topic), expected, "{why}");
    }
}

#[test]
fn records_without_a_key_are_told_by_partition_with_their_first_and_last() {
    let topic = Topic::default().copied(1, true, 5).copied(2, false, 7).level(1, &[0, 1, 2], 8).copied(3, false, 9);
    let evidence = topic.evidence();
    let home = usize::try_from(home()).expect("small");
    let unkeyed = &evidence.metas()[home].unkeyed;
    assert_eq!(
        (unkeyed.count, unkeyed.first.map(|at| at.offset), unkeyed.last.map(|at| at.offset)),
        (4, Some(2), Some(6))
    );
    assert_eq!(unkeyed.last_behind_level.map(|at| at.offset), Some(6));
    assert_eq!((evidence.unkeyed_count(), evidence.live_segments()), (4, 3));
    assert_eq!(evidence.levels(), (1, 1));
    assert!(evidence.metas().iter().enumerate().all(|(at, meta)| at == home || meta.unkeyed.count == 0));
}

#[test]
fn the_last_level_record_counts_and_a_value_that_is_none_does_not() {
    let mut topic = Topic::default().level(1, &[0, 1, 2], 1).level(2, &[1], 2);
    assert_eq!(topic.evidence().levels(), (1, 2));
    topic.raw(1, 3, Some(LEVEL_KEY.as_bytes()), Some(b"rubbish"));
    assert_eq!(topic.evidence().levels(), (1, 2));
    assert_eq!(topic.evidence().newest_level_ms(), Some(2));
}

/// A record of one of three segments: which one, its state if it is an update, whether it has a key.
fn record() -> impl Strategy<Value = (u8, Option<SegmentState>, bool)> {
    let update = proptest::sample::select(vec![CopyFinished, DeleteStarted, DeleteFinished]);
    (1..4u8, proptest::option::weighted(0.7, update), any::<bool>())
}

proptest! {
    /// What is lost by trial is among what leaders keep account of, who may be more careful: else a check would wait for ever.
    #[test]
    fn leaders_write_again_whatever_would_be_lost(
        records in proptest::collection::vec(record(), 0..14),
    ) {
        let mut topic = Topic::default();
        for (number, state, is_keyed) in records {
            let segment = segment(number);
            topic = match state {
                None => topic.whole(&segment, is_keyed, 0),
                Some(state) => topic.update(&segment, state, is_keyed, 0),
            };
        }
        let evidence = topic.evidence();
        let tried: BTreeSet<_> = evidence.resting().iter().map(|resting| resting.segment.uuid).collect();
        prop_assert!(tried.is_subset(&evidence.accounted()), "{:?} of {:?}", tried, evidence.accounted());
    }
}
