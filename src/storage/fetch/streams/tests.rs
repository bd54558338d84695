use proptest::prelude::*;

use super::*;

const MIB: u64 = 1 << 20;
const SIZE: u64 = 128 * MIB;

fn settings() -> AheadSettings {
    AheadSettings {
        bytes_max: 16 * MIB,
        budget: 32 * MIB,
        request_max: 4 * MIB,
        first_request: MIB + (64 << 10),
        idle: Duration::from_secs(15),
        streams_max: 64,
    }
}

/// The `number`th segment of a partition.
fn segment(partition: i32, number: u8) -> Stretch {
    Stretch {
        segment: KafkaUuid([number + 1; 16]),
        partition: (KafkaUuid([9; 16]), partition),
        first_offset: i64::from(number) * 100,
        last_offset: i64::from(number) * 100 + 99,
        size: SIZE,
    }
}

/// One read of a broker: opens, takes up to `bytes` in blocks, closes. Hands back where it came to and what was planned.
fn read(streams: &mut Streams, now: Duration, at: Stretch, position: u64, bytes: u64) -> (u64, Vec<Plan>) {
    let id = streams.open(now, at, position);
    let end = (position + bytes).min(at.size);
    let (mut to, mut plans) = (position, vec![streams.delivered(now, id, at.segment, position)]);
    while to < end {
        to = (to / 65536 * 65536 + 65536).min(end);
        plans.push(streams.delivered(now, id, at.segment, to));
    }
    (end, plans)
}

fn asks(plans: &[Plan]) -> Vec<Ask> {
    plans.iter().flat_map(|plan| plan.asks.clone()).collect()
}

/// A consumer from `from` on: its next read begins where the last whole batch of this one ended.
fn consume(streams: &mut Streams, at: Stretch, from: u64, reads: usize, rest: u64) -> Vec<Ask> {
    let (mut position, mut all) = (from, Vec::new());
    for number in 0..reads {
        let now = Duration::from_millis(number as u64 * 10);
        let (end, plans) = read(streams, now, at, position, MIB);
        all.extend(asks(&plans));
        if end == at.size {
            break;
        }
        position = end - rest;
    }
    all
}

fn bytes(asks: &[Ask]) -> u64 {
    asks.iter().map(|ask| ask.bytes.end - ask.bytes.start).sum()
}

#[test]
fn a_reader_that_goes_on_is_read_ahead_for_from_its_second_open_on() {
    let mut streams = Streams::new(settings());
    let at = segment(0, 0);
    let (end, plans) = read(&mut streams, Duration::ZERO, at, 0, MIB);
    assert_eq!(asks(&plans), [], "most readers take what they came for and go");
    let (_, plans) = read(&mut streams, Duration::ZERO, at, end - 9000, MIB);
    let first = asks(&plans);
    assert_eq!(first[0].bytes.start, end - 9000 + settings().first_request, "behind what the read itself asks for");
    let all = consume(&mut streams, at, 2 * MIB - 20_000, 40, 9000);
    let largest = all.iter().map(|ask| ask.bytes.end - ask.bytes.start).max();
    assert_eq!(largest, Some(4 * MIB), "four requests make a window of 16 MiB");
}

/// Law: whenever a reader goes, no more was asked for than three times what it has had, and a step.
#[test]
fn a_reader_that_goes_early_leaves_little_behind() {
    for reads in 1..100 {
        let mut streams = Streams::new(AheadSettings { bytes_max: 32 * MIB, request_max: 8 * MIB, ..settings() });
        let asked = bytes(&consume(&mut streams, segment(0, 0), 0, reads, 9000));
        let delivered = reads as u64 * (MIB - 9000) + 9000;
        assert!(asked <= 3 * delivered + STEP, "{asked} behind {delivered}");
    }
}

#[test]
fn a_whole_segment_in_one_open_is_sequential_too() {
    let mut streams = Streams::new(settings());
    let (_, plans) = read(&mut streams, Duration::ZERO, segment(0, 0), 0, SIZE);
    let asked = bytes(&asks(&plans));
    assert!(asked > SIZE - 8 * MIB && asked < SIZE, "{asked}");
}

#[test]
fn a_broker_that_asks_again_after_a_timeout_is_no_progress() {
    let mut streams = Streams::new(settings());
    for tries in 0..20 {
        let now = Duration::from_millis(500 * tries);
        let id = streams.open(now, segment(0, 0), 5000);
        assert_eq!(streams.delivered(now, id, segment(0, 0).segment, 5000), Plan::default());
    }
}

