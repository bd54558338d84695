//! `undercroft object verify`.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use undercroft::config::visible;
use undercroft::storage::survey::{Checked, Depth, Finding, FoundSegment, Progress, Scope, Severity, Tally};

use super::list::segment_json;
use super::progress::{Screen, Show};
use super::store::{Open, Part, Store, described};
use super::untold;
use crate::Failure;
use crate::metadata::text::bytes;

/// Foreign objects that are named one by one for people.
const FOREIGN_MAX: u64 = 20;

/// What `undercroft object verify` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    store: Store,
    #[command(flatten)]
    part: Part,
    /// Read every byte and check all checksums, tags, frames and indexes; without it: that objects are there, have their
    /// size, and that footers and manifests can be read and fit
    #[arg(long)]
    heavy: bool,
    /// Segments that are checked at a time; each takes about 16 MiB, or twice its chunk size if that is more
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: u16,
    /// The most that is read of data in a second: a number of bytes, or one with KiB, MiB or GiB
    #[arg(long, value_name = "BYTES", value_parser = rate)]
    rate_limit: Option<u64>,
    /// Print JSON: a line for each finding, and a summary
    #[arg(long)]
    json: bool,
    /// How to show on standard error how far it is
    #[arg(long, value_enum, default_value = "auto")]
    progress: Show,
}

fn rate(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err("expected a number, or one with KiB, MiB or GiB, such as 50MiB".to_owned()),
    };
    let number: u64 = digits.parse().ok().filter(|&number| number > 0).ok_or("no whole number above 0")?;
    number.checked_mul(factor).ok_or_else(|| "too much".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    Ok(verify(arguments).unwrap_or_else(|failure| untold(&failure)))
}

fn verify(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Open { runtime, surveyor } = arguments.store.open(arguments.rate_limit)?;
    let scope = arguments.part.scope(&surveyor);
    let depth = if arguments.heavy { Depth::Heavy } else { Depth::Light };
    let progress = Arc::new(Progress::default());
    let screen = Arc::new(Screen::new(arguments.progress, &progress));
    let shown = Arc::clone(&screen);
    let shows = runtime.spawn(async move { shown.run().await });
    if screen.wants_a_sum() {
        let (surveyor, scope, progress) = (surveyor.clone(), scope.clone(), Arc::clone(&progress));
        runtime.spawn(async move { surveyor.count(&scope, &progress).await });
    }
    let (mut failed, mut foreign) = (None, 0);
    let tell = |found: Option<&FoundSegment>, checked: &Checked| {
        let is_foreign = |finding: &Finding| found.is_none() && finding.severity == Severity::Notice;
        for finding in &checked.findings {
            foreign += u64::from(is_foreign(finding));
            let text = match arguments.json {
                true => finding_json(found, finding),
                false if is_foreign(finding) && foreign > FOREIGN_MAX => continue,
                false => as_text(finding),
            };
            if let Err(failure) = screen.print(&text) {
                failed.get_or_insert(failure);
            }
        }
    };
    let parallel = usize::from(arguments.parallel);
    let tally = runtime.block_on(surveyor.verify_all(&scope, depth, parallel, &progress, tell));
    // Nothing is drawn behind the sums.
    shows.abort();
    let _ = runtime.block_on(shows);
    if let Some(failure) = failed {
        return Err(failure);
    }
    let (store, is_heavy) = (surveyor.store_name(), arguments.heavy);
    screen.print(&match arguments.json {
        true => summary_json(&tally, &scope, store, is_heavy),
        false => summary(&tally, &scope, store, is_heavy),
    })?;
    runtime.shutdown_background();
    if let (0, None, Some(topic)) = (tally.segments, &tally.cut_short, arguments.part.topic()) {
        return Err(Failure(format!(
            "there is no segment of topic {topic}; `undercroft object list` shows what there is"
        )));
    }
    Ok(code(&tally))
}

/// What is certain comes before what is not.
fn code(tally: &Tally) -> ExitCode {
    if tally.corrupt + tally.missing > 0 {
        ExitCode::from(1)
    } else if tally.untold > 0 || tally.cut_short.is_some() {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

fn as_text(finding: &Finding) -> String {
    let severity = finding.severity.name();
    let is_trouble = !matches!(finding.severity, Severity::Notice | Severity::Gone);
    let severity = if is_trouble { severity.to_uppercase() } else { severity.to_owned() };
    let place = if finding.place.is_empty() { String::new() } else { format!(" {}:", finding.place) };
    format!("{}\n", visible(&format!("{severity:8} {}:{place} {}", finding.object, finding.why)))
}

fn finding_json(found: Option<&FoundSegment>, finding: &Finding) -> String {
    let row = json!({
        "type": "finding",
        "severity": finding.severity.name(),
        "object": finding.object,
        "place": finding.place,
        "why": finding.why,
        "segment": found.map(segment_json),
    });
    format!("{row}\n")
}

fn summary(tally: &Tally, scope: &Scope, store: &str, is_heavy: bool) -> String {
    let Tally { segments, good, gone, corrupt, missing, untold, foreign, .. } = tally;
    let depth = if is_heavy { "every byte" } else { "sizes, footers and manifests" };
    let cut = tally.cut_short.as_ref().map_or_else(String::new, |why| format!(" NOT ALL WAS CHECKED: {why}."));
    let gone = if *gone > 0 { format!(", {gone} deleted meanwhile") } else { String::new() };
    format!(
        "{}, {}: {segments} segments ({}) checked, {depth}: {good} good, {corrupt} corrupt, {missing} with \
         something missing, {untold} that could not be told{gone}; {foreign} foreign objects.{cut}\n",
        visible(store),
        visible(&described(scope)),
        bytes(tally.bytes),
    )
}

fn summary_json(tally: &Tally, scope: &Scope, store: &str, is_heavy: bool) -> String {
    let row = json!({
        "type": "summary",
        "store": store,
        "prefix": scope.prefix,
        "topic": scope.topic,
        "depth": if is_heavy { "heavy" } else { "light" },
        "segments": tally.segments,
        "bytes": tally.bytes,
        "good": tally.good,
        "gone": tally.gone,
        "corrupt": tally.corrupt,
        "missing": tally.missing,
        "untold": tally.untold,
        "foreign": tally.foreign,
        "cutShort": tally.cut_short,
    });
    format!("{row}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_unit() {
        for (text, bytes) in [("1", 1), ("50MiB", 50 << 20), ("2KiB", 2048), ("1GiB", 1 << 30), ("7B", 7)] {
            assert_eq!(rate(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "0", "-1", "1.5MiB", "1MB", "99999999999GiB", "1 MiB"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
