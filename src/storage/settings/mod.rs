//! The storage side's configuration, checked and typed.

mod fetch;
mod store;
mod upload;

use std::time::Duration;

use super::breaker::BreakerSettings;
use super::transform::KeyPairFiles;
use crate::config::{Config, ConfigError, Side, storage as keys};

pub(super) use fetch::FetchSettings;
pub(super) use store::{CallSettings, S3Settings, StoreKind, StoreSettings};
pub(super) use upload::UploadSettings;
use upload::{KEY_FILES, key_file, key_pair_ids, key_pairs};

/// Deletes in a row that fail before the next ones are handed over untried. Few, because a broker that deletes a topic
/// waits for one after the other, on a thread that all its topics need.
const DELETE_FAILURES: usize = 2;

/// Everything that a manager is told.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) store: StoreSettings,
    pub(super) key_prefix: String,
    pub(super) upload: UploadSettings,
    pub(super) fetch: FetchSettings,
    pub(super) outage: OutageSettings,
    pub(super) key_pairs: Vec<KeyPairFiles>,
    /// What an operator should hear once: keys that nobody knows or that change nothing.
    pub(super) warnings: Vec<String>,
}

/// When the store counts as down, and what then happens to deletes.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutageSettings {
    pub(super) uploads: BreakerSettings,
    pub(super) deletes: BreakerSettings,
    pub(super) handover: Duration,
}

impl Settings {
    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let warnings = warnings(config)?;
        let store = StoreSettings::parse(config)?;
        let uploads = BreakerSettings {
            failures: size(config.unsigned(&keys::OUTAGE_FAILURES)?),
            window: config.millis(&keys::OUTAGE_WINDOW)?,
            interval: config.millis(&keys::OUTAGE_INTERVAL)?,
        };
        Ok(Self {
            key_prefix: key_prefix(config)?,
            upload: UploadSettings::parse(config, &store)?,
            fetch: FetchSettings::parse(config)?,
            outage: OutageSettings {
                uploads,
                deletes: BreakerSettings { failures: DELETE_FAILURES, ..uploads },
                handover: config.millis(&keys::DELETE_HANDOVER)?,
            },
            key_pairs: key_pairs(config),
            warnings,
            store,
        })
    }
}

