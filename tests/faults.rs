//! The storage side over a store that fails: a real server behind a proxy that drops, delays, cuts, stalls and corrupts.
//!
//! `make test-faults SEED=… OPS=10000`. The seed, which is printed, decides what is done and which requests fail how; what
//! comes of it depends on the server's and the machine's pace, too.
//! `WAYS=plain,sealed` chooses what is written how.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::expect_used, reason = "tests of a shell wait and measure")]

#[path = "support/faulty.rs"]
mod faulty;
mod support;
#[path = "support/weed.rs"]
mod weed;

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use faulty::{Dice, Fault, FaultyProxy, Mode};
use support::{Sample, manager, metric, read};
use undercroft::model::{IndexType, KafkaUuid, SegmentMetadata};
use undercroft::storage::{StorageError, StorageManager};
use weed::{ACCESS_KEY, SECRET_KEY, Weed, weed};

const WORKERS: u64 = 12;
/// Segments of a worker at once.
const LIVE_MAX: usize = 10;
/// What each call may take at most by its settings, and some seconds for a machine that is busy.
const COPY: Duration = Duration::from_secs(30 + 3 + 12);
const READ: Duration = Duration::from_secs(9 + 9 + 12);
const DELETE: Duration = Duration::from_secs(4 * 9 + 12);

fn s3(endpoint: &str, bucket: &str, more: &[(&str, String)]) -> StorageManager {
    let own = [
        ("storage.backend.class", "s3"),
        ("storage.s3.endpoint.url", endpoint),
        ("storage.s3.bucket.name", bucket),
        ("storage.aws.access.key.id", ACCESS_KEY),
        ("storage.aws.secret.access.key", SECRET_KEY),
        ("storage.s3.multipart.upload.part.size", "5242880"),
        ("storage.s3.api.call.timeout", "9000"),
        ("storage.s3.api.call.attempt.timeout", "3000"),
        ("storage.connect.timeout.ms", "3000"),
        ("storage.retry.attempts.max", "2"),
        ("storage.retry.delay.ms", "20"),
        ("upload.timeout.ms", "30000"),
        ("upload.no.progress.timeout.ms", "10000"),
        ("upload.cleanup.timeout.ms", "4000"),
        ("upload.outage.retry.interval.ms", "200"),
        // Little is found in memory.
        ("fetch.window.bytes.min", "131072"),
        ("fetch.window.bytes.max", "524288"),
        ("fetch.chunk.cache.size", "4194304"),
        ("fetch.failure.delay.ms", "0"),
    ];
    let more = more.iter().map(|(key, value)| (*key, value.as_str()));
    manager(&own.into_iter().chain(more).collect::<Vec<_>>())
}

/// A bucket with something in it: the first write into one takes the server long.
async fn make_bucket(weed: &Weed, bucket: &str) {
    weed.make_bucket(bucket);
    let patient = [
        ("storage.s3.api.call.timeout", "60000".to_owned()),
        ("storage.s3.api.call.attempt.timeout", "20000".to_owned()),
    ];
    let manager = s3(&weed.endpoint(), bucket, &patient);
    // A loaded server answers the first writes with its own failure.
    let started = Instant::now();
    while let Err(error) = manager.check().await {
        assert!(started.elapsed() < Duration::from_secs(60), "not usable: {error:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    manager.close().await;
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_millis() as u64)
}

/// A segment whose bytes, name and size follow from the dice, and are nobody else's.
struct Segment {
    sample: Sample,
    indexes: Vec<(IndexType, Vec<u8>)>,
}

impl Segment {
    fn new(topic: &str, dice: &mut Dice) -> Self {
        let size = match dice.below(100) {
            0..10 => dice.below(100),
            10..80 => dice.below(400_000),
            80..95 => dice.below(2_000_000),
            _ => 5_000_000 + dice.below(6_000_000),
        };
        let mut sample = Sample::of_topic(topic, size as usize);
        let mut uuid = [0; 16];
        uuid[..8].copy_from_slice(&dice.next().to_be_bytes());
        uuid[8..].copy_from_slice(&dice.next().to_be_bytes());
        sample.segment.id.uuid = KafkaUuid(uuid);
        for (at, eight) in sample.data.chunks_mut(8).enumerate() {
            // Some that compresses, some that doesn't.
            let number = if at % 1024 < 300 { 0x4b61_666b_6120_2121 } else { dice.next() };
            eight.copy_from_slice(&number.to_be_bytes()[..eight.len()]);
        }
        std::fs::write(&sample.files.log, &sample.data).expect("written");
        let mut file = |path: &std::path::Path, entry: u64| {
            let bytes: Vec<u8> = (0..entry * (1 + dice.below(200))).map(|_| dice.next() as u8).collect();
            std::fs::write(path, &bytes).expect("written");
            bytes
        };
        let indexes = vec![
            (IndexType::Offset, file(&sample.files.offset_index, 8)),
            (IndexType::Timestamp, file(&sample.files.time_index, 12)),
            (IndexType::ProducerSnapshot, file(&sample.files.producer_snapshot, 5)),
            (IndexType::LeaderEpoch, sample.files.leader_epochs.to_vec()),
        ];
        Self { sample, indexes }
    }
}

/// What the store is asked for and what came of it, by operation and kind of error.
type Tally = BTreeMap<(&'static str, &'static str), u64>;

struct Worker {
    manager: StorageManager,
    topic: String,
    dice: Dice,
    live: Vec<Segment>,
    /// Copies and deletes that failed or were broken off: a broker deletes these later.
    owed: Vec<SegmentMetadata>,
    tally: Tally,
}

/// Fails the test if a call lasts longer than it may.
async fn within<T>(limit: Duration, what: &str, call: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, call).await.unwrap_or_else(|_| panic!("{what} lasts longer than {limit:?}"))
}

