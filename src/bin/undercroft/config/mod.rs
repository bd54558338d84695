//! `undercroft config`: the key table, as text or Markdown, and what a file of keys means.

mod check;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use undercroft::config::{self, Key, Side};

use crate::text::{columns, paragraph};
use crate::{Failure, print};

const WIDTH: usize = 100;

/// What `undercroft config` takes.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Show only this key, or all whose names have this part; a broker's prefix (`rsm.config.`, `rlmm.config.`) in
    /// front of it does no harm
    key: Option<String>,
    /// Only the keys of one side
    #[arg(long, value_enum)]
    side: Option<SideArgument>,
    /// Print Markdown, as in docs/CONFIG.md
    #[arg(long, conflicts_with = "key")]
    markdown: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Say how each key of a file is understood, and try the store
    Check(check::Arguments),
}

#[derive(Clone, Copy, ValueEnum)]
enum SideArgument {
    Storage,
    Metadata,
}

/// Prints what was asked for.
///
/// # Errors
/// [`Failure`] if there is no such key, with the one that was probably meant, or no such file.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        Some(Command::Check(arguments)) => check::run(arguments),
        None => print(&reference(arguments)?).map(|()| ExitCode::SUCCESS),
    }
}

fn reference(arguments: &Arguments) -> Result<String, Failure> {
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
    let mut out = table(side, &keys_of(side));
    if side == Side::Metadata {
        out.push_str(
            "\nBehind these stand settings of Kafka's clients, by their own names (docs/CONFIG.md says which)\n\n",
        );
        let rows =
            config::CLIENT_PREFIXES.iter().map(|prefix| vec![format!("{}*", prefix.name), prefix.clients.to_owned()]);
        columns(&rows.collect::<Vec<_>>()).iter().for_each(|line| {
            let _ = writeln!(out, "{line}");
        });
    }
    out
}

fn table(side: Side, keys: &[&Key]) -> String {
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

/// The key of that name; else what stands behind a client's prefix; else all keys that have the name as a part.
fn one(name: &str, sides: &[Side]) -> Result<String, Failure> {
    let said = Side::ALL.into_iter().find(|side| name.starts_with(side.broker_prefix()));
    let plain = said.and_then(|side| name.strip_prefix(side.broker_prefix())).unwrap_or(name);
    let sides: Vec<_> = sides.iter().copied().filter(|side| said.is_none_or(|said| said == *side)).collect();
    let exact: Vec<_> = sides.iter().flat_map(|&side| keys_of(side)).filter(|key| key.name == plain).collect();
    if !exact.is_empty() {
        return Ok(exact.into_iter().map(details).collect::<Vec<_>>().join("\n"));
    }
    if let Some(key) = config::all().into_iter().find(|key| key.name == plain) {
        let (side, prefix) = (name_of(key.side).to_lowercase(), key.side.broker_prefix());
        return Err(Failure(format!(
            "`{plain}` is a key of the {side} side: in a broker's file, write `{prefix}{plain}`"
        )));
    }
    if let Some(prefix) = config::client_prefix_of(plain) {
        return if sides.contains(&Side::Metadata) { Ok(client(plain, prefix)) } else { Err(of_a_client(plain)) };
    }
    let with_part = |&side: &Side| {
        let keys: Vec<_> = keys_of(side).into_iter().filter(|key| key.name.contains(plain)).collect();
        (!keys.is_empty()).then(|| table(side, &keys))
    };
    let tables: Vec<_> = sides.iter().filter_map(with_part).collect();
    if !tables.is_empty() {
        return Ok(tables.join("\n"));
    }
    let meant = sides.iter().find_map(|&side| config::near_miss(plain, side));
    let remedy = meant
        .map_or_else(|| "`undercroft config` lists all of them".to_owned(), |meant| format!("did you mean `{meant}`?"));
    Err(Failure(format!("there is no configuration key `{name}`; {remedy}")))
}

/// What is known of a key that is handed to a client.
fn client(key: &str, prefix: &config::ClientPrefix) -> String {
    let rows = [
        vec!["  side".to_owned(), "metadata".to_owned()],
        vec!["  in a broker's file".to_owned(), format!("{}{key}", Side::Metadata.broker_prefix())],
    ];
    let what = format!(
        "Settings of {} of the topic `__remote_log_metadata`, by the names that Kafka's Java clients have, stand behind `{}`.",
        prefix.clients, prefix.name
    );
    let setting = key.strip_prefix(prefix.name).unwrap_or_default();
    let fate = config::fate_of_client_setting(setting)
        .unwrap_or_else(|| "Which of them are understood and which are refused: docs/CONFIG.md.".to_owned());
    format!("{key}\n{}\n\n{}", columns(&rows).join("\n"), paragraph(&format!("{what} {fate}"), 2, WIDTH))
}

fn of_a_client(key: &str) -> Failure {
    let prefix = Side::Metadata.broker_prefix();
    Failure(format!("`{key}` is a setting of the metadata side's clients: in a broker's file, write `{prefix}{key}`"))
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
