//! `undercroft metadata tail`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use undercroft::config::visible;
use undercroft::metadata::log::{LogError, LogEvent};
use undercroft::metadata::partition::{Outcome, Refusal};
use undercroft::metadata::survey::{Meaning, Place, ReadKey, Reading, Survey, Verdict, walk_to_end};
use undercroft::model::TopicIdPartition;
use undercroft::wire::{Lane, Record, RecordKey};

use super::source::{Filter, Source};
use super::text;
use crate::Failure;

/// What `undercroft metadata tail` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filter: Filter,
    /// Print the records that are there already too
    #[arg(long)]
    from_beginning: bool,
    /// End after so many records
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_records: Option<u64>,
    /// Print a JSON object per line
    #[arg(long)]
    json: bool,
}

const SLICE: Duration = Duration::from_millis(200);

/// Explains records until it was enough.
struct Tail<'a> {
    arguments: &'a Arguments,
    survey: Survey,
    is_printing: bool,
    printed: u64,
    /// The reader of standard output has gone.
    is_over: bool,
    failure: Option<Failure>,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let is_stopped = stop_on_signals()?;
    let mut log = arguments.source.open()?;
    let mut tail = Tail {
        arguments,
        survey: Survey::new(log.shape.partitions),
        is_printing: arguments.from_beginning,
        printed: 0,
        is_over: false,
        failure: None,
    };
    // What a reader makes of a record depends on all that came before it, so everything is read in any case.
    let tail_cell = std::cell::RefCell::new(&mut tail);
    let is_enough = || is_stopped.load(Ordering::Acquire) || tail_cell.try_borrow().is_ok_and(|tail| tail.is_done());
    let mut sink = |place, key: Option<&[u8]>, value: Option<&[u8]>| tail_cell.borrow_mut().take(place, key, value);
    walk_to_end(&mut log, arguments.source.patience(), &is_enough, &mut sink).map_err(failed)?;
    tail.is_printing = true;
    while !is_stopped.load(Ordering::Acquire) && !tail.is_done() {
        log.reader
            .poll(SLICE, &mut |event| match event {
                LogEvent::Record { partition, offset, timestamp_ms, key, value } => {
                    tail.take(Place { partition, offset, timestamp_ms }, key, value);
                }
                LogEvent::End { .. } => {}
                LogEvent::Trouble { error, .. } if error.is_retriable() => {
                    crate::complain(&Failure(format!("{error}; reading goes on")));
                }
                LogEvent::Trouble { error, .. } => tail.failure = Some(failed(error)),
            })
            .map_err(failed)?;
    }
    tail.failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn failed(error: LogError) -> Failure {
    Failure(error.to_string())
}

/// Set by the first signal; the second one ends the process.
fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_stopped))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&is_stopped)))
            .map_err(|error| Failure(format!("signals cannot be caught: {error}")))?;
    }
    Ok(is_stopped)
}

