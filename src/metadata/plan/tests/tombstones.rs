//! Rules 8 and 13: which keys are emptied, when, and what readers make of it.

use super::*;
use crate::model::{PartitionDelete, PartitionDeleteState};

fn gone(world: &mut World, number: u8) {
    world.steps(number, &[DeleteStarted, DeleteFinished]);
}

#[test]
fn base_keys_go_first_and_the_rest_when_the_reader_has_met_that() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.step(1, CopyFinished);
    gone(&mut world, 1);
    world.pass(Z_MS);
    let drafts = tombstones(&world.reader, &world.standing, Z_MS, 9);
    assert_eq!(drafts.iter().map(|draft| short(&draft.key)).collect::<Vec<_>>(), ["9:5"]);
    assert_eq!(tombstones(&world.reader, &world.standing, Z_MS, 9), drafts, "as long as it has not met it");
    world.write_all(drafts);
    assert_eq!(world.reader.work().orphan_updates, 3);
    assert_eq!(world.tombstones(), ["9:5:UPDATE", "9:5:DEL:1", "9:5:GONE:1"]);
    assert_eq!(world.tombstones(), [""; 0]);
    assert_eq!(world.reader.work(), crate::metadata::partition::Work::default());
    world.clean_all();
    assert_eq!(world.log.len(), 0);
}

#[test]
fn rewrites_are_base_keys_too() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    world.backfill();
    let _ = world.step_without_key(1, CopyFinished);
    world.lead(6);
    world.backfill();
    gone(&mut world, 1);
    world.pass(Z_MS);
    assert_eq!(world.tombstones(), ["9:-1:1:REWRITE:1:5", "9:-1:1:REWRITE:1:6"]);
    assert_eq!(world.tombstones(), ["9:-1:1:DEL:1", "9:-1:1:GONE:1"]);
}

#[test]
fn as_long_as_one_base_key_is_left_the_segment_is_gone_and_nothing_else_is_emptied() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    let _ = world.step_without_key(1, CopyFinished);
    world.backfill();
    gone(&mut world, 1);
    world.pass(Z_MS);
    let drafts = tombstones(&world.reader, &world.standing, Z_MS, 1);
    assert_eq!(drafts.len(), 1, "no more than is asked for");
    world.write_all(drafts);
    assert_eq!(world.state(1), Some(DeleteFinished));
    world.clean_and_assert_law();
    world.restart();
    assert_eq!(world.state(1), Some(DeleteFinished), "a crash in between");
    world.pass(Z_MS);
    assert_eq!(world.tombstones(), ["9:5:REWRITE:1:5"]);
}

#[test]
fn nothing_is_emptied_before_z_is_over_since_the_last_record_of_the_segment() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    gone(&mut world, 1);
    world.pass(Z_MS - 1);
    assert_eq!(world.tombstones(), [""; 0]);
    let _ = world.late_under(
        update_key(
            &partition(),
            Offset(9),
            id(1).uuid,
            Naming { epoch: LeaderEpoch(5), has_segment_id: false },
            (CopyStarted, CopyFinished),
            0,
        ),
        1,
        CopyFinished,
    );
    world.pass(1);
    assert_eq!(world.tombstones(), [""; 0], "a zombie has just written");
    world.pass(Z_MS - 1);
    assert_eq!(world.tombstones(), ["9:5"]);
    assert_eq!(world.tombstones(), ["9:5:UPDATE", "9:5:DEL:1", "9:5:GONE:1"], "what was refused too");
}

#[test]
fn time_is_taken_from_the_readers_clock_and_not_from_the_log() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    gone(&mut world, 1);
    world.pass(Z_MS);
    world.restart();
    // The log's timestamps are the reader's in this test; a reader that starts later sees everything later.
    let late = world.now_ms;
    let mut reader = PartitionState::new(partition());
    for stored in &world.log {
        let _ = reader.take(Entry { seen_ms: late, ..entry(stored) });
    }
    assert_eq!(tombstones(&reader, &world.standing, Z_MS, 9), []);
}

