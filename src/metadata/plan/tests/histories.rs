//! Histories that random ones seldom meet. K is the base key, U `:UPDATE`, kl a record without a key; S F G D X are the
//! states COPY_SEGMENT_STARTED, COPY_SEGMENT_FINISHED, DANGLING, DELETE_SEGMENT_STARTED and DELETE_SEGMENT_FINISHED; c is
//! the cleaner.

use super::*;

const NAMING: Naming = Naming { epoch: LeaderEpoch(3), has_segment_id: false };

fn k(number: u8) -> RecordKey {
    add_key(&partition(), Offset(9), id(number).uuid, NAMING)
}

fn u(number: u8) -> RecordKey {
    update_key(&partition(), Offset(9), id(number).uuid, NAMING, (CopyStarted, CopyFinished), 0)
}

fn whole(number: u8, state: SegmentState) -> Option<Record> {
    let metadata = SegmentMetadata { state, ..segment(number, 0, 9) };
    Some(Record::Segment(WholeSegment { metadata, leader_epoch: LeaderEpoch(3) }))
}

#[test]
fn k_s_u_d_u_x_c() {
    let mut world = World::new();
    let _ = world.append(Some(k(1)), whole(1, CopyStarted));
    let _ = world.late_under(u(1), 1, DeleteStarted);
    let _ = world.late_under(u(1), 1, DeleteFinished);
    world.clean_and_assert_law();
    assert_eq!(world.fresh().state_of(&id(1)), Some(DeleteFinished));
    world.pass(Z_MS);
    assert_eq!(world.tombstones(), ["9:3"]);
    let lane = Lane::Rewrite { segment: id(1).uuid, writer_epoch: LeaderEpoch(3) };
    let rewrite = super::super::keys::segment_key(&partition(), Offset(9), id(1).uuid, NAMING, lane);
    let _ = world.append(Some(rewrite), whole(1, CopyFinished));
    assert_eq!(world.state(1), Some(DeleteFinished), "a zombie brings nothing back");
    world.clean_and_assert_law();
    world.sweep();
    assert_eq!(world.keys(), BTreeSet::new());
}

#[test]
fn k_s_a_k_s_b_c_cannot_be_written() {
    let mut world = World::new();
    let (first, second) = (world.add(segment(1, 0, 9)), world.add(segment(2, 0, 9)));
    assert_ne!(first, second);
    world.clean_and_assert_law();
    assert_eq!(
        (world.fresh().state_of(&id(1)), world.fresh().state_of(&id(2))),
        (Some(CopyStarted), Some(CopyStarted))
    );
}

#[test]
fn u_f_then_a_claim_refused_the_leader_dies_c() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.step(1, CopyFinished);
    assert!(matches!(world.late(1, (CopyStarted, Dangling)), Outcome::Refused(_)));
    world.clean_and_assert_law();
    world.restart();
    assert_eq!(world.state(1), Some(CopyFinished), "what is copied stays");
    world.lead(6);
    world.step(1, DeleteStarted);
    world.step(1, DeleteFinished);
    world.sweep();
    assert_eq!(world.keys(), BTreeSet::new());
}

#[test]
fn a_claim_then_a_late_f_refused_c() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.claim(1);
    assert!(matches!(world.late(1, (CopyStarted, CopyFinished)), Outcome::Refused(_)));
    world.clean_and_assert_law();
    world.restart();
    assert_eq!(world.state(1), Some(Dangling), "its objects may be deleted by now");
    world.steps(1, &[DeleteStarted, DeleteFinished]);
    world.sweep();
    assert_eq!(world.keys(), BTreeSet::new());
}

#[test]
fn k_s_x_u_null_crash_c() {
    // Nobody of ours empties another key before the base; this is what came of it.
    let laws = Laws { base_keys_go_first: false, ..Laws::ALL };
    for (laws, is_back) in [(Laws::ALL, false), (laws, true)] {
        let mut world = World::with_laws(laws);
        world.add(segment(1, 0, 9));
        world.steps(1, &[DeleteStarted, DeleteFinished]);
        world.pass(Z_MS);
        let drafts = tombstones(&world.reader, &world.standing, Z_MS, 2);
        world.write_all(drafts);
        world.clean_all();
        let state = world.fresh().state_of(&id(1));
        assert_eq!(state == Some(CopyStarted), is_back, "{state:?}");
    }
}

#[test]
fn u_f_backfill_of_its_base_behind_it_c() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    world.step(1, CopyFinished);
    assert_eq!(world.backfill(), ["9:-1:1:REWRITE:1:5"]);
    world.clean_and_assert_law();
    assert_eq!(world.log.len(), 2);
    assert_eq!(world.fresh().state_of(&id(1)), Some(CopyFinished));
    assert_eq!(world.fresh().work().orphan_updates, 0);
}

#[test]
fn kl_s_kl_x_with_a_keyed_base_c() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    world.backfill();
    let _ = world.step_without_key(1, DeleteStarted);
    let _ = world.step_without_key(1, DeleteFinished);
    let rests: Vec<_> = world.reader.rests_on_null_keys().collect();
    assert_eq!(rests.len(), 1, "the check says that it is too early to compact");
    assert_eq!(world.backfill(), ["9:-1:1:GONE:1"]);
    world.clean_and_assert_law();
    assert_eq!(world.fresh().state_of(&id(1)), Some(DeleteFinished));
}

#[test]
fn a_zombies_update_behind_the_tombstones() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.steps(1, &[DeleteStarted, DeleteFinished]);
    world.sweep();
    assert_eq!(world.state(1), None);
    let naming = Naming { epoch: LeaderEpoch(5), has_segment_id: false };
    let late = update_key(&partition(), Offset(9), id(1).uuid, naming, (CopyStarted, CopyFinished), 0);
    assert_eq!(world.late_under(late, 1, CopyFinished), Outcome::Kept);
    assert_eq!((world.state(1), world.reader.live_segments()), (None, 0));
    world.clean_and_assert_law();
    world.sweep();
    assert_eq!(world.keys(), BTreeSet::new());
}

#[test]
fn a_finished_behind_a_deletion_that_was_said_twice() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    world.step(1, DeleteStarted);
    assert!(matches!(world.late(1, (CopyStarted, CopyFinished)), Outcome::Refused(_)));
    world.steps(1, &[Dangling, DeleteStarted]);
    world.clean_and_assert_law();
    let highest = |state: &PartitionState| state.highest_offset(LeaderEpoch(0));
    assert_eq!(highest(&world.fresh()), highest(&world.reader));
}

#[test]
fn a_rewrite_of_a_claimed_attempt_that_was_finished_after_all() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    let _ = world.step_without_key(1, CopyFinished);
    assert!(matches!(world.late(1, (CopyStarted, Dangling)), Outcome::Refused(_)));
    world.backfill();
    world.clean_and_assert_law();
    assert_eq!(world.fresh().state_of(&id(1)), Some(CopyFinished), "it was finished before it was claimed");
    let mut keyed = World::new();
    keyed.add(segment(1, 0, 9));
    let _ = keyed.step_without_key(1, CopyFinished);
    let _ = keyed.late(1, (CopyStarted, Dangling));
    assert_eq!(keyed.backfill(), ["9:5:REWRITE:1:5"]);
    keyed.clean_and_assert_law();
    assert_eq!(keyed.fresh().state_of(&id(1)), Some(CopyFinished), "the whole record overrules the claim");
}
