//! Settings of Kafka's Java clients in librdkafka's words. Pure: no file is opened, no client made.

use std::collections::BTreeMap;
use std::fmt;

use super::security;
use crate::config::ConfigError;

/// Which of our clients a setting is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Admin,
    Producer,
    Consumer,
}

/// A client's settings as a Java client would get them, each with the key under which the user set it.
#[derive(Clone, Default)]
pub struct JavaSettings {
    prefix: String,
    values: BTreeMap<String, (String, String)>,
}

impl JavaSettings {
    /// No settings; what is missing is reported under `prefix`.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), values: BTreeMap::new() }
    }

    /// Sets `name`, which the user set under `prefix`; the last one wins.
    pub fn set(&mut self, prefix: &str, name: &str, value: &str) {
        self.values.insert(name.to_owned(), (format!("{prefix}{name}"), value.to_owned()));
    }

    /// A setting's text.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(_, value)| value.as_str())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The key under which the user set `name`, or would.
    pub(super) fn key(&self, name: &str) -> String {
        self.values.get(name).map_or_else(|| format!("{}{name}", self.prefix), |(key, _)| key.clone())
    }

    fn shown(&self, name: &str) -> String {
        let secret = security::is_secret(name) || name.contains("keystore.key");
        if secret { "[hidden]".to_owned() } else { self.value(name).unwrap_or_default().to_owned() }
    }

    pub(super) fn bad(&self, name: &str, why: &str, range: &str) -> ConfigError {
        ConfigError::BadValue {
            key: self.key(name),
            value: self.shown(name),
            why: why.to_owned(),
            range: range.to_owned(),
        }
    }

    pub(super) fn unsupported(&self, name: &str, why: &str) -> ConfigError {
        ConfigError::Unsupported { key: self.key(name), value: self.shown(name), why: why.to_owned() }
    }
}

/// A property of librdkafka.
#[derive(Clone, PartialEq, Eq)]
pub struct Property {
    pub name: String,
    pub value: String,
    /// The user's key that it comes from.
    pub from: String,
}

impl Property {
    /// The value, unless it is secret.
    #[must_use]
    pub fn shown(&self) -> &str {
        if security::is_secret(&self.name) { "[hidden]" } else { &self.value }
    }
}

impl fmt::Debug for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.shown())
    }
}

/// What came out: properties to set, and sentences for the log on what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Translated {
    pub properties: Vec<Property>,
    pub warnings: Vec<String>,
}

impl Translated {
    pub(super) fn push(&mut self, name: &str, value: &str, from: &str) {
        self.properties.push(Property { name: name.to_owned(), value: value.to_owned(), from: from.to_owned() });
    }

    pub(super) fn warn(&mut self, key: &str, why: &str) {
        self.warnings.push(format!("{key} {why}"));
    }

    /// A property's value, if it is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.properties.iter().rev().find(|property| property.name == name).map(|property| property.value.as_str())
    }
}