/// A prefix that leads nowhere else: `..` in a folder's path leads out of the folder, and a store's driver may drop `.`.
fn key_prefix(config: &Config) -> Result<String, ConfigError> {
    let prefix = config.text(&keys::KEY_PREFIX).unwrap_or_default();
    // What stands behind the last slash is the beginning of a name only.
    let folders = prefix.rsplit_once('/').map_or("", |(folders, _)| folders);
    if folders.split('/').any(|folder| matches!(folder, "." | "..")) || prefix.chars().any(char::is_control) {
        return Err(ConfigError::BadValue {
            key: keys::KEY_PREFIX.name.to_owned(),
            value: prefix.escape_default().to_string(),
            why: "it leads out of the store".to_owned(),
            range: "text without `.` and `..` between slashes and without control characters".to_owned(),
        });
    }
    Ok(prefix.to_owned())
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn warnings(config: &Config) -> Result<Vec<String>, ConfigError> {
    for &(name, honoured, why) in keys::NOT_YET {
        match config.raw(name).map(str::trim) {
            Some(value) if !value.is_empty() && !value.eq_ignore_ascii_case(honoured) => {
                return Err(ConfigError::Unsupported {
                    key: name.to_owned(),
                    value: value.to_owned(),
                    why: why.to_owned(),
                });
            }
            _ => {}
        }
    }
    let unknown = config.check(Side::Storage, &[keys::DRIVER_PREFIX])?;
    let files: Vec<_> = key_pair_ids(config).flat_map(|id| KEY_FILES.map(|which| key_file(id, which))).collect();
    Ok(unknown
        .into_iter()
        .filter(|warning| !is_harmless(&warning.key) && !files.contains(&warning.key))
        .map(|warning| {
            let name = &warning.key;
            match (keys::WITHOUT_EFFECT.iter().find(|(known, _)| known == name), warning.did_you_mean) {
                (Some((_, why)), _) => format!("`{name}` has no effect: {why}"),
                (None, Some(near)) => format!("`{name}` is unknown and has no effect; did you mean `{near}`?"),
                (None, None) => format!("`{name}` is unknown and has no effect"),
            }
        })
        .collect())
}

/// Keys that are set to what holds anyway, or that mean nothing while nothing is encrypted.
fn is_harmless(name: &str) -> bool {
    keys::NOT_YET.iter().any(|(known, _, _)| *known == name) || name == "encryption.key.pair.id"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Settings, ConfigError> {
        let mut config = Config::new();
        for (key, value) in pairs {
            config.set(key, value);
        }
        Settings::parse(&config)
    }

    #[test]
    fn a_file_of_aivens_plugin_is_understood() {
        let settings = parse(&[
            ("storage.backend.class", "io.aiven.kafka.tieredstorage.storage.s3.S3Storage"),
            ("storage.s3.bucket.name", "kafka"),
            ("storage.s3.region", "eu-central-1"),
            ("chunk.size", "4194304"),
            ("compression.enabled", "false"),
            ("encryption.enabled", "false"),
            ("key.prefix", "cluster-a/"),
            ("fetch.chunk.cache.size", "-1"),
        ])
        .expect("valid");
        assert_eq!(settings.key_prefix, "cluster-a/");
        let StoreKind::S3(s3) = settings.store.kind else { panic!("not s3") };
        assert!(!s3.is_path_style);
        assert_eq!(settings.warnings.len(), 1, "{:?}", settings.warnings);
        assert!(settings.warnings[0].starts_with("`chunk.size` has no effect"));
    }

    #[test]
    fn what_would_be_silently_different_is_refused() {
        for (key, value) in [
            ("encryption.enabled", "true"),
            ("compression.enabled", "TRUE"),
            ("segment.format", "iceberg"),
            ("storage.aws.credentials.file", "/etc/x"),
        ] {
            let error = parse(&[("storage.backend.class", "filesystem"), ("storage.root", "/x"), (key, value)]);
            assert!(matches!(&error, Err(ConfigError::Unsupported { key: named, .. }) if named == key), "{error:?}");
        }
    }

    #[test]
    fn a_misspelt_key_is_named_with_what_was_meant() {
        let settings = parse(&[("storage.backend.class", "filesystem"), ("storage.root", "/x"), ("key.prefx", "y")])
            .expect("valid");
        assert_eq!(settings.warnings, ["`key.prefx` is unknown and has no effect; did you mean `key.prefix`?"]);
    }

    #[test]
    fn key_pairs_are_those_of_the_list_and_a_misspelt_file_is_named() {
        let settings = parse(&[
            ("storage.backend.class", "memory"),
            ("encryption.key.pair.id", "new"),
            ("encryption.key.pairs", " new , old,"),
            ("encryption.key.pairs.new.private.key.file", "/keys/new.pem"),
            ("encryption.key.pairs.new.public.key.file", "/keys/new.pub"),
            ("encryption.key.pairs.old.private.key.file", " /keys/old.pem "),
            ("encryption.key.pairs.old.private.key.fiel", "/keys/old.pem"),
            ("encryption.key.pairs.older.private.key.file", "/keys/older.pem"),
        ])
        .expect("valid");
        let pair = |id: &str, public: Option<&str>, private: &str| KeyPairFiles {
            id: id.to_owned(),
            public: public.map(Into::into),
            private: Some(private.into()),
        };
        let expected = [pair("new", Some("/keys/new.pub"), "/keys/new.pem"), pair("old", None, "/keys/old.pem")];
        assert_eq!(settings.key_pairs, expected);
        assert_eq!(settings.warnings.len(), 2, "{:?}", settings.warnings);
        for (warning, key) in settings.warnings.iter().zip(["old.private.key.fiel", "older.private.key.file"]) {
            assert!(warning.starts_with(&format!("`encryption.key.pairs.{key}` is unknown")), "{warning}");
        }
        assert!(parse(&[("storage.backend.class", "memory")]).expect("valid").key_pairs.is_empty());
    }

    #[test]
    fn bad_values_name_key_value_and_range() {
        let s3 = ("storage.backend.class", "s3");
        for (pairs, expected) in [
            (vec![], "storage.backend.class is not set"),
            (vec![("storage.backend.class", "tape")], "`tape`: no such store; expected: filesystem, s3"),
            (vec![("storage.backend.class", "gcs")], "`gcs` cannot be honoured"),
            (vec![("storage.backend.class", "filesystem")], "storage.root is not set"),
            (vec![s3], "storage.s3.bucket.name is not set"),
            (vec![s3, ("storage.s3.bucket.name", "my bucket")], "`my bucket`: no bucket can be called so"),
            (vec![s3, ("storage.s3.bucket.name", "a/b")], "`a/b`: no bucket can be called so"),
            (vec![("storage.backend.class", "memory"), ("key.prefix", "../up/")], "it leads out of the store"),
            (vec![("storage.backend.class", "memory"), ("key.prefix", "a/./")], "it leads out of the store"),
            (vec![s3, ("storage.s3.bucket.name", "bkt")], "storage.s3.region is not set"),
            (vec![s3, ("storage.s3.bucket.name", "bkt"), ("storage.s3.endpoint.url", "localhost:1")], "not a URL"),
            (
                vec![
                    s3,
                    ("storage.s3.bucket.name", "bkt"),
                    ("storage.s3.region", "r"),
                    ("storage.aws.access.key.id", "k"),
                ],
                "storage.aws.secret.access.key is not set",
            ),
            (
                vec![s3, ("storage.s3.multipart.upload.part.size", "17")],
                "`17`: out of range; expected: 5242880 to 2147483639",
            ),
        ] {
            let error = parse(&pairs).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn no_cache_is_too_small_for_what_a_slow_store_brings() {
        let own = [("storage.backend.class", "filesystem"), ("storage.root", "/x")];
        let none = [("fetch.chunk.cache.size", "0"), ("fetch.indexes.cache.size", "0")];
        let fetch = parse(&[&own[..], &none].concat()).expect("valid").fetch;
        assert_eq!((fetch.chunk_cache, fetch.index_cache), (16 * 1_114_112, 1 << 20));
    }

    #[test]
    fn secrets_are_never_printed() {
        let settings = parse(&[
            ("storage.backend.class", "s3"),
            ("storage.s3.bucket.name", "bkt"),
            ("storage.s3.region", "r"),
            ("storage.aws.access.key.id", "AKIA-visible"),
            ("storage.aws.secret.access.key", "very-secret"),
        ])
        .expect("valid");
        let StoreKind::S3(s3) = &settings.store.kind else { panic!("not s3") };
        assert!(!format!("{s3:?}").contains("secret") && !format!("{s3:?}").contains("AKIA"));
    }
}
