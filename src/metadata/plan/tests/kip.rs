//! The five scenarios of KIP-1266: what comes of them, and which keys are left.

use super::*;
use crate::model::{PartitionDelete, PartitionDeleteState};

fn keys(keys: &[&str]) -> BTreeSet<String> {
    keys.iter().map(|&key| key.to_owned()).collect()
}

#[test]
fn scenario_1_a_copy() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.step(1, CopyFinished);
    world.clean_and_assert_law();
    assert_eq!(world.keys(), keys(&["9:5", "9:5:UPDATE"]), "the KIP's keys");
    assert_eq!(world.fresh().find(LeaderEpoch(0), Offset(4)).map(|found| found.id), Some(id(1)));
}

#[test]
fn scenario_2_a_copy_and_its_deletion() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.step(1, CopyFinished);
    assert_eq!(world.keys(), keys(&["9:5", "9:5:UPDATE"]), "the KIP's keys");
    world.lead(6);
    world.steps(1, &[DeleteStarted, DeleteFinished]);
    world.clean_and_assert_law();
    world.sweep();
    world.clean_all();
    assert_eq!(world.log.len(), 0, "nothing is left");
}

#[test]
fn scenario_3_a_retry_within_one_epoch() {
    let mut world = World::new();
    assert_eq!(world.add(segment(1, 0, 9)), "9:5");
    assert_eq!(world.add(segment(2, 0, 9)), "9:5:2", "the second attempt has its segment id");
    world.step(2, CopyFinished);
    world.clean_and_assert_law();
    let unsettled: Vec<_> = world.reader.unsettled().map(|attempt| attempt.metadata.id).collect();
    assert_eq!(unsettled, [id(1)], "the first attempt's objects are still known of");
    world.claim(1);
    world.steps(1, &[DeleteStarted, DeleteFinished]);
    world.sweep();
    world.clean_all();
    assert_eq!(world.keys(), keys(&["9:5:2", "9:5:2:UPDATE"]));
    assert_eq!(world.fresh().find(LeaderEpoch(0), Offset(4)).map(|found| found.id), Some(id(2)));
}

#[test]
fn scenario_4_three_leaders_copy_one_end_offset_and_a_fourth_deletes() {
    let mut world = World::new();
    for (number, epoch) in [(1, 3), (2, 4), (3, 5)] {
        world.lead(epoch);
        world.add(segment(number, 0, 9));
    }
    world.step(3, CopyFinished);
    world.lead(6);
    for number in [1, 2] {
        world.claim(number);
    }
    for number in [1, 2, 3] {
        world.steps(number, &[DeleteStarted, DeleteFinished]);
    }
    let before = world.keys();
    assert_eq!(before.len(), 3 + 1 + 2 + 3 + 3);
    world.sweep();
    let emptied: BTreeSet<_> = world
        .log
        .iter()
        .filter(|stored| stored.body.is_none())
        .filter_map(|stored| Some(short(stored.key.as_ref()?)))
        .collect();
    assert_eq!(emptied, before, "a tombstone for every key of the three");
    world.clean_all();
    assert_eq!(world.log.len(), 0, "nothing is left of that end offset");
}

#[test]
fn scenario_5_a_topic_is_deleted() {
    let mut world = World::new();
    for (number, end) in [(1, 9), (2, 19), (3, 29)] {
        world.add(segment(number, end - 9, end));
        world.step(number, CopyFinished);
    }
    let mark = |state| PartitionDelete { partition: partition(), broker_id: ME, event_timestamp_ms: 1, state };
    for state in [PartitionDeleteState::Marked, PartitionDeleteState::Started] {
        let draft = partition_delete(&world.reader, &world.standing, mark(state));
        let _ = world.write(draft);
    }
    // Nobody leads a topic that is deleted.
    world.lead(i32::MAX);
    for number in [1, 2, 3] {
        world.steps(number, &[DeleteStarted, DeleteFinished]);
    }
    let draft = partition_delete(&world.reader, &world.standing, mark(PartitionDeleteState::Finished));
    let _ = world.write(draft);
    world.pass(Z_MS);
    world.tombstones();
    world.tombstones();
    assert_eq!(world.keys(), keys(&["PARTITION"]), "nothing is left but the mark");
    world.sweep();
    world.clean_all();
    assert_eq!(world.log.len(), 0, "then nothing");
}
