//! `undercroft config check`: what a file of keys means, and whether the store that it names can be used.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use undercroft::config::{Config, ConfigError, KeyFate, StoragePairs, UnderstoodKey, visible};
use undercroft::storage::{CheckedConfig, Preflight, PreflightStep, StorageEnv, StorageError, check_config, preflight};

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
    /// A broker's file (keys behind `rsm.config.`, or what its `remote.log.storage.manager.impl.prefix` says), or one with the keys
    /// as they stand, as properties
    file: PathBuf,
    /// Only check the configuration, and leave the store and the network alone
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
    let pairs =
        metadata::properties(&arguments.file).map_err(|why| Failure(format!("{}: {why}", arguments.file.display())))?;
    let of_storage = StoragePairs::of(&pairs);
    let keys = of_storage.understood();
    let outcome = match keys.iter().any(|key| matches!(key.fate, KeyFate::Refused(_))) {
        true => Outcome::Refused("see the keys above".to_owned()),
        false => outcome(&of_storage, arguments.no_store)?,
    };
    print(&if arguments.json { as_json(&keys, &outcome) } else { as_text(&keys, &outcome) })?;
    Ok(match &outcome {
        Outcome::Refused(_) => ExitCode::from(REFUSED),
        Outcome::Tried(found) if !found.is_usable() => ExitCode::from(UNUSABLE),
        Outcome::Tried(_) | Outcome::Skipped { .. } => ExitCode::SUCCESS,
    })
}

enum Outcome {
    Refused(String),
    Skipped { why: String, warnings: Vec<String> },
    Tried(Preflight),
}

/// What a broker's start would say of the configuration, and then what the store says.
fn outcome(pairs: &StoragePairs<'_>, is_left_alone: bool) -> Result<Outcome, Failure> {
    let config = pairs.config();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure(format!("no threads: {error}")))?;
    let _entered = runtime.enter();
    let checked = check_config(&config, &StorageEnv { runtime: runtime.handle().clone() });
    let placeholders: Vec<_> = pairs.placeholders().collect();
    if let Some((name, _)) = placeholders.first() {
        return Ok(match checked {
            Err(error) if !may_be_of_placeholder(&error, &placeholders) => Outcome::Refused(error.to_string()),
            checked => Outcome::Skipped {
                why: format!(
                    "`{name}` has a placeholder that only the broker fills in: try the store with the value in its place"
                ),
                warnings: checked.map(|checked| checked.warnings).unwrap_or_default(),
            },
        });
    }
    Ok(match checked {
        Err(error) => Outcome::Refused(error.to_string()),
        Ok(CheckedConfig { warnings, .. }) if is_left_alone => {
            Outcome::Skipped { why: "not asked for".to_owned(), warnings }
        }
        Ok(_) => tried(&runtime, &config),
    })
}

fn tried(runtime: &tokio::runtime::Runtime, config: &Config) -> Outcome {
    match runtime.block_on(preflight(config)) {
        Ok(found) => Outcome::Tried(found),
        Err(error) => Outcome::Refused(error.to_string()),
    }
}

/// Whether the error may be gone once the broker has filled in its values.
fn may_be_of_placeholder(error: &StorageError, placeholders: &[(&str, &str)]) -> bool {
    let StorageError::Config(error) = error else { return true };
    let key = match error {
        ConfigError::BadValue { key, .. } | ConfigError::Missing { key, .. } | ConfigError::Unsupported { key, .. } => {
            key
        }
    };
    // `storage.*` is what a driver says of all that it was handed.
    placeholders.iter().any(|(_, name)| name == key) || key.contains('*') || error.to_string().contains("${")
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
        Outcome::Skipped { why, warnings } => {
            out.push_str(&warned(warnings));
            let _ = writeln!(out, "The store was not tried: {}.", visible(why));
        }
        Outcome::Tried(found) => {
            out.push_str(&warned(&found.warnings));
            let _ = writeln!(out, "Store: {}", visible(&found.store));
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

/// What the table of keys doesn't say already.
fn warned(warnings: &[String]) -> String {
    let is_new = |warning: &&String| !warning.contains("is unknown and has no effect");
    warnings.iter().filter(is_new).map(|warning| paragraph(&format!("Warning: {warning}"), 0, WIDTH)).collect()
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
        KeyFate::Overridden => "the same key stands further down again, and that value holds".to_owned(),
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
        Outcome::Skipped { why, warnings } => json!({"outcome": "skipped", "why": why, "warnings": warnings}),
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
