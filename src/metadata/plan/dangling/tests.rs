//! Every point at which a broker, a copy or a deletion may end, and what becomes of what it leaves.

use super::*;
use crate::model::SegmentState::{CopyFinished, CopyStarted, Dangling, DeleteFinished, DeleteStarted};
use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, TopicIdPartition,
};

const ME: BrokerId = BrokerId(1);
const OTHER: BrokerId = BrokerId(2);
const BEGAN_MS: i64 = 1_000_000;
const NOW_MS: i64 = 2_000_000;
const DELAYS: Delays =
    Delays { lease_ms: 100_000, delete_patience_ms: 1_000, grace_ms: 2_000, backoff_ms: 100, backoff_max_ms: 1_600 };

/// A segment whose last event is of `broker` and `age_ms` old, read `age_ms` ago.
fn found(state: SegmentState, broker: BrokerId, age_ms: i64) -> Unsettled {
    let partition = TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3);
    Unsettled {
        metadata: SegmentMetadata {
            id: SegmentId { partition, uuid: KafkaUuid([9; 16]) },
            start_offset: Offset(0),
            end_offset: Offset(9),
            max_timestamp_ms: 0,
            broker_id: broker,
            event_timestamp_ms: NOW_MS - age_ms,
            epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(0))]).expect("epochs"),
            size_bytes: 1,
            custom_metadata: None,
            state,
            is_txn_index_empty: false,
        },
        is_claimed: state == Dangling,
        is_copy_over: state != CopyStarted,
        seen_ms: NOW_MS - age_ms,
    }
}

fn leading(level: Level) -> Standing {
    Standing { level, me: ME, leadership: Some(LeaderEpoch(5)), is_current: true, now_ms: NOW_MS }
}

fn nothing_known() -> Evidence {
    Evidence {
        own: OwnCopy::No,
        process_began_ms: BEGAN_MS,
        is_topic_gone: false,
        store: Store::Usable,
        cleanup: Cleanup::default(),
    }
}

fn own(own: OwnCopy) -> Evidence {
    Evidence { own, ..nothing_known() }
}

fn after(stage: Stage) -> Evidence {
    Evidence { cleanup: Cleanup { stage, ..Cleanup::default() }, ..nothing_known() }
}

fn failed(failures: u32, ago_ms: i64) -> Evidence {
    let cleanup = Cleanup { stage: Stage::Failed, failures, failed_ms: NOW_MS - ago_ms, is_busy: false };
    Evidence { cleanup, ..nothing_known() }
}

fn gone() -> Evidence {
    Evidence { is_topic_gone: true, ..nothing_known() }
}

const ENDED: OwnCopy = OwnCopy::Ended { is_finish_said: false };
const ENDED_AND_SAID: OwnCopy = OwnCopy::Ended { is_finish_said: true };

