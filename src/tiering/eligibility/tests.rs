use super::*;

const NOW: i64 = 1_000_000;
/// Larger than anything in the cases.
const LARGE: i64 = 1_000_000_000;

/// Three segments of 40, 30 and 20 bytes at offsets 0, 10 and 20, the last one active.
const SIZES: [u64; 3] = [40, 30, 20];

/// What a broker of 4.4 makes of a log: the closed segments that it copies, in order.
#[derive(Clone, Copy)]
struct Case {
    lag: CopyLag,
    /// As a topic has it: `local.retention.ms`, `.bytes`; then `retention.ms`, `.bytes`.
    local: (i64, i64),
    total: (i64, i64),
    /// Ages of the two closed segments; `None`: the timestamp can't be read.
    ages: [Option<i64>; 2],
    last_stable_offset: i64,
    segments: usize,
}

const UNLIMITED: (i64, i64) = (-1, -1);

fn case(ms: i64, bytes: i64, ages: [i64; 2]) -> Case {
    let lag = CopyLag { ms, bytes };
    let ages = ages.map(Some);
    Case { lag, local: UNLIMITED, total: UNLIMITED, ages, last_stable_offset: 25, segments: 3 }
}

/// The loop around the decision as KIP-1241 has it: it ends at the first segment that is held back.
fn copied(case: &Case) -> usize {
    let retention = LocalRetention::effective(case.local, case.total);
    let first = 3 - case.segments;
    let mut count = 0;
    for (i, age) in case.ages.iter().enumerate().skip(first) {
        let next_base_offset = (i as i64 + 1) * 10;
        if next_base_offset > case.last_stable_offset {
            break;
        }
        let segment = ClosedSegment { max_timestamp_ms: age.map_or(-1, |age| NOW - age), now_ms: NOW };
        let behind = SIZES[i + 1..].iter().sum();
        if judge(case.lag, Some(retention), segment, || Some(behind)) != Verdict::Eligible {
            break;
        }
        count += 1;
    }
    count
}

/// Source: KIP-1241 and Kafka's `RemoteLagCopyTest`, whose cases these are.
#[test]
fn each_worked_case_of_the_kip_comes_out_as_there() {
    let cases = [
        ("1 held back while too young", case(100, -1, [50, 50]), 0),
        ("2 an age of exactly the limit is enough", case(100, -1, [100, 50]), 1),
        ("3 too few bytes behind", case(-1, 60, [0, 0]), 0),
        ("4 exactly as many bytes behind as asked for", case(-1, 50, [0, 0]), 1),
        ("5 the bytes behind count the active segment", case(-1, 20, [0, 0]), 2),
        ("6 both 0 copies at once", case(0, 0, [0, 0]), 2),
        ("7 ms 0 wins over large bytes", case(0, LARGE, [0, 0]), 2),
        ("8 bytes 0 wins over large ms", case(LARGE, 0, [0, 0]), 2),
        ("9 both follow the local retention: by age", Case { local: (100, LARGE), ..case(-1, -1, [100, 50]) }, 1),
        ("9 both follow the local retention: by bytes", Case { local: (LARGE, 50), ..case(-1, -1, [0, 0]) }, 1),
        (
            "10 -2 is the total retention: by age",
            Case { local: (-2, -2), total: (100, LARGE), ..case(-1, -1, [100, 50]) },
            1,
        ),
        (
            "10 -2 is the total retention: by bytes",
            Case { local: (-2, -2), total: (LARGE, 50), ..case(-1, -1, [0, 0]) },
            1,
        ),
        ("11 nothing limits the local log: never", case(-1, -1, [LARGE / 2000, LARGE / 2000]), 0),
        ("12 old enough, too few bytes", case(100, LARGE, [100, 50]), 1),
        ("13 bytes enough, too young", case(LARGE, 50, [0, 0]), 1),
        ("14 a timestamp that can't be read", Case { ages: [None, Some(0)], ..case(100, -1, [0, 0]) }, 1),
        ("15 a timestamp of the future", case(100, -1, [-1, 0]), 1),
        ("16 an old segment waits behind a young one", case(100, -1, [50, 500]), 0),
        ("17 Kafka's defaults copy at once", case(0, -1, [0, 0]), 2),
        ("18 only bytes set has no effect", case(0, 1 << 30, [0, 0]), 2),
        ("19 only ms set: ms decides", case(100, -1, [100, 50]), 1),
        ("19 only ms set: or the local retention's bytes", Case { local: (-1, 50), ..case(100, -1, [0, 0]) }, 1),
        ("20 no segment behind the last stable offset", Case { last_stable_offset: 15, ..case(0, 0, [0, 0]) }, 1),
        ("21 an active segment alone", Case { segments: 1, ..case(0, 0, [0, 0]) }, 0),
    ];
    for (name, case, expected) in cases {
        assert_eq!(copied(&case), expected, "{name}");
    }
}

