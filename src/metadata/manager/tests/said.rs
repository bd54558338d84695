//! What a manager says in the log of its host.

use std::fmt::Write as _;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::*;
use crate::metadata::log::{Cleanup, LogShape};
use crate::wire;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    let _ = write!(self.0, "{value:?}");
                }
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().push((*event.metadata().level(), text.0));
    }
}

impl Lines {
    /// Of the managers that are opened on this thread as long as the guard lives.
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        tracing::subscriber::set_default(tracing_subscriber::registry().with(self.clone()))
    }

    fn of(&self, level: Level) -> Vec<String> {
        self.0.lock().iter().filter(|(of, _)| *of == level).map(|(_, line)| line.clone()).collect()
    }
}

fn finished(number: u32) -> Option<bytes::Bytes> {
    let finished = SegmentMetadata { state: CopyFinished, ..segment(1, number) };
    Some(wire::encode_segment(&finished, LeaderEpoch(-1), wire::Version::V0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_of_the_log_that_shows_nothing_is_told_once_with_its_cause_and_once_when_it_is_mended() {
    let (log, lines) = (ScriptedLog::new(1), Lines::default());
    let _listening = lines.listen();
    *log.why_silent.lock() = Some("nobody leads it".to_owned());
    log.hold_reading(true);
    let manager = over(&log, &[]);
    manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
    until("told", || !lines.of(Level::WARN).is_empty()).await;
    let why = manager.list(&partition(1), None).expect_err("not ready").to_string();
    assert!(why.contains("nobody leads it"), "whoever asks is told too: {why}");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let told = lines.of(Level::WARN);
    assert!(
        matches!(&*told, [line] if line.contains("metadata partition 0") && line.contains("s: nobody leads it")),
        "{told:?}"
    );
    assert!(lines.of(Level::INFO).is_empty());
    log.hold_reading(false);
    until("ready", || manager.is_ready(&partition(1))).await;
    until("told", || lines.of(Level::INFO).iter().any(|line| line.ends_with("works now"))).await;
    manager.close();
}

fn key(number: u32) -> Option<bytes::Bytes> {
    let partition = partition(1);
    Some(format!("{}:{}:0:{}:0", partition.topic_id, partition.topic, number * 10 + 9).into())
}

/// What was said at WARN of a log with such a policy, that dropped what the reader had not read yet.
async fn said_of_a_gap(cleanup: Cleanup) -> Vec<String> {
    let (log, lines) = (ScriptedLog::new(1), Lines::default());
    let _listening = lines.listen();
    *log.shape.lock() = LogShape { cleanup, ..LogShape::of(1) };
    for number in 0..2 {
        log.store(0, key(number), finished(number));
    }
    let manager = leading(&log).await;
    log.hold_reading(true);
    for number in 2..6 {
        log.store(0, key(number), finished(number));
    }
    log.clean(0, &[0, 1, 2, 3]);
    log.hold_reading(false);
    until("read", || found(&manager, 1, 55).is_some()).await;
    add(&manager, 1, 7).await.expect("works");
    manager.close();
    lines.of(Level::WARN)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_whose_start_has_moved_past_what_was_read_is_told_once_and_a_compacted_one_is_not() {
    let told = said_of_a_gap(Cleanup::Delete).await;
    assert!(
        matches!(&*told, [line] if line.contains("begins at offset 4") && line.contains("read up to 2")),
        "{told:?}"
    );
    assert_eq!(said_of_a_gap(Cleanup::Compact).await, Vec::<String>::new());
}
