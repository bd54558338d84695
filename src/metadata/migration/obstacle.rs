//! Why a step is not taken now.

use std::fmt;

use crate::model::BrokerId;

use super::found::Runs;
use super::words::{counted, duration, some};

/// A reason against a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// From 0 to 2 in one step.
    SkipsALevel { lowest: i8 },
    /// Down.
    Downgrade { from: i8, to: i8 },
    /// Brokers that don't keep to levels, or may not.
    Brokers(Vec<(BrokerId, Runs)>),
    /// Nobody runs who could write.
    NoBrokers,
    /// Level records that differ and are young.
    UnderWay { lowest: i8, highest: i8, age_ms: i64 },
    /// A log cleaner works on a topic whose facts need records without a key.
    CompactedTooEarly { unkeyed: u64 },
    /// Written by a later release.
    Newer { records: u64, level: Option<i8> },
    /// Partitions at the end without a level, while all before them have one.
    Added { first: i32, last: i32 },
    /// Records where no manager looks for them.
    Misplaced { records: u64, partitions: i32 },
    /// Facts that compaction would lose, and whose partitions are led by somebody.
    Resting { facts: u64, partitions: Vec<String> },
    /// Facts that compaction would lose, of topics that are gone.
    RestingOfLostTopics { facts: u64, topics: Vec<String> },
    /// Somebody wrote without a key where only keyed records are allowed.
    UnkeyedWriter { age_ms: i64, wait_ms: i64, place: String },
}

impl Obstacle {
    /// Whether it goes away by itself.
    #[must_use]
    pub fn passes(&self) -> bool {
        matches!(self, Self::Resting { .. } | Self::RestingOfLostTopics { .. } | Self::UnkeyedWriter { .. })
    }

    /// Whether an operator who knows more may overrule it.
    #[must_use]
    pub fn can_be_overruled(&self) -> bool {
        match self {
            Self::Brokers(_)
            | Self::UnderWay { .. }
            | Self::Added { .. }
            | Self::Misplaced { .. }
            | Self::RestingOfLostTopics { .. } => true,
            Self::SkipsALevel { .. }
            | Self::Downgrade { .. }
            | Self::NoBrokers
            | Self::CompactedTooEarly { .. }
            | Self::Newer { .. }
            | Self::Resting { .. }
            | Self::UnkeyedWriter { .. } => false,
        }
    }

    /// The word in JSON; it stays.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SkipsALevel { .. } => "skips-a-level",
            Self::Downgrade { .. } => "downgrade",
            Self::Brokers(_) => "brokers",
            Self::NoBrokers => "no-brokers",
            Self::UnderWay { .. } => "under-way",
            Self::CompactedTooEarly { .. } => "compacted-too-early",
            Self::Newer { .. } => "newer",
            Self::Added { .. } => "added-partitions",
            Self::Misplaced { .. } => "misplaced",
            Self::Resting { .. } => "resting-facts",
            Self::RestingOfLostTopics { .. } => "resting-facts-of-lost-topics",
            Self::UnkeyedWriter { .. } => "writer-without-keys",
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SkipsALevel { lowest } => write!(
                f,
                "level 2 comes after level 1, and metadata partitions are at level {lowest}: run --upgrade-to-v1 first, or \
                 --auto-upgrade, which does both in turn"
            ),
            Self::Downgrade { from, to } => write!(
                f,
                "the topic is at level {from}, and no way leads down to {to}: older records would not be understood. To go \
                 back to stock brokers use `undercroft metadata export` (docs/OPERATIONS.md says how)"
            ),
            Self::Brokers(brokers) => {
                write!(f, "{} in the way:", counted(brokers.len() as u64, "broker"))?;
                for (id, runs) in brokers {
                    write!(f, "\n    broker {id}: {}", runs.text())?;
                }
                write!(
                    f,
                    "\n  A stock broker's metadata reader ends for good at the first record of level 1. Change these brokers to \
                     Undercroft, or start them, and try again; --force goes on all the same"
                )
            }
            Self::NoBrokers => f.write_str("the cluster tells of no broker"),
            Self::UnderWay { lowest, highest, age_ms } => write!(
                f,
                "metadata partitions are at levels {lowest} to {highest}, the last level record is {} old: somebody else's \
                 migration seems to be under way, or one was cut off. Wait two minutes and try again, which finishes it; \
                 --force does so now",
                duration(*age_ms)
            ),
            Self::CompactedTooEarly { unkeyed } => write!(
                f,
                "the topic has cleanup.policy=compact, though {} without a key: the cleaner drops them and what they say. \
                 Set cleanup.policy=delete and retention.ms=-1 at once, see `undercroft metadata verify` for what is \
                 missing, then try again",
                match unkeyed {
                    1 => "a record is".to_owned(),
                    unkeyed => format!("{unkeyed} records are"),
                }
            ),
            Self::Newer { records, level } => {
                match level {
                    Some(level) => {
                        write!(f, "a metadata partition is at level {level}, which this release does not know")?
                    }
                    None => write!(f, "{} of a later release", counted(*records, "record"))?,
                }
                f.write_str(": use the command of that release")
            }
            Self::Added { first, last } => write!(
                f,
                "partitions {first} to {last} have no level record, all before them have: somebody has added partitions, or a \
                 migration was cut off. If partitions were added, records of most topics are looked for where they are not; \
                 brokers refuse to work with such a topic, and it has to be made anew with {first} partitions \
                 (`undercroft metadata export`, then `import`). If none were, --force goes on"
            ),
            Self::Misplaced { records, partitions } => write!(
                f,
                "{} in metadata partitions where nobody looks for them: the topic has {partitions} partitions and had \
                 another number before. What they say is not known to brokers; see `undercroft metadata verify`, and set \
                 remote.log.metadata.topic.num.partitions back if it was changed; --force leaves them behind",
                match records {
                    1 => "1 record is".to_owned(),
                    records => format!("{records} records are"),
                }
            ),
            Self::Resting { facts, partitions } => write!(
                f,
                "{} would be lost with the records without a key (partitions {}). At level 1 the leaders of these \
                 partitions write them again within minutes; if their number stays, see whether those brokers run \
                 Undercroft and have read the topic to its end (metric partitions-ready)",
                counted(*facts, "fact"),
                some(partitions.iter().cloned())
            ),
            Self::RestingOfLostTopics { facts, topics } => write!(
                f,
                "{} of topics that are gone would be lost with the records without a key ({}). Nobody leads these \
                 partitions. Brokers with Undercroft's storage side delete what the store has of them within minutes, and \
                 this passes; other storage managers do not, and their objects would be known to nobody: delete them by hand \
                 (`undercroft metadata show` lists them), then --force goes on",
                counted(*facts, "fact"),
                some(topics.iter().cloned())
            ),
            Self::UnkeyedWriter { age_ms, wait_ms, place } => write!(
                f,
                "a record without a key was written {} ago, behind the record of level 1 ({place}): some broker does not \
                 keep to the level. A compacted topic refuses such records, and that broker's copies would fail. If \
                 none comes any more, this passes in {}",
                duration(*age_ms),
                duration(*wait_ms)
            ),
        }
    }
}
