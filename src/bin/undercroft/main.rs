//! The `undercroft` command.
//!
//! In: arguments. Out: text on standard output, errors on standard error; exit code 0, 1 (it failed) or 2 (the
//! arguments make no sense). A file per subcommand; each hands back what is to be printed, but `metadata`, `config` and
//! `object`, which print by themselves and decide on the exit code.

mod config;
mod metadata;
mod object;
mod text;
mod version;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  undercroft config                                  all configuration keys
  undercroft config --side metadata                  those of the metadata side
  undercroft config storage.backend.class            one of them
  undercroft config fetch                            all with a part of that name
  undercroft config check server.properties          how the keys of a file are understood, and whether
                                                     the store can be used
  undercroft object list --config server.properties  which segments lie in the store
  undercroft object verify --config server.properties --topic orders --heavy
                                                     whether every byte of them is right
  undercroft object inspect 00000000000000000042-….ucseg
                                                     what a segment's object says of itself
  undercroft metadata list --bootstrap-server localhost:9092
                                                     which partitions have remote segments
  undercroft metadata verify --bootstrap-server localhost:9092
                                                     whether something is wrong with them";

/// Kafka tiered storage: looks into what the library reads and writes
#[derive(Parser)]
#[command(name = "undercroft", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the version
    Version,
    /// List the configuration keys, or check a file of them
    Config(config::Arguments),
    /// Look at the objects of a store, without writing to it
    #[command(subcommand)]
    Object(object::Command),
    /// Look into the log of remote segment metadata; `import` and `migrate` write to it, when they are told to
    #[command(subcommand)]
    Metadata(metadata::Command),
}

/// Why a subcommand has nothing to print; one line for standard error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failure(String);

fn main() -> ExitCode {
    let text = match Cli::parse().command {
        Command::Version => Ok(version::run()),
        Command::Config(arguments) => return end(config::run(&arguments)),
        Command::Object(command) => return end(object::run(&command)),
        Command::Metadata(command) => return end(metadata::run(&command)),
    };
    end(text.and_then(|text| print(&text)).map(|()| ExitCode::SUCCESS))
}

fn end(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(failure) => {
            complain(&failure);
            ExitCode::FAILURE
        }
    }
}

/// One line on standard error.
fn complain(failure: &Failure) {
    // Nobody is left to be told if this fails too.
    let _ = writeln!(io::stderr(), "undercroft: {}", undercroft::config::visible(&failure.0));
}

/// Writes to standard output. A reader that has seen enough (`| head`) is no failure.
fn print(text: &str) -> Result<(), Failure> {
    metadata::text::put(text).map(|_| ())
}
