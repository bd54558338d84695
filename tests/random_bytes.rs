//! A short random run of the fuzz targets' entries: random bytes, and damaged examples. Takes about a second.
//!
//! `SEED=<number> cargo test --test random_bytes` repeats a run.

#![allow(clippy::expect_used, clippy::panic, reason = "a test's way to fail")]

#[path = "../fuzz/entries.rs"]
mod entries;

use std::hash::{BuildHasher as _, RandomState};
use std::panic::catch_unwind;

/// Runs of each entry; a debug build does about 300,000 a second.
const ROUNDS: usize = 150_000;

/// `SplitMix64`: small, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("below a usize")
    }

    /// Bytes that are often small or at a limit, as lengths are.
    fn byte(&mut self) -> u8 {
        match self.below(4) {
            0 => self.next() as u8,
            1 => self.below(8) as u8,
            2 => [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
            _ => b"AZaz09-_:.UPDELGON"[self.below(18)],
        }
    }

    /// Nothing but random bytes, or an example with some changed, put in, taken out or cut off.
    fn input(&mut self, examples: &[Vec<u8>]) -> Vec<u8> {
        if self.below(5) == 0 || examples.is_empty() {
            return (0..self.below(200)).map(|_| self.byte()).collect();
        }
        let mut bytes = examples[self.below(examples.len())].clone();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes.insert(at, self.byte()),
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 => bytes.truncate(at),
                _ if !bytes.is_empty() => bytes[at] = self.byte(),
                _ => {}
            }
        }
        bytes
    }
}

fn seed() -> u64 {
    match std::env::var("SEED") {
        Ok(text) => text.parse().expect("SEED is a number"),
        Err(_) => RandomState::new().hash_one("seed"),
    }
}

fn run(entry: fn(&[u8]), examples: &[Vec<u8>]) {
    let seed = seed();
    println!("SEED={seed}");
    for example in examples {
        entry(example);
    }
    let mut random = Random(seed);
    for round in 0..ROUNDS {
        let input = random.input(examples);
        if catch_unwind(|| entry(&input)).is_err() {
            panic!("SEED={seed}, round {round}: {input:02x?}");
        }
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal")).collect()
}

fn record_values() -> Vec<Vec<u8>> {
    let lines = include_str!("data/metadata_records.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| hex(line.split_once(": ").expect("name: hex").1)).collect()
}

#[test]
fn no_record_value_panics() {
    let examples = record_values();
    assert!(examples.len() >= 18, "the examples are there");
    run(entries::record_value, &examples);
}

#[test]
fn no_record_key_panics() {
    const BASE: &str = "AAAAAAAAAAAAAAAAAAAAyg:orders:7:99:5";
    const SEGMENT: &str = "AAAAAAAAAAAAAAAAAAAA_g";
    let suffixes = ["".to_owned(), format!(":{SEGMENT}"), ":UPDATE".to_owned(), format!(":DEL:{SEGMENT}")];
    let more = [format!(":CLAIM:{SEGMENT}:00000000000000ab"), format!(":{SEGMENT}:REWRITE:{SEGMENT}:-1")];
    let mut examples: Vec<_> = suffixes.iter().chain(&more).map(|s| format!("{BASE}{s}").into_bytes()).collect();
    examples.push(b"AAAAAAAAAAAAAAAAAAAAyg:orders:7:PARTITION".to_vec());
    examples.push(b"remote.log.metadata.version".to_vec());
    run(entries::record_key, &examples);
}

#[test]
fn no_custom_metadata_panics() {
    run(entries::custom_metadata, &["020002c801020404666f6f", "0100029832", "02010403666f6f64026162", "00"].map(hex));
}

/// A whole object, its tail alone, and its custom metadata behind the segment's size.
fn layout_examples() -> Vec<Vec<u8>> {
    use undercroft::model::*;
    use undercroft::storage::layout::compact::{BlockSize, build_tail, data_length};

    let id = |byte| KafkaUuid([byte; 16]);
    let segment = SegmentMetadata {
        id: SegmentId { partition: TopicIdPartition::new(id(1), "orders", 7), uuid: id(2) },
        start_offset: Offset(5),
        end_offset: Offset(99),
        max_timestamp_ms: 0,
        broker_id: BrokerId(1),
        event_timestamp_ms: 0,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(5))]).expect("one"),
        size_bytes: 100,
        custom_metadata: None,
        state: SegmentState::CopyStarted,
        is_txn_index_empty: true,
    };
    let size = BlockSize::from_exponent(9).expect("valid");
    let indexes = [(IndexType::Offset, vec![1; 16].into()), (IndexType::LeaderEpoch, vec![2; 9].into())];
    let (tail, tail_length) = build_tail(&segment, size, &indexes).expect("small");
    let data = vec![0; usize::try_from(data_length(100, size)).expect("small")];
    let place = undercroft::storage::layout::Place::new(size, data.len() as u64, tail_length, "prefix/");
    vec![[data, tail.concat()].concat(), tail.concat(), [&100_u64.to_be_bytes()[..], &place.encode()].concat()]
}

#[test]
fn no_end_of_an_object_panics() {
    run(entries::layout, &layout_examples());
}

#[test]
fn no_block_table_panics() {
    // Transforms, block size 2^12, 10,000 bytes of segment; lengths of three blocks in two and in one byte.
    let head = |transforms| vec![transforms, 12, 0, 0, 0x27, 0x10];
    let wide = |transforms| [head(transforms), vec![2, 0x01, 0, 0x10, 0x20, 0x02, 0x10]].concat();
    run(entries::block_table, &[wide(1), wide(3), [head(3), vec![1, 40, 50, 60]].concat()]);
}

#[test]
fn no_manifest_panics() {
    let examples = ["kafka38/m0", "kafka38/m1", "kafka38/m2", "kafka4/m0", "kafka4/m1", "kafka4/m3"];
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiven");
    let read = |name: &str| std::fs::read(folder.join(format!("{name}.rsm-manifest"))).expect("there");
    let mut examples: Vec<_> = examples.into_iter().map(read).collect();
    // Without what is only told to people, a change is likelier to hit what counts.
    for at in 0..examples.len() {
        let text = String::from_utf8_lossy(&examples[at]).into_owned();
        let end = text.find(",\"remoteLogSegmentMetadata\"").expect("there");
        examples.push(format!("{}}}", &text[..end]).into_bytes());
    }
    run(entries::manifest, &examples);
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    let inputs = |seed| {
        let mut random = Random(seed);
        (0..100).map(|_| random.input(&record_values())).collect::<Vec<_>>()
    };
    assert_eq!(inputs(7), inputs(7));
    assert_ne!(inputs(7), inputs(8));
}