/// Rows: the point, what is found, what is known, and what follows at level 1 and at level 0. Ages are far from every
/// limit unless the row is about one.
#[test]
fn every_crash_point_has_its_answer() {
    use Verdict::{BeginDelete, Claim, Delete, Finish, GiveBack, Keep, ListAgain, Wait};
    let before_this_process = NOW_MS - BEGAN_MS + 1;
    let (short, long) = (10, DELAYS.lease_ms + 1);
    let rows = [
        // C0 leaves nothing. A copy under way is nobody's business, however old it is.
        ("C0 it runs here", found(CopyStarted, ME, long), own(OwnCopy::Open), Wait, Wait),
        ("C0 it runs elsewhere", found(CopyStarted, OTHER, short), nothing_known(), Wait, Keep),
        ("C1 the add was not heard of", found(CopyStarted, ME, short), own(ENDED), Claim, BeginDelete),
        (
            "C2 the broker died before it copied",
            found(CopyStarted, ME, before_this_process),
            nothing_known(),
            Claim,
            Keep,
        ),
        ("C2 another broker died", found(CopyStarted, OTHER, long), nothing_known(), Claim, Keep),
        ("C3 it died copying, found early", found(CopyStarted, OTHER, DELAYS.lease_ms), nothing_known(), Wait, Keep),
        ("C3 it died copying, found late", found(CopyStarted, OTHER, long), nothing_known(), Claim, Keep),
        ("C4 copied, and nobody was told", found(CopyStarted, ME, short), own(ENDED), Claim, BeginDelete),
        ("C5 whether it was said is not known", found(CopyStarted, ME, short), own(ENDED_AND_SAID), Claim, Wait),
        ("C5 it was said", found(CopyFinished, ME, long), own(ENDED_AND_SAID), Keep, Keep),
        ("C6 finished", found(CopyFinished, OTHER, long), nothing_known(), Keep, Keep),
        ("C7 failed, and nobody was told", found(CopyStarted, ME, short), own(ENDED), Claim, BeginDelete),
        ("C8 its deletion stopped", found(DeleteStarted, OTHER, 1_000), nothing_known(), Delete, Delete),
        ("C8 its deletion runs", found(DeleteStarted, OTHER, 999), nothing_known(), Wait, Wait),
        ("C8 ours failed", found(DeleteStarted, ME, long), failed(1, 0), GiveBack, Wait),
        ("C8 ours failed a while ago", found(DeleteStarted, ME, long), failed(1, 100), GiveBack, Delete),
        ("C8 ours failed and it was given back", found(Dangling, ME, short), failed(1, 99), Wait, Wait),
        ("C8 given back, after the rest", found(Dangling, ME, short), failed(1, 100), BeginDelete, BeginDelete),
        ("C9 part of it is deleted", found(DeleteStarted, ME, short), after(Stage::Begun), Delete, Delete),
        ("C10 deleted, not yet looked again", found(DeleteStarted, ME, long), deleted(1_999), Wait, Wait),
        ("C10 deleted, the grace is over", found(DeleteStarted, ME, long), deleted(2_000), ListAgain, ListAgain),
        ("C10 nothing came late", found(DeleteStarted, ME, long), after(Stage::Gone), Finish, Finish),
        ("C10 its end was lost", found(DeleteStarted, OTHER, long), nothing_known(), Delete, Delete),
        ("C11 too much custom metadata", found(CopyStarted, ME, short), own(ENDED), Claim, BeginDelete),
        ("L1 cancelled by a new leadership", found(CopyStarted, ME, short), own(ENDED), Claim, BeginDelete),
        ("L1 by one that went to another broker", found(CopyStarted, OTHER, long), nothing_known(), Claim, Keep),
        ("L2 interrupted while it was said", found(CopyStarted, ME, short), own(ENDED_AND_SAID), Claim, Wait),
        ("L2 while that is in flight", found(CopyStarted, ME, short), own(OwnCopy::Open), Wait, Wait),
        ("L3 a zombie's, claimed", found(Dangling, OTHER, short), nothing_known(), BeginDelete, BeginDelete),
        ("L3 a zombie finished in time", found(CopyFinished, OTHER, short), nothing_known(), Keep, Keep),
        ("E1 expired and not marked", found(CopyFinished, OTHER, long), nothing_known(), Keep, Keep),
        ("E2 marked", found(DeleteStarted, OTHER, long), nothing_known(), Delete, Delete),
        ("E3 deleted, its end was lost", found(DeleteStarted, OTHER, long), nothing_known(), Delete, Delete),
        ("E4 of a truncated epoch", found(CopyFinished, OTHER, long), nothing_known(), Keep, Keep),
        ("P1 topic gone, finished", found(CopyFinished, OTHER, short), gone(), BeginDelete, BeginDelete),
        ("P1 topic gone, being copied", found(CopyStarted, OTHER, short), gone(), BeginDelete, BeginDelete),
        ("P1 topic gone, dangling", found(Dangling, OTHER, short), gone(), BeginDelete, BeginDelete),
        ("P2 nobody listed it", found(CopyFinished, ME, short), gone(), BeginDelete, BeginDelete),
        ("P3 one delete failed", found(DeleteStarted, OTHER, short), gone(), Delete, Delete),
        ("P4 the rest was left", found(CopyFinished, OTHER, short), gone(), BeginDelete, BeginDelete),
        ("P5 a copy here outlives its topic", found(CopyStarted, ME, long), open_and_gone(), Wait, Wait),
        ("P5 and has ended", found(CopyStarted, ME, short), ended_and_gone(), Claim, BeginDelete),
        ("the end of all", found(DeleteFinished, ME, long), gone(), Keep, Keep),
    ];
    for (point, segment, evidence, at_level_1, at_level_0) in rows {
        for (level, expected) in [(Level::Two, at_level_1), (Level::One, at_level_1), (Level::Zero, at_level_0)] {
            assert_eq!(judge(&segment, &evidence, &leading(level), &DELAYS), expected, "{point}, {level:?}");
            // Nobody acts on what he doesn't lead or doesn't know to the end.
            let idle =
                [Standing { leadership: None, ..leading(level) }, Standing { is_current: false, ..leading(level) }];
            for standing in idle {
                assert_eq!(judge(&segment, &evidence, &standing, &DELAYS), Wait, "{point}, {standing:?}");
            }
            let busy = Evidence { cleanup: Cleanup { is_busy: true, ..evidence.cleanup }, ..evidence };
            assert_eq!(judge(&segment, &busy, &leading(level), &DELAYS), Wait, "{point}, under way");
        }
    }
}

#[test]
fn the_last_look_waits_for_whoever_may_still_be_copying() {
    let open = Unsettled { is_copy_over: false, ..found(DeleteStarted, OTHER, 10) };
    let look = |ago_ms| judge(&open, &deleted(ago_ms), &leading(Level::Two), &DELAYS);
    assert_eq!(look(DELAYS.grace_ms), Verdict::Wait);
    assert_eq!(look(DELAYS.lease_ms), Verdict::ListAgain);
    let ended_here = Evidence { own: ENDED, ..deleted(DELAYS.grace_ms) };
    assert_eq!(
        judge(&open, &ended_here, &leading(Level::Two), &DELAYS),
        Verdict::ListAgain,
        "nobody copies it elsewhere"
    );
}

