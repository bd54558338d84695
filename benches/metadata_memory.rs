//! What the state of partitions costs: memory per live segment and per deleted one, and the time of a record and of
//! lookups.
//!
//! `cargo bench --bench metadata_memory [-- SEGMENTS PARTITIONS]`, by default 86,000 live segments in 1,000 partitions. Memory is what the
//! allocator has handed out, its own overhead included (glibc's `mallinfo2`).

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a measuring program: it reads the clock, and a failure may end it"
)]

use std::hint::black_box;

use bytes::Bytes;
use undercroft::metadata::partition::{Entry, Naming, PartitionState};
use undercroft::metadata::plan::{add_key, update_key};
use undercroft::model::SegmentState::{self, CopyFinished, CopyStarted, DeleteFinished, DeleteStarted};
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentUpdate,
    TopicIdPartition,
};
use undercroft::wire::{Record, RecordKey, UpdateRecord, WholeSegment};

const RECORDS_EACH: i64 = 1_000;
const NAMING: Naming = Naming { epoch: LeaderEpoch(7), has_segment_id: false };

struct Case {
    name: &'static str,
    has_keys: bool,
    custom_metadata: Option<Bytes>,
    /// One epoch a segment, or two.
    epochs: usize,
}

struct History {
    partitions: usize,
    segments: usize,
    case: Case,
    records: u64,
}

fn allocated() -> f64 {
    // SAFETY: takes nothing, gives a plain struct.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as f64
}

/// CPU time of this thread: others may want the machine too.
fn cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for one write.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Ids like those that brokers make: random but for the kind.
fn id(seed: u64) -> KafkaUuid {
    let mix = |seed: u64| {
        let x = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)).cast_signed()
    };
    KafkaUuid::from_halves(mix(seed * 2), mix(seed * 2 + 1))
}

impl History {
    fn partition(&self, number: usize) -> TopicIdPartition {
        TopicIdPartition::new(id(u64::MAX / 4 - number as u64 / 16), "orders", i32::try_from(number % 16).unwrap())
    }

    fn take(&mut self, state: &mut PartitionState, key: &RecordKey, body: Record) {
        let key = self.case.has_keys.then_some(key);
        let offset = i64::try_from(self.records).unwrap();
        self.records += 1;
        let _ = state.take(Entry { offset, timestamp_ms: offset, seen_ms: offset, key, body: Some(&body) });
    }

    fn add(&mut self, state: &mut PartitionState, partition: &TopicIdPartition, uuid: KafkaUuid, at: usize) {
        let start = i64::try_from(at).unwrap() * RECORDS_EACH;
        let end = start + RECORDS_EACH - 1;
        let epochs = [(LeaderEpoch(7), Offset(start)), (LeaderEpoch(8), Offset(start + 10))];
        let metadata = SegmentMetadata {
            id: SegmentId { partition: partition.clone(), uuid },
            start_offset: Offset(start),
            end_offset: Offset(end),
            max_timestamp_ms: start,
            broker_id: BrokerId(1),
            event_timestamp_ms: start,
            epochs: SegmentEpochs::new(epochs[..self.case.epochs].to_vec()).unwrap(),
            size_bytes: 1 << 30,
            custom_metadata: None,
            state: CopyStarted,
            is_txn_index_empty: true,
        };
        let key = add_key(partition, Offset(end), uuid, NAMING);
        self.take(state, &key, Record::Segment(WholeSegment { metadata, leader_epoch: LeaderEpoch(7) }));
    }

    fn step(
        &mut self,
        state: &mut PartitionState,
        partition: &TopicIdPartition,
        uuid: KafkaUuid,
        at: usize,
        steps: (SegmentState, SegmentState),
    ) {
        let end = Offset(i64::try_from(at + 1).unwrap() * RECORDS_EACH - 1);
        let update = SegmentUpdate {
            id: SegmentId { partition: partition.clone(), uuid },
            broker_id: BrokerId(1),
            event_timestamp_ms: end.0,
            custom_metadata: self.case.custom_metadata.clone(),
            state: steps.1,
        };
        let key = update_key(partition, end, uuid, NAMING, steps, 0);
        let record = UpdateRecord { update, leader_epoch: LeaderEpoch(7), end_offset: Some(end) };
        self.take(state, &key, Record::Update(record));
    }

