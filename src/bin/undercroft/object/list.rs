//! `undercroft object list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use undercroft::config::visible;
use undercroft::storage::survey::{Found, FoundSegment, Scope};

use super::store::{Open, Part, Store, described};
use super::untold;
use crate::Failure;
use crate::metadata::text::{bytes, put};

/// What `undercroft object list` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    part: Part,
    /// Print JSON: a line for each segment or foreign object, and a summary
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct Sums {
    segments: u64,
    bytes: u64,
    incomplete: u64,
    foreign: u64,
    foreign_bytes: u64,
}

/// Prints while the listing comes: a store may have millions.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Open { runtime, surveyor } = match arguments.store.open(None) {
        Ok(open) => open,
        Err(failure) => return Ok(untold(&failure)),
    };
    let scope = arguments.part.scope(&surveyor);
    let mut sums = Sums::default();
    let listed = runtime.block_on(async {
        let said = |error: undercroft::storage::StorageError| Failure(error.to_string());
        let mut segments = surveyor.segments(&scope).await.map_err(said)?;
        if !arguments.json {
            put(&head())?;
        }
        while let Some(found) = segments.next().await.map_err(said)? {
            sums.add(&found);
            let line = if arguments.json { as_json(&found).to_string() } else { as_text(&found) };
            if !put(&(line + "\n"))? {
                return Ok(());
            }
        }
        put(&if arguments.json {
            sums.json(&scope, surveyor.store_name())
        } else {
            sums.text(&scope, surveyor.store_name())
        })?;
        Ok(())
    });
    Ok(listed.map_or_else(|failure: Failure| untold(&failure), |()| ExitCode::SUCCESS))
}

impl Sums {
    fn add(&mut self, found: &Found) {
        match found {
            Found::Segment(segment) => {
                self.segments += 1;
                self.bytes += segment.bytes();
                self.incomplete += u64::from(segment.lacking().next().is_some());
            }
            Found::Foreign { bytes, .. } => {
                self.foreign += 1;
                self.foreign_bytes += bytes;
            }
        }
    }

    fn text(&self, scope: &Scope, store: &str) -> String {
        let Self { segments, incomplete, foreign, .. } = self;
        format!(
            "\n{}, {}: {segments} segments ({}), {incomplete} of them incomplete; {foreign} foreign objects ({}).\n",
            visible(store),
            visible(&described(scope)),
            bytes(self.bytes),
            bytes(self.foreign_bytes)
        )
    }

    fn json(&self, scope: &Scope, store: &str) -> String {
        let summary = json!({
            "type": "summary",
            "store": store,
            "prefix": scope.prefix,
            "topic": scope.topic,
            "segments": self.segments,
            "bytes": self.bytes,
            "incomplete": self.incomplete,
            "foreign": self.foreign,
            "foreignBytes": self.foreign_bytes,
        });
        format!("{summary}\n")
    }
}

fn head() -> String {
    format!("{:8} {:>10} {:>20}  {:22}  TOPIC AND PARTITION\n", "LAYOUT", "SIZE", "START OFFSET", "SEGMENT ID")
}

fn as_text(found: &Found) -> String {
    match found {
        Found::Segment(segment) => {
            let name = &segment.name;
            let lacks: Vec<_> = segment.lacking().map(|part| format!(".{}", part.suffix())).collect();
            let lacks = if lacks.is_empty() { String::new() } else { format!("  LACKS {}", lacks.join(" ")) };
            let (layout, size, offset) = (segment.layout(), bytes(segment.bytes()), name.start_offset);
            let (id, topic, partition) = (name.segment_id, &name.topic, name.partition);
            format!("{layout:8} {size:>10} {offset:>20}  {id:22}  {topic}-{partition}{lacks}", id = id.to_string())
        }
        Found::Foreign { object, bytes: size } => {
            format!("{:8} {:>10} {}", "foreign", bytes(*size), visible(object))
        }
    }
}

fn as_json(found: &Found) -> Value {
    match found {
        Found::Segment(segment) => {
            let mut row = segment_json(segment);
            row["type"] = "segment".into();
            row["bytes"] = segment.bytes().into();
            row["lacks"] = segment.lacking().map(|part| part.suffix()).collect();
            row
        }
        Found::Foreign { object, bytes } => json!({ "type": "foreign", "object": object, "bytes": bytes }),
    }
}

/// What a segment is told apart by.
pub fn segment_json(segment: &FoundSegment) -> Value {
    let name = &segment.name;
    json!({
        "layout": segment.layout(),
        "base": name.base,
        "topic": name.topic,
        "topicId": name.topic_id.to_string(),
        "partition": name.partition,
        "startOffset": name.start_offset,
        "segmentId": name.segment_id.to_string(),
    })
}
