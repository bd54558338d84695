//! What a file of keys means to the storage side, key by key.

use std::collections::HashSet;

use super::key::HIDDEN;
use super::shown::without_secrets;
use super::storage_keys as keys;
use super::store_keys::PROXY_HOST;
use super::{Config, Key, Side, near_miss};

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
    /// The same key stands further down again, and that value holds.
    Overridden,
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
            Self::Overridden => "overridden",
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
/// Where a broker is told what stands in front of the storage side's keys, if it isn't the usual.
const IMPL_PREFIX: &str = "remote.log.storage.manager.impl.prefix";
/// How a value begins that a broker's provider fills in.
const PLACEHOLDER: &str = "${";

/// The pairs of a file that are the storage side's, by their names without the prefix. The last one of a name holds.
///
/// If a name begins with the prefix (`rsm.config.`, or what `remote.log.storage.manager.impl.prefix` says), the file is a
/// broker's, and what lacks the prefix is somebody else's. Otherwise all names are taken as they stand, as in a resource of
/// Strimzi.
#[derive(Debug, Clone, Copy)]
pub struct StoragePairs<'a> {
    pairs: &'a [(String, String)],
    prefix: &'a str,
    is_of_broker: bool,
}

impl<'a> StoragePairs<'a> {
    #[must_use]
    pub fn of(pairs: &'a [(String, String)]) -> Self {
        let told = pairs.iter().rev().find(|(name, _)| name == IMPL_PREFIX).map(|(_, prefix)| prefix.trim());
        let prefix = told.unwrap_or(Side::Storage.broker_prefix());
        let is_of_broker = told.is_some() || pairs.iter().any(|(name, _)| name.starts_with(prefix));
        Self { pairs, prefix, is_of_broker }
    }

    /// The storage side's name for the key, if it is one of its.
    fn own_name(&self, name: &'a str) -> Option<&'a str> {
        if self.is_of_broker { name.strip_prefix(self.prefix) } else { Some(name) }
    }

    fn own(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let of = *self;
        self.pairs.iter().filter_map(move |(name, value)| Some((of.own_name(name)?, value.as_str())))
    }

    /// The configuration that comes of them.
    #[must_use]
    pub fn config(&self) -> Config {
        let mut config = Config::new();
        self.own().for_each(|(name, value)| config.set(name, value));
        config
    }

    /// Keys whose values only a broker's providers know, which are Java code: their names in the file, and without the prefix.
    pub fn placeholders(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let of = *self;
        let held = self.pairs.iter().filter(|(_, value)| value.contains(PLACEHOLDER));
        held.filter_map(move |(name, _)| Some((name.as_str(), of.own_name(name)?)))
    }

    /// What each pair of the file means, in its order.
    #[must_use]
    pub fn understood(&self) -> Vec<UnderstoodKey> {
        let mut later = HashSet::new();
        let is_last: Vec<_> = self.pairs.iter().rev().map(|(name, _)| later.insert(name.as_str())).collect();
        let pairs = self.pairs.iter().zip(is_last.into_iter().rev());
        let mut understood: Vec<_> =
            pairs.map(|((name, value), is_last)| self.understood_pair(name, value, is_last)).collect();
        let held = |of: &Key| self.own().filter(|(name, _)| *name == of.name).last();
        if held(&keys::CHUNK_CACHE_CLASS).is_some_and(|(_, class)| class.trim().ends_with("DiskChunkCache")) {
            let is_ours = held(&keys::CHUNK_CACHE_DISK_SIZE).is_some();
            understood.iter_mut().filter(|key| key.name == keys::CHUNK_CACHE_SIZE.name).for_each(|key| {
                if let fate @ (KeyFate::Used(_) | KeyFate::Default(_)) = &mut key.fate {
                    *fate = of_disk_cache(is_ours);
                }
            });
        }
        understood
    }

    fn understood_pair(&self, name: &'a str, value: &str, is_last: bool) -> UnderstoodKey {
        let own_name = self.own_name(name);
        let fate = match own_name {
            Some(own_name) => fate_of(own_name, value),
            None => fate_elsewhere(name, value),
        };
        let shown = match own_name.and_then(known) {
            // With a login in front, which has keys of its own.
            Some(key) if key.name == PROXY_HOST.name && value.contains('@') => HIDDEN.into(),
            Some(key) => without_secrets(key.shown(value)),
            None if matches!(fate, KeyFate::NoEffect(_) | KeyFate::Refused(_)) => without_secrets(value),
            None if name == IMPL_PREFIX || name.contains("manager.class") => without_secrets(value),
            None => HIDDEN.into(),
        };
        let fate = if is_last { fate } else { KeyFate::Overridden };
        UnderstoodKey { name: own_name.unwrap_or(name).to_owned(), value: shown.into_owned(), fate }
    }
}

/// What the size of the chunk cache means where Aiven's class says that it is on disk.
fn of_disk_cache(has_own_size: bool) -> KeyFate {
    match has_own_size {
        true => KeyFate::NoEffect(
            "`fetch.chunk.cache.disk.size` says the size on disk, and 64 MiB are kept in memory".to_owned(),
        ),
        false => KeyFate::Used(
            "Bytes of the cache on disk, since `fetch.chunk.cache.class` is on disk; 64 MiB more are kept in memory.",
        ),
    }
}

fn known(name: &str) -> Option<&'static Key> {
    super::all().into_iter().find(|key| key.side == Side::Storage && key.name == name)
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
    let Some(key) = known(name) else {
        return KeyFate::Unknown(near_miss(name, Side::Storage));
    };
    if value.contains(PLACEHOLDER) {
        return KeyFate::Used(key.text);
    }
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
        IMPL_PREFIX => "what the storage side's keys begin with",
        _ if name.starts_with(Side::Metadata.broker_prefix()) => "the metadata side's",
        _ => "the broker's",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(pairs: &[(&str, &str)]) -> Vec<(String, String, KeyFate)> {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        StoragePairs::of(&pairs).understood().into_iter().map(|key| (key.name, key.value, key.fate)).collect()
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
        let of = StoragePairs::of(&pairs);
        assert_eq!((of.understood()[0].fate.word(), of.config().raw("storage.root")), ("used", Some("/data")));
    }

