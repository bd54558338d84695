//! Settings of the clients that read and write `__remote_log_metadata`: Kafka's own names, behind prefixes.
//!
//! The rules themselves are code (`metadata::log::kafka`); what is said of them here is held against it by `tests/docs.rs`.

use std::fmt::Write as _;

/// The start of keys that are handed to clients.
#[derive(Debug)]
pub struct ClientPrefix {
    pub name: &'static str,
    /// Which clients; goes into a sentence.
    pub clients: &'static str,
}

/// The stock manager's four; a client's own prefix wins over the common one.
pub static CLIENT_PREFIXES: [ClientPrefix; 4] = [
    ClientPrefix { name: "remote.log.metadata.common.client.", clients: "all three clients" },
    ClientPrefix {
        name: "remote.log.metadata.admin.",
        clients: "the client that finds and creates the topic and asks for leader epochs",
    },
    ClientPrefix { name: "remote.log.metadata.producer.", clients: "the client that writes" },
    ClientPrefix { name: "remote.log.metadata.consumer.", clients: "the client that reads" },
];

/// What becomes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It does what it does in Java.
    Understood,
    /// It has no effect, and one warning in the log says so.
    PassedOver,
    /// The start ends with an error.
    Refused,
}

impl Fate {
    fn word(self) -> &'static str {
        match self {
            Self::Understood => "understood",
            Self::PassedOver => "passed over",
            Self::Refused => "refused",
        }
    }
}

/// Settings that share their fate.
#[derive(Debug)]
pub struct ClientSettings {
    pub fate: Fate,
    pub names: &'static [&'static str],
    pub text: &'static str,
}

/// What is known of settings, in the order of the reference.
pub static CLIENT_SETTINGS: [ClientSettings; 14] = [
    ClientSettings {
        fate: Fate::Understood,
        names: &["bootstrap.servers"],
        text: "A broker fills it in from `remote.log.metadata.manager.listener.name`. Required.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &[
            "client.id",
            "client.dns.lookup",
            "connections.max.idle.ms",
            "metadata.max.age.ms",
            "receive.buffer.bytes",
            "send.buffer.bytes",
            "reconnect.backoff.ms",
            "reconnect.backoff.max.ms",
            "request.timeout.ms",
            "retry.backoff.ms",
            "retry.backoff.max.ms",
            "socket.connection.setup.timeout.ms",
        ],
        text: "Every client.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &[
            "batch.size",
            "buffer.memory",
            "compression.type",
            "delivery.timeout.ms",
            "linger.ms",
            "max.request.size",
        ],
        text: "The client that writes.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &[
            "check.crcs",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "isolation.level",
            "max.partition.fetch.bytes",
        ],
        text: "The client that reads.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &["security.protocol"],
        text: "PLAINTEXT (the default), SSL, SASL_PLAINTEXT or SASL_SSL; any other is refused.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &["sasl.mechanism", "sasl.jaas.config"],
        text: "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, with `PlainLoginModule` or `ScramLoginModule` and their `username` \
               and `password`. Refused: GSSAPI (Java's default), OAUTHBEARER and other login modules, which are not \
               built in.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &["ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates"],
        text: "PEM, as a file or in place; without any, the system's certificates. In a broker also JKS, PKCS12 and whatever \
               else the JVM reads: the plugin hands their certificates on in memory. Other hosts have PEM alone. \
               `ssl.truststore.password` is refused with PEM, as in Java.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &[
            "ssl.keystore.type",
            "ssl.keystore.location",
            "ssl.keystore.password",
            "ssl.keystore.certificate.chain",
            "ssl.keystore.key",
            "ssl.key.password",
        ],
        text: "PEM (in place or as a file) or PKCS12; in a broker also JKS and whatever else the JVM reads. Of several keys \
               in a store the first by its alias is used, and a warning says so.",
    },
    ClientSettings {
        fate: Fate::Understood,
        names: &["ssl.endpoint.identification.algorithm"],
        text: "`https` (the default) or empty.",
    },
    ClientSettings {
        fate: Fate::PassedOver,
        names: &["acks", "enable.idempotence", "max.in.flight.requests.per.connection", "retries", "transactional.id"],
        text: "The producer is idempotent, waits for all replicas in sync and has no transactions, always.",
    },
    ClientSettings {
        fate: Fate::PassedOver,
        names: &["auto.offset.reset", "enable.auto.commit", "group.id", "group.instance.id", "client.rack"],
        text: "The reader has no group, keeps its offsets itself and reads from leaders.",
    },
    ClientSettings {
        fate: Fate::PassedOver,
        names: &["interceptor.classes", "metric.reporters", "partitioner.class"],
        text: "And every other setting that isn't in this table and begins with neither `sasl.`, `ssl.` nor `security.`: a \
               native client has nothing like it.",
    },
    ClientSettings {
        fate: Fate::Refused,
        names: &[
            "sasl.client.callback.handler.class",
            "sasl.login.callback.handler.class",
            "sasl.login.class",
            "ssl.engine.factory.class",
            "security.providers",
        ],
        text: "They name Java code. To pass over what protects a connection would leave less of it than was asked for.",
    },
    ClientSettings {
        fate: Fate::Refused,
        names: &["ssl.cipher.suites"],
        text: "Java's names of cipher suites are not OpenSSL's. So are values of `ssl.protocol` but TLS, TLSv1.2 and \
               TLSv1.3, of `ssl.enabled.protocols` but both versions, and any other `ssl.` setting.",
    },
];

