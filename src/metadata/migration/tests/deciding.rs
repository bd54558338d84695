//! Whether a step is taken.

use super::*;
use crate::metadata::migration::{Decision, Plan, Step, Wish, to_1, to_2};

const ALL: &[i32] = &[0, 1, 2];
const FORCED: Wish = Wish { is_forced: true, retention_ms: None, segment_ms: None };

fn plan(decision: Decision) -> Plan {
    match decision {
        Decision::Go(plan) => plan,
        other => panic!("{other:?}"),
    }
}

/// Kind of the decision and words for what stands in the way.
fn verdict(decision: &Decision) -> (&'static str, Vec<&'static str>) {
    match decision {
        Decision::Already => ("already", Vec::new()),
        Decision::Go(_) => ("go", Vec::new()),
        Decision::Wait(obstacles) => ("wait", obstacles.iter().map(|obstacle| obstacle.name()).collect()),
        Decision::Refused(obstacles) => ("refused", obstacles.iter().map(|obstacle| obstacle.name()).collect()),
    }
}

fn settings_of(step: &Step) -> Vec<String> {
    match step {
        Step::Set(changes) => changes.iter().map(|change| format!("{}={}", change.name, change.to)).collect(),
        Step::WriteLevel { .. } => panic!("{step}"),
    }
}

/// A cluster of which one thing is changed.
fn with(topic: &Topic, change: impl FnOnce(&mut Found)) -> Found {
    let mut found = found(topic);
    change(&mut found);
    found
}

fn set(found: &mut Found, name: &str, value: &str) {
    found.settings.insert(name.to_owned(), value.to_owned());
}

#[test]
fn level_1_is_refused_for_what_would_break_somebody() {
    let (empty, stock) = (Topic::default(), Topic::default().copied(1, false, 0));
    let mut misplaced = stock.clone();
    let (_, key, value) = misplaced.records[0].clone();
    misplaced.raw((home() + 1) % PARTITIONS, 1, key.as_deref(), value.as_deref());
    let mut newer = stock.clone();
    newer.raw(0, 1, Some(b"k"), Some(&[1, 0, 9]));
    let young = Topic::default().level(1, &[1], NOW_MS - 1_000);
    let old = Topic::default().level(1, &[1], NOW_MS - 200_000);
    for (why, found, unforced, forced) in [
        ("a stock topic", found(&stock), ("go", vec![]), "go"),
        ("an empty topic", found(&empty), ("go", vec![]), "go"),
        (
            "a stock broker",
            with(&stock, |found| found.brokers.push(broker(3, false))),
            ("refused", vec!["brokers"]),
            "go",
        ),
        (
            "a broker that is down",
            with(&stock, |found| found.brokers.push(FoundBroker { id: BrokerId(3), runs: Runs::Down })),
            ("refused", vec!["brokers"]),
            "go",
        ),
        ("no broker", with(&stock, |found| found.brokers.clear()), ("refused", vec!["no-brokers"]), "refused"),
        (
            "a cleaner at work",
            with(&stock, |found| set(found, "cleanup.policy", "compact")),
            ("refused", vec!["compacted-too-early"]),
            "refused",
        ),
        (
            "a cleaner on an empty topic",
            with(&empty, |found| set(found, "cleanup.policy", "compact")),
            ("go", vec![]),
            "go",
        ),
        ("records in the wrong partition", found(&misplaced), ("refused", vec!["misplaced"]), "go"),
        ("records of a later release", found(&newer), ("refused", vec!["newer"]), "refused"),
        ("somebody at it", found(&young), ("refused", vec!["under-way"]), "go"),
        ("one that was cut off", found(&old), ("go", vec![]), "go"),
        (
            "partitions that were added",
            found(&Topic::default().level(1, &[0, 1], 0)),
            ("refused", vec!["added-partitions"]),
            "go",
        ),
        (
            "a cleaner where all have keys",
            with(&Topic::default().copied(1, true, 0), |found| set(found, "cleanup.policy", "compact")),
            ("go", vec![]),
            "go",
        ),
        ("level 1", found(&Topic::default().level(1, ALL, 0)), ("already", vec![]), "already"),
        ("level 2", found(&Topic::default().level(2, ALL, 0)), ("refused", vec!["downgrade"]), "refused"),
        ("level 3", found(&Topic::default().level(3, ALL, 0)), ("refused", vec!["newer"]), "refused"),
    ] {
        assert_eq!(verdict(&to_1(&found, &Wish::default())), unforced, "{why}");
        assert_eq!(verdict(&to_1(&found, &FORCED)).0, forced, "{why}, forced");
    }
}