impl Worker {
    fn new(manager: &StorageManager, topic: &str, seed: u64, number: u64) -> Self {
        let dice = Dice::new(seed, number);
        Self {
            manager: manager.clone(),
            topic: topic.to_owned(),
            dice,
            live: vec![],
            owed: vec![],
            tally: Tally::new(),
        }
    }

    /// Whether it went well. What isn't there, or not allowed, is never what a failing store is taken for.
    fn judge<T>(&mut self, what: &'static str, outcome: &Result<T, StorageError>) -> bool {
        let kind = outcome.as_ref().err().map_or("ok", StorageError::kind);
        *self.tally.entry((what, kind)).or_default() += 1;
        let is_foreseen = match kind {
            "ok" | "unreachable" | "timeout" => true,
            // A copy: of an object that a server joined wrongly, which is removed again.
            "corrupt" => matches!(what, "read" | "read on" | "index" | "copy"),
            _ => false,
        };
        assert!(is_foreseen, "{what}: {:?}", outcome.as_ref().err());
        outcome.is_ok()
    }

    fn any(&mut self) -> usize {
        self.dice.below(self.live.len() as u64) as usize
    }

    async fn step(&mut self) {
        match self.dice.below(100) {
            _ if self.live.is_empty() => self.copy().await,
            0..20 if self.live.len() < LIVE_MAX => self.copy().await,
            0..20 => self.delete().await,
            20..50 => self.read().await,
            50..62 => self.read_on().await,
            62..76 => self.index().await,
            76..84 => self.delete().await,
            _ => self.break_off().await,
        }
    }

    async fn copy(&mut self) {
        let mut segment = Segment::new(&self.topic, &mut self.dice);
        let copied = within(COPY, "copy", segment.sample.copy(&self.manager)).await;
        if self.judge("copy", &copied) {
            self.live.push(segment);
        } else {
            self.owed.push(segment.sample.segment.clone());
        }
    }

    async fn read(&mut self) {
        let at = self.any();
        let size = self.live[at].sample.data.len() as u64;
        let start = self.dice.below(size);
        let end = start + self.dice.below(300_000);
        let got = self.read_range(at, start, end).await;
        self.judge("read", &got);
    }

    /// As a consumer does: some bytes from a position, close, and on from behind them.
    async fn read_on(&mut self) {
        let (at, step) = (self.any(), 20_000 + self.dice.below(200_000));
        let size = self.live[at].sample.data.len() as u64;
        let mut start = 0;
        while start < size.min(4 * step) {
            let got = self.read_range(at, start, start + step - 1).await;
            if !self.judge("read on", &got) {
                return;
            }
            start += step;
        }
    }