/// How a setting is said to librdkafka.
enum To {
    /// In the same words.
    Same,
    /// Under another name.
    Name(&'static str),
    /// Under another name and in KiB.
    Kibibytes(&'static str),
    /// We decide it, whatever the user says; the reason.
    Ours(&'static str),
}

const ALL: &[Role] = &[Role::Admin, Role::Producer, Role::Consumer];
const PRODUCER: &[Role] = &[Role::Producer];
const CONSUMER: &[Role] = &[Role::Consumer];
const BY_OFFSET: &str = "is not used: the reader has no group and keeps its offsets itself";
const LEADERS_END: &str = "is not used: a replica nearby may end before the records that its leader has acknowledged";
const DURABLE: &str = "is not used: the producer is idempotent and waits for all replicas in sync";

static TABLE: &[(&str, &[Role], To)] = &[
    ("bootstrap.servers", ALL, To::Same),
    ("client.id", ALL, To::Same),
    ("client.dns.lookup", ALL, To::Same),
    ("connections.max.idle.ms", ALL, To::Same),
    ("metadata.max.age.ms", ALL, To::Name("topic.metadata.refresh.interval.ms")),
    ("receive.buffer.bytes", ALL, To::Name("socket.receive.buffer.bytes")),
    ("send.buffer.bytes", ALL, To::Name("socket.send.buffer.bytes")),
    ("reconnect.backoff.ms", ALL, To::Same),
    ("reconnect.backoff.max.ms", ALL, To::Same),
    ("request.timeout.ms", ALL, To::Name("socket.timeout.ms")),
    ("retry.backoff.ms", ALL, To::Same),
    ("retry.backoff.max.ms", ALL, To::Same),
    ("socket.connection.setup.timeout.ms", ALL, To::Same),
    ("batch.size", PRODUCER, To::Same),
    ("buffer.memory", PRODUCER, To::Kibibytes("queue.buffering.max.kbytes")),
    ("compression.type", PRODUCER, To::Same),
    ("delivery.timeout.ms", PRODUCER, To::Name("message.timeout.ms")),
    ("linger.ms", PRODUCER, To::Same),
    ("max.request.size", PRODUCER, To::Name("message.max.bytes")),
    ("acks", PRODUCER, To::Ours(DURABLE)),
    ("enable.idempotence", PRODUCER, To::Ours(DURABLE)),
    ("max.in.flight.requests.per.connection", PRODUCER, To::Ours(DURABLE)),
    ("retries", PRODUCER, To::Ours(DURABLE)),
    ("transactional.id", PRODUCER, To::Ours("is not used: records are not written in transactions")),
    ("check.crcs", CONSUMER, To::Same),
    ("client.rack", CONSUMER, To::Ours(LEADERS_END)),
    ("fetch.max.bytes", CONSUMER, To::Same),
    ("fetch.max.wait.ms", CONSUMER, To::Name("fetch.wait.max.ms")),
    ("fetch.min.bytes", CONSUMER, To::Same),
    ("isolation.level", CONSUMER, To::Same),
    ("max.partition.fetch.bytes", CONSUMER, To::Same),
    ("auto.offset.reset", CONSUMER, To::Ours(BY_OFFSET)),
    ("enable.auto.commit", CONSUMER, To::Ours(BY_OFFSET)),
    ("group.id", CONSUMER, To::Ours(BY_OFFSET)),
    ("group.instance.id", CONSUMER, To::Ours(BY_OFFSET)),
];

/// A Java client's settings as properties of librdkafka.
///
/// Settings of another role are passed over without a word, as everything may stand under the common prefix; settings
/// that only a Java client has are passed over with a warning; settings of login and encryption are honoured or refused.
///
/// # Errors
/// [`ConfigError`] with the user's key. No secret is in it.
pub fn translate(role: Role, java: &JavaSettings) -> Result<Translated, ConfigError> {
    let mut out = Translated::default();
    if java.value("bootstrap.servers").is_none_or(|servers| servers.trim().is_empty()) {
        return Err(ConfigError::Missing {
            key: java.key("bootstrap.servers"),
            why:
                "set `remote.log.metadata.manager.listener.name` on the broker, which fills it in, or this key (behind \
                  `rlmm.config.`)"
                    .to_owned(),
        });
    }
    for name in java.names().filter(|name| !security::is_security(name)) {
        let value = java.value(name).unwrap_or_default().trim();
        match TABLE.iter().find(|(known, _, _)| *known == name) {
            Some((_, roles, _)) if !roles.contains(&role) => {}
            Some((_, _, To::Same)) => out.push(name, value, &java.key(name)),
            Some((_, _, To::Name(property))) => out.push(property, value, &java.key(name)),
            Some((_, _, To::Kibibytes(property))) => {
                let bytes: u64 = value.parse().map_err(|_| java.bad(name, "not a whole number", "bytes"))?;
                out.push(property, &(bytes / 1024).max(1).to_string(), &java.key(name));
            }
            Some((_, _, To::Ours(why))) => out.warn(&java.key(name), why),
            None => out.warn(&java.key(name), "is not used: a native client has nothing like it"),
        }
    }
    security::translate(java, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests;