#[test]
fn no_limit_is_above_the_effective_local_retention() {
    for (name, case, expected) in [
        ("ms is cut", Case { local: (100, -1), ..case(LARGE, -1, [100, 50]) }, 1),
        ("bytes is cut", Case { local: (-1, 50), ..case(-1, LARGE, [0, 0]) }, 1),
        ("the total retention cuts too", Case { local: (-2, -2), total: (100, -1), ..case(LARGE, LARGE, [100, 0]) }, 1),
        ("a shorter one stays", Case { local: (LARGE, LARGE), ..case(100, LARGE, [100, 50]) }, 1),
        ("a local log of no time at all", Case { local: (0, -1), ..case(LARGE, LARGE, [0, 0]) }, 2),
        ("a local log of no bytes at all", Case { local: (-1, 0), ..case(LARGE, LARGE, [0, 0]) }, 2),
    ] {
        assert_eq!(copied(&case), expected, "{name}");
    }
}

#[test]
fn what_is_not_known_makes_eligible() {
    let lag = CopyLag { ms: 100, bytes: 100 };
    let retention = Some(LocalRetention { ms: -1, bytes: -1 });
    let young = ClosedSegment { max_timestamp_ms: NOW, now_ms: NOW };
    assert!(matches!(judge(lag, retention, young, || Some(0)), Verdict::HeldBack(_)));
    assert_eq!(judge(lag, None, young, || Some(0)), Verdict::Eligible, "no retention, so no cap");
    assert_eq!(judge(lag, retention, young, || None), Verdict::Eligible, "a log of unknown size");
    let dateless = ClosedSegment { max_timestamp_ms: -1, ..young };
    assert_eq!(judge(lag, retention, dateless, || Some(0)), Verdict::Eligible);
    let extreme = ClosedSegment { max_timestamp_ms: i64::MAX, now_ms: i64::MIN };
    assert_eq!(judge(lag, retention, extreme, || Some(0)), Verdict::Eligible);
}

#[test]
fn the_size_of_the_log_is_asked_only_if_it_decides() {
    let ask = || -> Option<u64> { panic!("asked") };
    let retention = Some(LocalRetention { ms: -1, bytes: -1 });
    let old = ClosedSegment { max_timestamp_ms: NOW - 100, now_ms: NOW };
    assert_eq!(judge(CopyLag { ms: 100, bytes: 5 }, retention, old, ask), Verdict::Eligible);
    assert_eq!(judge(CopyLag::DEFAULT, retention, old, ask), Verdict::Eligible);
    assert!(matches!(judge(CopyLag { ms: 101, bytes: -1 }, retention, old, ask), Verdict::HeldBack(_)));
}

#[test]
fn a_held_back_segment_says_what_it_lacks() {
    let retention = Some(LocalRetention { ms: -1, bytes: -1 });
    let segment = ClosedSegment { max_timestamp_ms: NOW - 7, now_ms: NOW };
    let said = |ms, bytes| match judge(CopyLag { ms, bytes }, retention, segment, || Some(3)) {
        Verdict::HeldBack(held) => held.to_string(),
        Verdict::Eligible => panic!("eligible"),
    };
    assert_eq!(said(10, 5), "its newest record is 7 ms old of 10 ms, 3 of 5 bytes are behind it");
    assert_eq!(said(10, -1), "its newest record is 7 ms old of 10 ms, the size of the log behind it does not count");
    assert_eq!(said(-1, 5), "its age does not count, 3 of 5 bytes are behind it");
}
