//! `undercroft metadata list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use undercroft::metadata::survey::{UserPartition, coverage};
use undercroft::model::{SegmentMetadata, SegmentState};

use super::source::{Filter, Source};
use super::text;
use crate::Failure;
use crate::text::columns;

/// What `undercroft metadata list` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filter: Filter,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// States in the order of the columns.
const STATES: [(SegmentState, &str); 4] = [
    (SegmentState::CopyFinished, "FINISHED"),
    (SegmentState::CopyStarted, "COPYING"),
    (SegmentState::DeleteStarted, "DELETING"),
    (SegmentState::Dangling, "DANGLING"),
];

/// A row, and what it adds to the totals.
struct Row<'a> {
    user: &'a UserPartition,
    segments: Vec<SegmentMetadata>,
}

impl Row<'_> {
    fn count(&self, state: SegmentState) -> usize {
        self.segments.iter().filter(|segment| segment.state == state).count()
    }

    /// Bytes of finished segments, as the broker wrote them.
    fn bytes(&self) -> u64 {
        let finished = self.segments.iter().filter(|segment| segment.state == SegmentState::CopyFinished);
        finished.map(|segment| u64::try_from(segment.size_bytes).unwrap_or(0)).sum()
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (log, survey) = arguments.source.survey()?;
    let users = survey.user_partitions().into_iter().filter(|user| arguments.filter.takes(user.partition()));
    let rows: Vec<_> = users.map(|user| Row { user, segments: user.segments() }).collect();
    if rows.is_empty() && arguments.filter.is_set() {
        return Err(arguments.filter.nothing(&log.name));
    }
    let text = if arguments.json { as_json(&rows, &log.name) } else { as_text(&rows) };
    text::put(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn as_text(rows: &[Row<'_>]) -> String {
    let mut table = vec![vec!["TOPIC".to_owned(), "PARTITION".to_owned()]];
    table[0].extend(STATES.map(|(_, name)| name.to_owned()));
    table[0].extend(["BYTES", "OFFSETS", "LAST EVENT", "TOPIC ID"].map(str::to_owned));
    for row in rows {
        let partition = row.user.partition();
        let mut cells = vec![partition.topic.escape_debug().to_string(), partition.partition.to_string()];
        cells.extend(STATES.map(|(state, _)| row.count(state).to_string()));
        cells.push(text::bytes(row.bytes()));
        cells.push(offsets(&row.segments));
        cells.push(row.user.last().map_or_else(|| "-".to_owned(), |last| text::time(last.timestamp_ms)));
        cells.push(partition.topic_id.to_string());
        table.push(cells);
    }
    let segments: usize = rows.iter().map(|row| row.segments.len()).sum();
    let bytes: u64 = rows.iter().map(Row::bytes).sum();
    let mut topics: Vec<_> = rows.iter().map(|row| row.user.partition().topic_id).collect();
    topics.dedup();
    let total = format!(
        "{} in {}, {}, {} in finished segments",
        counted(rows.len(), "partition"),
        counted(topics.len(), "topic"),
        counted(segments, "segment"),
        text::bytes(bytes)
    );
    if rows.is_empty() { format!("{total}\n") } else { format!("{}\n\n{total}\n", columns(&table).join("\n")) }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn offsets(segments: &[SegmentMetadata]) -> String {
    let covered = coverage(segments);
    let Some((start, end)) = covered.offsets else { return "-".to_owned() };
    match covered.gap_count() {
        0 => format!("{start}..{end}"),
        gaps => format!("{start}..{end} ({})", counted(gaps, "gap")),
    }
}

fn as_json(rows: &[Row<'_>], log: &str) -> String {
    let partitions: Vec<Value> = rows.iter().map(row_json).collect();
    let list = json!({
        "log": log,
        "partitions": partitions,
        "totals": {
            "partitions": rows.len(),
            "segments": rows.iter().map(|row| row.segments.len()).sum::<usize>(),
            "finishedBytes": rows.iter().map(Row::bytes).sum::<u64>(),
        },
    });
    format!("{list:#}\n")
}

fn row_json(row: &Row<'_>) -> Value {
    let (partition, covered) = (row.user.partition(), coverage(&row.segments));
    let states: serde_json::Map<String, Value> =
        STATES.iter().map(|&(state, _)| (state.name().to_owned(), json!(row.count(state)))).collect();
    json!({
        "topic": *partition.topic,
        "topicId": partition.topic_id.to_string(),
        "partition": partition.partition,
        "metadataPartition": row.user.metadata_partition(),
        "segments": states,
        "finishedBytes": row.bytes(),
        "startOffset": covered.offsets.map(|(start, _)| start.0),
        "endOffset": covered.offsets.map(|(_, end)| end.0),
        "gaps": covered.gap_count(),
        "lastEventMs": row.user.last().map(|last| last.timestamp_ms),
        "deletion": row.user.deletion().map(|delete| format!("{:?}", delete.state).to_uppercase()),
    })
}
