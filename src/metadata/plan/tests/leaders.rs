//! Rule 9: who decides; rule 14: what every record repeats; and what is not written at all.

use super::*;

#[test]
fn without_leadership_or_a_current_reader_nothing_is_decided() {
    let mut world = World::new();
    world.add_without_key(segment(1, 0, 9));
    world.add(segment(2, 10, 19));
    world.steps(2, &[DeleteStarted, DeleteFinished]);
    world.add(segment(3, 20, 29));
    world.step(3, DeleteStarted);
    world.pass(Z_MS);
    let standing = world.standing;
    for (standing, denied) in [
        (Standing { leadership: None, ..standing }, Denied::NotLed),
        (Standing { is_current: false, ..standing }, Denied::NotCurrent),
    ] {
        world.standing = standing;
        let added = add(&mut world.reader, &world.standing, segment(4, 30, 39));
        assert_eq!(added, Err(denied.clone()));
        assert_eq!(claim(&world.reader, &world.standing, &id(1), 1), Err(denied.clone()));
        assert_eq!(world.draft(3, Dangling), Err(denied));
        assert_eq!((world.backfill(), world.tombstones()), (vec![], vec![]));
        assert!(world.draft(3, DeleteFinished).is_ok(), "what is so is so, whoever says it");
    }
}

#[test]
fn a_leader_that_knows_no_epoch_copies_but_neither_says_again_nor_empties() {
    let mut world = World::new();
    world.lead(-1);
    world.add_without_key(segment(1, 0, 9));
    world.add(segment(2, 10, 19));
    world.steps(2, &[DeleteStarted, DeleteFinished]);
    world.pass(Z_MS);
    assert_eq!((world.backfill(), world.tombstones()), (vec![], vec![]));
}

#[test]
fn every_update_and_rewrite_repeats_the_custom_metadata() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    let finished = SegmentUpdate { custom_metadata: custom("place"), ..to(1, CopyFinished) };
    let step = update(&world.reader, &world.standing, finished, 1).expect("may finish");
    let Step::Write(draft) = step else { panic!("{step:?}") };
    let _ = world.write(draft);
    world.steps(1, &[DeleteStarted, Dangling, DeleteStarted]);
    assert_eq!(world.reader.custom_metadata_of(&id(1)), custom("place"));
    world.add_without_key(SegmentMetadata { custom_metadata: custom("other"), ..segment(2, 10, 19) });
    world.backfill();
    world.clean();
    assert_eq!(world.fresh().custom_metadata_of(&id(2)), custom("other"));
    assert_eq!(world.fresh().custom_metadata_of(&id(1)), custom("place"));
}

#[test]
fn what_the_log_says_already_is_not_written_again() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    for state in [CopyFinished, DeleteStarted, Dangling, DeleteStarted, DeleteFinished] {
        assert!(matches!(world.draft(1, state), Ok(Step::Write(_))), "{state}");
        world.step(1, state);
        assert_eq!(world.draft(1, state), Ok(Step::AlreadySo), "{state}");
    }
}

#[test]
fn other_custom_metadata_is_written_and_the_last_one_counts() {
    let mut world = World::new();
    world.add(segment(1, 0, 9));
    for text in ["first", "second"] {
        let finished = SegmentUpdate { custom_metadata: custom(text), ..to(1, CopyFinished) };
        let step = update(&world.reader, &world.standing, finished, 1).expect("may finish");
        let Step::Write(draft) = step else { panic!("{step:?}") };
        let _ = world.write(draft);
        world.clean_and_assert_law();
        assert_eq!(world.reader.custom_metadata_of(&id(1)), custom(text));
    }
}

#[test]
fn a_writer_takes_no_step_that_the_table_does_not_have() {
    let mut world = World::new();
    assert_eq!(world.draft(1, CopyFinished), Err(Denied::UnknownSegment));
    assert_eq!(world.draft(1, DeleteFinished), Ok(Step::AlreadySo), "it is as gone as it can be");
    world.standing.is_current = false;
    assert_eq!(world.draft(1, DeleteFinished), Err(Denied::UnknownSegment), "its add may not have been read yet");
    world.standing.is_current = true;
    world.add(segment(1, 0, 9));
    assert!(matches!(world.draft(1, CopyStarted), Err(Denied::InvalidArgument(_))));
    assert_eq!(world.draft(1, DeleteFinished), Err(Denied::Refused { from: CopyStarted, to: DeleteFinished }));
    world.step(1, CopyFinished);
    assert_eq!(world.draft(1, Dangling), Err(Denied::Refused { from: CopyFinished, to: Dangling }));
    let again = add(&mut world.reader, &world.standing, segment(1, 0, 9));
    assert_eq!(again, Err(Denied::Refused { from: CopyFinished, to: CopyStarted }));
}