const INTRODUCTION: &str = "### Clients of the metadata topic

Login, encryption and tuning of the clients that read and write `__remote_log_metadata` are set by the names that Kafka's
Java clients have, behind one of these prefixes, as for Kafka's own manager. A client's own prefix wins over the common
one. A broker hands over the address and the protocol of its listener, and no SASL or SSL settings: they must be set here.

| prefix | settings of |
|---|---|
";

const EXAMPLE: &str = "
The clients are native: they know no Java classes. Which settings they understand:
";

const SASL_SSL: &str = "
A whole login over TLS, in a broker's `server.properties`; the listener is one of its own:

```properties
remote.log.metadata.manager.listener.name=SASL_SSL
rlmm.config.remote.log.metadata.common.client.security.protocol=SASL_SSL
rlmm.config.remote.log.metadata.common.client.sasl.mechanism=SCRAM-SHA-512
rlmm.config.remote.log.metadata.common.client.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username=\"tiering\" password=\"secret\";
rlmm.config.remote.log.metadata.common.client.ssl.truststore.type=PEM
rlmm.config.remote.log.metadata.common.client.ssl.truststore.location=/etc/kafka/ca.pem
```

The certificate must name the host that the listener advertises. A trust store must have the certificate that others are
signed with, up to the root: a native client trusts no certificate for its own sake.
";

/// The section on clients of the Markdown reference.
pub(super) fn markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    for prefix in &CLIENT_PREFIXES {
        let _ = writeln!(out, "| `{}` | {} |", prefix.name, prefix.clients);
    }
    let _ = write!(out, "{EXAMPLE}\n| settings | fate | meaning |\n|---|---|---|\n");
    for row in &CLIENT_SETTINGS {
        let names: Vec<_> = row.names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(out, "| {} | {} | {} |", names.join(", "), row.fate.word(), row.text);
    }
    out + SASL_SSL
}

/// The prefix that `key` begins with, with or without what stands behind it.
#[must_use]
pub fn client_prefix_of(key: &str) -> Option<&'static ClientPrefix> {
    CLIENT_PREFIXES.iter().find(|prefix| key.starts_with(prefix.name) || key == prefix.name.trim_end_matches('.'))
}

/// What becomes of a client's setting, in a sentence; `None` if only the rules of its kind say it.
#[must_use]
pub fn fate_of_client_setting(name: &str) -> Option<String> {
    let row = CLIENT_SETTINGS.iter().find(|row| row.names.contains(&name))?;
    Some(format!("`{name}` is {}. {}", row.fate.word(), row.text))
}