#[test]
fn every_claim_is_emptied_refused_ones_too() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.claim(1);
    world.step(1, DeleteStarted);
    let _ = world.late(1, (CopyStarted, Dangling));
    world.step(1, DeleteFinished);
    world.sweep();
    assert_eq!(world.keys(), BTreeSet::new());
}

#[test]
fn keys_of_an_epoch_above_the_own_are_not_touched() {
    let mut world = World::new();
    world.lead(7);
    world.add(segment(1, 0, 9));
    gone(&mut world, 1);
    world.pass(Z_MS);
    world.lead(6);
    assert_eq!(world.tombstones(), [""; 0]);
    world.lead(7);
    assert_eq!(world.tombstones(), ["9:7"]);
}

#[test]
fn other_segments_with_the_same_end_offset_keep_their_keys() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.add(segment(2, 0, 9));
    world.step(2, CopyFinished);
    world.add(segment(3, 0, 5));
    gone(&mut world, 1);
    world.sweep();
    assert_eq!(world.keys(), ["9:5:2", "9:5:2:UPDATE", "5:5:3"].map(str::to_owned).into());
    assert_eq!((world.state(2), world.state(3)), (Some(CopyFinished), Some(CopyStarted)));
    world.clean_and_assert_law();
}

#[test]
fn a_segment_is_forgotten_with_its_last_base_key_whatever_its_state() {
    for states in [&[][..], &[CopyFinished], &[CopyFinished, DeleteStarted], &[DeleteStarted, Dangling]] {
        let mut world = World::new();
        let key = world.add(segment(1, 0, 9));
        world.steps(1, states);
        assert_eq!(key, "9:5");
        let base = world.log[0].key.clone();
        let _ = world.append(base, None);
        assert_eq!((world.state(1), world.reader.live_segments()), (None, 0));
        assert_eq!(world.reader.find(LeaderEpoch(0), Offset(5)), None);
        assert_eq!(world.reader.list(Some(LeaderEpoch(0))), []);
        world.clean_and_assert_law();
        assert_eq!(world.fresh().work().orphan_updates, world.reader.work().orphan_updates);
    }
}

#[test]
fn a_zombies_whole_record_behind_the_tombstones_finds_what_is_left_of_the_segment() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.step(1, CopyFinished);
    gone(&mut world, 1);
    world.pass(Z_MS);
    world.tombstones();
    let naming = Naming { epoch: LeaderEpoch(5), has_segment_id: false };
    let lane = Lane::Rewrite { segment: id(1).uuid, writer_epoch: LeaderEpoch(4) };
    let key = super::super::keys::segment_key(&partition(), Offset(9), id(1).uuid, naming, lane);
    let metadata = SegmentMetadata { state: CopyFinished, ..segment(1, 0, 9) };
    let _ = world.append(Some(key), Some(Record::Segment(WholeSegment { metadata, leader_epoch: LeaderEpoch(5) })));
    assert_eq!(world.state(1), Some(DeleteFinished), "what is deleted is not there again");
    world.clean_and_assert_law();
    world.sweep();
    assert_eq!(world.keys(), BTreeSet::new());
}

#[test]
fn updates_that_have_no_segment_are_emptied_when_they_are_old() {
    let mut world = World::new();
    let naming = Naming { epoch: LeaderEpoch(3), has_segment_id: false };
    let key = update_key(&partition(), Offset(9), id(1).uuid, naming, (CopyStarted, CopyFinished), 0);
    assert_eq!(world.late_under(key, 1, CopyFinished), Outcome::Kept);
    assert_eq!(world.reader.work().orphan_updates, 1);
    world.pass(Z_MS - 1);
    assert_eq!(world.tombstones(), [""; 0]);
    world.pass(1);
    assert_eq!(world.tombstones(), ["9:3:UPDATE"]);
    assert_eq!(world.reader.work().orphan_updates, 0);
}

