//! The storage side's configuration, checked and typed.

use std::time::Duration;

use super::breaker::BreakerSettings;
use super::transform::KeyPairFiles;
use crate::config::{Config, ConfigError, Key, Side, storage as keys};

/// First requests of reads that are kept whatever the cache's size: a broker throws away what took it longer than 500 ms
/// and asks again, so without these a slow store would get nobody anywhere. Some more than a broker has readers (10).
const WINDOWS_KEPT: usize = 16;
/// All indexes of most segments: a broker asks for them one by one.
const INDEX_CACHE_MIN: usize = 1 << 20;
/// A broker reads a segment and its indexes in many calls, each of which needs the manifest.
const MANIFEST_CACHE_MIN: usize = 64;
/// What a request may be longer than its window.
const MAX_BLOCK: u64 = 1 << 25;

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

#[derive(Debug, Clone)]
pub(super) struct StoreSettings {
    pub(super) kind: StoreKind,
    pub(super) calls: CallSettings,
    /// `storage.opendal.*`, the prefix taken off.
    pub(super) driver: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub(super) enum StoreKind {
    Filesystem {
        root: String,
    },
    S3(Box<S3Settings>),
    /// For tests: gone with the manager.
    Memory,
}

#[derive(Clone)]
pub(super) struct S3Settings {
    pub(super) bucket: String,
    pub(super) region: String,
    pub(super) endpoint: Option<String>,
    pub(super) is_path_style: bool,
    pub(super) storage_class: Option<String>,
    pub(super) access_key: Option<String>,
    pub(super) secret_key: Option<String>,
    pub(super) session_token: Option<String>,
    pub(super) is_certificate_checked: bool,
}

impl std::fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("S3Settings")
            .field("bucket", &self.bucket)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// Bounds of a call to the store.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSettings {
    pub(super) call_timeout: Duration,
    pub(super) attempt_timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) idle_connections: usize,
    pub(super) attempts: u32,
    pub(super) retry_delay: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct UploadSettings {
    pub(super) part_size: u64,
    pub(super) parts_in_flight: usize,
    pub(super) memory: u64,
    pub(super) timeout: Duration,
    pub(super) no_progress: Duration,
    pub(super) cleanup: Duration,
    /// How long a request that was given up may take to be done all the same.
    pub(super) grace: Duration,
    pub(super) bytes_per_second: Option<u64>,
}

/// When the store counts as down, and what then happens to deletes.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutageSettings {
    pub(super) uploads: BreakerSettings,
    pub(super) deletes: BreakerSettings,
    pub(super) handover: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct FetchSettings {
    pub(super) chunk_cache: usize,
    pub(super) index_cache: usize,
    /// Manifests.
    pub(super) manifest_cache: usize,
    /// Bytes under way for all reads together.
    pub(super) memory: u64,
    /// How long a read waits for its share of that.
    pub(super) patience: Duration,
    pub(super) window_min: u64,
    pub(super) window_max: u64,
    pub(super) failure_delay: Duration,
}