impl Tail<'_> {
    fn is_done(&self) -> bool {
        let has_all = self.arguments.max_records.is_some_and(|max| self.printed >= max);
        has_all || self.is_over || self.failure.is_some()
    }

    fn take(&mut self, place: Place, key: Option<&[u8]>, value: Option<&[u8]>) {
        if self.is_done() {
            return;
        }
        let reading = self.survey.take(place, key, value);
        if !self.is_printing || !self.is_wanted(&reading) {
            return;
        }
        let line = if self.arguments.json { as_json(&reading).to_string() } else { as_text(&reading) };
        self.printed += 1;
        match text::put(&format!("{line}\n")) {
            Ok(goes_on) => self.is_over = !goes_on,
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// What cannot be attributed to a partition is shown for every one.
    fn is_wanted(&self, reading: &Reading) -> bool {
        partition_of(reading).is_none_or(|partition| self.arguments.filter.takes(&partition))
    }
}

fn partition_of(reading: &Reading) -> Option<TopicIdPartition> {
    match &reading.meaning {
        Meaning::Record(Record::Segment(whole)) => Some(whole.metadata.id.partition.clone()),
        Meaning::Record(Record::Update(record)) => Some(record.update.id.partition.clone()),
        Meaning::Record(Record::PartitionDelete(record)) => Some(record.delete.partition.clone()),
        Meaning::Record(Record::Snapshot | Record::Level(_))
        | Meaning::Tombstone
        | Meaning::Level(_)
        | Meaning::Unreadable(_) => {
            reading.key.known().and_then(|key| key.partition()).map(|partition| partition.to_partition())
        }
    }
}

fn as_text(reading: &Reading) -> String {
    let line = format!(
        "{}  {:<10}  {:<9}  {}  => {}",
        text::time(reading.place.timestamp_ms),
        text::place(reading.place),
        reading.key.form().name(),
        says(reading),
        explanation(reading)
    );
    visible(&line).into_owned()
}

/// What the record says, in words.
fn says(reading: &Reading) -> String {
    let about =
        partition_of(reading).map_or_else(String::new, |partition| format!("{}: ", text::partition(&partition)));
    match &reading.meaning {
        Meaning::Tombstone => match &reading.key {
            ReadKey::Read(key) => format!("{about}tombstone of {key}"),
            ReadKey::Unreadable { text, .. } => format!("tombstone of {text}"),
            ReadKey::None => "neither key nor value".to_owned(),
        },
        Meaning::Level(level) => format!("level {}", level.level),
        Meaning::Unreadable(error) => format!("{about}{error}"),
        Meaning::Record(Record::Segment(whole)) => {
            let segment = &whole.metadata;
            let epochs: Vec<_> = segment.epochs.entries().iter().map(|(epoch, at)| format!("{epoch}@{at}")).collect();
            format!(
                "{about}segment {} {} offsets {}..{} epochs {} {} broker {}{}",
                segment.id.uuid,
                segment.state,
                segment.start_offset,
                segment.end_offset,
                epochs.join(","),
                text::bytes(u64::try_from(segment.size_bytes).unwrap_or(0)),
                segment.broker_id,
                lane(reading)
            )
        }
        Meaning::Record(Record::Update(record)) => {
            let update = &record.update;
            let broker = update.broker_id;
            format!("{about}segment {} {} broker {broker}{}", update.id.uuid, update.state, lane(reading))
        }
        Meaning::Record(Record::PartitionDelete(record)) => {
            format!("{about}deletion of the partition {:?} broker {}", record.delete.state, record.delete.broker_id)
        }
        Meaning::Record(Record::Snapshot) => "part of a snapshot".to_owned(),
        Meaning::Record(Record::Level(level)) => format!("level {}, and not under its key", level.level),
    }
}

/// What the key adds to a value, in words.
fn lane(reading: &Reading) -> String {
    let Some(RecordKey::Segment(key)) = reading.key.known() else { return String::new() };
    match key.lane {
        Lane::Base | Lane::Update | Lane::Delete { .. } | Lane::Gone { .. } => String::new(),
        Lane::Claim { .. } => ", claimed: the attempt was found abandoned".to_owned(),
        Lane::Rewrite { writer_epoch, .. } => format!(", said again with a key by the leader of epoch {writer_epoch}"),
    }
}

/// What a reader makes of it.
fn explanation(reading: &Reading) -> String {
    match &reading.meaning {
        Meaning::Level(level) => format!("writers use the forms of level {} from here on", level.level),
        Meaning::Tombstone if matches!(reading.key, ReadKey::Read(RecordKey::Segment(_))) => {
            "what stood under this key counts no more; a segment without any base key is forgotten".to_owned()
        }
        Meaning::Tombstone | Meaning::Record(_) | Meaning::Unreadable(_) => verdict(reading.verdict),
    }
}

fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Judged(Outcome::Applied) => "applied".to_owned(),
        Verdict::Judged(Outcome::Kept) => "kept until the segment's first record comes".to_owned(),
        Verdict::Judged(Outcome::Refused(Refusal::Step { from, to })) => {
            format!("refused: the segment is {from}, from which no step leads to {to}")
        }
        Verdict::Judged(Outcome::Refused(Refusal::Impossible(why))) => format!("refused: {why}"),
        Verdict::Skipped => "says nothing of a segment".to_owned(),
        Verdict::Unreadable => "passed over".to_owned(),
        Verdict::Misplaced { belongs } => format!("not seen: its place is metadata partition {belongs}"),
    }
}

fn as_json(reading: &Reading) -> Value {
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| object.insert(name.to_owned(), value);
    let place = reading.place;
    set("metadataPartition", json!(place.partition));
    set("offset", json!(place.offset));
    set("timestampMs", json!(place.timestamp_ms));
    set("keyForm", json!(reading.key.form().name()));
    let key = match &reading.key {
        ReadKey::None => None,
        ReadKey::Unreadable { text, .. } => Some(text.clone()),
        ReadKey::Read(key) => Some(key.to_string()),
    };
    set("key", json!(key));
    let partition = partition_of(reading);
    set("topic", json!(partition.as_ref().map(|partition| &*partition.topic)));
    set("topicId", json!(partition.as_ref().map(|partition| partition.topic_id.to_string())));
    set("partition", json!(partition.as_ref().map(|partition| partition.partition)));
    let (kind, segment, state) = match &reading.meaning {
        Meaning::Tombstone => ("tombstone", None, None),
        Meaning::Level(_) => ("level", None, None),
        Meaning::Unreadable(_) => ("unreadable", None, None),
        Meaning::Record(Record::Segment(whole)) => {
            ("segment", Some(whole.metadata.id.uuid), Some(whole.metadata.state.name().to_owned()))
        }
        Meaning::Record(Record::Update(record)) => {
            ("update", Some(record.update.id.uuid), Some(record.update.state.name().to_owned()))
        }
        Meaning::Record(Record::PartitionDelete(record)) => {
            ("partition-delete", None, Some(format!("{:?}", record.delete.state).to_uppercase()))
        }
        Meaning::Record(Record::Snapshot) => ("snapshot", None, None),
        Meaning::Record(Record::Level(_)) => ("level", None, None),
    };
    set("record", json!(kind));
    set("segmentId", json!(segment.map(|segment| segment.to_string())));
    set("state", json!(state));
    set("says", json!(says(reading)));
    let outcome = match reading.verdict {
        Verdict::Judged(Outcome::Applied) => "applied",
        Verdict::Judged(Outcome::Kept) => "kept",
        Verdict::Judged(Outcome::Refused(_)) => "refused",
        Verdict::Skipped => "skipped",
        Verdict::Unreadable => "unreadable",
        Verdict::Misplaced { .. } => "misplaced",
    };
    set("outcome", json!(outcome));
    set("explanation", json!(explanation(reading)));
    Value::Object(object)
}