#[test]
fn of_a_segment_that_never_had_a_key_nothing_is_emptied_and_it_is_forgotten_an_hour_later() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    for state in [CopyFinished, DeleteStarted, DeleteFinished] {
        let _ = world.step_without_key(1, state);
    }
    world.pass(3_600_000);
    world.add(segment(2, 10, 19));
    assert_eq!((world.tombstones(), world.state(1)), (vec![], Some(DeleteFinished)));
    world.pass(1);
    world.step(2, CopyFinished);
    assert_eq!(world.state(1), None);
}

#[test]
fn a_key_that_a_live_segment_of_an_older_writer_has_too_is_not_emptied_for_a_dead_one() {
    let mut world = World::new();
    let naming = Naming { epoch: LeaderEpoch(3), has_segment_id: false };
    let base = add_key(&partition(), Offset(9), id(1).uuid, naming);
    let said = update_key(&partition(), Offset(9), id(1).uuid, naming, (CopyStarted, CopyFinished), 0);
    let whole =
        |number| Record::Segment(WholeSegment { metadata: segment(number, 0, 9), leader_epoch: LeaderEpoch(3) });
    let _ = world.append(Some(base.clone()), Some(whole(1)));
    // The drafts of KIP-1266 have everything but the first record under one key.
    for state in [DeleteStarted, DeleteFinished] {
        let _ = world.late_under(said.clone(), 1, state);
    }
    let _ = world.append(Some(base), Some(whole(2)));
    let _ = world.late_under(said, 2, CopyFinished);
    world.sweep();
    assert_eq!(world.keys(), ["9:3", "9:3:UPDATE"].map(str::to_owned).into());
    world.clean_and_assert_law();
    assert_eq!(world.fresh().state_of(&id(2)), Some(CopyFinished));
}

#[test]
fn the_mark_of_a_partitions_deletion_goes_when_nothing_else_is_left() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    let delete = PartitionDelete {
        partition: partition(),
        broker_id: ME,
        event_timestamp_ms: 1,
        state: PartitionDeleteState::Finished,
    };
    let draft = partition_delete(&world.reader, &world.standing, delete);
    assert!(draft.key.to_string().ends_with(":orders:3:PARTITION"));
    let _ = world.write(draft);
    assert_eq!((world.reader.live_segments(), world.state(1)), (1, Some(CopyStarted)), "it changes no segment");
    world.pass(Z_MS);
    assert_eq!(world.tombstones(), [""; 0]);
    gone(&mut world, 1);
    world.pass(Z_MS);
    assert_eq!(world.tombstones(), ["9:5"]);
    assert_eq!(world.tombstones().len(), 2);
    assert_eq!(world.keys().len(), 1);
    assert_eq!(world.reader.deletion(), Some(PartitionDeleteState::Finished));
    assert_eq!(world.tombstones(), ["PARTITION"]);
    assert_eq!((world.reader.deletion(), world.tombstones()), (None, vec![]));
}

#[test]
fn tombstones_of_keys_that_nobody_knows_change_nothing() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    let before = live(&world.reader);
    for text in ["9:5:UPDATE", "9:5:DEL:2", "8:5", "9:6", "9:5:2", "9:5:CLAIM:1:0000000000000009", "PARTITION"] {
        let key = text.replace(":2", &format!(":{}", id(2).uuid)).replace(":1:", &format!(":{}:", id(1).uuid));
        let key = format!("{}:orders:3:{key}", partition().topic_id);
        let key = crate::wire::parse_key(key.as_bytes()).expect(text);
        assert_eq!(world.append(Some(key), None), Outcome::Applied);
    }
    let _ = world.append(None, None);
    let _ = world.append(Some(RecordKey::Level), None);
    assert_eq!(live(&world.reader), before);
}
