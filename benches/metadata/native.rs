//! The metadata manager without a JVM around it, against a broker that runs: how long it reads a history, and what that
//! costs in CPU and memory.
//!
//! `cargo bench --bench metadata -- boot|steady|lookup SERVER TOPIC:ID PARTITIONS [follow] [key=value …]`, one JSON line a
//! result; further settings go to the manager. `run.sh history` starts a broker with a history and says its topic; this is
//! for a profiler, and for what a JVM's own memory and threads would hide.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a measuring program: it reads the clock, and a failure may end it"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use undercroft::config::Config;
use undercroft::metadata::{AssignedPartition, MetadataEnv, MetadataError, MetadataManager};
use undercroft::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate,
    TopicIdPartition,
};

const METADATA_PARTITIONS: &str = "50";

fn cpu_seconds() -> f64 {
    // SAFETY: an all-zero `rusage` is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for one write.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) }, 0, "getrusage");
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// A line of `/proc/self/status`, in KiB.
fn memory(name: &str) -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).expect("a line of that name");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn settings(server: &str, further: &[String]) -> Config {
    let mut config = Config::new();
    config.set("remote.log.metadata.common.client.bootstrap.servers", server);
    config.set("remote.log.metadata.topic.num.partitions", METADATA_PARTITIONS);
    config.set("remote.log.metadata.topic.replication.factor", "1");
    config.set("remote.log.metadata.topic.min.isr", "1");
    config.set("broker.id", "1");
    for (key, value) in further.iter().filter_map(|argument| argument.split_once('=')) {
        config.set(key, value);
    }
    config
}