#[test]
fn level_2_is_had_only_when_nothing_rests_on_records_without_a_key() {
    let level_1 = || Topic::default().copied(1, false, 0).level(1, ALL, 1);
    let ready = level_1().rewritten(1, 2);
    let late = |ms| ready.clone().copied(4, false, NOW_MS - ms).rewritten(4, NOW_MS - ms + 1);
    for (why, found, unforced, forced) in [
        ("level 0", found(&Topic::default().copied(1, true, 0)), ("refused", vec!["skips-a-level"]), "refused"),
        (
            "level 1 in part",
            found(&Topic::default().level(1, &[1, 2], 0)),
            ("refused", vec!["skips-a-level"]),
            "refused",
        ),
        ("before backfill", found(&level_1()), ("wait", vec!["resting-facts"]), "wait"),
        ("behind backfill", found(&ready), ("go", vec![]), "go"),
        (
            "a topic that is gone",
            with(&level_1(), |found| {
                found.lost_topics.insert(KafkaUuid([7; 16]), "orders".into());
            }),
            ("wait", vec!["resting-facts-of-lost-topics"]),
            "go",
        ),
        ("a writer without keys", found(&late(60_000)), ("wait", vec!["writer-without-keys"]), "wait"),
        ("one that has ended", found(&late(900_000)), ("go", vec![]), "go"),
        (
            "a stock broker beside",
            with(&ready, |found| found.brokers.push(broker(3, false))),
            ("refused", vec!["brokers"]),
            "go",
        ),
        (
            "a stock broker and facts",
            with(&level_1(), |found| found.brokers.push(broker(3, false))),
            ("refused", vec!["brokers", "resting-facts"]),
            "wait",
        ),
        (
            "already",
            with(&ready.clone().level(2, ALL, 3), |found| set(found, "cleanup.policy", "compact")),
            ("already", vec![]),
            "already",
        ),
        ("level 2 of which the policy was taken away", found(&ready.clone().level(2, ALL, 3)), ("go", vec![]), "go"),
    ] {
        assert_eq!(verdict(&to_2(&found, &Wish::default())), unforced, "{why}");
        assert_eq!(verdict(&to_2(&found, &FORCED)).0, forced, "{why}, forced");
    }
}

#[test]
fn level_1_keeps_records_for_ever_unless_a_retention_is_named() {
    let topic = Topic::default().copied(1, false, 0);
    let all = Step::WriteLevel { level: 1, partitions: ALL.to_vec() };
    let quiet = plan(to_1(&found(&topic), &Wish::default()));
    assert_eq!((quiet.steps, quiet.notes.len()), (vec![all.clone()], 0), "a stock topic has the right settings");

    let mended = plan(to_1(&with(&topic, |found| set(found, "retention.ms", "604800000")), &Wish::default()));
    assert_eq!(settings_of(&mended.steps[0]), ["retention.ms=-1"]);
    assert_eq!(mended.steps[1], all);

    let wish = Wish { retention_ms: Some(1_209_600_000), ..Wish::default() };
    let kip = plan(to_1(&found(&topic), &wish));
    let expected = ["cleanup.policy=compact,delete", "retention.ms=1209600000", "segment.ms=86400000"];
    assert_eq!(settings_of(&kip.steps[0]), expected);
    assert!(kip.notes[0].contains("14 d") && kip.notes[0].contains("1 live segment"), "{}", kip.notes[0]);
}

#[test]
fn level_2_has_the_settings_of_a_topic_that_we_create_and_is_written_last() {
    let topic = Topic::default().copied(1, false, 0).level(1, ALL, 1).rewritten(1, 2);
    let planned = plan(to_2(&found(&topic), &Wish::default()));
    let expected = [
        "cleanup.policy=compact",
        "min.cleanable.dirty.ratio=0.1",
        "segment.ms=3600000",
        "max.compaction.lag.ms=21600000",
    ];
    assert_eq!(settings_of(&planned.steps[0]), expected);
    assert_eq!(planned.steps[1..], [Step::WriteLevel { level: 2, partitions: ALL.to_vec() }]);
    assert_eq!(planned.notes, Vec::<String>::new(), "the last record without a key is older than delete.retention.ms");

    let young = with(&topic, |found| found.now_ms = 3_600_000);
    let planned = plan(to_2(&young, &Wish { segment_ms: Some(7), ..Wish::default() }));
    assert!(settings_of(&planned.steps[0]).contains(&"segment.ms=7".to_owned()));
    assert!(planned.notes[0].contains("2 records without a key, the last one 1 h old"), "{}", planned.notes[0]);
}

#[test]
fn what_was_cut_off_goes_on_where_it_was() {
    let topic = Topic::default().level(1, ALL, 1).level(2, &[1], 2);
    let found = with(&topic, |found| set(found, "cleanup.policy", "compact"));
    let planned = plan(to_2(&found, &Wish::default()));
    assert_eq!(planned.steps.last(), Some(&Step::WriteLevel { level: 2, partitions: vec![0, 2] }));
    let half = Topic::default().level(1, &[2], 1);
    let planned = plan(to_1(&super::found(&half), &Wish::default()));
    assert_eq!(planned.steps, [Step::WriteLevel { level: 1, partitions: vec![0, 1] }]);
}

#[test]
fn every_obstacle_says_what_to_do() {
    let topic = Topic::default().copied(1, false, 0);
    let found = with(&topic, |found| {
        found.brokers.push(broker(3, false));
        set(found, "cleanup.policy", "compact");
    });
    let Decision::Refused(obstacles) = to_1(&found, &Wish::default()) else { panic!("not refused") };
    let text: Vec<_> = obstacles.iter().map(ToString::to_string).collect();
    assert!(text[0].contains("broker 3: org.apache.kafka") && text[0].contains("--force"), "{text:?}");
    assert!(text[1].contains("2 records are without a key") && text[1].contains("cleanup.policy=delete"), "{text:?}");
}