    /// Reads `start..=end` and compares it: neither a wrong byte nor fewer of them are ever taken for a success.
    async fn read_range(&self, at: usize, start: u64, end: u64) -> Result<(), StorageError> {
        let Sample { segment, data, .. } = &self.live[at].sample;
        if data.is_empty() {
            return Ok(());
        }
        let expected = &data[start as usize..data.len().min(end as usize + 1)];
        let mut reader = self.manager.fetch(segment, start, Some(end))?;
        let mut got = 0;
        loop {
            let bytes = within(READ, "read", reader.read()).await?;
            if bytes.is_empty() {
                assert_eq!(got, expected.len(), "{}: ends early, asked for {start} to {end}", segment.id);
                return Ok(());
            }
            assert!(
                expected.get(got..got + bytes.len()) == Some(&bytes[..]),
                "{}: wrong bytes at {}",
                segment.id,
                start + got as u64
            );
            got += bytes.len();
        }
    }

    async fn index(&mut self) {
        let at = self.any();
        let which = self.dice.below(4) as usize;
        let got = {
            let (segment, (index, expected)) = (&self.live[at].sample.segment, &self.live[at].indexes[which]);
            let got = within(READ, "index", self.manager.fetch_index(segment, *index)).await;
            assert!(got.as_ref().is_ok_and(|got| got == expected) || got.is_err(), "{}: wrong index", segment.id);
            got
        };
        self.judge("index", &got);
    }

    async fn delete(&mut self) {
        let at = self.any();
        let segment = self.live.swap_remove(at).sample.segment;
        let deleted = within(DELETE, "delete", self.manager.delete(std::slice::from_ref(&segment))).await;
        if !self.judge("delete", &deleted) {
            self.owed.push(segment);
        }
    }

    /// Begins something and drops it after some milliseconds.
    async fn break_off(&mut self) {
        let patience = Duration::from_millis(self.dice.below(150));
        let is_done = match self.dice.below(4) {
            0 => {
                let mut segment = Segment::new(&self.topic, &mut self.dice);
                let copied = tokio::time::timeout(patience, segment.sample.copy(&self.manager)).await;
                match copied {
                    Ok(Ok(())) => self.live.push(segment),
                    _ => self.owed.push(segment.sample.segment.clone()),
                }
                copied.is_ok()
            }
            1 => {
                let at = self.any();
                let segment = self.live.swap_remove(at).sample.segment;
                let delete = self.manager.delete(std::slice::from_ref(&segment));
                let deleted = tokio::time::timeout(patience, delete).await;
                self.owed.push(segment);
                deleted.is_ok()
            }
            2 => {
                let at = self.any();
                let end = self.live[at].sample.data.len() as u64;
                tokio::time::timeout(patience, self.read_range(at, 0, end)).await.is_ok()
            }
            _ => {
                let segment = &self.live[self.dice.below(self.live.len() as u64) as usize].sample.segment;
                tokio::time::timeout(patience, self.manager.fetch_index(segment, IndexType::Offset)).await.is_ok()
            }
        };
        *self.tally.entry(("broken off", if is_done { "too late" } else { "ok" })).or_default() += 1;
    }
}

/// How segments are written. Reads know all of it.
fn ways() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let pem = |name: &str| format!("{}/tests/data/aiven/{name}", env!("CARGO_MANIFEST_DIR"));
    let zstd = vec![("compression.enabled", "true".to_owned())];
    let aes = vec![
        ("encryption.enabled", "true".to_owned()),
        ("encryption.key.pair.id", "k1".to_owned()),
        ("encryption.key.pairs", "k1".to_owned()),
        ("encryption.key.pairs.k1.private.key.file", pem("priv.pem")),
        ("encryption.key.pairs.k1.public.key.file", pem("pub.pem")),
    ];
    let sealed = [zstd.clone(), aes.clone()].concat();
    let aiven = vec![("storage.layout", "aiven".to_owned()), ("chunk.size", "65536".to_owned())];
    let aiven_sealed = [aiven.clone(), sealed.clone()].concat();
    let all = [
        ("plain", vec![]),
        ("zstd", zstd),
        ("aes", aes),
        ("sealed", sealed),
        (AIVEN_PLAIN, aiven),
        ("aiven-sealed", aiven_sealed),
    ];
    let chosen = std::env::var("WAYS").unwrap_or_default();
    all.into_iter().filter(|(way, _)| chosen.is_empty() || chosen.split(',').any(|name| name == *way)).collect()
}

/// The way whose bytes have no checksums at all.
const AIVEN_PLAIN: &str = "aiven";

