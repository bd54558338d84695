use std::fs;
use std::os::unix::fs::FileExt;

use super::super::LogEvent;
use super::super::suite::{self, Seen};
use super::*;

fn options(folder: &Path) -> EmbeddedOptions {
    EmbeddedOptions { folder: folder.to_owned(), partitions: 1, compact_bytes_min: 1 << 20 }
}

fn log(folder: &Path) -> Arc<dyn MetadataLog> {
    Arc::new(EmbeddedLog::new(options(folder)))
}

async fn opened(folder: &Path) -> Result<Arc<dyn MetadataLog>, LogError> {
    let log = log(folder);
    log.ensure().await.map(|_| log)
}

fn bytes(text: &str) -> Option<Bytes> {
    Some(Bytes::copy_from_slice(text.as_bytes()))
}

/// All records of the first partition as offset and value.
fn records(log: &dyn MetadataLog, end: i64) -> Vec<(i64, String)> {
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    let seen = suite::read_to(&mut *reader, |seen| {
        seen.iter().any(|event| matches!(event, Seen::End { next_offset, .. } if *next_offset >= end))
    });
    let records = seen.into_iter().filter_map(|event| match event {
        Seen::Record { offset, value, .. } => {
            Some((offset, String::from_utf8(value.unwrap_or_default()).expect("text")))
        }
        Seen::End { .. } => None,
    });
    records.collect()
}

/// A closed log with the values `0`, `1`, `2`; gives the bytes of its file.
async fn three_records(folder: &Path) -> (PathBuf, Vec<u8>) {
    let log = opened(folder).await.expect("opens");
    for number in 0..3 {
        log.append(0, bytes(&format!("key {number}")), bytes(&number.to_string())).await.expect("lands");
    }
    log.close().await;
    let path = folder.join("partition-0.log");
    let content = fs::read(&path).expect("reads");
    (path, content)
}

#[tokio::test]
async fn does_what_every_log_has_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    suite::run_all(&|| log(folder.path())).await;
}

#[tokio::test]
async fn an_end_that_is_cut_off_anywhere_costs_only_what_was_never_acknowledged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, whole) = three_records(folder.path()).await;
    let record_len = (whole.len() - file::HEADER_LEN) / 3;
    for cut in 1..record_len {
        fs::write(&path, &whole[..whole.len() - cut]).expect("writes");
        let log = opened(folder.path()).await.expect("opens");
        assert_eq!(records(&*log, 2), [(0, "0".to_owned()), (1, "1".to_owned())], "cut {cut}");
        assert_eq!(log.append(0, None, bytes("new")).await.expect("lands"), 2);
        log.close().await;
    }
    for zeros in [1, 7, 4096] {
        fs::write(&path, [&whole[..], &vec![0; zeros]].concat()).expect("writes");
        let log = opened(folder.path()).await.expect("opens");
        assert_eq!(records(&*log, 3).len(), 3, "{zeros} zeros");
        log.close().await;
        assert_eq!(fs::read(&path).expect("reads"), whole);
    }
}

#[tokio::test]
async fn damage_in_the_middle_is_told_and_nothing_is_cut_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, whole) = three_records(folder.path()).await;
    let record_len = (whole.len() - file::HEADER_LEN) / 3;
    for at in (0..file::HEADER_LEN + 2 * record_len).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(&path, &damaged).expect("writes");
        let error = opened(folder.path()).await.map(|_| ()).expect_err("damaged");
        assert!(matches!(error, LogError::Corrupt { .. }), "byte {at}: {error}");
        assert_eq!(fs::read(&path).expect("reads"), damaged, "byte {at}");
    }
    fs::write(&path, &whole).expect("writes");
    assert_eq!(records(&*opened(folder.path()).await.expect("opens"), 3).len(), 3);
}

#[tokio::test]
async fn a_file_that_vanished_is_not_made_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, _) = three_records(folder.path()).await;
    fs::remove_file(path).expect("removes");
    let error = opened(folder.path()).await.map(|_| ()).expect_err("gone");
    assert!(error.to_string().contains("No such file"), "{error}");
}

