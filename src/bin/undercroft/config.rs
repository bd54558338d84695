//! `undercroft config`: the key table, as text or Markdown.

use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use undercroft::config::{self, Key, Side};

use crate::Failure;
use crate::text::{columns, paragraph};

const WIDTH: usize = 100;

/// What `undercroft config` takes.
#[derive(Args)]
pub struct Arguments {
    /// Show only this key; a broker's prefix (`rsm.config.`, `rlmm.config.`) in front of it does no harm
    key: Option<String>,
    /// Only the keys of one side
    #[arg(long, value_enum)]
    side: Option<SideArgument>,
    /// Print Markdown, as in docs/CONFIG.md
    #[arg(long, conflicts_with = "key")]
    markdown: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SideArgument {
    Storage,
    Metadata,
}

/// The text to print.
///
/// # Errors
/// [`Failure`] if there is no such key, with the one that was probably meant.
pub fn run(arguments: &Arguments) -> Result<String, Failure> {
    let side = arguments.side.map(|side| match side {
        SideArgument::Storage => Side::Storage,
        SideArgument::Metadata => Side::Metadata,
    });
    let sides = side.map_or(Side::ALL.to_vec(), |side| vec![side]);
    match &arguments.key {
        Some(name) => one(name, &sides),
        None if arguments.markdown && side.is_none() => Ok(config::markdown()),
        None if arguments.markdown => Ok(sides.into_iter().map(config::markdown_of).collect()),
        None => Ok(sides.into_iter().map(list).collect::<Vec<_>>().join("\n")),
    }
}

fn list(side: Side) -> String {
    let keys = keys_of(side);
    let head = ["KEY", "TYPE", "DEFAULT", "RANGE"].map(str::to_owned).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(keys.iter().map(|key| row(key))).collect();
    let mut lines = columns(&rows).into_iter();
    let mut out = format!(
        "{} side; in a broker's file behind `{}`\n\n{}\n",
        name_of(side),
        side.broker_prefix(),
        lines.next().unwrap_or_default()
    );
    for (line, key) in lines.zip(keys) {
        let _ = write!(out, "{line}\n{}", paragraph(key.text, 4, WIDTH));
    }
    out
}

fn one(name: &str, sides: &[Side]) -> Result<String, Failure> {
    let matches: Vec<_> = sides
        .iter()
        .flat_map(|&side| {
            let name = name.strip_prefix(side.broker_prefix()).unwrap_or(name);
            keys_of(side).into_iter().filter(move |key| key.name == name)
        })
        .collect();
    if matches.is_empty() {
        let meant = sides.iter().find_map(|&side| config::near_miss(name, side));
        let remedy = meant.map_or_else(
            || "`undercroft config` lists all of them".to_owned(),
            |meant| format!("did you mean `{meant}`?"),
        );
        return Err(Failure(format!("there is no configuration key `{name}`; {remedy}")));
    }
    Ok(matches.into_iter().map(details).collect::<Vec<_>>().join("\n"))
}

fn details(key: &Key) -> String {
    let row = |name: &str, value: String| vec![format!("  {name}"), value];
    let rows = [
        row("side", name_of(key.side).to_lowercase()),
        row("in a broker's file", format!("{}{}", key.side.broker_prefix(), key.name)),
        row("type", key.kind.to_string()),
        row("default", default(key)),
        row("range", key.range()),
    ];
    format!("{}\n{}\n\n{}", key.name, columns(&rows).join("\n"), paragraph(key.text, 2, WIDTH))
}

fn row(key: &Key) -> Vec<String> {
    vec![key.name.to_owned(), key.kind.to_string(), default(key), key.range()]
}

fn default(key: &Key) -> String {
    match key.default {
        None => "none".to_owned(),
        Some("") => "empty".to_owned(),
        Some(default) => default.to_owned(),
    }
}

fn keys_of(side: Side) -> Vec<&'static Key> {
    config::all().into_iter().filter(|key| key.side == side).collect()
}

fn name_of(side: Side) -> &'static str {
    match side {
        Side::Storage => "Storage",
        Side::Metadata => "Metadata",
    }
}