/// Endings of objects of a way in which a bit may be another one without anybody's noticing. A manifest is plain JSON.
fn unchecked(way: &str) -> &'static [&'static str] {
    if way == AIVEN_PLAIN { &[".rsm-manifest", ".log", ".indexes"] } else { &[".rsm-manifest"] }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes: make test-faults"]
async fn no_fault_makes_a_wrong_byte_a_hang_or_something_that_stays() {
    let Some(weed) = weed() else { return };
    let (seed, ops) = (number("SEED", now()), number("OPS", 400));
    let ways = ways();
    for (way, settings) in &ways {
        println!("{way}: SEED={seed} OPS={}", ops / ways.len() as u64);
        run(weed, seed, ops / ways.len() as u64, way, settings).await;
    }
}

async fn run(weed: &Weed, seed: u64, ops: u64, way: &str, settings: &[(&str, String)]) {
    let bucket = format!("faults-{way}");
    make_bucket(weed, &bucket).await;
    let proxy = FaultyProxy::to(weed.s3_port, seed);
    proxy.spare(unchecked(way));
    let manager = s3(&proxy.endpoint(), &bucket, settings);
    manager.check().await.expect("usable");
    proxy.set(Mode::Random(u32::try_from(number("FAULTS", 100)).expect("small")));
    let started = Instant::now();
    let workers = (0..WORKERS).map(|number| {
        let mut worker = Worker::new(&manager, "faults", seed, number);
        tokio::spawn(async move {
            for _ in 0..ops.div_ceil(WORKERS) {
                worker.step().await;
            }
            worker
        })
    });
    let (mut live, mut owed, mut tally) = (vec![], vec![], Tally::new());
    for worker in workers.collect::<Vec<_>>() {
        let worker = worker.await.expect("no worker fails");
        live.extend(worker.live);
        owed.extend(worker.owed);
        worker.tally.into_iter().for_each(|(what, count)| *tally.entry(what).or_default() += count);
    }
    let (faults, seconds) = (proxy.faults(), started.elapsed().as_secs_f64());
    println!("{way}: {faults} faults in {} requests in {seconds:.0} s: {}", proxy.requests(), proxy.told());
    println!("{way}: {tally:?}; {} segments live, {} owed", live.len(), owed.len());
    assert!(faults * 20 > proxy.requests() * number("FAULTS", 100) / 100, "hardly a fault");

    proxy.set(Mode::Clean);
    within(Duration::from_secs(30), "close", manager.close()).await;
    let manager = s3(&proxy.endpoint(), &bucket, settings);
    for segment in &owed {
        let deleted = within(DELETE, "delete", manager.delete(std::slice::from_ref(segment))).await;
        assert!(deleted.is_ok(), "{}: {deleted:?}", segment.id);
    }
    for Segment { sample, indexes } in &live {
        let got = read(&manager, &sample.segment, 0, None).await.expect("still there");
        assert!(got == sample.data, "{}: wrong bytes at the end", sample.segment.id);
        for (index, expected) in indexes {
            let got: Bytes = manager.fetch_index(&sample.segment, *index).await.expect("still there");
            assert!(got == *expected, "{}: wrong index at the end", sample.segment.id);
        }
    }
    let objects = |topic: &Segment| {
        let partition = &topic.sample.segment.id.partition;
        format!("{}-{}/{}/", partition.topic, partition.topic_id, partition.partition)
    };
    if let Some(first) = live.first() {
        let there = weed.names(&bucket, &objects(first));
        let unknown: Vec<_> = there.iter().filter(|name| !live.iter().any(|one| owns(one, name))).collect();
        assert!(unknown.is_empty(), "{} objects of nobody: {unknown:?}", unknown.len());
    }
    assert_eq!(weed.open_uploads(&bucket), Vec::<String>::new(), "uploads that nobody goes on with");
    manager.close().await;
}

/// Whether a file of the store is of this segment.
fn owns(segment: &Segment, name: &str) -> bool {
    name.contains(&segment.sample.segment.id.uuid.to_string())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make test-faults"]
async fn a_store_that_says_no_such_bucket_is_misconfigured_for_every_operation() {
    let Some(weed) = weed() else { return };
    make_bucket(weed, "faults-gone").await;
    let proxy = FaultyProxy::to(weed.s3_port, 1);
    let manager = s3(&proxy.endpoint(), "faults-gone", &[]);
    let mut dice = Dice::new(1, "gone");
    let mut there = Segment::new("gone", &mut dice);
    there.sample.copy(&manager).await.expect("copied");
    proxy.set(Mode::NoBucket);
    let segment = there.sample.segment.clone();
    let (mut small, mut large) = (Sample::of_topic("gone", 1000), Sample::of_topic("gone", 12 << 20));
    let outcomes = [
        ("read", read(&manager, &segment, 0, None).await.map(|_| ())),
        ("index", manager.fetch_index(&segment, IndexType::Offset).await.map(|_| ())),
        ("copy at once", small.copy(&manager).await),
        ("copy in parts", large.copy(&manager).await),
        ("delete", manager.delete(std::slice::from_ref(&segment)).await),
        ("delete two", manager.delete(&[segment.clone(), small.segment.clone()]).await),
        ("check", manager.check().await),
    ];
    for (what, outcome) in outcomes {
        assert!(matches!(outcome, Err(StorageError::Misconfigured { .. })), "{what}: {outcome:?}");
    }
    proxy.set(Mode::Clean);
    assert_eq!(read(&manager, &segment, 0, None).await.expect("back"), there.sample.data);
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make test-faults"]
async fn corrupt_bytes_are_corrupt_and_are_not_kept() {
    let Some(weed) = weed() else { return };
    make_bucket(weed, "faults-corrupt").await;
    let proxy = FaultyProxy::to(weed.s3_port, 7);
    let mut dice = Dice::new(7, "corrupt");
    for (way, settings) in ways().into_iter().filter(|(way, _)| *way != AIVEN_PLAIN) {
        proxy.spare(unchecked(way));
        let manager = s3(&proxy.endpoint(), "faults-corrupt", &settings);
        for _ in 0..20 {
            let mut segment = Segment::new("corrupt", &mut dice);
            segment.sample.copy(&manager).await.expect("copied");
            let Sample { segment: metadata, data, .. } = &segment.sample;
            proxy.set(Mode::Reads(Fault::Corrupt));
            for _ in 0..2 {
                let got = read(&manager, metadata, 0, None).await;
                // A flipped bit of the version says that something newer wrote it.
                let is_told = matches!(got, Err(StorageError::Corrupt { .. } | StorageError::Unsupported { .. }));
                assert!(is_told || data.is_empty(), "{way}: {got:?}");
                // The bit may be one of another index, all of which come at once.
                match manager.fetch_index(metadata, IndexType::Offset).await {
                    Ok(got) => assert!(got == segment.indexes[0].1, "{way}: a wrong index"),
                    Err(StorageError::Corrupt { .. } | StorageError::Unsupported { .. }) => {}
                    Err(error) => panic!("{way}: {error:?}"),
                }
            }
            proxy.set(Mode::Clean);
            assert!(read(&manager, metadata, 0, None).await.expect("whole") == *data, "{way}: something was kept");
            let got = manager.fetch_index(metadata, IndexType::Offset).await.expect("whole");
            assert!(got == segment.indexes[0].1, "{way}: an index was kept");
        }
        assert!(metric(&manager, "errors-corrupt-total") > 0.0, "{way}");
        manager.close().await;
    }
}

/// A listing that never ends is part of no read or copy, and a delete gets over it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make test-faults"]
async fn a_bucket_whose_listing_never_ends_holds_nobody() {
    let Some(weed) = weed() else { return };
    make_bucket(weed, "faults-endless").await;
    let proxy = FaultyProxy::to(weed.s3_port, 1);
    let manager = s3(&proxy.endpoint(), "faults-endless", &[]);
    let mut segment = Segment::new("endless", &mut Dice::new(1, "endless"));
    proxy.set(Mode::EndlessLists);
    within(COPY, "copy", segment.sample.copy(&manager)).await.expect("copied");
    let Sample { segment: metadata, data, .. } = &segment.sample;
    assert_eq!(within(READ, "read", read(&manager, metadata, 0, None)).await.expect("read"), *data);
    let deleted = within(DELETE, "delete", manager.delete(std::slice::from_ref(metadata))).await;
    assert!(deleted.is_ok() || deleted.as_ref().is_err_and(StorageError::is_retriable), "{deleted:?}");
    proxy.set(Mode::Clean);
    within(DELETE, "delete", manager.delete(std::slice::from_ref(metadata))).await.expect("deleted");
    manager.close().await;
}
