use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::ground::{Ground, READ, run};
use crate::model::{SegmentId, SegmentLedger, SegmentMetadata};

const MIB: usize = 1 << 20;

#[test]
fn a_consumer_gets_every_byte_once_from_the_store_with_many_requests_at_once() {
    run(async {
        let ground = Ground::new(&[]);
        let segment = ground.segment(0, 14 * MIB + 4321).await;
        ground.store.slow_down(Duration::from_millis(200), 90);
        ground.consume(&segment).await;
        let asked = ground.store.bytes_asked();
        assert!(asked < 14 * MIB as u64 + 20_000, "{asked} bytes asked for");
        let most = ground.store.most_under_way.load(Ordering::Relaxed);
        assert!(most >= 3, "{most} requests at once");
        assert!(ground.metrics.ahead_used.get() > 10 * MIB as u64);
        assert_eq!(ground.metrics.ahead_wasted.get(), 0);
    });
}

#[test]
fn reads_get_no_more_from_the_store_than_the_limit_says() {
    run(async {
        let ground = Ground::new(&[("fetch.rate.limit.bytes.per.second", "4000000")]);
        let segment = ground.segment(0, 6 * MIB).await;
        let started = std::time::Instant::now();
        ground.consume(&segment).await;
        // The last request may go as soon as those before it have had their time.
        assert!(started.elapsed() > Duration::from_millis(400), "{:?}", started.elapsed());
        let again = std::time::Instant::now();
        ground.consume(&segment).await;
        assert!(again.elapsed() < started.elapsed(), "what is in memory costs nothing");
    });
}

#[test]
fn random_reads_cost_what_they_need() {
    run(async {
        let ground = Ground::new(&[]);
        let segment = ground.segment(0, 16 * MIB).await;
        let mut delivered = 0;
        for number in 0..5 {
            // Far from each other, in no order, anywhere in a block.
            let position = number * 7 % 5 * 3 * MIB + number * 33333;
            delivered += ground.read(&segment, position, READ).await - position;
        }
        let asked = ground.store.bytes_asked();
        assert!(asked as f64 <= 1.2 * delivered as f64, "{asked} bytes for {delivered}");
        assert_eq!(ground.store.gets.lock().len(), 5, "each is one request");
        assert_eq!(ground.metrics.ahead_asked.get(), 0);
    });
}

#[test]
fn several_readers_of_one_segment_share_what_they_have() {
    run(async {
        let ground = Ground::new(&[]);
        let segment = ground.segment(0, 8 * MIB).await;
        ground.store.slow_down(Duration::from_millis(5), 200);
        let readers = (0..4).map(|_| ground.consume(&segment));
        futures_util::future::join_all(readers).await;
        let asked = ground.store.bytes_asked();
        assert!(asked < 9 * MIB as u64, "{asked} bytes asked for");
    });
}

/// Knows one segment behind another.
struct Next(SegmentMetadata);

impl SegmentLedger for Next {
    fn is_condemned(&self, _segment: &SegmentId) -> bool {
        false
    }

    fn take_over_delete(&self, _segment: &SegmentMetadata) -> bool {
        false
    }

    fn next_segment(&self, segment: &SegmentMetadata) -> Option<SegmentMetadata> {
        (segment.id != self.0.id).then(|| self.0.clone())
    }
}

#[test]
fn the_first_bytes_of_the_next_segment_are_there_when_its_reader_comes() {
    run(async {
        let ground = Ground::new(&[]);
        let (first, second) = (ground.segment(0, 6 * MIB).await, ground.segment(1, 6 * MIB).await);
        let ledger: Arc<dyn SegmentLedger> = Arc::new(Next(second.clone()));
        ground.storage.join(Arc::downgrade(&ledger));
        for part in 0..5 {
            ground.read(&first, part * MIB, READ).await;
        }
        let of_second = |ground: &Ground| {
            let gets = ground.store.gets.lock();
            gets.iter()
                .filter(|(key, _)| key.contains("00001000"))
                .map(|(_, range)| range.end - range.start)
                .sum::<u64>()
        };
        // Where the next segment lies is found while the consumer goes on, and a consumer that asks again goes on, too.
        let started = Instant::now();
        while of_second(&ground) < MIB as u64 {
            assert!(started.elapsed() < Duration::from_secs(60), "{} bytes", of_second(&ground));
            ground.read(&first, 5 * MIB, READ).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        ground.consume(&second).await;
        let asked = ground.store.bytes_asked();
        assert!(asked < 12 * MIB as u64 + 20_000, "{asked} bytes asked for: some twice");
    });
}

#[test]
fn without_read_ahead_a_read_gets_what_it_asks_for() {
    run(async {
        for key in ["fetch.read.ahead.bytes.max", "fetch.chunk.cache.prefetch.max.size"] {
            let ground = Ground::new(&[(key, "0")]);
            let segment = ground.segment(0, 4 * MIB).await;
            ground.consume(&segment).await;
            assert_eq!(ground.metrics.ahead_asked.get(), 0, "{key}");
            assert!(ground.store.bytes_asked() < 5 * MIB as u64);
        }
    });
}

#[test]
fn a_chunk_cache_keeps_a_block_of_any_size_that_fits_into_it() {
    run(async {
        let ground = Ground::new(&[("fetch.chunk.cache.size", "18000000")]);
        let segment = ground.segment(0, 15 * MIB).await;
        for _ in 0..2 {
            ground.consume(&segment).await;
        }
        let asked = ground.store.bytes_asked();
        assert!(asked < 16 * MIB as u64, "{asked} bytes: one shard held less than its share");
    });
}