#[tokio::test]
async fn damage_under_a_running_reader_is_trouble_and_not_wrong_data() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = opened(folder.path()).await.expect("opens");
    log.append(0, bytes("key"), bytes("value")).await.expect("lands");
    let file = OpenOptions::new().write(true).open(folder.path().join("partition-0.log")).expect("opens");
    file.write_all_at(b"X", file::HEADER_LEN as u64 + 20).expect("writes");
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    let mut troubles = Vec::new();
    reader
        .poll(Duration::from_millis(10), &mut |event| match event {
            LogEvent::Trouble { error, .. } => troubles.push(error.to_string()),
            other => panic!("{other:?}"),
        })
        .expect("polls");
    assert!(troubles[0].contains("is damaged (the record at byte 28: its checksum is wrong)"), "{troubles:?}");
}

#[tokio::test]
async fn one_process_at_a_time_and_the_next_may_follow() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = opened(folder.path()).await.expect("opens");
    let second = log(folder.path());
    let error = second.ensure().await.expect_err("locked");
    assert!(matches!(error, LogError::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains("another manager"), "{error}");
    first.close().await;
    second.ensure().await.expect("free now");
}

#[tokio::test]
async fn the_number_of_partitions_never_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    opened(folder.path()).await.expect("opens").close().await;
    let other = EmbeddedLog::new(EmbeddedOptions { partitions: 3, ..options(folder.path()) });
    assert!(matches!(other.ensure().await, Err(LogError::Mismatch { .. })));
}

#[tokio::test]
async fn partitions_are_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = EmbeddedLog::new(EmbeddedOptions { partitions: 3, ..options(folder.path()) });
    log.ensure().await.expect("opens");
    for (partition, offset) in [(0, 0), (2, 0), (2, 1), (0, 1)] {
        assert_eq!(log.append(partition, None, bytes("x")).await.expect("lands"), offset);
    }
    assert!(log.append(3, None, None).await.is_err());
    assert!(log.append(-1, None, None).await.is_err());
    assert_eq!(records(&log, 2).len(), 2);
}

#[tokio::test]
async fn compaction_keeps_the_last_record_of_each_key_and_readers_notice_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = EmbeddedLog::new(EmbeddedOptions { compact_bytes_min: 10_000, ..options(folder.path()) });
    log.ensure().await.expect("opens");
    let mut reader = log.reader().expect("a reader");
    reader.assign(0, 0).expect("assigns");
    log.append(0, None, bytes("without a key")).await.expect("lands");
    log.append(0, bytes("once"), bytes("said once")).await.expect("lands");
    let mut end = 0;
    let mut read = Vec::new();
    for round in 0..2_000 {
        end = log.append(0, bytes(&format!("key {}", round % 7)), bytes(&round.to_string())).await.expect("lands") + 1;
        if round % 100 == 0 {
            let seen = suite::read_to(&mut *reader, |seen| {
                seen.iter().any(|event| matches!(event, Seen::End { next_offset, .. } if *next_offset >= end))
            });
            read.extend(seen.into_iter().filter_map(|event| match event {
                Seen::Record { offset, .. } => Some(offset),
                Seen::End { .. } => None,
            }));
        }
    }
    assert!(read.is_sorted_by(|a, b| a < b), "no record comes twice");
    let length = fs::metadata(folder.path().join("partition-0.log")).expect("is there").len();
    assert!(length < 30_000, "{length} bytes");
    log.close().await;
    let log = opened(folder.path()).await.expect("opens again");
    let kept = records(&*log, end);
    assert_eq!(kept[..2], [(0, "without a key".to_owned()), (1, "said once".to_owned())]);
    let last: Vec<_> = kept[kept.len() - 7..].iter().map(|(_, value)| value.clone()).collect();
    assert_eq!(last, ["1993", "1994", "1995", "1996", "1997", "1998", "1999"]);
    assert_eq!(log.append(0, None, bytes("next")).await.expect("lands"), end);
}

#[tokio::test]
async fn damage_in_what_compaction_wrote_is_never_taken_for_a_torn_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = EmbeddedLog::new(EmbeddedOptions { compact_bytes_min: 1, ..options(folder.path()) });
    log.ensure().await.expect("opens");
    for number in 0..3 {
        log.append(0, bytes("key"), bytes(&number.to_string())).await.expect("lands");
    }
    log.close().await;
    let path = folder.path().join("partition-0.log");
    let mut content = fs::read(&path).expect("reads");
    assert!(content.len() < file::HEADER_LEN + 60, "compacted to one record");
    *content.last_mut().expect("not empty") ^= 1;
    fs::write(&path, content).expect("writes");
    assert!(matches!(opened(folder.path()).await.map(|_| ()), Err(LogError::Corrupt { .. })));
}
