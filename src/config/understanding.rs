//! What a file of keys means to the storage side, key by key.

use super::key::HIDDEN;
use super::storage_keys as keys;
use super::{Config, Side, near_miss};

/// What becomes of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyFate {
    /// It is read. The text is its description.
    Used(&'static str),
    /// It is read, and says what holds without it, too.
    Default(&'static str),
    /// Handed to the store's driver as it is.
    Driver,
    /// It is known and changes nothing, for this reason.
    NoEffect(String),
    /// Its value can't be used, for this reason: the manager doesn't start.
    Refused(String),
    /// Nobody knows it. Perhaps this one was meant.
    Unknown(Option<&'static str>),
    /// It belongs to somebody else.
    OfOthers(&'static str),
}

impl KeyFate {
    /// One word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Used(_) => "used",
            Self::Default(_) => "default",
            Self::Driver => "driver",
            Self::NoEffect(_) => "ignored",
            Self::Refused(_) => "refused",
            Self::Unknown(_) => "unknown",
            Self::OfOthers(_) => "elsewhere",
        }
    }
}

/// A key of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnderstoodKey {
    /// Without a broker's prefix.
    pub name: String,
    /// Not shown if it is a secret, or if nobody knows what it is.
    pub value: String,
    pub fate: KeyFate,
}

const AIVEN_PACKAGE: &str = "io.aiven.kafka.tieredstorage.";

/// What each pair of a file means, in its order, and the configuration of the storage side that comes of it.
///
/// If a name begins with `rsm.config.`, the file is a broker's, and what lacks the prefix is somebody else's. Otherwise all
/// names are taken as they stand, as in a resource of Strimzi.
#[must_use]
pub fn understood(pairs: &[(String, String)]) -> (Config, Vec<UnderstoodKey>) {
    let prefix = Side::Storage.broker_prefix();
    let is_of_broker = pairs.iter().any(|(name, _)| name.starts_with(prefix));
    let mut config = Config::new();
    let is_ours = |name: &str| !is_of_broker || name.starts_with(prefix);
    for (name, value) in pairs.iter().filter(|(name, _)| is_ours(name)) {
        config.set(name.strip_prefix(prefix).unwrap_or(name), value);
    }
    let keys = pairs.iter().map(|(name, value)| {
        let plain = name.strip_prefix(prefix).unwrap_or(name);
        let fate = if is_ours(name) { fate_of(plain, value) } else { fate_elsewhere(name, value) };
        let known = super::all().into_iter().find(|key| key.side == Side::Storage && key.name == plain);
        let is_plain = known.is_some() || matches!(fate, KeyFate::NoEffect(_) | KeyFate::Refused(_));
        let shown = match (known, name.contains("manager.class")) {
            (Some(key), _) => key.shown(value),
            (None, is_class) if is_class || is_plain => value,
            (None, _) => HIDDEN,
        };
        UnderstoodKey { name: plain.to_owned(), value: shown.to_owned(), fate }
    });
    (config, keys.collect())
}

fn fate_of(name: &str, value: &str) -> KeyFate {
    let value = value.trim();
    if let Some((_, honoured, why)) = keys::NOT_YET.iter().find(|(known, _, _)| *known == name) {
        return if value.is_empty() || value.eq_ignore_ascii_case(honoured) {
            KeyFate::NoEffect(format!("it says what holds anyway ({why})"))
        } else {
            KeyFate::Refused((*why).to_owned())
        };
    }
    if let Some((_, why)) = keys::WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
        return KeyFate::NoEffect((*why).to_owned());
    }
    if name.starts_with(keys::DRIVER_PREFIX) {
        return KeyFate::Driver;
    }
    if name.starts_with(keys::KEY_PAIR_PREFIX) {
        return KeyFate::Used("File of a key pair.");
    }
    let Some(key) = super::all().into_iter().find(|key| key.side == Side::Storage && key.name == name) else {
        return KeyFate::Unknown(near_miss(name, Side::Storage));
    };
    let mut alone = Config::new();
    alone.set(name, value);
    match alone.check(Side::Storage, &[]) {
        Err(error) => KeyFate::Refused(error.to_string()),
        Ok(_) if key.default == Some(value) => KeyFate::Default(key.text),
        Ok(_) => KeyFate::Used(key.text),
    }
}

fn fate_elsewhere(name: &str, value: &str) -> KeyFate {
    KeyFate::OfOthers(match name {
        "remote.log.storage.manager.class.name" if value.trim().starts_with(AIVEN_PACKAGE) => {
            "Aiven's class: this line and `remote.log.storage.manager.class.path` are the two to change"
        }
        "remote.log.storage.manager.class.name" | "remote.log.storage.manager.class.path" => {
            "which plugin the broker loads"
        }
        _ if name.starts_with(Side::Metadata.broker_prefix()) => "the metadata side's",
        _ => "the broker's",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(pairs: &[(&str, &str)]) -> Vec<(String, String, KeyFate)> {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        understood(&pairs).1.into_iter().map(|key| (key.name, key.value, key.fate)).collect()
    }

    #[test]
    fn a_brokers_file_is_read_behind_its_prefix_and_the_rest_is_somebody_elses() {
        let found = fates(&[
            ("log.dirs", "/secret"),
            ("remote.log.storage.manager.class.name", "io.aiven.kafka.tieredstorage.RemoteStorageManager"),
            ("rlmm.config.remote.log.metadata.topic.num.partitions", "5"),
            ("rsm.config.storage.aws.secret.access.key", "secret"),
            ("rsm.config.storage.s3.regoin", "x"),
            ("rsm.config.storage.opendal.token", "secret"),
            ("rsm.config.metrics.num.samples", "3"),
            ("rsm.config.segment.format", "iceberg"),
            ("rsm.config.storage.retry.attempts.max", "0"),
            ("rsm.config.storage.connect.timeout.ms", "5000"),
        ]);
        let words: Vec<_> = found.iter().map(|(_, _, fate)| fate.word()).collect();
        let expected = ["elsewhere"; 3].into_iter().chain(["used", "unknown", "driver", "ignored", "refused"]);
        assert_eq!(words, expected.chain(["refused", "default"]).collect::<Vec<_>>());
        assert!(found.iter().all(|(_, value, _)| !value.contains("secret")), "{found:?}");
        assert!(matches!(&found[1].2, KeyFate::OfOthers(what) if what.contains("the two to change")));
        assert_eq!(found[4].2, KeyFate::Unknown(Some("storage.s3.region")));
    }

    #[test]
    fn a_file_without_the_prefix_is_taken_as_it_stands() {
        let pairs = [("storage.root".to_owned(), "/data".to_owned())];
        let (config, found) = understood(&pairs);
        assert_eq!((found[0].fate.word(), config.raw("storage.root")), ("used", Some("/data")));
    }
}