/// A manager that leads (or follows) all partitions and is ready, and how long that took in wall and CPU seconds.
fn open(
    server: &str,
    partitions: &[AssignedPartition],
    further: &[String],
    runtime: &Runtime,
) -> (MetadataManager, f64, f64) {
    let (cpu_before, began) = (cpu_seconds(), Instant::now());
    let config = settings(server, further);
    let env = MetadataEnv::from_config(&config, runtime.handle().clone()).unwrap();
    let manager = MetadataManager::open(&config, env).unwrap();
    let is_follower = further.iter().any(|argument| argument == "follow");
    let (leaders, followers) = if is_follower { (&[][..], partitions) } else { (partitions, &[][..]) };
    manager.lead_and_follow(leaders, followers).unwrap();
    for assigned in partitions {
        while !manager.is_ready(&assigned.partition) {
            assert!(began.elapsed() < Duration::from_secs(600), "{} is not ready", assigned.partition);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    (manager, began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before)
}

fn boot(server: &str, partitions: &[AssignedPartition], further: &[String], runtime: &Runtime) {
    let rss_before = memory("VmRSS");
    let (manager, wall, cpu) = open(server, partitions, further, runtime);
    let peak = memory("VmHWM");
    // SAFETY: without preconditions; gives back to the system what is free.
    unsafe { libc::malloc_trim(0) };
    let kept = memory("VmRSS") - rss_before;
    let live: usize = partitions.iter().map(|assigned| manager.list(&assigned.partition, None).unwrap().len()).sum();
    println!(
        "{{\"scenario\":\"native-boot\",\"live_segments\":{live},\"ready_s\":{wall:.3},\"cpu_s\":{cpu:.3},\
         \"peak_rss_mb\":{:.1},\"kept_mb\":{:.1},\"bytes_per_segment\":{:.0}}}",
        peak as f64 / 1024.0,
        kept as f64 / 1024.0,
        kept as f64 * 1024.0 / live as f64
    );
    manager.close();
}

/// The copy of one segment as a broker tells it: begun, then finished.
async fn cycle(manager: &MetadataManager, assigned: &AssignedPartition, number: u64) -> Result<(), MetadataError> {
    let now = i64::try_from(number).unwrap();
    let (start, uuid) =
        (now * 1_000, KafkaUuid::from_halves(now.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed()), now));
    let id = SegmentId { partition: assigned.partition.clone(), uuid };
    let added = manager.add(
        SegmentMetadata {
            id: id.clone(),
            start_offset: Offset(start),
            end_offset: Offset(start + 999),
            max_timestamp_ms: 1,
            broker_id: BrokerId(1),
            event_timestamp_ms: 1,
            epochs: SegmentEpochs::single(LeaderEpoch(0), Offset(start)),
            size_bytes: 1 << 30,
            custom_metadata: None,
            state: SegmentState::CopyStarted,
            is_txn_index_empty: false,
        },
        Duration::from_secs(5),
    )?;
    added.await?;
    let state = SegmentState::CopyFinished;
    let update = SegmentUpdate { id, broker_id: BrokerId(1), event_timestamp_ms: 2, custom_metadata: None, state };
    manager.update(update, Duration::from_secs(5))?.await
}

/// Copies told one after the other, then with 100 and with 2,000 in flight.
fn steady(server: &str, partitions: &[AssignedPartition], further: &[String], runtime: &Runtime) {
    let (manager, ..) = open(server, partitions, further, runtime);
    let began_ms = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    // No number twice, also not by a later process.
    let next = Arc::new(AtomicU64::new(u64::try_from(began_ms).unwrap() * 1_000));
    let shared: Arc<[AssignedPartition]> = partitions.into();
    for assigned in partitions {
        while let Err(error) = runtime.block_on(cycle(&manager, assigned, next.fetch_add(1, Ordering::Relaxed))) {
            assert!(error.is_retriable(), "{error}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    for (flight, seconds) in [(1, 2), (100, 3), (2_000, 1), (2_000, 6)] {
        let (cpu_before, began) = (cpu_seconds(), Instant::now());
        let workers: Vec<_> = (0..flight)
            .map(|_| {
                let (manager, shared, next) = (manager.clone(), Arc::clone(&shared), Arc::clone(&next));
                runtime.spawn(async move {
                    let mut millis = Vec::new();
                    while began.elapsed() < Duration::from_secs(seconds) {
                        let (one, number) = (Instant::now(), next.fetch_add(1, Ordering::Relaxed));
                        let place = usize::try_from(number % shared.len() as u64).unwrap();
                        cycle(&manager, &shared[place], number).await.unwrap();
                        millis.push(one.elapsed().as_secs_f64() * 1e3);
                    }
                    millis
                })
            })
            .collect();
        let mut millis: Vec<f64> = workers.into_iter().flat_map(|worker| runtime.block_on(worker).unwrap()).collect();
        let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
        millis.sort_by(f64::total_cmp);
        println!(
            "{{\"scenario\":\"native-steady-{flight}\",\"cycles_per_s\":{:.0},\"cpu_us\":{:.1},\"p50_ms\":{:.1},\"p99_ms\":{:.1}}}",
            millis.len() as f64 / wall,
            cpu * 1e6 / millis.len() as f64,
            millis[millis.len() / 2],
            millis[millis.len() * 99 / 100],
        );
    }
    manager.close();
}

/// What a lookup costs without the way through JNI.
fn lookup(server: &str, partitions: &[AssignedPartition], further: &[String], runtime: &Runtime) {
    const CALLS: usize = 1_000_000;
    let (manager, ..) = open(server, partitions, further, runtime);
    let time = |look: &dyn Fn(&TopicIdPartition)| {
        let cpu_before = cpu_seconds();
        for call in 0..CALLS {
            look(&partitions[call * 7919 % partitions.len()].partition);
        }
        (cpu_seconds() - cpu_before) * 1e9 / CALLS as f64
    };
    let highest = time(&|partition| assert!(manager.highest_offset(partition, LeaderEpoch(1)).unwrap().is_some()));
    let find = time(&|partition| assert!(manager.find(partition, LeaderEpoch(1), Offset(300_750)).unwrap().is_some()));
    println!("{{\"scenario\":\"native-lookup\",\"highest_ns\":{highest:.0},\"find_ns\":{find:.0}}}");
    manager.close();
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut next = |what: &str| arguments.next().unwrap_or_else(|| panic!("an argument is missing: {what}"));
    let (scenario, server, topic, count) = (next("boot"), next("server"), next("topic:id"), next("partitions"));
    let further: Vec<String> = arguments.collect();
    let (topic, id) = topic.split_once(':').expect("topic:id");
    let id: KafkaUuid = id.parse().unwrap();
    let partitions: Vec<_> = (0..count.parse().unwrap())
        .map(|partition| AssignedPartition {
            partition: TopicIdPartition::new(id, topic, partition),
            leader_epoch: None,
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match scenario.as_str() {
        "boot" => boot(&server, &partitions, &further, &runtime),
        "steady" => steady(&server, &partitions, &further, &runtime),
        "lookup" => lookup(&server, &partitions, &further, &runtime),
        other => panic!("no scenario `{other}`"),
    }
}
