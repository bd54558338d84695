//! What a checkpoint must be to be of use.

use super::*;
use crate::metadata::partition::PartitionState;
use crate::model::{KafkaUuid, TopicIdPartition};

fn origin() -> Origin {
    Origin {
        cluster_id: "cluster".to_owned(),
        log_id: KafkaUuid([9; 16]),
        partitions: 50,
        index: 7,
        release: "1.2.3".to_owned(),
    }
}

fn contents(as_of_ms: i64) -> Contents {
    Contents { as_of_ms, position: 12, last: (10, u64::MAX - 3), unkeyed: 5, level: 2, states: Vec::new() }
}

fn bytes() -> Vec<u8> {
    let mut out = file::begin(&origin(), &contents(1_000), 1);
    PartitionState::new(TopicIdPartition::new(KafkaUuid([1; 16]), "orders", 0)).save(&mut out);
    file::end(out).to_vec()
}

#[test]
fn a_checkpoint_says_what_was_known() {
    let found = file::decode(&bytes(), &origin()).expect("reads");
    assert_eq!((found.as_of_ms, found.position, found.last), (1_000, 12, (10, u64::MAX - 3)));
    assert_eq!((found.unkeyed, found.level, found.states.len()), (5, 2, 1));
    assert_eq!(&*found.states[0].partition().topic, "orders");
}

#[test]
fn a_checkpoint_of_another_log_or_release_is_refused_and_says_of_which() {
    for (other, said) in [
        (Origin { cluster_id: "other".to_owned(), ..origin() }, "cluster cluster"),
        (Origin { log_id: KafkaUuid([8; 16]), ..origin() }, "topic id CQkJCQkJCQkJCQkJCQkJCQ"),
        (Origin { partitions: 51, ..origin() }, "partition 7 of 50"),
        (Origin { index: 8, ..origin() }, "partition 7 of 50"),
        (Origin { release: "1.2.4".to_owned(), ..origin() }, "release 1.2.3"),
    ] {
        let why = file::decode(&bytes(), &other).expect_err("foreign").to_string();
        assert!(why.contains(said), "{why}");
    }
}

#[test]
fn a_checkpoint_that_is_torn_or_changed_anywhere_is_refused() {
    let whole = bytes();
    for len in 0..whole.len() {
        assert!(file::decode(&whole[..len], &origin()).is_err(), "cut to {len}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        assert!(file::decode(&changed, &origin()).is_err(), "changed at {at}");
    }
    let mut longer = whole;
    longer.push(0);
    assert!(file::decode(&longer, &origin()).is_err());
}

#[test]
fn a_checkpoint_of_a_later_format_is_refused_though_its_checksum_is_right() {
    let mut out = crate::wire::Writer::new();
    out.put(b"UCMETCKP");
    out.i32(2);
    let why = file::decode(&file::end(out), &origin()).expect_err("later").to_string();
    assert!(why.contains("another release, in format 2"), "{why}");
}

#[test]
fn a_checkpoint_may_be_as_old_as_a_reader_may_be_away() {
    let max = Some(Duration::from_secs(100));
    let judged = |ago_ms: i64| judge(&contents(now_ms() - ago_ms), max).map_err(|why| why.to_string());
    assert!(judged(95_000).is_ok_and(|age| age.as_secs() == 95));
    assert!(judged(101_000).expect_err("too old").contains("deletions may have passed by"));
    assert_eq!(judged(-60_000), Ok(Duration::ZERO), "a clock that was corrected");
    assert!(judged(-400_000).expect_err("too new").contains("clock"));
    assert!(judge(&contents(0), None).is_ok());
}

#[test]
fn a_file_takes_the_place_of_another_one_and_leaves_nothing_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.checkpoint");
    assert!(file::read(&path).expect("no file is no failure").is_none());
    for text in ["first", "second"] {
        file::write(&path, text.as_bytes()).expect("writes");
        assert_eq!(file::read(&path).expect("reads").as_deref(), Some(text.as_bytes()));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 1);
}
