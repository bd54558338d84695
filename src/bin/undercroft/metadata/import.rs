//! `undercroft metadata import`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::Args;
use serde_json::Value;
use undercroft::metadata::log::MetadataLog as _;
use undercroft::metadata::log::embedded::{EmbeddedLog, EmbeddedOptions};
use undercroft::metadata::log::kafka::TopicOperator;
use undercroft::metadata::migration::{Evidence, ImportLine, ImportPlan, plan_import};
use undercroft::metadata::plan::Level;
use undercroft::wire::{self, DecodeError};

use super::source::{Source, client};
use super::text;
use crate::Failure;

/// What `undercroft metadata import` takes.
#[derive(Args)]
pub struct Arguments {
    /// What `undercroft metadata export` printed
    #[arg(value_name = "EXPORT")]
    export: PathBuf,
    #[command(flatten)]
    source: Source,
    /// Write. Without it, it is only said what would be written
    #[arg(long)]
    execute: bool,
    /// Leave out segments that the log knows already, instead of refusing them
    #[arg(long)]
    skip_known: bool,
}

/// A file that an embedded log has compacted is not compacted again by a short visit.
const COMPACT_BYTES_MIN: u64 = 1 << 30;
/// Records that are on their way at a time.
const BATCH: usize = 10_000;

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let lines = read(&arguments.export)?;
    let (log, evidence) = arguments.source.evidence()?;
    let survey = evidence.survey();
    let newer = survey.tally().newer.count;
    let (_, highest) = evidence.levels();
    if newer > 0 || Level::from_number(highest).is_none() {
        return Err(Failure(format!("{}: a later release writes to it; import with that one", log.name)));
    }
    let levels: Vec<_> = levels(&evidence, arguments.source.folder().is_some());
    let level = |home: i32| usize::try_from(home).ok().and_then(|at| levels.get(at)).copied().unwrap_or(Level::Zero);
    let partitions = log.shape.partitions;
    let plan = plan_import(&lines, survey, partitions, &level, arguments.skip_known)
        .map_err(|error| Failure(format!("{}: {error}", arguments.export.display())))?;
    text::put(&describe(&plan, &log.name, (levels.iter().min(), levels.iter().max())))?;
    drop(log);
    if !arguments.execute {
        text::put("Nothing was written. With --execute it is; no broker should copy or delete meanwhile.\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    write(arguments, partitions, &plan)?;
    let (log, after) = arguments.source.evidence()?;
    let missing = plan.missing(after.survey());
    if let Some(first) = missing.first() {
        return Err(Failure(format!(
            "{}: written, but {} segments are not known as they should be (the first is {first}); `undercroft metadata \
             tail --from-beginning` says what became of each record",
            log.name,
            missing.len()
        )));
    }
    text::put(&format!("SUCCESS: {} knows all {} segments.\n", log.name, plan.segments.len()))?;
    Ok(ExitCode::SUCCESS)
}

/// An embedded log is read by nobody but us.
fn levels(evidence: &Evidence, is_embedded: bool) -> Vec<Level> {
    let level = |number| if is_embedded { Level::Two } else { Level::from_number(number).unwrap_or(Level::Zero) };
    evidence.metas().iter().map(|meta| level(meta.level_number())).collect()
}

fn read(path: &Path) -> Result<Vec<ImportLine>, Failure> {
    let failed = |why: String| Failure(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let lines = lines.map(|(line, number)| parse(line, number).map_err(|why| failed(format!("line {number}: {why}"))));
    let lines: Vec<_> = lines.collect::<Result<_, _>>()?;
    if lines.is_empty() { Err(failed("it has no records".to_owned())) } else { Ok(lines) }
}

fn parse(line: &str, number: usize) -> Result<ImportLine, String> {
    let object: Value = serde_json::from_str(line).map_err(|error| format!("no JSON object of an export ({error})"))?;
    let text = |name: &str| object[name].as_str().ok_or_else(|| format!("it has no text `{name}`"));
    let key = wire::parse_key(text("key")?.as_bytes()).map_err(|error| error.to_string())?;
    let value = STANDARD.decode(text("value")?).map_err(|error| format!("`value` is not base64 ({error})"))?;
    let record = wire::decode(&value).map_err(|error: DecodeError| error.to_string())?;
    Ok(ImportLine { number, key, record })
}

fn describe(plan: &ImportPlan, log: &str, levels: (Option<&Level>, Option<&Level>)) -> String {
    let mut out = format!("{log}: {} records of {} segments", plan.records.len(), plan.segments.len());
    let number = |level: Option<&Level>| level.map_or(0, |level| level.number());
    let _ = match (number(levels.0), number(levels.1)) {
        (lowest, highest) if lowest == highest => writeln!(out, ", in the form of level {lowest}"),
        (lowest, highest) => writeln!(out, ", in the forms of levels {lowest} to {highest}"),
    };
    for (state, count) in states(plan) {
        let _ = writeln!(out, "  {count} {state}");
    }
    if !plan.known.is_empty() {
        let _ = writeln!(out, "  left out, as the log knows them: {}", plan.known.len());
    }
    if plan.renamed > 0 {
        let _ = writeln!(
            out,
            "  with their ids in their keys, as the log has others of their partitions: {}",
            plan.renamed
        );
    }
    out
}

fn states(plan: &ImportPlan) -> std::collections::BTreeMap<&'static str, usize> {
    let mut counts = std::collections::BTreeMap::new();
    for (_, state) in plan.segments.values() {
        *counts.entry(state.name()).or_default() += 1;
    }
    counts
}

fn write(arguments: &Arguments, partitions: i32, plan: &ImportPlan) -> Result<(), Failure> {
    let records: Vec<(i32, Option<Bytes>, Option<Bytes>)> =
        plan.records.iter().map(|(home, key, value)| (*home, Some(key.clone()), Some(value.clone()))).collect();
    let (source, failed) = (&arguments.source, |error: undercroft::metadata::log::LogError| {
        Failure(format!("{error}; what was written stays, `--skip-known` goes on from there"))
    });
    if let Some(folder) = source.folder() {
        return write_embedded(folder, partitions, records);
    }
    let client = client(source.server(), source.command_config())?;
    let operator = TopicOperator::open(&client, source.patience()).map_err(failed)?;
    for batch in records.chunks(BATCH) {
        operator.append(batch.to_vec()).map_err(failed)?;
    }
    Ok(())
}

fn write_embedded(
    folder: &Path,
    partitions: i32,
    records: Vec<(i32, Option<Bytes>, Option<Bytes>)>,
) -> Result<(), Failure> {
    let failed = |error: undercroft::metadata::log::LogError| Failure(error.to_string());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build();
    let runtime = runtime.map_err(|error| Failure(format!("no thread can be started: {error}")))?;
    let options = EmbeddedOptions { folder: folder.to_owned(), partitions, compact_bytes_min: COMPACT_BYTES_MIN };
    runtime.block_on(async {
        let log = EmbeddedLog::new(options);
        log.ensure().await.map_err(failed)?;
        let under_way: Vec<_> = records.into_iter().map(|(home, key, value)| log.append(home, key, value)).collect();
        let mut result = Ok(());
        for append in under_way {
            result = result.and(append.await.map(drop).map_err(failed));
        }
        log.close().await;
        result
    })
}
