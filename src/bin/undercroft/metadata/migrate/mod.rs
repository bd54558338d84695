//! `undercroft metadata migrate`.

mod json;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgGroup, Args};
use undercroft::metadata::log::LogError;
use undercroft::metadata::log::kafka::TopicOperator;
use undercroft::metadata::migration::{Cluster as _, Ending, Goal, KafkaCluster, Patience, Wish, pursue};

use super::{source, text};
use crate::Failure;

/// Exit codes beside 0 (done, or ready), 1 (it failed) and 2 (the arguments make no sense).
const NOT_YET: u8 = 3;
const REFUSED: u8 = 4;

const EXIT_CODES: &str = "\
Exit codes:
  0  done; of --check: the next level can be had now
  1  it failed; what was told as done is done, and the same command goes on from there
  2  the arguments make no sense
  3  not yet: what stands in the way passes by itself
  4  refused: somebody has to do something first";

/// What `undercroft metadata migrate` takes; the names are the KIP's.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
#[command(group = ArgGroup::new("goal").required(true).args(["upgrade_to_v1", "check", "upgrade_to_v2", "auto_upgrade"]))]
pub struct Arguments {
    /// A broker of the cluster; several with commas between them
    #[arg(long, value_name = "HOST:PORT")]
    bootstrap_server: String,
    /// Java properties file with settings of a client, as Kafka's tools take it
    #[arg(long, value_name = "FILE")]
    command_config: Option<PathBuf>,
    /// From level 0 to 1: brokers use records that stock brokers cannot read
    #[arg(long)]
    upgrade_to_v1: bool,
    /// Say what there is, what stands in the way of the next level, and for how long. Writes nothing
    #[arg(long)]
    check: bool,
    /// From level 1 to 2: the topic is compacted
    #[arg(long)]
    upgrade_to_v2: bool,
    /// Both in turn, and the wait in between
    #[arg(long)]
    auto_upgrade: bool,
    /// Go on though brokers are in the way that do not run Undercroft, or another migration seems to be under way
    #[arg(long)]
    force: bool,
    /// At level 1 let records go after this time (the KIP's way, which loses facts; without a number 1209600000). Left away,
    /// nothing goes and nothing is waited for
    #[arg(
        long,
        value_name = "MS",
        num_args = 0..=1,
        default_missing_value = "1209600000",
        conflicts_with = "upgrade_to_v2",
        value_parser = clap::value_parser!(i64).range(1..)
    )]
    retention_ms: Option<i64>,
    /// `segment.ms` of the topic [default: 86400000 with --retention-ms, 3600000 at level 2]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(i64).range(1..))]
    segment_ms: Option<i64>,
    /// How long an answer of a broker, or the next record, is waited for
    #[arg(long, value_name = "MS", default_value_t = 60_000, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    timeout_ms: u64,
    /// With --auto-upgrade: give up when nothing has come forward for so long
    #[arg(long, value_name = "MS", default_value_t = 1_800_000)]
    stall_ms: u64,
    /// With --auto-upgrade: time between two looks
    #[arg(long, value_name = "MS", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    poll_ms: u64,
    /// With --check: print JSON
    #[arg(long, conflicts_with_all = ["upgrade_to_v1", "upgrade_to_v2", "auto_upgrade"])]
    json: bool,
}

impl Arguments {
    fn goal(&self) -> Goal {
        match (self.upgrade_to_v1, self.upgrade_to_v2, self.auto_upgrade) {
            (true, _, _) => Goal::Level1,
            (_, true, _) => Goal::Level2,
            (_, _, true) => Goal::Auto,
            _ => Goal::Check,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match migrate(arguments) {
        Ok(ending) => Ok(match ending {
            Ending::Done => ExitCode::SUCCESS,
            Ending::NotYet => ExitCode::from(NOT_YET),
            Ending::Refused => ExitCode::from(REFUSED),
        }),
        Err(Trouble::Log(error @ (LogError::Refused { .. } | LogError::Mismatch { .. }))) => {
            crate::complain(&Failure(format!("REFUSED: {error}")));
            Ok(ExitCode::from(REFUSED))
        }
        Err(Trouble::Log(error)) => Err(Failure(format!("FAILED: {error}"))),
        Err(Trouble::Other(failure)) => Err(failure),
    }
}

/// Why there is no ending.
enum Trouble {
    Log(LogError),
    Other(Failure),
}

impl From<LogError> for Trouble {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

fn migrate(arguments: &Arguments) -> Result<Ending, Trouble> {
    let client = source::client(&arguments.bootstrap_server, arguments.command_config.as_deref())?;
    let timeout = Duration::from_millis(arguments.timeout_ms);
    let operator = TopicOperator::open(&client, timeout)?;
    for warning in operator.warnings() {
        crate::complain(&Failure(warning.to_string()));
    }
    let cluster = KafkaCluster::open(operator, timeout)?;
    let Arguments { force: is_forced, retention_ms, segment_ms, .. } = *arguments;
    let wish = Wish { is_forced, retention_ms, segment_ms };
    if arguments.json {
        let (ending, verdict) = json::check(&cluster.look()?, &wish);
        text::put(&format!("{verdict:#}\n"))?;
        return Ok(ending);
    }
    let patience = Patience { poll_ms: arguments.poll_ms, stall_ms: arguments.stall_ms };
    let mut report = report::Report::new(arguments.goal());
    let ending = pursue(&cluster, arguments.goal(), &wish, patience, &mut report);
    report.end()?;
    Ok(ending?)
}
