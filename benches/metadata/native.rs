//! The metadata manager without a JVM around it, against a broker that runs: how long it reads a history, and what that
//! costs in CPU and memory.
//!
//! `cargo bench --bench metadata -- boot SERVER TOPIC:ID PARTITIONS [follow] [key=value …]`, one JSON line a run; further
//! settings go to the manager. `make bench-metadata` starts the broker and writes the history; this is for a profiler, and
//! for what a JVM's own memory would hide.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a measuring program: it reads the clock, and a failure may end it"
)]

use std::time::{Duration, Instant};

use undercroft::config::Config;
use undercroft::metadata::{AssignedPartition, MetadataEnv, MetadataManager};
use undercroft::model::{KafkaUuid, TopicIdPartition};

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

fn boot(server: &str, partitions: &[AssignedPartition], follow: bool, further: &[String]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (rss_before, cpu_before, began) = (memory("VmRSS"), cpu_seconds(), Instant::now());
    let config = settings(server, further);
    let env = MetadataEnv::from_config(&config, runtime.handle().clone()).unwrap();
    let manager = MetadataManager::open(&config, env).unwrap();
    let (leaders, followers) = if follow { (&[][..], partitions) } else { (partitions, &[][..]) };
    manager.lead_and_follow(leaders, followers).unwrap();
    for assigned in partitions {
        while !manager.is_ready(&assigned.partition) {
            assert!(began.elapsed() < Duration::from_secs(600), "{} is not ready", assigned.partition);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let (wall, cpu) = (began.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
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
    match scenario.as_str() {
        "boot" => boot(&server, &partitions, further.iter().any(|argument| argument == "follow"), &further),
        other => panic!("no scenario `{other}`"),
    }
}
