//! What every implementation of [`MetadataLog`] has to do. A suite per implementation calls [`run_all`] with a way to make a log
//! that is new, and one to open the same log again.

#![allow(clippy::disallowed_methods, reason = "waits with a deadline, and wakes from another thread")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{LogError, LogEvent, LogReader, MetadataLog};

/// How long the suite waits for what must happen. Long, so that a busy machine fails nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes a log: the same one each time it is called after [`MetadataLog::close`].
pub(crate) type Open<'a> = &'a dyn Fn() -> Arc<dyn MetadataLog>;

/// An event that outlives the call that brought it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Record { partition: i32, offset: i64, key: Option<Vec<u8>>, value: Option<Vec<u8>> },
    End { partition: i32, next_offset: i64 },
}

/// Polls until an `End` of every one of `partitions` came behind what was asked for, and gives what came before.
pub(crate) fn read_to(reader: &mut dyn LogReader, mut done: impl FnMut(&[Seen]) -> bool) -> Vec<Seen> {
    let deadline = Instant::now() + PATIENCE;
    let mut seen = Vec::new();
    while !done(&seen) {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?}; seen so far: {} events", seen.len());
        let mut sink = |event: LogEvent<'_>| match event {
            LogEvent::Record { partition, offset, key, value, .. } => seen.push(Seen::Record {
                partition,
                offset,
                key: key.map(<[u8]>::to_vec),
                value: value.map(<[u8]>::to_vec),
            }),
            LogEvent::End { partition, next_offset } => seen.push(Seen::End { partition, next_offset }),
            LogEvent::Trouble { .. } => {}
        };
        reader.poll(Duration::from_millis(200), &mut sink).expect("polls");
    }
    seen
}

fn has_end(seen: &[Seen], of: i32, at_least: i64) -> bool {
    seen.iter().any(
        |event| matches!(event, Seen::End { partition, next_offset } if *partition == of && *next_offset >= at_least),
    )
}

fn offsets(seen: &[Seen]) -> Vec<i64> {
    seen.iter().filter_map(|event| if let Seen::Record { offset, .. } = event { Some(*offset) } else { None }).collect()
}

fn text(number: usize) -> Option<Bytes> {
    Some(Bytes::from(number.to_string()))
}

/// Runs all of it; `open` must give an empty log the first time.
pub(crate) async fn run_all(open: Open<'_>) {
    let log = open();
    let shape = log.ensure().await.expect("can be made");
    assert!(shape.partitions >= 1);
    assert_eq!(log.ensure().await.expect("again"), shape, "ensure may be called again");
    an_empty_partition_has_an_end(&*log);
    records_come_back_in_the_order_of_the_calls(&*log).await;
    a_reader_begins_where_it_is_told(&*log);
    a_reader_that_waits_is_woken(&*log);
    a_new_record_is_followed_by_a_new_end(&*log).await;
    null_keys_and_null_values_are_kept_apart_from_empty_ones(&*log).await;
    an_unassigned_partition_is_silent(&*log).await;
    let last = thousands_in_flight_all_land(&*log).await;
    log.close().await;
    assert!(matches!(log.append(0, None, text(0)).await, Err(LogError::Closed { .. })), "closed");
    let log = open();
    log.ensure().await.expect("can be opened again");
    what_was_acknowledged_survives(&*log, last).await;
    closing_fails_what_is_in_flight_or_lets_it_land(log).await;
}

fn an_empty_partition_has_an_end(log: &dyn MetadataLog) {
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    let seen = read_to(&mut *reader, |seen| has_end(seen, 0, 0));
    assert_eq!(seen, [Seen::End { partition: 0, next_offset: 0 }]);
}

async fn records_come_back_in_the_order_of_the_calls(log: &dyn MetadataLog) {
    let appends: Vec<_> = (0..100).map(|number| log.append(0, text(number), text(number + 1))).collect();
    let told = futures_util::future::join_all(appends).await;
    let told: Vec<i64> = told.into_iter().map(|offset| offset.expect("lands")).collect();
    assert!(told.is_sorted_by(|a, b| a < b), "offsets rise with the calls");
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    let last = told[99] + 1;
    let seen = read_to(&mut *reader, |seen| has_end(seen, 0, last));
    assert_eq!(offsets(&seen), told);
    let first = Seen::Record { partition: 0, offset: told[0], key: Some(b"0".to_vec()), value: Some(b"1".to_vec()) };
    assert_eq!(seen[0], first);
}