#[test]
fn a_stream_goes_on_over_the_end_of_a_segment_that_nobody_knew_the_next_of() {
    let mut streams = Streams::new(settings());
    consume(&mut streams, segment(0, 0), 0, 1000, 9000);
    let (_, plans) = read(&mut streams, Duration::from_secs(2), segment(0, 1), 0, MIB);
    assert!(bytes(&asks(&plans)) >= 14 * MIB, "the window is as large as it was");
    assert!(asks(&plans).iter().all(|ask| ask.segment == segment(0, 1).segment));
}

#[test]
fn the_last_windows_of_a_segment_have_the_first_bytes_of_the_next_one() {
    let mut streams = Streams::new(settings());
    let (at, next) = (segment(0, 0), segment(0, 1));
    let (mut position, mut all, mut questions) = (0, Vec::new(), 0);
    while position < SIZE {
        let now = Duration::from_millis(1);
        let id = streams.open(now, at, position);
        for part in 1..=16 {
            let plan = streams.delivered(now, id, at.segment, position + part * 65536);
            questions += u32::from(plan.wants_next);
            if plan.wants_next {
                streams.next_is(id, segment(1, 3));
                streams.next_is(id, next);
            }
            all.extend(plan.asks);
        }
        position += MIB;
    }
    assert_eq!(questions, 1);
    let of_next: Vec<_> = all.iter().filter(|ask| ask.segment == next.segment).cloned().collect();
    assert_eq!(of_next[0].bytes.start, 0);
    assert!(bytes(&of_next) >= 14 * MIB, "{}", bytes(&of_next));
    let asked_to = of_next.last().map_or(0, |ask| ask.bytes.end);
    let (_, plans) = read(&mut streams, Duration::from_millis(2), next, 0, 4 * MIB);
    assert_eq!(asks(&plans)[0].bytes.start, asked_to, "nothing is asked for twice");
}

#[test]
fn other_segments_are_no_continuation() {
    for (next, position) in [
        (segment(0, 2), 0),        // A segment lies between.
        (segment(1, 1), 0),        // Of another partition.
        (segment(0, 1), 64 * MIB), // Somewhere in the middle.
    ] {
        let mut streams = Streams::new(settings());
        consume(&mut streams, segment(0, 0), 0, 1000, 9000);
        let (_, plans) = read(&mut streams, Duration::from_secs(2), next, position, MIB);
        assert_eq!(asks(&plans), [], "{next:?} {position}");
    }
    let mut streams = Streams::new(settings());
    consume(&mut streams, segment(0, 0), 0, 20, 9000);
    let (_, plans) = read(&mut streams, Duration::from_secs(2), segment(0, 1), 0, MIB);
    assert_eq!(asks(&plans), [], "it has not come to the end");
}

#[test]
fn what_was_thrown_away_unread_halves_the_window_once_and_it_grows_slowly_again() {
    let mut streams = Streams::new(settings());
    let at = segment(0, 0);
    consume(&mut streams, at, 0, 40, 0);
    let window = |streams: &Streams| streams.streams.values().next().map(|stream| stream.window);
    assert_eq!(window(&streams), Some(16 * MIB));
    for _ in 0..100 {
        streams.thrown_away(at.segment);
    }
    assert_eq!(window(&streams), Some(8 * MIB));
    consume(&mut streams, at, 40 * MIB, 30, 0);
    assert_eq!(window(&streams), Some(8 * MIB));
    for round in 0..8 {
        streams.thrown_away(at.segment);
        consume(&mut streams, at, (70 + 2 * round) * MIB, 2, 0);
    }
    assert!(window(&streams) < Some(4 * MIB), "{:?}", window(&streams));
}

#[test]
fn who_stays_away_for_long_begins_anew() {
    let mut streams = Streams::new(settings());
    let at = segment(0, 0);
    consume(&mut streams, at, 0, 40, 0);
    let (_, plans) = read(&mut streams, Duration::from_secs(60), at, 40 * MIB, MIB);
    assert!(bytes(&asks(&plans)) <= 2 * MIB);
}

