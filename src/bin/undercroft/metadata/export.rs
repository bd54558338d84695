//! `undercroft metadata export`.

use std::io::{self, BufWriter, Write as _};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::json;
use undercroft::metadata::survey::{StockRecord, Survey, stock_records};

use super::source::{Filter, Source};
use crate::Failure;

/// What `undercroft metadata export` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filter: Filter,
    /// Export also if some records of the log cannot be read: what they say is then missing
    #[arg(long)]
    skip_unreadable: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (log, survey) = arguments.source.survey()?;
    if !arguments.skip_unreadable {
        refuse_what_would_be_missing(&survey, &log.name)?;
    }
    let users: Vec<_> =
        survey.user_partitions().into_iter().filter(|user| arguments.filter.takes(user.partition())).collect();
    if users.is_empty() && arguments.filter.is_set() {
        return Err(arguments.filter.nothing(&log.name));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let written = users
        .into_iter()
        .flat_map(stock_records)
        .try_for_each(|record| writeln!(out, "{}", line(&record)))
        .and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn refuse_what_would_be_missing(survey: &Survey, log: &str) -> Result<(), Failure> {
    let tally = survey.tally();
    let missing = tally.unreadable.count + tally.newer.count + tally.misplaced.count;
    if missing == 0 {
        return Ok(());
    }
    Err(Failure(format!(
        "{log}: {missing} of {} records cannot be read or stand in the wrong partition, and what they say would be missing; \
         `undercroft metadata verify` says which, `--skip-unreadable` exports the rest",
        tally.records
    )))
}

fn line(record: &StockRecord) -> String {
    let (key, value) = (record.key.to_string(), STANDARD.encode(&record.value));
    json!({ "partition": record.partition, "key": key, "value": value }).to_string()
}
