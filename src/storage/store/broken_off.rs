//! Reads whose answers break off: what has come is handed out once, and the rest is asked for.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::StorageError;
use super::super::layout::ObjectKey;
use super::suite::open;
use super::{DriverStore, ObjectStore as _};

const OBJECT: usize = 300_000;

fn byte(at: usize) -> u8 {
    (at / 251 + at) as u8
}

/// First and last byte of each request.
type Ranges = Arc<Mutex<Vec<(usize, usize)>>>;

/// A server whose every answer ends after `bytes`, whatever was asked for; and the ranges that were.
fn breaking_off(bytes: usize) -> (DriverStore, Ranges) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = format!("http://{}", listener.local_addr().expect("bound"));
    let asked = Ranges::default();
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            let (mut stream, mut head) = (BufReader::new(tcp), String::new());
            while !head.ends_with("\r\n\r\n") && stream.read_line(&mut head).is_ok_and(|read| read > 0) {}
            let range = head.to_lowercase().lines().find_map(|line| {
                let (first, last) = line.strip_prefix("range: bytes=")?.split_once('-')?;
                Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
            });
            let (first, last) = range.expect("a range");
            seen.lock().push((first, last));
            let length = last + 1 - first;
            let body: Vec<u8> = (first..=last).take(bytes).map(byte).collect();
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: {length}\r\nContent-Range: bytes {first}-{last}/{OBJECT}\r\n\r\n"
            );
            // Whoever has had enough may have gone.
            let _ = stream.get_mut().write_all(&[head.as_bytes(), &body].concat());
        }
    });
    let store = open(&[
        ("storage.backend.class", "s3"),
        ("storage.s3.endpoint.url", &at),
        ("storage.s3.bucket.name", "bucket"),
        ("storage.aws.access.key.id", "id"),
        ("storage.aws.secret.access.key", "secret"),
        ("storage.retry.attempts.max", "4"),
        ("storage.retry.delay.ms", "1"),
    ]);
    (store, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_goes_on_where_the_one_before_broke_off_and_hands_out_nothing_twice() {
    for bytes in [1, 65_536, 99_999, 100_000] {
        let (store, asked) = breaking_off(bytes);
        let end = 1000 + 3 * bytes;
        let mut got = Vec::new();
        let read = store.read(&ObjectKey::new("a"), 1000..end as u64, &mut |piece| got.extend_from_slice(&piece)).await;
        assert!(read.is_ok(), "{bytes}: {read:?}");
        assert!(got.iter().copied().eq((1000..end).map(byte)), "{bytes}: other bytes, {} of them", got.len());
        let expected: Vec<_> = (0..3).map(|number| (1000 + number * bytes, end - 1)).collect();
        assert_eq!(*asked.lock(), expected, "{bytes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_come_when_no_attempt_is_left_is_right_and_the_read_fails() {
    let (store, asked) = breaking_off(20_000);
    let mut got = Vec::new();
    let read = store.read(&ObjectKey::new("a"), 0..200_000, &mut |piece| got.extend_from_slice(&piece)).await;
    assert!(matches!(read, Err(StorageError::Unreachable { attempts: 4, .. })), "{read:?}");
    assert!(got.iter().copied().eq((0..80_000).map(byte)), "{} bytes", got.len());
    assert_eq!(asked.lock().len(), 4);
}
