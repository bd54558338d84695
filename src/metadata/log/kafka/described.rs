//! Settings of a topic, or of the broker that we run in.

use std::collections::BTreeMap;
use std::time::Duration;

use super::faults;
use super::native::{Admin, Resource};
use crate::metadata::log::{LogError, SettingsOf};
use crate::model::BrokerId;

const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn ask(
    admin: &Admin,
    servers: &str,
    own: BrokerId,
    of: &SettingsOf,
    stop: &dyn Fn() -> bool,
) -> Result<BTreeMap<String, String>, LogError> {
    let what = format!("ask for the settings of {of}");
    let own_name = own.to_string();
    let resource = match of {
        SettingsOf::Topic(name) => Resource::Topic(name),
        SettingsOf::OwnBroker if own.0 < 0 => {
            return Err(LogError::Unsupported { what, log: "a host that told no `broker.id`".to_owned() });
        }
        SettingsOf::OwnBroker => Resource::Broker(&own_name),
    };
    admin
        .settings(&resource, TIMEOUT, stop)
        .map_err(|failed| faults::question(&what, servers, &failed, &admin.beside()))
}