#[test]
fn many_readers_share_the_budget_and_too_many_read_nothing_ahead() {
    for (readers, expected) in [(1, 16 * MIB), (4, 8 * MIB), (16, 2 * MIB), (33, 0)] {
        let mut streams = Streams::new(AheadSettings { streams_max: 100, ..settings() });
        let mut last = vec![0; readers];
        for round in 0..60 {
            for (reader, last) in last.iter_mut().enumerate() {
                let at = segment(i32::try_from(reader).expect("few"), 0);
                let (_, plans) = read(&mut streams, Duration::from_millis(round), at, round * MIB, MIB);
                if let Some(ask) = asks(&plans).last() {
                    *last = ask.bytes.end;
                }
            }
        }
        let reached = last[0].saturating_sub(60 * MIB);
        let most = expected + 2 * MIB;
        assert!(reached <= most && reached + 4 * MIB > expected, "{readers} readers: {reached}, not {expected}");
    }
}

#[test]
fn off_is_off() {
    let mut streams = Streams::new(AheadSettings { bytes_max: 0, ..settings() });
    assert_eq!(consume(&mut streams, segment(0, 0), 0, 1000, 9000), []);
}

#[test]
fn what_was_not_asked_for_comes_again() {
    let mut streams = Streams::new(settings());
    let at = segment(0, 0);
    consume(&mut streams, at, 0, 30, 0);
    let id = streams.open(Duration::from_millis(400), at, 30 * MIB);
    let plan = streams.delivered(Duration::from_millis(400), id, at.segment, 34 * MIB);
    streams.not_asked(id, &plan.asks[0]);
    let again = streams.delivered(Duration::from_millis(400), id, at.segment, 34 * MIB);
    assert_eq!(again.asks, plan.asks);
    streams.forget(at.segment);
    assert_eq!(streams.delivered(Duration::from_millis(400), id, at.segment, 34 * MIB), Plan::default());
}

proptest! {
    /// Reads at random places, however many, make nobody read ahead.
    #[test]
    fn random_reads_are_never_read_ahead_for(places in prop::collection::vec(0_u64..2000, 1..80)) {
        let mut streams = Streams::new(settings());
        let mut seen = std::collections::HashSet::new();
        for (number, place) in places.iter().enumerate() {
            let at = Stretch { size: 4000 * MIB, ..segment(0, 0) };
            // Where two reads touch, who could tell?
            if !seen.insert(*place) {
                continue;
            }
            let (_, plans) = read(&mut streams, Duration::from_millis(number as u64), at, place * 2 * MIB, MIB);
            prop_assert_eq!(asks(&plans), vec![]);
        }
    }

    /// Readers in order, interleaved at will, with reads and batches of any size: what is asked for follows each one
    /// without a gap, lies within the segment, is never more than its window ahead, and is asked for once.
    #[test]
    fn read_ahead_is_contiguous_and_bounded(
        turns in prop::collection::vec((0_usize..5, 1_u64..3_000_000, 0_u64..100_000), 1..80),
    ) {
        let mut streams = Streams::new(settings());
        let mut readers = [(0_u64, None::<u64>); 5];
        for (number, (reader, length, rest)) in turns.into_iter().enumerate() {
            let at = segment(i32::try_from(reader).expect("few"), 0);
            let now = Duration::from_millis(number as u64);
            let (position, asked_to) = readers[reader];
            let id = streams.open(now, at, position);
            let (end, mut to, mut last) = ((position + length).min(at.size), position, asked_to);
            while to < end {
                to = (to + 65536).min(end);
                for ask in streams.delivered(now, id, at.segment, to).asks {
                    prop_assert_eq!(ask.segment, at.segment);
                    prop_assert!(ask.bytes.end <= at.size && ask.bytes.start < ask.bytes.end);
                    prop_assert!(last.is_none_or(|last| ask.bytes.start >= last), "asked twice");
                    let ahead = ask.bytes.end.saturating_sub(to.max(position + settings().first_request));
                    prop_assert!(ahead <= settings().bytes_max, "{} ahead", ahead);
                    last = Some(ask.bytes.end);
                }
            }
            readers[reader] = (end.saturating_sub(rest).max(position), last);
        }
    }

    /// Whatever is opened, no more is remembered than allowed.
    #[test]
    fn memory_is_bounded(opens in prop::collection::vec((0_i32..300, 0_u8..3, 0_u64..SIZE), 1..400)) {
        let mut streams = Streams::new(settings());
        for (number, (partition, of, position)) in opens.into_iter().enumerate() {
            streams.open(Duration::from_millis(number as u64), segment(partition, of), position);
            prop_assert!(streams.streams.len() <= 64);
            let listed: usize = streams.partitions.values().map(Vec::len).sum();
            prop_assert_eq!(listed, streams.streams.len());
        }
    }
}
