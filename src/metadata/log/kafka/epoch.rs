//! The leader epochs of user partitions, from this broker and nobody else.
//!
//! ListOffsets is answered by a leader only, and with that leader's own epoch; the client however sends it to whoever
//! leads, and doesn't tell whom it asked. So an epoch is taken only if the cluster names this broker as leader before
//! and after, and if the question asked again is answered alike: epochs never come back, so the leadership did not
//! change in between.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::faults;
use super::native::{Admin, AdminError, Code, Described, RespErr};
use crate::metadata::log::LogError;
use crate::model::{BrokerId, LeaderEpoch};

const TIMEOUT: Duration = Duration::from_secs(3);

type Partition = (Arc<str>, i32);
type Epoch = Result<LeaderEpoch, LogError>;

/// Answers in the order of `partitions`.
pub(super) fn ask(
    admin: &Admin,
    servers: &str,
    own: BrokerId,
    partitions: &[Partition],
    stop: &dyn Fn() -> bool,
) -> Vec<Epoch> {
    let unsupported =
        |partition: &Partition, log: &str| Err(LogError::Unsupported { what: what(partition), log: log.to_owned() });
    if own.0 < 0 {
        // Without `broker.id` nothing is led here as far as the cluster knows; the host may tell the epoch.
        return partitions.iter().map(|partition| unsupported(partition, "a host that is no broker")).collect();
    }
    let round = Round { admin, servers, own, deadline: Instant::now() + TIMEOUT, stop };
    // No partition twice, whoever asks: a recreated topic may be asked for under both of its ids.
    let distinct: BTreeSet<&Partition> = partitions.iter().collect();
    let first = round.ask(distinct);
    let second = round.ask(first.iter().filter(|(_, epoch)| epoch.is_ok()).map(|(&partition, _)| partition).collect());
    let answer = |partition: &Partition| match (first.get(partition), second.get(partition)) {
        (Some(Ok(first)), Some(Ok(second))) if first != second => {
            Err(round.led_elsewhere(partition, "its leadership changed just now"))
        }
        (Some(Ok(epoch)), Some(Ok(_))) if *epoch < 0 => unsupported(partition, "a broker that tells no leader epochs"),
        (Some(Ok(epoch)), Some(Ok(_))) => Ok(LeaderEpoch(*epoch)),
        (_, Some(Err(error))) | (Some(Err(error)), _) => Err(LogError::clone(error)),
        (Some(Ok(_)) | None, None) | (None, Some(Ok(_))) => Err(round.led_elsewhere(partition, "it was not answered")),
    };
    partitions.iter().map(answer).collect()
}

fn what((topic, partition): &Partition) -> String {
    format!("ask for the leader epoch of {topic}-{partition}")
}

struct Round<'a> {
    admin: &'a Admin,
    servers: &'a str,
    own: BrokerId,
    deadline: Instant,
    stop: &'a dyn Fn() -> bool,
}

impl Round<'_> {
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    fn led_elsewhere(&self, partition: &Partition, why: &str) -> LogError {
        let log = format!("broker {} as its leader (through {})", self.own, self.servers);
        LogError::Unreachable { what: what(partition), log, why: why.to_owned() }
    }

    fn failed(&self, partition: &Partition, failed: &AdminError) -> LogError {
        match failed.code.is(RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
            // Not yet, or not any more; it is the user's topic, which says nothing of ours.
            true => self.led_elsewhere(partition, "there is no such topic"),
            false => faults::question(&what(partition), self.servers, failed, &self.admin.beside()),
        }
    }

    /// The epoch of each that the cluster says to be led here.
    fn ask<'p>(&self, partitions: BTreeSet<&'p Partition>) -> BTreeMap<&'p Partition, Result<i32, LogError>> {
        let topics: BTreeSet<&str> = partitions.iter().map(|(topic, _)| topic.as_ref()).collect();
        let leaders = self.leaders(&topics);
        let mut answers = BTreeMap::new();
        let mut own = Vec::new();
        for partition in partitions {
            match self.is_own(partition, leaders.get(partition.0.as_ref())) {
                Ok(()) => own.push(partition),
                Err(error) => {
                    answers.insert(partition, Err(error));
                }
            }
        }
        if own.is_empty() {
            return answers;
        }
        let asked: Vec<(&str, i32)> = own.iter().map(|(topic, partition)| (topic.as_ref(), *partition)).collect();
        match self.admin.latest_epochs(&asked, self.left(), self.stop) {
            Ok(epochs) => answers.extend(own.into_iter().zip(epochs).map(|(partition, epoch)| {
                (
                    partition,
                    epoch.map_err(|code| self.failed(partition, &AdminError { code, reason: code.to_string() })),
                )
            })),
            Err(error) => {
                answers.extend(own.into_iter().map(|partition| (partition, Err(self.failed(partition, &error)))))
            }
        }
        answers
    }

    fn is_own(&self, partition: &Partition, leaders: Option<&Result<Vec<i32>, AdminError>>) -> Result<(), LogError> {
        let leaders = match leaders {
            Some(Ok(leaders)) => leaders,
            Some(Err(error)) => return Err(self.failed(partition, error)),
            None => return Err(self.led_elsewhere(partition, "nobody described its topic")),
        };
        match usize::try_from(partition.1).ok().and_then(|number| leaders.get(number)) {
            Some(&leader) if leader == self.own.0 => Ok(()),
            Some(-1) => Err(self.led_elsewhere(partition, "nobody leads it now")),
            Some(other) => Err(self.led_elsewhere(partition, &format!("broker {other} leads it"))),
            None => Err(self.led_elsewhere(partition, "there is no such partition")),
        }
    }

    /// Who leads the partitions of each topic, by number.
    fn leaders<'t>(&self, topics: &BTreeSet<&'t str>) -> BTreeMap<&'t str, Result<Vec<i32>, AdminError>> {
        let names: Vec<&str> = topics.iter().copied().collect();
        match self.admin.describe_all(&names, self.left(), self.stop) {
            Ok(found) => names.into_iter().zip(found.into_iter().map(leaders)).collect(),
            Err(error) => names.into_iter().map(|topic| (topic, Err(error.clone()))).collect(),
        }
    }
}

fn leaders(found: Result<Described, Code>) -> Result<Vec<i32>, AdminError> {
    found.map(|described| described.leaders).map_err(|code| AdminError { code, reason: code.to_string() })
}
