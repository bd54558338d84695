//! `undercroft metadata verify`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use undercroft::config::visible;
use undercroft::metadata::survey::{Finding, Severity, Tally, check};

use super::source::{Filter, Source};
use super::text;
use crate::Failure;
use crate::text::columns;

/// What `undercroft metadata verify` takes.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    filter: Filter,
    /// Age from which on a copy or deletion that has not ended is a problem: a number with ms, s, m, h or d
    #[arg(long, value_name = "AGE", default_value = "1h", value_parser = age_ms)]
    older_than: i64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn age_ms(text: &str) -> Result<i64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("expected a number and ms, s, m, h or d, such as 90m".to_owned()),
    };
    let number: i64 = digits.parse().ok().filter(|&number| number >= 0).ok_or("no whole number")?;
    number.checked_mul(factor).ok_or_else(|| "too long".to_owned())
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (log, survey) = arguments.source.survey()?;
    let filter = &arguments.filter;
    let users = survey.user_partitions();
    let checked = users.iter().filter(|user| filter.takes(user.partition())).count();
    if checked == 0 && filter.is_set() {
        return Err(filter.nothing(&log.name));
    }
    let findings = check(&survey, super::now_ms(), arguments.older_than, &|partition| filter.takes(partition));
    let problems = findings.iter().filter(|finding| finding.severity == Severity::Problem).count();
    let text = if arguments.json {
        let findings: Vec<_> = findings.iter().map(finding_json).collect();
        let verdict = json!({
            "log": log.name,
            "ok": problems == 0,
            "partitions": checked,
            "problems": problems,
            "records": tally_json(survey.tally()),
            "findings": findings,
        });
        format!("{verdict:#}\n")
    } else {
        as_text(&findings, problems, checked, survey.tally())
    };
    text::put(&text)?;
    Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn as_text(findings: &[Finding], problems: usize, checked: usize, tally: &Tally) -> String {
    let mut out = String::new();
    for finding in findings {
        let severity = if finding.severity == Severity::Problem { "PROBLEM" } else { "notice" };
        let partition = finding.partition.as_ref().map_or_else(String::new, |at| format!("{}: ", text::partition(at)));
        let _ = write!(out, "{severity} {partition}{}", visible(&finding.text));
        if finding.records.count > 0 {
            let _ = write!(out, " [records {}]", text::places(&finding.records));
        }
        out.push('\n');
    }
    if !findings.is_empty() {
        out.push('\n');
    }
    let counts = counts(tally);
    let head = counts.iter().map(|(name, _)| name.to_uppercase()).collect();
    let row = counts.iter().map(|(_, count)| count.to_string()).collect();
    let _ = writeln!(out, "Records of the whole log:\n{}\n", columns(&[head, row]).join("\n"));
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let (partitions, problems) = (plural(checked, "partition"), (problems, plural(problems, "problem")));
    let _ = match problems {
        (0, _) => writeln!(out, "{partitions} checked: no problem."),
        (_, problems) => writeln!(out, "{partitions} checked: {problems}."),
    };
    out
}

fn counts(tally: &Tally) -> [(&'static str, u64); 11] {
    [
        ("total", tally.records),
        ("applied", tally.applied),
        ("kept", tally.kept),
        ("refused", tally.refused.count),
        ("unreadable", tally.unreadable.count),
        ("newer", tally.newer.count),
        ("misplaced", tally.misplaced.count),
        ("tombstones", tally.tombstones),
        ("skipped", tally.skipped),
        ("keyless", tally.without_key.count),
        ("badkey", tally.bad_keys.count),
    ]
}

fn tally_json(tally: &Tally) -> Value {
    json!({
        "total": tally.records,
        "applied": tally.applied,
        "kept": tally.kept,
        "refused": tally.refused.count,
        "unreadable": tally.unreadable.count,
        "newer": tally.newer.count,
        "misplaced": tally.misplaced.count,
        "tombstones": tally.tombstones,
        "skipped": tally.skipped,
        "withoutKey": tally.without_key.count,
        "unreadableKeys": tally.bad_keys.count,
    })
}

fn finding_json(finding: &Finding) -> Value {
    let partition = finding.partition.as_ref();
    json!({
        "severity": if finding.severity == Severity::Problem { "problem" } else { "notice" },
        "kind": finding.kind.name(),
        "text": finding.text,
        "topic": partition.map(|partition| &*partition.topic),
        "topicId": partition.map(|partition| partition.topic_id.to_string()),
        "partition": partition.map(|partition| partition.partition),
        "segmentId": finding.segment.map(|segment| segment.to_string()),
        "leaderEpoch": finding.epoch.map(|epoch| epoch.0),
        "startOffset": finding.offsets.map(|(start, _)| start.0),
        "endOffset": finding.offsets.map(|(_, end)| end.0),
        "count": finding.count,
        "firstRecords": finding.records.first.iter().copied().map(text::place_json).collect::<Vec<_>>(),
    })
}
