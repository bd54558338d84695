use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::super::StorageError;
use super::ground::{Ground, READ, run};

const MIB: usize = 1 << 20;

/// Long enough for a loaded machine, and far below what a request may take.
const PROMPT: Duration = Duration::from_secs(20);

#[test]
fn fast_streams_are_not_held_up_by_slow_ones_and_a_close_is_prompt_for_all() {
    run(async {
        let ground = Ground::new(&[]);
        let (fast, slow) = (ground.segment(0, 4 * MIB).await, ground.segment(1, 4 * MIB).await);
        *ground.store.stalled.lock() = Some("00001000");
        let waiting: Vec<_> = (0..60)
            .map(|number| {
                let mut reader = ground.storage.fetch(&slow, number * 60_000, None).expect("a reader");
                tokio::spawn(async move { reader.read().await })
            })
            .collect();
        let started = Instant::now();
        let reads = (0..140).map(|number| ground.read(&fast, number * 20_000, READ));
        futures_util::future::join_all(reads).await;
        assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
        assert!(waiting.iter().all(|reader| !reader.is_finished()));

        let started = Instant::now();
        ground.storage.close().await;
        for reader in waiting {
            let answer = reader.await.expect("no panic");
            assert!(matches!(answer, Err(StorageError::Closed { .. } | StorageError::Cancelled { .. })), "{answer:?}");
        }
        assert!(started.elapsed() < PROMPT, "{:?}", started.elapsed());
    });
}

#[test]
fn reads_that_are_given_up_at_any_byte_lose_nothing_and_fetch_nothing_twice() {
    run(async {
        let ground = Ground::new(&[]);
        let segment = ground.segment(0, 3 * MIB).await;
        ground.store.slow_down(Duration::from_millis(60), 100);
        let (mut position, mut given_up) = (0, 0);
        while position < 3 * MIB as u64 {
            // As a broker does after 500 ms: another reader, at the same place.
            let mut reader = ground.storage.fetch(&segment, position, None).expect("a reader");
            loop {
                match tokio::time::timeout(Duration::from_millis(7), reader.read()).await {
                    Ok(bytes) if bytes.as_ref().is_ok_and(bytes::Bytes::is_empty) => break,
                    Ok(bytes) => position += bytes.expect("bytes").len() as u64,
                    Err(_) => {
                        given_up += 1;
                        break;
                    }
                }
            }
        }
        assert!(given_up > 2, "{given_up}");
        let asked = ground.store.bytes_asked();
        assert!(asked < 3 * MIB as u64 + 10_000, "{asked}");
    });
}

#[test]
fn whoever_wants_the_first_bytes_of_a_request_does_not_wait_for_its_last_ones() {
    for transform in [&[][..], &[("compression.enabled", "true"), ("chunk.size", "65536")]] {
        run(async {
            let ground = Ground::new(&[transform, &[("fetch.window.bytes.min", "8388608")]].concat());
            let segment = ground.segment(0, 8 * MIB).await;
            // Its footer is read before the answers stop.
            ground.read(&segment, 8 * MIB - 1, 1).await;
            ground.store.gets.lock().clear();
            ground.store.stalls_after.store(if transform.is_empty() { MIB as u64 } else { 4096 }, Ordering::Relaxed);
            let first = ground.read(&segment, 0, MIB / 8);
            tokio::time::timeout(PROMPT, first).await.expect("the first bytes have come");
            assert_eq!(ground.store.gets.lock().len(), 1);
            let mut late = ground.storage.fetch(&segment, 6 * MIB as u64, None).expect("a reader");
            assert!(tokio::time::timeout(Duration::from_millis(50), late.read()).await.is_err(), "it has not come yet");
            assert_eq!(ground.store.gets.lock().len(), 1, "it is on its way already");
        });
    }
}

#[test]
fn a_failed_load_is_not_kept_and_one_request_serves_all_who_ask() {
    run(async {
        let ground = Ground::new(&[("fetch.failure.delay.ms", "0")]);
        let segment = ground.segment(0, MIB).await;
        let mut gone = segment.clone();
        gone.id.uuid = crate::model::KafkaUuid([99; 16]);
        for _ in 0..2 {
            let mut reader = ground.storage.fetch(&gone, 0, None).expect("a reader");
            assert!(matches!(reader.read().await, Err(StorageError::NotFound { .. })));
        }
        assert_eq!(ground.store.gets.lock().len(), 2, "asked again after a failure");
        ground.store.gets.lock().clear();
        ground.store.slow_down(Duration::from_millis(100), 1000);
        futures_util::future::join_all((0..50).map(|_| ground.read(&segment, 5, READ / 2))).await;
        assert_eq!(ground.store.gets.lock().len(), 1);
    });
}
