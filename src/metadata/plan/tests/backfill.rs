//! Rule 6: what rests on records without a key is said again with one.

use super::*;
use crate::metadata::partition::NullKeyFact::{self, Base, State};

fn facts(world: &World) -> Vec<(u8, NullKeyFact)> {
    let mut facts: Vec<_> = world.reader.rests_on_null_keys().map(|(id, fact)| (id.uuid.0[0], fact)).collect();
    facts.sort_unstable();
    assert_eq!(world.reader.work().unkeyed_facts, facts.len());
    facts
}

/// Backfills until nothing is left, and lets the cleaner run.
#[track_caller]
fn settled(mut world: World) -> World {
    while !world.backfill().is_empty() {}
    assert_eq!(facts(&world), []);
    world.clean_and_assert_law();
    world
}

#[test]
fn a_segment_without_any_key_is_written_whole_in_the_state_that_it_has() {
    for (states, now) in [
        (&[][..], CopyStarted),
        (&[CopyFinished], CopyFinished),
        (&[CopyFinished, DeleteStarted], DeleteStarted),
        (&[DeleteStarted, Dangling], Dangling),
    ] {
        let mut world = World::new();
        world.add_without_key(segment(1, 0, 9));
        for &state in states {
            let _ = world.step_without_key(1, state);
        }
        assert_eq!(facts(&world), [(1, Base), (1, State)]);
        assert_eq!(world.backfill(), ["9:-1:1:REWRITE:1:5"]);
        assert_eq!(settled(world).state(1), Some(now));
    }
}

#[test]
fn a_state_without_a_key_is_said_again_in_its_lane_and_finished_as_a_whole_record() {
    for (states, key) in [
        (&[CopyFinished][..], "9:5:REWRITE:1:5"),
        (&[CopyFinished, DeleteStarted], "9:5:DEL:1"),
        (&[DeleteStarted, Dangling], "9:5:DEL:1"),
    ] {
        let mut world = World::new();
        world.add(segment(1, 0, 9));
        for &state in states {
            let _ = world.step_without_key(1, state);
        }
        assert_eq!(facts(&world), [(1, State)]);
        assert_eq!(world.backfill(), [key]);
        assert_eq!(settled(world).state(1), states.last().copied());
    }
}

#[test]
fn a_segment_that_is_gone_is_said_to_be_as_long_as_a_base_key_would_bring_it_back() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    let _ = world.step_without_key(1, DeleteStarted);
    let _ = world.step_without_key(1, DeleteFinished);
    assert_eq!(facts(&world), [(1, State)]);
    assert_eq!(world.backfill(), ["9:5:GONE:1"]);
    world.add_without_key(segment(2, 10, 19));
    let _ = world.step_without_key(2, DeleteStarted);
    let _ = world.step_without_key(2, DeleteFinished);
    assert_eq!(facts(&world), [], "nothing is left of it");
    assert_eq!(settled(world).state(1), Some(DeleteFinished));
}

#[test]
fn what_has_keys_is_left_alone() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.add(segment(2, 10, 19));
    world.step(2, CopyFinished);
    world.add(segment(3, 20, 29));
    world.claim(3);
    assert_eq!(facts(&world), []);
    assert_eq!(world.backfill(), [""; 0]);
}

#[test]
fn a_repetition_with_a_key_does_as_well() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    let _ = world.step_without_key(1, CopyFinished);
    assert_eq!(world.late(1, (CopyStarted, CopyFinished)), Outcome::Applied);
    assert_eq!(facts(&world), [(1, Base)], "its state has a key, its base has none");
    world.backfill();
    assert_eq!(settled(world).state(1), Some(CopyFinished));
}

#[test]
fn an_update_that_overtakes_the_rewrite_is_not_undone_by_it() {
    for late in [DeleteStarted, DeleteFinished] {
        let mut world = World::new();
        world.add_without_key(segment(1, 0, 9));
        let _ = world.step_without_key(1, CopyFinished);
        let drafts = backfill(&world.reader, &world.standing, &HashSet::new(), 9);
        world.step(1, DeleteStarted);
        if late == DeleteFinished {
            world.step(1, late);
        }
        world.write_all(drafts);
        assert_eq!(world.state(1), Some(late));
        assert_eq!(settled(world).state(1), Some(late));
    }
}

#[test]
fn a_second_backfill_of_one_leader_stands_in_place_of_the_first() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    assert_eq!(world.backfill(), ["9:-1:1:REWRITE:1:5"]);
    let _ = world.step_without_key(1, CopyFinished);
    assert_eq!(world.backfill(), ["9:-1:1:REWRITE:1:5"]);
    world.lead(6);
    assert_eq!(world.backfill(), [""; 0]);
    assert_eq!(settled(world).keys().len(), 1);
}

#[test]
fn what_is_in_flight_is_not_written_again_and_no_more_than_is_asked_for() {
    let mut world = World::new();
    for number in 1..=4_u8 {
        world.add_without_key(segment(number, i64::from(number) * 10, i64::from(number) * 10 + 9));
    }
    let some = |in_flight: &[u8], max| {
        let in_flight = in_flight.iter().map(|&number| id(number).uuid).collect();
        backfill(&world.reader, &world.standing, &in_flight, max).len()
    };
    assert_eq!((some(&[], 9), some(&[2, 3], 9), some(&[1, 2, 3, 4], 9), some(&[], 3)), (4, 2, 0, 3));
}

#[test]
fn at_level_0_nothing_is_said_again() {
    let mut world = World::new();
    world.standing.level = Level::Zero;
    world.add_without_key(segment(1, 0, 9));
    assert_eq!(world.backfill(), [""; 0]);
}

#[test]
fn a_key_of_another_segment_or_partition_protects_nothing() {
    let mut world = World::new();
    let naming = Naming { epoch: LeaderEpoch(5), has_segment_id: true };
    let other = TopicIdPartition::new(KafkaUuid([8; 16]), "orders", 3);
    let renamed = TopicIdPartition::new(KafkaUuid([7; 16]), "invoices", 3);
    for (number, of, named) in [(1, partition(), 9), (2, other, 2), (3, renamed, 3)] {
        let metadata = segment(number, i64::from(number) * 10, i64::from(number) * 10 + 9);
        let key = add_key(&of, metadata.end_offset, id(named).uuid, naming);
        let whole = WholeSegment { metadata, leader_epoch: LeaderEpoch(5) };
        let _ = world.append(Some(key), Some(Record::Segment(whole)));
    }
    assert_eq!(facts(&world).len(), 6);
}
