//! `undercroft config check`: what a file of keys means, and whether the store that it names can be used.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use undercroft::config::{self, Config, KeyFate, UnderstoodKey};
use undercroft::storage::{Preflight, PreflightStep, preflight};

use crate::text::{columns, paragraph};
use crate::{Failure, metadata, print};

const WIDTH: usize = 100;

/// The configuration can't be used: the manager would not start.
const REFUSED: u8 = 3;
/// The configuration is fine and the store can't be used.
const UNUSABLE: u8 = 4;

/// What `undercroft config check` takes.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 all is well, 1 the file can't be read, 2 the arguments make no sense,
3 the configuration is refused, 4 the store can't be used.

The store is asked to write, read, list and delete objects of its own, some MiB in all.")]
pub struct Arguments {
    /// A broker's file (keys behind `rsm.config.`), or one with the keys as they stand, as properties
    file: PathBuf,
    /// Only say what the keys mean, and leave the store alone
    #[arg(long)]
    no_store: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what was found.
///
/// # Errors
/// [`Failure`] if the file can't be read.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let at = |why: String| Failure(format!("{}: {why}", arguments.file.display()));
    let bytes = std::fs::read(&arguments.file).map_err(|error| at(error.to_string()))?;
    let pairs = metadata::properties(&bytes).map_err(at)?;
    let (config, keys) = config::understood(&pairs);
    let refused = keys.iter().any(|key| matches!(key.fate, KeyFate::Refused(_)));
    let placeholder = pairs.iter().find(|(_, value)| value.contains("${")).map(|(name, _)| name.as_str());
    let outcome = match placeholder {
        _ if refused => Outcome::Refused("see the keys above".to_owned()),
        Some(name) if !arguments.no_store => Outcome::Skipped(format!(
            "`{name}` has a placeholder that only the broker fills in: try the store with the value in its place"
        )),
        _ => try_store(&config, arguments.no_store)?,
    };
    print(&if arguments.json { as_json(&keys, &outcome) } else { as_text(&keys, &outcome) })?;
    Ok(match &outcome {
        Outcome::Refused(_) => ExitCode::from(REFUSED),
        Outcome::Tried(found) if !found.is_usable() => ExitCode::from(UNUSABLE),
        Outcome::Tried(_) | Outcome::Skipped(_) => ExitCode::SUCCESS,
    })
}

enum Outcome {
    Refused(String),
    Skipped(String),
    Tried(Preflight),
}

fn try_store(config: &Config, is_left_alone: bool) -> Result<Outcome, Failure> {
    if is_left_alone {
        return Ok(Outcome::Skipped("not asked for".to_owned()));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure(format!("no threads: {error}")))?;
    Ok(match runtime.block_on(preflight(config)) {
        Ok(found) => Outcome::Tried(found),
        Err(error) => Outcome::Refused(error.to_string()),
    })
}

fn as_text(keys: &[UnderstoodKey], outcome: &Outcome) -> String {
    let rows: Vec<_> =
        std::iter::once(["KEY", "VALUE", "IS", ""].map(str::to_owned).to_vec())
            .chain(keys.iter().map(|key| {
                vec![key.name.clone(), shortened(&key.value), key.fate.word().to_owned(), remark(&key.fate)]
            }))
            .collect();
    let mut out = columns(&rows).join("\n");
    out.push_str("\n\n");
    match outcome {
        Outcome::Refused(why) => {
            let _ = write!(
                out,
                "The configuration is refused: the storage side would not start.\n{}",
                paragraph(why, 2, WIDTH)
            );
        }
        Outcome::Skipped(why) => {
            let _ = writeln!(out, "The store was not tried: {why}.");
        }
        Outcome::Tried(found) => {
            let _ = writeln!(out, "Store: {}", found.store);
            for step in &found.steps {
                out.push_str(&step_text(step));
            }
            let end = match (found.is_usable(), found.steps.iter().any(|step| step.outcome.is_err())) {
                (true, false) => "The store can be used.",
                (true, true) => "The store can be used, without what failed.",
                (false, _) => "The store can't be used.",
            };
            let _ = writeln!(out, "{end}");
        }
    }
    out
}

fn step_text(step: &PreflightStep) -> String {
    let word = match &step.outcome {
        Ok(()) => "ok",
        Err(_) if step.is_optional => "no",
        Err(_) => "FAILED",
    };
    let mut out = format!("  {word:<7} {:<28} {:>6} ms\n", step.name, step.took.as_millis());
    if let Err(error) = &step.outcome {
        out.push_str(&paragraph(&error.to_string(), 10, WIDTH));
    }
    for words in &step.advice {
        out.push_str(&paragraph(&format!("-> {words}"), 10, WIDTH));
    }
    out
}

fn remark(fate: &KeyFate) -> String {
    match fate {
        KeyFate::Used(text) | KeyFate::Default(text) => first_sentence(text).to_owned(),
        KeyFate::Driver => "handed to the driver as it is".to_owned(),
        KeyFate::NoEffect(why) | KeyFate::Refused(why) => why.clone(),
        KeyFate::Unknown(Some(meant)) => format!("nobody reads it; did you mean `{meant}`?"),
        KeyFate::Unknown(None) => "nobody reads it".to_owned(),
        KeyFate::OfOthers(whose) => (*whose).to_owned(),
    }
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(40) {
        Some((cut, _)) => format!("{}…", &value[..cut]),
        None => value.to_owned(),
    }
}

fn as_json(keys: &[UnderstoodKey], outcome: &Outcome) -> String {
    let keys: Vec<_> = keys
        .iter()
        .map(|key| json!({"key": key.name, "value": key.value, "is": key.fate.word(), "why": remark(&key.fate)}))
        .collect();
    let store = match outcome {
        Outcome::Refused(why) => json!({"outcome": "refused", "why": why}),
        Outcome::Skipped(why) => json!({"outcome": "skipped", "why": why}),
        Outcome::Tried(found) => json!({
            "outcome": if found.is_usable() { "usable" } else { "unusable" },
            "store": found.store,
            "warnings": found.warnings,
            "steps": found.steps.iter().map(|step| json!({
                "step": step.name,
                "tookMs": u64::try_from(step.took.as_millis()).unwrap_or(u64::MAX),
                "isOptional": step.is_optional,
                "error": step.outcome.as_ref().err().map(ToString::to_string),
                "kind": step.outcome.as_ref().err().map(|error| error.kind()),
                "advice": step.advice,
            })).collect::<Vec<_>>(),
        }),
    };
    format!("{:#}\n", json!({"keys": keys, "store": store}))
}
