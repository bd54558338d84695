//! `undercroft metadata show`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use undercroft::metadata::survey::{Trace, UserPartition, coverage};
use undercroft::model::SegmentMetadata;

use super::custom::Custom;
use super::source::{Filter, Source};
use super::text;
use crate::Failure;
use crate::text::columns;

/// What `undercroft metadata show` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The topic; its name or its id
    #[arg(long)]
    topic: String,
    /// Only this partition of it
    #[arg(long, value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (log, survey) = arguments.source.survey()?;
    let filter = Filter { topic: Some(arguments.topic.clone()), partition: arguments.partition };
    let users: Vec<_> = survey.user_partitions().into_iter().filter(|user| filter.takes(user.partition())).collect();
    if users.is_empty() {
        return Err(filter.nothing(&log.name));
    }
    let text = if arguments.json {
        let partitions: Vec<_> = users.iter().map(|user| as_json(user)).collect();
        format!("{:#}\n", json!({ "log": log.name, "partitions": partitions }))
    } else {
        users.iter().map(|user| as_text(user)).collect::<Vec<_>>().join("\n")
    };
    text::put(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(user: &UserPartition) -> String {
    let (partition, segments) = (user.partition(), user.segments());
    let mut out = format!(
        "{} (topic id {}), records in metadata partition {}\n",
        text::partition(partition),
        partition.topic_id,
        user.metadata_partition()
    );
    if let Some(delete) = user.deletion() {
        let _ =
            writeln!(out, "  deletion of the partition: {:?}, {}", delete.state, text::time(delete.event_timestamp_ms));
    }
    if user.deleted_segments() > 0 {
        let _ = writeln!(out, "  deleted segments with records in the log: {}", user.deleted_segments());
    }
    for epoch in coverage(&segments).epochs {
        let _ = write!(out, "  epoch {}: offsets {}..{}", epoch.epoch, epoch.start, epoch.end);
        for (name, ranges) in [("missing", &epoch.gaps), ("twice", &epoch.overlaps)] {
            let ranges: Vec<_> = ranges.iter().map(|(start, end)| format!("{start}..{end}")).collect();
            if !ranges.is_empty() {
                let _ = write!(out, "; {name} {}", ranges.join(", "));
            }
        }
        out.push('\n');
    }
    let head = ["OFFSETS", "STATE", "SIZE", "EPOCHS", "BROKER", "LAST EVENT", "KEYS", "SEGMENT", "CUSTOM METADATA"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(segments.iter().map(|segment| row(segment, user.trace(segment.id.uuid))));
    if segments.is_empty() {
        out.push_str("  no segments\n");
    }
    for line in columns(&rows).into_iter().filter(|_| !segments.is_empty()) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn row(segment: &SegmentMetadata, trace: Option<&Trace>) -> Vec<String> {
    let epochs: Vec<_> = segment.epochs.entries().iter().map(|(epoch, start)| format!("{epoch}@{start}")).collect();
    vec![
        format!("{}..{}", segment.start_offset, segment.end_offset),
        segment.state.name().to_owned(),
        text::bytes(u64::try_from(segment.size_bytes).unwrap_or(0)),
        epochs.join(","),
        segment.broker_id.to_string(),
        text::time(segment.event_timestamp_ms),
        trace.map_or_else(|| "?".to_owned(), |trace| format!("{},{}", trace.base_key, trace.state_key)),
        segment.id.uuid.to_string(),
        Custom::of(segment).to_text(),
    ]
}

fn as_json(user: &UserPartition) -> Value {
    let partition = user.partition();
    let segments = user.segments();
    let ranges = |ranges: &[(_, _)]| {
        let range = |&(start, end): &(undercroft::model::Offset, undercroft::model::Offset)| json!([start.0, end.0]);
        ranges.iter().map(range).collect::<Vec<_>>()
    };
    let epochs: Vec<_> = coverage(&segments)
        .epochs
        .iter()
        .map(|epoch| {
            json!({
                "epoch": epoch.epoch.0,
                "startOffset": epoch.start.0,
                "endOffset": epoch.end.0,
                "gaps": ranges(&epoch.gaps),
                "overlaps": ranges(&epoch.overlaps),
            })
        })
        .collect();
    json!({
        "topic": *partition.topic,
        "topicId": partition.topic_id.to_string(),
        "partition": partition.partition,
        "metadataPartition": user.metadata_partition(),
        "deletion": user.deletion().map(|delete| format!("{:?}", delete.state).to_uppercase()),
        "deletedSegments": user.deleted_segments(),
        "epochs": epochs,
        "segments": segments.iter().map(|segment| segment_json(segment, user.trace(segment.id.uuid))).collect::<Vec<_>>(),
    })
}

fn segment_json(segment: &SegmentMetadata, trace: Option<&Trace>) -> Value {
    let epochs: Vec<_> = segment.epochs.entries().iter().map(|(epoch, start)| json!([epoch.0, start.0])).collect();
    json!({
        "segmentId": segment.id.uuid.to_string(),
        "state": segment.state.name(),
        "startOffset": segment.start_offset.0,
        "endOffset": segment.end_offset.0,
        "leaderEpochs": epochs,
        "sizeBytes": segment.size_bytes,
        "brokerId": segment.broker_id.0,
        "maxTimestampMs": segment.max_timestamp_ms,
        "eventTimestampMs": segment.event_timestamp_ms,
        "transactionIndexEmpty": segment.is_txn_index_empty,
        "customMetadata": Custom::of(segment).to_json(),
        "baseKey": trace.map(|trace| trace.base_key.name()),
        "baseRecord": trace.map(|trace| text::place_json(trace.base)),
        "stateKey": trace.map(|trace| trace.state_key.name()),
        "stateRecord": trace.map(|trace| text::place_json(trace.state)),
    })
}
