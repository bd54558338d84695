//! Rules 3, 4 and 7: whose key is whose.

use super::*;

#[test]
fn a_short_key_belongs_to_one_segment_for_ever() {
    let mut world = World::new();
    assert_eq!(world.add(segment(1, 0, 9)), "9:5");
    assert_eq!(world.add(segment(2, 0, 9)), "9:5:2", "the first one is still on its way");
    world.steps(1, &[DeleteStarted, DeleteFinished]);
    assert_eq!(world.add(segment(3, 0, 9)), "9:5:3", "the first one is deleted");
    world.sweep();
    world.clean_all();
    assert_eq!(world.keys(), ["9:5:2", "9:5:3"].map(str::to_owned).into());
    assert_eq!(world.add(segment(4, 0, 9)), "9:5:4", "nothing is left of the first one");
    world.restart();
    assert_eq!(world.add(segment(5, 0, 9)), "9:5:5", "the log was read again");
}

#[test]
fn an_add_takes_its_short_key_before_it_is_in_the_log() {
    let mut world = World::new();
    let first = add(&mut world.reader, &world.standing, segment(1, 0, 9)).expect("first");
    let second = add(&mut world.reader, &world.standing, segment(2, 0, 9)).expect("second");
    assert_eq!((short(&first.key), short(&second.key)), ("9:5".to_owned(), "9:5:2".to_owned()));
}

#[test]
fn each_epoch_has_short_keys_of_its_own() {
    let mut world = World::new();
    for (number, epoch, key) in [(1, 5, "9:5"), (2, 6, "9:6"), (3, 5, "9:5:3")] {
        world.lead(epoch);
        assert_eq!(world.add(segment(number, 0, 9)), key);
    }
}

#[test]
fn what_lies_above_everything_before_it_has_a_short_key() {
    let mut world = World::new();
    let keys: Vec<_> = [(1, 9), (2, 19), (3, 15), (4, 20)].map(|(n, end)| world.add(segment(n, 0, end))).into();
    assert_eq!(keys, ["9:5", "19:5", "15:5:3", "20:5"]);
}

#[test]
fn a_key_that_was_only_ever_emptied_is_taken_all_the_same() {
    let mut world = World::new();
    let key = add_key(&partition(), Offset(9), id(1).uuid, Naming { epoch: LeaderEpoch(5), has_segment_id: false });
    let _ = world.append(Some(key), None);
    assert_eq!(world.add(segment(2, 0, 9)), "9:5:2");
}

#[test]
fn an_add_that_is_said_again_keeps_its_key() {
    let mut world = World::new();
    assert_eq!(world.add(segment(1, 0, 9)), "9:5");
    world.lead(6);
    assert_eq!(world.add(segment(1, 0, 9)), "9:5");
}

#[test]
fn every_record_stands_in_its_lane_under_the_epoch_of_its_add() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.lead(8);
    assert_eq!(world.step(1, CopyFinished), "9:5:UPDATE");
    assert_eq!(world.step(1, DeleteStarted), "9:5:DEL:1");
    assert_eq!(world.step(1, Dangling), "9:5:DEL:1");
    assert_eq!(world.step(1, DeleteStarted), "9:5:DEL:1");
    assert_eq!(world.step(1, DeleteFinished), "9:5:GONE:1");
    world.lead(5);
    world.add(segment(2, 0, 9));
    assert_eq!(world.step(2, CopyFinished), "9:5:2:UPDATE");
    assert_eq!(world.step(2, DeleteStarted), "9:5:2:DEL:2");
}

#[test]
fn keys_at_level_0_are_the_same_and_values_are_what_stock_brokers_read() {
    let mut world = World::new();
    world.standing.level = Level::Zero;
    let draft = add(&mut world.reader, &world.standing, segment(1, 0, 9)).expect("may add");
    assert_eq!(short(&draft.key), "9:5");
    assert_eq!(draft.value(Level::Zero).expect("a value")[2], 0);
    assert_eq!(draft.value(Level::One).expect("a value")[2], 1);
    let _ = world.write(draft);
    assert_eq!(world.step(1, DeleteStarted), "9:5:DEL:1");
    assert_eq!(world.step(1, DeleteFinished), "9:5:GONE:1");
}

#[test]
fn with_an_unknown_epoch_every_key_has_the_segments_id() {
    let mut world = World::new();
    world.lead(-1);
    assert_eq!(world.add(segment(1, 0, 9)), "9:-1:1");
    assert_eq!(world.add(segment(2, 0, 9)), "9:-1:2");
    assert_eq!(world.step(1, CopyFinished), "9:-1:1:UPDATE");
    world.add_without_key(segment(3, 10, 19));
    world.lead(5);
    assert_eq!(world.step(3, CopyFinished), "19:-1:3:UPDATE");
    assert_eq!(world.step(3, DeleteStarted), "19:-1:3:DEL:3");
}

#[test]
fn of_two_segments_under_one_key_of_an_older_writer_both_outlive_the_cleaner_once_they_are_said_again() {
    let mut world = World::new();
    let key = add_key(&partition(), Offset(9), id(1).uuid, Naming { epoch: LeaderEpoch(3), has_segment_id: false });
    for number in [1, 2] {
        let whole = WholeSegment { metadata: segment(number, 0, 9), leader_epoch: LeaderEpoch(3) };
        let _ = world.append(Some(key.clone()), Some(Record::Segment(whole)));
    }
    assert_eq!(world.backfill(), ["9:3:1:REWRITE:1:5"]);
    assert_eq!(world.step(1, CopyFinished), "9:3:1:UPDATE", "from now on its keys are its own");
    world.clean_and_assert_law();
    assert_eq!((world.state(1), world.state(2)), (Some(CopyFinished), Some(CopyStarted)));
}