    fn run(mut self) {
        let before = allocated();
        let mut states: Vec<PartitionState> = Vec::with_capacity(self.partitions);
        let since = cpu_ns();
        for number in 0..self.partitions {
            let partition = self.partition(number);
            states.push(PartitionState::new(partition));
        }
        let empty = allocated() - before;
        // As a log has them: all partitions side by side.
        for at in 0..self.segments / self.partitions {
            for (number, state) in states.iter_mut().enumerate() {
                let partition = state.partition().clone();
                let uuid = id((at * self.partitions + number) as u64);
                self.add(state, &partition, uuid, at);
                self.step(state, &partition, uuid, at, (CopyStarted, CopyFinished));
            }
        }
        let record_ns = (cpu_ns() - since) / self.records as f64;
        let live: usize = states.iter().map(PartitionState::live_segments).sum();
        let full = allocated() - before;
        let (find_ns, hot_ns, highest_ns, list_ns) = lookups(&states, self.segments / self.partitions);
        println!(
            "{:<44} {:>6.1} bytes a live segment ({:.0} an empty partition); a record {record_ns:.0} ns, find {find_ns:.0} \
             ns ({hot_ns:.0} in one partition), highest {highest_ns:.0} ns, list {list_ns:.0} ns a segment",
            self.case.name,
            full / live as f64,
            empty / self.partitions as f64,
        );
        for at in 0..self.segments / self.partitions {
            for (number, state) in states.iter_mut().enumerate() {
                let partition = state.partition().clone();
                let uuid = id((at * self.partitions + number) as u64);
                self.step(state, &partition, uuid, at, (CopyFinished, DeleteStarted));
                self.step(state, &partition, uuid, at, (DeleteStarted, DeleteFinished));
            }
        }
        assert_eq!(states.iter().map(PartitionState::live_segments).sum::<usize>(), 0);
        println!("{:<44} {:>6.1} bytes a deleted segment", "", (allocated() - before) / live as f64);
    }
}

/// Nanoseconds of a find among all partitions, of one in a single partition, of a highest offset, and of a list for each segment that it shows.
fn lookups(states: &[PartitionState], each: usize) -> (f64, f64, f64, f64) {
    const CALLS: usize = 400_000;
    let end = i64::try_from(each).unwrap() * RECORDS_EACH;
    let mut place = 12_345_usize;
    let mut next = || {
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (place >> 33, i64::try_from(place >> 20).unwrap() % end)
    };
    let mut find_among = |states: &[PartitionState]| {
        let since = cpu_ns();
        for _ in 0..CALLS {
            let (number, offset) = next();
            black_box(states[number % states.len()].find(LeaderEpoch(7), Offset(offset)));
        }
        (cpu_ns() - since) / CALLS as f64
    };
    let (find_ns, hot_ns) = (find_among(states), find_among(&states[..1]));
    let since = cpu_ns();
    for _ in 0..CALLS {
        let (number, _) = next();
        black_box(states[number % states.len()].highest_offset(LeaderEpoch(7)));
    }
    let highest_ns = (cpu_ns() - since) / CALLS as f64;
    let since = cpu_ns();
    let listed: usize = states.iter().map(|state| black_box(state.list(Some(LeaderEpoch(7)))).len()).sum();
    (find_ns, hot_ns, highest_ns, (cpu_ns() - since) / listed.max(1) as f64)
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (segments, partitions) = (*numbers.first().unwrap_or(&86_000), *numbers.get(1).unwrap_or(&1_000));
    let custom = || Some(Bytes::from_static(&[7; 34]));
    let cases = [
        Case { name: "without keys or custom metadata", has_keys: false, custom_metadata: None, epochs: 1 },
        Case { name: "with keys, without custom metadata", has_keys: true, custom_metadata: None, epochs: 1 },
        Case {
            name: "with keys and 34 bytes of custom metadata",
            has_keys: true,
            custom_metadata: custom(),
            epochs: 1,
        },
        Case { name: "the same, each of two leader epochs", has_keys: true, custom_metadata: custom(), epochs: 2 },
    ];
    for case in cases {
        History { partitions, segments, case, records: 0 }.run();
    }
}
