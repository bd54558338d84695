//! `undercroft metadata`: looks into the log of remote segment metadata. Nothing writes to it but `migrate` and
//! `import`, and these when they are told to.
//!
//! `source` opens the log that is meant; each subcommand reads it to its end into a survey and prints what it is about.
#![allow(clippy::disallowed_methods, reason = "shell: asks for the time of day")]

mod custom;
mod export;
mod import;
mod list;
mod migrate;
mod properties;
mod show;
mod source;
mod tail;
pub mod text;
mod verify;

pub use properties::read as properties;

use std::process::ExitCode;

use clap::Subcommand;

use crate::Failure;

/// What `undercroft metadata` can do.
#[derive(Subcommand)]
pub enum Command {
    /// List partitions that have remote segments, with totals
    List(list::Arguments),
    /// Show every segment of a topic's partitions
    Show(show::Arguments),
    /// Look for what is wrong; exit code 1 if something is
    Verify(verify::Arguments),
    /// Print the current facts as records that Kafka's own metadata manager can read
    Export(export::Arguments),
    /// Write what `export` printed into another log, keyed and in the form of its level; first only say what would be written
    Import(import::Arguments),
    /// Follow the log and explain each record
    Tail(tail::Arguments),
    /// Take the topic to level 1 or 2, or say what stands in the way
    Migrate(migrate::Arguments),
}

/// Runs a subcommand, which prints by itself.
///
/// # Errors
/// [`Failure`] if the log or standard output fails, or what was asked for is not there.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::List(arguments) => list::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Import(arguments) => import::run(arguments),
        Command::Tail(arguments) => tail::run(arguments),
        Command::Migrate(arguments) => migrate::run(arguments),
    }
}

/// Milliseconds since 1970.
fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
