//! The leader epoch of a user partition, from this broker and nobody else.
//!
//! ListOffsets is answered by a leader only, and with that leader's own epoch; the client however sends it to whoever
//! leads, and doesn't tell whom it asked. So the epoch is taken only if the cluster names this broker as leader before
//! and after, and if the question asked again is answered alike: epochs never come back, so the leadership did not
//! change in between.

use std::time::{Duration, Instant};

use super::faults;
use super::native::{Admin, AdminError, Described, RespErr};
use crate::metadata::log::LogError;
use crate::model::{BrokerId, LeaderEpoch};

const TIMEOUT: Duration = Duration::from_secs(3);

pub(super) fn ask(
    admin: &Admin,
    servers: &str,
    own: BrokerId,
    topic: &str,
    partition: i32,
    stop: &dyn Fn() -> bool,
) -> Result<LeaderEpoch, LogError> {
    let what = format!("ask for the leader epoch of {topic}-{partition}");
    if own.0 < 0 {
        // Without `broker.id` nothing is led here as far as the cluster knows; the host may tell the epoch.
        return Err(LogError::Unsupported { what, log: "a host that is no broker".to_owned() });
    }
    let deadline = Instant::now() + TIMEOUT;
    let left = || deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let led_elsewhere = |why: String| {
        let log = format!("broker {own} as its leader (through {servers})");
        LogError::Unreachable { what: what.clone(), log, why }
    };
    let failed = |failed: AdminError| match failed.code.is(RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
        // Not yet, or not any more; it is the user's topic, which says nothing of ours.
        true => led_elsewhere("there is no such topic".to_owned()),
        false => faults::question(&what, servers, &failed, &admin.beside()),
    };
    let mut answers = [0; 2];
    for answer in &mut answers {
        let described = admin.describe(topic, left(), stop).map_err(failed)?;
        match leader(&described, partition) {
            Some(leader) if leader == own.0 => {}
            Some(-1) => return Err(led_elsewhere("nobody leads it now".to_owned())),
            Some(other) => return Err(led_elsewhere(format!("broker {other} leads it"))),
            None => return Err(led_elsewhere("there is no such partition".to_owned())),
        }
        *answer = admin.latest_epoch(topic, partition, left(), stop).map_err(failed)?;
    }
    match answers {
        [first, second] if first != second => Err(led_elsewhere("its leadership changed just now".to_owned())),
        [epoch, _] if epoch < 0 => {
            Err(LogError::Unsupported { what, log: "a broker that tells no leader epochs".to_owned() })
        }
        [epoch, _] => Ok(LeaderEpoch(epoch)),
    }
}

fn leader(described: &Described, partition: i32) -> Option<i32> {
    described.leaders.get(usize::try_from(partition).ok()?).copied()
}