impl Settings {
    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let warnings = warnings(config)?;
        let window_min = config.unsigned(&keys::WINDOW_MIN)?;
        let store = store(config)?;
        let uploads = BreakerSettings {
            failures: size(config.unsigned(&keys::OUTAGE_FAILURES)?),
            window: config.millis(&keys::OUTAGE_WINDOW)?,
            interval: config.millis(&keys::OUTAGE_INTERVAL)?,
        };
        let window_max = config.unsigned(&keys::WINDOW_MAX)?.max(window_min);
        Ok(Self {
            key_prefix: key_prefix(config)?,
            upload: UploadSettings {
                part_size: part_size(&store, config)?,
                parts_in_flight: size(config.unsigned(&keys::PARTS_IN_FLIGHT)?),
                memory: config.unsigned(&keys::UPLOAD_MEMORY)?,
                timeout: config.millis(&keys::UPLOAD_TIMEOUT)?,
                no_progress: config.millis(&keys::UPLOAD_NO_PROGRESS)?,
                cleanup: config.millis(&keys::CLEANUP_TIMEOUT)?,
                grace: config.millis(&keys::S3_ATTEMPT_TIMEOUT)?,
                bytes_per_second: config.integer(&keys::UPLOAD_RATE)?.and_then(|rate| u64::try_from(rate).ok()),
            },
            fetch: FetchSettings {
                chunk_cache: bound(config, &keys::CHUNK_CACHE_SIZE)?.max(size(window_min) * WINDOWS_KEPT),
                index_cache: bound(config, &keys::INDEX_CACHE_SIZE)?.max(INDEX_CACHE_MIN),
                manifest_cache: bound(config, &keys::MANIFEST_CACHE_SIZE)?.max(MANIFEST_CACHE_MIN),
                memory: config.unsigned(&keys::FETCH_MEMORY)?.max(window_max + MAX_BLOCK),
                patience: config.millis(&keys::S3_CALL_TIMEOUT)?,
                window_min,
                window_max,
                failure_delay: config.millis(&keys::FAILURE_DELAY)?,
            },
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

/// The two files of a key pair.
const KEY_FILES: [&str; 2] = ["public", "private"];

fn key_pair_ids(config: &Config) -> impl Iterator<Item = &str> {
    let ids = config.text(&keys::KEY_PAIRS).unwrap_or_default();
    ids.split(',').map(str::trim).filter(|id| !id.is_empty())
}

fn key_file(id: &str, which: &str) -> String {
    format!("{}{id}.{which}.key.file", keys::KEY_PAIR_PREFIX)
}

/// Files of the key pairs. Needed for reading, whether encryption is on or not.
fn key_pairs(config: &Config) -> Vec<KeyPairFiles> {
    let file = |id: &str, which: &str| {
        let path = config.raw(&key_file(id, which))?.trim();
        (!path.is_empty()).then(|| path.into())
    };
    let [public, private] = KEY_FILES;
    let pairs = key_pair_ids(config);
    pairs.map(|id| KeyPairFiles { id: id.to_owned(), public: file(id, public), private: file(id, private) }).collect()
}

/// What is read, checked and handed to a folder at a time. The bytes are still in the processor's cache when they are
/// written: with parts of 8 MiB a copy takes more than twice the CPU time.
const FOLDER_PART_SIZE: u64 = 1 << 20;

fn part_size(store: &StoreSettings, config: &Config) -> Result<u64, ConfigError> {
    match store.kind {
        StoreKind::Filesystem { .. } => Ok(FOLDER_PART_SIZE),
        StoreKind::S3(_) | StoreKind::Memory => config.unsigned(&keys::S3_PART_SIZE),
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A size of a cache, where -1 means no bound.
fn bound(config: &Config, key: &'static Key) -> Result<usize, ConfigError> {
    let number = config.integer(key)?.unwrap_or(-1);
    Ok(u64::try_from(number).map_or(usize::MAX / 4, size))
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

fn store(config: &Config) -> Result<StoreSettings, ConfigError> {
    let class = config.required(&keys::BACKEND, "it says where segments are kept: `filesystem` or `s3`")?;
    let kind = match class.trim() {
        "filesystem" | "fs" | "io.aiven.kafka.tieredstorage.storage.filesystem.FileSystemStorage" => {
            let root = config.required(&keys::ROOT, "the `filesystem` store needs a folder")?;
            StoreKind::Filesystem { root: root.to_owned() }
        }
        "s3" | "io.aiven.kafka.tieredstorage.storage.s3.S3Storage" => StoreKind::S3(Box::new(s3(config)?)),
        "memory" => StoreKind::Memory,
        "gcs"
        | "azure"
        | "io.aiven.kafka.tieredstorage.storage.gcs.GcsStorage"
        | "io.aiven.kafka.tieredstorage.storage.azure.AzureBlobStorage" => {
            return Err(ConfigError::Unsupported {
                key: keys::BACKEND.name.to_owned(),
                value: class.to_owned(),
                why: "this version has `filesystem` and `s3`".to_owned(),
            });
        }
        _ => {
            return Err(ConfigError::BadValue {
                key: keys::BACKEND.name.to_owned(),
                value: class.to_owned(),
                why: "no such store".to_owned(),
                range: "filesystem, s3".to_owned(),
            });
        }
    };
    let driver =
        config.with_prefix(keys::DRIVER_PREFIX).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let calls = CallSettings {
        call_timeout: config.millis(&keys::S3_CALL_TIMEOUT)?,
        attempt_timeout: config.millis(&keys::S3_ATTEMPT_TIMEOUT)?,
        connect_timeout: config.millis(&keys::CONNECT_TIMEOUT)?,
        idle_connections: size(config.unsigned(&keys::IDLE_CONNECTIONS)?),
        attempts: u32::try_from(config.unsigned(&keys::RETRY_ATTEMPTS)?).unwrap_or(u32::MAX),
        retry_delay: config.millis(&keys::RETRY_DELAY)?,
    };
    Ok(StoreSettings { kind, calls, driver })
}

fn s3(config: &Config) -> Result<S3Settings, ConfigError> {
    let own = |key: &'static Key| config.text(key).filter(|value| !value.is_empty()).map(str::to_owned);
    let bucket = config.required(&keys::S3_BUCKET, "the `s3` store needs a bucket")?.to_owned();
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if !(3..=255).contains(&bucket.len()) || !bucket.bytes().all(is_in_name) || bucket.contains("..") {
        return Err(ConfigError::BadValue {
            key: keys::S3_BUCKET.name.to_owned(),
            value: bucket,
            why: "no bucket can be called so".to_owned(),
            range: "3 to 255 letters, digits, `.`, `-` and `_`".to_owned(),
        });
    }
    let endpoint = own(&keys::S3_ENDPOINT);
    if let Some(url) = endpoint.as_deref().filter(|url| reqwest::Url::parse(url).is_err() || !url.starts_with("http")) {
        return Err(ConfigError::BadValue {
            key: keys::S3_ENDPOINT.name.to_owned(),
            value: url.to_owned(),
            why: "not a URL".to_owned(),
            range: "http://host[:port] or https://host[:port]".to_owned(),
        });
    }
    let region = match (own(&keys::S3_REGION), &endpoint) {
        (Some(region), _) => region,
        (None, Some(_)) => "us-east-1".to_owned(),
        (None, None) => {
            config.required(&keys::S3_REGION, "without an endpoint the region says where the bucket is")?.to_owned()
        }
    };
    let (access_key, secret_key) = (own(&keys::AWS_ACCESS_KEY), own(&keys::AWS_SECRET_KEY));
    for (set, missing, other) in
        [(&access_key, &secret_key, &keys::AWS_SECRET_KEY), (&secret_key, &access_key, &keys::AWS_ACCESS_KEY)]
    {
        if set.is_some() && missing.is_none() {
            return Err(ConfigError::Missing {
                key: other.name.to_owned(),
                why: "the other half of the key pair is set".to_owned(),
            });
        }
    }
    let is_path_style = match config.text(&keys::S3_PATH_STYLE) {
        Some(_) => config.boolean(&keys::S3_PATH_STYLE)?,
        None => endpoint.is_some() || bucket.contains('.'),
    };
    Ok(S3Settings {
        bucket,
        region,
        endpoint,
        is_path_style,
        storage_class: own(&keys::S3_STORAGE_CLASS),
        access_key,
        secret_key,
        session_token: own(&keys::AWS_SESSION_TOKEN),
        is_certificate_checked: config.boolean(&keys::AWS_CERTIFICATE_CHECK)?,
    })
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
