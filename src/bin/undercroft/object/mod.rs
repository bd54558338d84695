//! `undercroft object`: what lies in a store, in files of any layout, and whether it is whole. Nothing writes.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long a check takes")]

mod inspect;
mod list;
mod progress;
mod store;
mod verify;

use std::process::ExitCode;

use clap::Subcommand;

use crate::Failure;

/// What `undercroft object` can do.
#[derive(Subcommand)]
pub enum Command {
    /// List the segments that lie in a store, and what else does
    List(list::Arguments),
    /// Print what an object says of itself: a file, or with `--config` one in the store. Exit codes as of `verify`
    Inspect(inspect::Arguments),
    /// Check segments in a store: exit code 0 all good, 1 something corrupt or missing, 2 it could not be told
    Verify(verify::Arguments),
}

/// Runs a subcommand, which prints by itself.
///
/// # Errors
/// [`Failure`] if there is nothing that it could say.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::List(arguments) => list::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
    }
}

/// "It could not be told", as an exit code: neither all good nor something wrong.
fn untold(failure: &Failure) -> ExitCode {
    crate::complain(failure);
    ExitCode::from(2)
}
