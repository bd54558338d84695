//! Copy and read of a segment beside the least that the same bytes cost: `cp`, and OpenDAL without anything around it.
//!
//! `cargo bench --bench storage [-- --mib N] [--segments N] [--rounds N]`. All rows are measured in one run, one after the
//! other, over the same bytes in the page cache of one folder; compare the ratios, not the seconds of different days. CPU is that of the whole
//! process (for `cp`: of the child), user and system.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a measuring program: it reads the clock, and a failure may end it"
)]

use std::hint::black_box;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bytes::Bytes;
use undercroft::config::Config;
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, TopicIdPartition,
};
use undercroft::storage::{SegmentFiles, StorageEnv, StorageManager};

const GB: f64 = 1e9;

struct Row {
    what: &'static str,
    bytes: u64,
    wall_s: f64,
    cpu_s: f64,
}

fn cpu_seconds(who: libc::c_int) -> f64 {
    // SAFETY: an all-zero `rusage` is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for one write.
    let status = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(status, 0, "getrusage");
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn measure(what: &'static str, bytes: u64, who: libc::c_int, work: impl FnOnce()) -> Row {
    let (cpu, start) = (cpu_seconds(who), Instant::now());
    work();
    Row { what, bytes, wall_s: start.elapsed().as_secs_f64(), cpu_s: cpu_seconds(who) - cpu }
}

/// Bytes that no layer can shorten or share: a counter run through a mixer.
fn write_source(path: &Path, bytes: u64) {
    let mut file = std::io::BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..bytes / 8 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        file.write_all(&state.to_le_bytes()).unwrap();
    }
    file.flush().unwrap();
}

fn segment(number: u8, size_bytes: u64) -> SegmentMetadata {
    SegmentMetadata {
        id: SegmentId {
            partition: TopicIdPartition::new(KafkaUuid([7; 16]), "bench", 0),
            uuid: KafkaUuid([number + 1; 16]),
        },
        start_offset: Offset(i64::from(number) * 1000),
        end_offset: Offset(i64::from(number) * 1000 + 999),
        max_timestamp_ms: 1,
        broker_id: BrokerId(1),
        event_timestamp_ms: 1,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(i64::from(number) * 1000))]).unwrap(),
        size_bytes: i32::try_from(size_bytes).unwrap(),
        custom_metadata: None,
        state: SegmentState::CopyStarted,
        is_txn_index_empty: true,
    }
}

fn argument(name: &str, default: u64) -> u64 {
    let mut args = std::env::args().skip_while(|arg| arg != name).skip(1);
    args.next().map_or(default, |text| text.parse().expect("a whole number"))
}

/// Everything that the rounds share.
struct Ground {
    runtime: tokio::runtime::Runtime,
    storage: StorageManager,
    operator: opendal::Operator,
    files: SegmentFiles,
    folder: tempfile::TempDir,
    segments: u8,
    size: u64,
}

