//! Rule 5 and the part of rule 2 that is about claims.

use super::*;

#[test]
fn a_claim_has_a_key_of_its_own_each_time() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    assert_eq!(world.claim(1), "9:5:CLAIM:1:0000000000000001");
    assert_eq!((world.state(1), world.reader.is_claimed(&id(1))), (Some(Dangling), true));
    world.steps(1, &[DeleteStarted, Dangling]);
    assert!(!world.reader.is_claimed(&id(1)), "it came back from a deletion that failed");
}

#[test]
fn only_an_open_attempt_can_be_claimed() {
    let mut world = World::new();
    let refusal = |world: &World| claim(&world.reader, &world.standing, &id(1), 1);
    assert_eq!(refusal(&world), Err(Denied::UnknownSegment));
    world.add(segment(1, 0, 9));
    for state in [CopyFinished, DeleteStarted, Dangling] {
        world.step(1, state);
        assert_eq!(refusal(&world), Err(Denied::Refused { from: state, to: Dangling }));
    }
    world.steps(1, &[DeleteStarted, DeleteFinished]);
    assert_eq!(refusal(&world), Err(Denied::UnknownSegment));
}

#[test]
fn at_level_0_there_is_no_claim_and_no_dangling() {
    let mut world = World::new();
    world.standing.level = Level::Zero;
    world.add(segment(1, 0, 9));
    assert!(matches!(claim(&world.reader, &world.standing, &id(1), 1), Err(Denied::InvalidArgument(_))));
    assert!(matches!(world.draft(1, Dangling), Err(Denied::InvalidArgument(_))));
}

#[test]
fn a_late_finished_after_a_claim_is_refused_whatever_the_cleaner_left() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.claim(1);
    assert!(matches!(world.late(1, (CopyStarted, CopyFinished)), Outcome::Refused(_)));
    world.clean_and_assert_law();
    world.step(1, DeleteStarted);
    world.clean_and_assert_law();
    assert_eq!(world.fresh().highest_offset(LeaderEpoch(0)), None, "nobody may take it as copied");
}

#[test]
fn a_claim_after_a_finished_is_refused_whatever_the_cleaner_left() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.step(1, CopyFinished);
    assert!(matches!(world.late(1, (CopyStarted, Dangling)), Outcome::Refused(_)));
    world.clean_and_assert_law();
    assert_eq!(world.state(1), Some(CopyFinished));
    world.step(1, DeleteStarted);
    assert!(matches!(world.late(1, (CopyStarted, Dangling)), Outcome::Refused(_)));
    world.clean_and_assert_law();
    assert_eq!(world.state(1), Some(DeleteStarted));
}

#[test]
fn a_second_claim_that_is_refused_leaves_the_first_one_in_force() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.claim(1);
    let _ = world.late(1, (CopyStarted, CopyFinished));
    world.step(1, DeleteStarted);
    let _ = world.late(1, (CopyStarted, Dangling));
    world.clean_and_assert_law();
    assert_eq!(world.state(1), Some(DeleteStarted));
    let sixth = world.keys();
    assert_eq!(sixth.iter().filter(|key| key.contains("CLAIM")).count(), 2);
}

#[test]
fn whose_dangling_it_is_is_said_by_the_last_record() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.claim(1);
    world.steps(1, &[DeleteStarted, Dangling]);
    world.clean_and_assert_law();
    let whole = WholeSegment {
        metadata: SegmentMetadata { state: CopyFinished, ..segment(1, 0, 9) },
        leader_epoch: LeaderEpoch(5),
    };
    let _ = world.append(Some(rewrite_key(1, 9, 5)), Some(Record::Segment(whole)));
    assert_eq!(world.state(1), Some(Dangling), "what was deleted in part is not finished");
    world.clean_and_assert_law();
}

#[test]
fn a_claim_repeats_the_custom_metadata() {
    let mut world = World::new();
    world.add(SegmentMetadata { custom_metadata: custom("place"), ..segment(1, 0, 9) });
    world.claim(1);
    assert_eq!(world.reader.custom_metadata_of(&id(1)), custom("place"));
}

fn rewrite_key(number: u8, end: i64, epoch: i32) -> RecordKey {
    let naming = Naming { epoch: LeaderEpoch(epoch), has_segment_id: false };
    let lane = Lane::Rewrite { segment: id(number).uuid, writer_epoch: LeaderEpoch(epoch) };
    super::super::keys::segment_key(&partition(), Offset(end), id(number).uuid, naming, lane)
}
