//! Which topics there are, and which partitions of the log the broker leads that we run in.

use std::sync::Arc;
use std::time::Duration;

use super::native::{Admin, Code, FoundTopic, RespErr};
use super::{TOPIC, faults};
use crate::metadata::log::{LogError, Presence, TopicPresence};
use crate::model::BrokerId;

const TIMEOUT: Duration = Duration::from_secs(10);
const WHAT: &str = "ask which topics there are";

pub(super) fn ask(
    admin: &Admin,
    servers: &str,
    own: BrokerId,
    names: &[Arc<str>],
    stop: &dyn Fn() -> bool,
) -> Result<Presence, LogError> {
    let asked: Vec<&str> = [TOPIC].into_iter().chain(names.iter().map(AsRef::as_ref)).collect();
    let found = admin
        .topics(&asked, TIMEOUT, stop)
        .map_err(|failed| faults::question(WHAT, servers, &failed, &admin.beside()))?;
    let of = |name: &str| {
        let answer = found.iter().find(|answer| answer.name == name)?;
        Some(answer.found.as_ref().map_err(|failed| &failed.code))
    };
    // Whoever doesn't know the log's own topic is no witness.
    let log = match of(TOPIC) {
        Some(Ok(log)) => log,
        Some(Err(&code)) => return Err(faults::error(WHAT, servers, code, "of the log's own topic", 0)),
        None => {
            return Err(faults::error(WHAT, servers, Code::of(RespErr::RD_KAFKA_RESP_ERR__BAD_MSG), "no answer", 0));
        }
    };
    let is_own = |&(_, &leader): &(usize, &i32)| own.0 >= 0 && leader == own.0;
    let led_here = log.described.leaders.iter().enumerate().filter(is_own);
    Ok(Presence {
        led_here: led_here.filter_map(|(index, _)| i32::try_from(index).ok()).collect(),
        topics: names.iter().map(|name| presence(of(name))).collect(),
    })
}

fn presence(found: Option<Result<&FoundTopic, &Code>>) -> TopicPresence {
    match found {
        Some(Ok(found)) => found.id.map_or(TopicPresence::Unknown, TopicPresence::Known),
        Some(Err(code)) if code.is(RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) => TopicPresence::Missing,
        // Rights that are missing, a leader that is being elected.
        Some(Err(_)) | None => TopicPresence::Unknown,
    }
}