    #[test]
    fn a_broker_may_say_what_stands_in_front_of_the_keys() {
        let pairs = [
            ("my.storage.root", "/a"),
            ("rsm.config.storage.root", "/b"),
            ("remote.log.storage.manager.impl.prefix", "my. "),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let of = StoragePairs::of(&pairs);
        assert_eq!(of.config().raw("storage.root"), Some("/a"));
        let words: Vec<_> = of.understood().iter().map(|key| key.fate.word()).collect();
        assert_eq!(words, ["used", "elsewhere", "elsewhere"]);
    }

    #[test]
    fn of_a_key_that_stands_twice_the_last_one_holds() {
        let found = fates(&[
            ("rsm.config.storage.root", "/a"),
            ("rsm.config.storage.connect.timeout.ms", "none"),
            ("rsm.config.storage.root", "/b"),
            ("rsm.config.storage.connect.timeout.ms", "5000"),
        ]);
        let words: Vec<_> =
            found.iter().map(|(name, value, fate)| (name.as_str(), value.as_str(), fate.word())).collect();
        let (root, timeout) = ("storage.root", "storage.connect.timeout.ms");
        let expected = [
            (root, "/a", "overridden"),
            (timeout, "none", "overridden"),
            (root, "/b", "used"),
            (timeout, "5000", "default"),
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn the_size_of_aivens_cache_on_disk_is_not_told_as_memory() {
        let (size, class) = ("fetch.chunk.cache.size", "fetch.chunk.cache.class");
        let disk = (class, "io.aiven.kafka.tieredstorage.fetch.cache.DiskChunkCache");
        let of = |pairs: &[(&str, &str)]| fates(pairs).remove(0).2;
        assert!(matches!(of(&[(size, "1")]), KeyFate::Used(text) if text.contains("in memory for later reads")));
        assert!(
            matches!(of(&[(size, "1"), disk]), KeyFate::Used(text) if text.starts_with("Bytes of the cache on disk"))
        );
        let both = of(&[(size, "1"), disk, ("fetch.chunk.cache.disk.size", "2")]);
        assert_eq!(both.word(), "ignored", "{both:?}");
    }

    #[test]
    fn no_value_shows_a_login_in_a_url() {
        let found = fates(&[("storage.s3.endpoint.url", "https://user:pw@host:9000")]);
        assert_eq!(found[0].1, "https://[hidden]@host:9000");
    }

    #[test]
    fn many_unknown_keys_take_no_longer_than_there_are_many() {
        let pairs: Vec<_> =
            (0..20_000).map(|at| (format!("rsm.config.storage.unknown-{at}"), "x".repeat(at % 50))).collect();
        assert_eq!(StoragePairs::of(&pairs).understood().len(), pairs.len());
    }
}