impl Ground {
    fn new(segments: u8, size: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("source"), folder.path().join("store"));
        std::fs::create_dir(&target).unwrap();
        write_source(&source, size);
        let index = folder.path().join("index");
        std::fs::write(&index, vec![1_u8; 64 << 10]).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut config = Config::new();
        config.set("storage.backend.class", "filesystem");
        config.set("storage.root", target.to_str().unwrap());
        let storage = StorageManager::open(&config, StorageEnv { runtime: runtime.handle().clone() }).unwrap();
        let root = opendal::services::Fs::default().root(folder.path().to_str().unwrap());
        let files = SegmentFiles {
            log: source,
            offset_index: index.clone(),
            time_index: index.clone(),
            transaction_index: None,
            producer_snapshot: index,
            leader_epochs: Bytes::from_static(b"0\n1\n0 0\n"),
        };
        Self { runtime, storage, operator: opendal::Operator::new(root).unwrap(), files, folder, segments, size }
    }

    fn total(&self) -> u64 {
        self.size * u64::from(self.segments)
    }

    fn plain(&self, number: u8) -> PathBuf {
        self.folder.path().join(format!("plain-{number}"))
    }

    /// All rows once. What a round wrote is deleted at its end, so that every round meets the same free memory.
    fn round(&self) -> Vec<Row> {
        let mut rows = vec![self.cp("cp", &[]), self.cp("cp, then sync as a store must", &["sync"])];
        let mut all: Vec<SegmentMetadata> = (0..self.segments).map(|number| segment(number, self.size)).collect();
        rows.push(measure("copy, undercroft to a folder", self.total(), libc::RUSAGE_SELF, || {
            for segment in &mut all {
                segment.custom_metadata = self.runtime.block_on(self.storage.copy(segment, &self.files)).unwrap();
            }
        }));
        rows.push(measure("read, OpenDAL alone", self.total(), libc::RUSAGE_SELF, || {
            (0..self.segments).for_each(|number| self.runtime.block_on(self.read_plain(number)));
        }));
        rows.push(measure("read, undercroft from a folder", self.total(), libc::RUSAGE_SELF, || {
            all.iter().for_each(|segment| self.runtime.block_on(self.read_back(segment)));
        }));
        self.runtime.block_on(self.storage.delete(&all)).unwrap();
        (0..self.segments).for_each(|number| std::fs::remove_file(self.plain(number)).unwrap());
        rows
    }

    fn cp(&self, what: &'static str, then: &[&str]) -> Row {
        measure(what, self.total(), libc::RUSAGE_CHILDREN, || {
            for number in 0..self.segments {
                let path = self.plain(number);
                assert!(std::process::Command::new("cp").arg(&self.files.log).arg(&path).status().unwrap().success());
                for command in then {
                    assert!(std::process::Command::new(command).arg(&path).status().unwrap().success());
                }
            }
        })
    }

    async fn read_plain(&self, number: u8) {
        const CHUNK: u64 = 4 << 20;
        let reader = self.operator.reader_with(&format!("plain-{number}")).await.unwrap();
        for start in (0..self.size).step_by(4 << 20) {
            black_box(reader.read(start..(start + CHUNK).min(self.size)).await.unwrap());
        }
    }

    async fn read_back(&self, segment: &SegmentMetadata) {
        let mut reader = self.storage.fetch(segment, 0, None).unwrap();
        let mut got = 0;
        loop {
            let bytes = reader.read().await.unwrap();
            if bytes.is_empty() {
                break;
            }
            got += bytes.len() as u64;
            black_box(bytes);
        }
        assert_eq!(got, self.size, "all bytes of the segment");
    }
}

/// The round in the middle, judged by CPU.
fn median(rounds: &mut [Vec<Row>], row: usize) -> &Row {
    rounds.sort_by(|a, b| a[row].cpu_s.total_cmp(&b[row].cpu_s));
    &rounds[rounds.len() / 2][row]
}

fn main() {
    let segments = u8::try_from(argument("--segments", 4)).expect("at most 255");
    let mib = argument("--mib", 256);
    let rounds = argument("--rounds", 3);
    let ground = Ground::new(segments, mib << 20);
    ground.round(); // Touches memory that the machine may have to find first.
    let mut rounds: Vec<Vec<Row>> = (0..rounds).map(|_| ground.round()).collect();
    ground.runtime.block_on(ground.storage.close());

    println!("{segments} segments of {mib} MiB, median of {} rounds", rounds.len());
    println!("{:<34} {:>9} {:>14} {:>14}", "work", "wall s", "MB/s", "CPU s per GB");
    for row in 0..rounds[0].len() {
        let row = median(&mut rounds, row);
        let gb = row.bytes as f64 / GB;
        println!("{:<34} {:>9.2} {:>14.0} {:>14.2}", row.what, row.wall_s, gb * 1000.0 / row.wall_s, row.cpu_s / gb);
    }
}