fn deleted(ago_ms: i64) -> Evidence {
    after(Stage::Deleted { at_ms: NOW_MS - ago_ms })
}

fn open_and_gone() -> Evidence {
    Evidence { own: OwnCopy::Open, ..gone() }
}

fn ended_and_gone() -> Evidence {
    Evidence { own: ENDED_AND_SAID, ..gone() }
}

#[test]
fn an_attempt_of_this_brokers_id_is_not_dead_because_of_the_id() {
    let verdict = |broker, age_ms, me| {
        let standing = Standing { me, ..leading(Level::Two) };
        judge(&found(CopyStarted, broker, age_ms), &nothing_known(), &standing, &DELAYS)
    };
    let of_this_process = NOW_MS - BEGAN_MS;
    assert_eq!(verdict(ME, of_this_process + 1, ME), Verdict::Claim);
    let delays = Delays { lease_ms: i64::MAX, ..DELAYS };
    let forgotten = found(CopyStarted, ME, of_this_process);
    let verdict_now = judge(&forgotten, &nothing_known(), &leading(Level::Two), &delays);
    assert_eq!(verdict_now, Verdict::Wait, "forgotten, and perhaps under way");
    // A host without an id shares it with every other.
    let nobody = found(CopyStarted, BrokerId(-1), of_this_process + 1);
    let standing = Standing { me: BrokerId(-1), ..leading(Level::Two) };
    assert_eq!(judge(&nobody, &nothing_known(), &standing, &delays), Verdict::Wait);
}

#[test]
fn an_event_of_the_future_proves_nothing() {
    let future = found(CopyStarted, OTHER, -1);
    assert_eq!(judge(&future, &nothing_known(), &leading(Level::Two), &DELAYS), Verdict::Wait);
}

#[test]
fn failed_deletions_rest_longer_and_longer_and_not_for_ever() {
    let rest_ms = |failures| {
        (0..10_000)
            .find(|&ago_ms| {
                let verdict = judge(&found(Dangling, ME, 5), &failed(failures, ago_ms), &leading(Level::One), &DELAYS);
                verdict == Verdict::BeginDelete
            })
            .expect("ends")
    };
    assert_eq!([1, 2, 3, 4, 5, 6, 64, u32::MAX].map(rest_ms), [100, 200, 400, 800, 1_600, 1_600, 1_600, 1_600]);
    // The same count rests between looks that fail.
    let cleanup = Cleanup { stage: Stage::Deleted { at_ms: 0 }, failures: 2, failed_ms: NOW_MS - 199, is_busy: false };
    let evidence = Evidence { cleanup, ..nothing_known() };
    let segment = found(DeleteStarted, ME, 5);
    assert_eq!(judge(&segment, &evidence, &leading(Level::One), &DELAYS), Verdict::Wait);
}

#[test]
fn a_store_that_is_down_is_not_asked_and_what_is_written_without_it_is_written() {
    let down = |evidence| Evidence { store: Store::Down, ..evidence };
    for (segment, evidence, level, expected) in [
        (found(CopyStarted, ME, 5), own(ENDED), Level::One, Verdict::Claim),
        (found(CopyStarted, ME, 5), own(ENDED), Level::Zero, Verdict::BeginDelete),
        (found(Dangling, ME, 5), nothing_known(), Level::One, Verdict::Wait),
        (found(DeleteStarted, ME, 5_000), nothing_known(), Level::One, Verdict::Wait),
        (found(DeleteStarted, ME, 5_000), deleted(5_000), Level::One, Verdict::Wait),
        (found(DeleteStarted, ME, 5_000), after(Stage::Gone), Level::One, Verdict::Finish),
        (found(DeleteStarted, ME, 5_000), failed(1, 0), Level::One, Verdict::GiveBack),
        (found(CopyFinished, ME, 5), gone(), Level::One, Verdict::Wait),
    ] {
        assert_eq!(judge(&segment, &down(evidence), &leading(level), &DELAYS), expected, "{segment:?}");
    }
}

#[test]
fn without_a_storage_side_here_abandoned_attempts_are_claimed_and_objects_left_to_the_broker() {
    let absent = |evidence| Evidence { store: Store::Absent, ..evidence };
    for (segment, evidence, expected) in [
        (found(CopyStarted, OTHER, DELAYS.lease_ms + 1), nothing_known(), Verdict::Claim),
        (found(Dangling, ME, 5), nothing_known(), Verdict::Keep),
        (found(DeleteStarted, ME, 50_000), nothing_known(), Verdict::Keep),
        (found(CopyFinished, ME, 50_000), gone(), Verdict::Keep),
    ] {
        assert_eq!(judge(&segment, &absent(evidence), &leading(Level::One), &DELAYS), expected, "{segment:?}");
    }
}