fn a_reader_begins_where_it_is_told(log: &dyn MetadataLog) {
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    let all = offsets(&read_to(&mut *reader, |seen| has_end(seen, 0, 100)));
    reader.unassign(0).expect("unassigns");
    reader.assign(0, all[60]).expect("assigns again");
    let rest = read_to(&mut *reader, |seen| has_end(seen, 0, 100));
    assert_eq!(offsets(&rest), all[60..]);
    reader.unassign(0).expect("unassigns");
    reader.assign(0, all[99] + 1).expect("assigns at the end");
    let nothing = read_to(&mut *reader, |seen| has_end(seen, 0, all[99] + 1));
    assert_eq!(offsets(&nothing), [0_i64; 0], "an end is told though nothing is new");
}

fn a_reader_that_waits_is_woken(log: &dyn MetadataLog) {
    let mut reader = log.reader().expect("a reader");
    let wake = reader.waker();
    let started = Instant::now();
    let waking = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        wake();
    });
    reader.poll(PATIENCE, &mut |_| {}).expect("polls");
    assert!(started.elapsed() < PATIENCE / 2);
    waking.join().expect("wakes");
}

async fn a_new_record_is_followed_by_a_new_end(log: &dyn MetadataLog) {
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    read_to(&mut *reader, |seen| has_end(seen, 0, 100));
    let offset = log.append(0, text(1), text(1)).await.expect("lands");
    let seen = read_to(&mut *reader, |seen| has_end(seen, 0, offset + 1));
    assert_eq!(offsets(&seen), [offset]);
}

async fn null_keys_and_null_values_are_kept_apart_from_empty_ones(log: &dyn MetadataLog) {
    let empty = Some(Bytes::new());
    let mut offset = 0;
    let forms = [(None, empty.clone()), (empty.clone(), empty.clone()), (text(5), None), (text(5), empty)];
    for (key, value) in forms.clone() {
        offset = log.append(0, key, value).await.expect("lands");
    }
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    let seen = read_to(&mut *reader, |seen| has_end(seen, 0, offset + 1));
    let pairs = seen.into_iter().filter_map(|event| match event {
        Seen::Record { key, value, .. } => Some((key.map(Bytes::from), value.map(Bytes::from))),
        Seen::End { .. } => None,
    });
    let pairs: Vec<_> = pairs.collect();
    assert_eq!(pairs[pairs.len() - 4..], forms);
}

async fn an_unassigned_partition_is_silent(log: &dyn MetadataLog) {
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    reader.unassign(0).expect("unassigns");
    log.append(0, text(1), text(1)).await.expect("lands");
    let mut events = 0;
    reader.poll(Duration::from_millis(100), &mut |_| events += 1).expect("polls");
    assert_eq!(events, 0);
}

async fn thousands_in_flight_all_land(log: &dyn MetadataLog) -> i64 {
    let appends: Vec<_> = (0..5_000).map(|number| log.append(0, text(number), text(number))).collect();
    let told = futures_util::future::join_all(appends).await;
    let told: Vec<i64> = told.into_iter().map(|offset| offset.expect("lands")).collect();
    assert!(told.is_sorted_by(|a, b| a < b));
    told[4_999]
}

async fn what_was_acknowledged_survives(log: &dyn MetadataLog, last: i64) {
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    let seen = offsets(&read_to(&mut *reader, |seen| has_end(seen, 0, last + 1)));
    assert!(seen.is_sorted_by(|a, b| a < b));
    assert_eq!(seen.last(), Some(&last));
    assert!(log.append(0, text(1), text(1)).await.expect("lands") > last, "offsets are never used again");
}

async fn closing_fails_what_is_in_flight_or_lets_it_land(log: Arc<dyn MetadataLog>) {
    let appends: Vec<_> = (0..1_000).map(|number| log.append(0, text(number), text(number))).collect();
    let closing = log.close();
    let (results, ()) = tokio::join!(futures_util::future::join_all(appends), closing);
    for result in results {
        assert!(matches!(result, Ok(_) | Err(LogError::Closed { .. })), "{result:?}");
    }
    assert!(matches!(log.reader().map(|_| ()), Err(LogError::Closed { .. })));
    log.close().await;
}
