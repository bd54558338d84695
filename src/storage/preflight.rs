//! Tries what the storage side does with its store, and explains what fails: before a broker is started on it.
#![allow(clippy::disallowed_methods, reason = "shell: measures how long the store takes")]

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::StorageError;
use super::layout::ObjectKey;
use super::manager::{Opened, StorageEnv};
use super::settings::StoreKind;
use super::store::ObjectStore;
use crate::config::Config;

/// Bytes of the object that is written.
const PROBE_BYTES: usize = 256 << 10;
/// Pages of a listing that are looked at: the object's own name is its prefix.
const PAGES_MAX: usize = 3;

/// What was tried and what came of it.
#[derive(Debug)]
pub struct Preflight {
    /// The store in words.
    pub store: String,
    /// What the configuration says that changes nothing, as the log has it at the start.
    pub warnings: Vec<String>,
    pub steps: Vec<PreflightStep>,
}

impl Preflight {
    /// Whether a broker could work with this store.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.steps.iter().all(|step| step.outcome.is_ok() || step.is_optional)
    }
}

/// One thing that was tried.
#[derive(Debug)]
pub struct PreflightStep {
    pub name: &'static str,
    pub took: Duration,
    pub outcome: Result<(), StorageError>,
    /// What to do about the failure, in words.
    pub advice: Vec<String>,
    /// A broker does without it.
    pub is_optional: bool,
}

/// What a configuration says, before its store is asked anything.
#[derive(Debug)]
pub struct CheckedConfig {
    /// The store in words.
    pub store: String,
    /// What changes nothing, or won't work, as the log has it at the start.
    pub warnings: Vec<String>,
}

/// Sets up everything that a manager is made of, as a broker's start does, and asks nobody anything. Files of keys and certificates
/// are read.
///
/// # Errors
/// [`StorageError`] that the start of a manager would end with.
pub fn check_config(config: &Config, env: &StorageEnv) -> Result<CheckedConfig, StorageError> {
    let Opened { warnings, store, .. } = Opened::to_write(config, env)?;
    Ok(CheckedConfig { store: store.name().to_owned(), warnings })
}

/// Writes an object, reads a range of it, lists it, sends one in parts, lists and aborts uploads, and deletes all.
///
/// Call it on a runtime with clock and network. What can't be done ends the steps that build on it.
///
/// # Errors
/// [`StorageError::Config`] if the configuration can't be used; nothing was tried then.
pub async fn preflight(config: &Config) -> Result<Preflight, StorageError> {
    let env = StorageEnv { runtime: tokio::runtime::Handle::current() };
    let Opened { settings, warnings, store, .. } = Opened::to_write(config, &env)?;
    let kind = Kind::of(&settings.store.kind);
    let name = format!("{}.undercroft-check-{}", settings.key_prefix, uuid::Uuid::new_v4());
    let trial = Trial {
        store: store.as_ref(),
        kind,
        object: ObjectKey::new(&name),
        parts: ObjectKey::new(&format!("{name}-parts")),
    };
    let part_bytes = usize::try_from(settings.upload.part_size).unwrap_or(PROBE_BYTES);
    let steps = trial.steps(part_bytes).await;
    Ok(Preflight { store: store.name().to_owned(), warnings, steps })
}

struct Trial<'a> {
    store: &'a dyn ObjectStore,
    kind: Kind,
    object: ObjectKey,
    parts: ObjectKey,
}

impl Trial<'_> {
    async fn steps(&self, part_bytes: usize) -> Vec<PreflightStep> {
        let body = Bytes::from((0..PROBE_BYTES).map(|at| (at % 251) as u8).collect::<Vec<_>>());
        let mut steps = vec![self.step("write", self.store.put(&self.object, vec![body.clone()])).await];
        if steps.iter().any(|step| step.outcome.is_err()) {
            // Reading tells a wrong login or bucket from a right that is missing for writing only.
            steps.push(self.step("list", self.list(false)).await);
            return steps;
        }
        steps.push(self.step("read a range", self.read(&body)).await);
        steps.push(self.step("list", self.list(true)).await);
        steps.push(self.step("write in parts, and abort", self.send_parts(part_bytes)).await);
        if self.kind.has_uploads() {
            let mut step = self.step("list unfinished uploads", self.uploads()).await;
            step.is_optional = true;
            steps.push(step);
        }
        let both = [self.object.clone(), self.parts.clone()];
        steps.push(self.step("delete", self.store.delete(&both[..1])).await);
        steps.push(self.step("delete many", self.store.delete(&both)).await);
        steps
    }

    async fn step(&self, name: &'static str, work: impl Future<Output = Result<(), StorageError>>) -> PreflightStep {
        let started = Instant::now();
        let outcome = work.await;
        let advice = outcome.as_ref().err().map(|error| advice(error, name, self.kind)).unwrap_or_default();
        PreflightStep { name, took: started.elapsed(), outcome, advice, is_optional: false }
    }

    async fn read(&self, body: &Bytes) -> Result<(), StorageError> {
        let range = 1000..PROBE_BYTES as u64 - 77;
        let found = self.store.get(&self.object, range).await?.concat();
        if found == body[1000..PROBE_BYTES - 77] {
            Ok(())
        } else {
            Err(self.wrong("what was read is not what was written"))
        }
    }

    async fn list(&self, must_be_there: bool) -> Result<(), StorageError> {
        let mut pages = self.store.list(self.object.as_str()).await?;
        for _ in 0..PAGES_MAX {
            let page = pages.next().await?;
            if page.iter().any(|listed| listed.key == self.object && listed.size == PROBE_BYTES as u64) {
                return Ok(());
            }
            if page.is_empty() {
                break;
            }
        }
        if must_be_there { Err(self.wrong("what was written is not listed")) } else { Ok(()) }
    }

    async fn send_parts(&self, part_bytes: usize) -> Result<(), StorageError> {
        let mut upload = self.store.upload(&self.parts, 2).await?;
        let mut sent = Ok(());
        for byte in 0..2_u8 {
            sent = upload.part(vec![Bytes::from(vec![byte; part_bytes])]).await;
            if sent.is_err() {
                break;
            }
        }
        let aborted = upload.abort().await;
        sent.and(aborted)
    }

    async fn uploads(&self) -> Result<(), StorageError> {
        match self.store.list_uploads(self.parts.as_str()).await?.as_slice() {
            [] => Ok(()),
            [left, ..] => self.store.abort_upload(&left.key, &left.id).await,
        }
    }

    fn wrong(&self, why: &str) -> StorageError {
        StorageError::Corrupt {
            action: "check",
            object: self.object.to_string().into(),
            store: self.store.name().into(),
            place: "the object".to_owned().into(),
            why: why.to_owned().into(),
        }
    }
}

/// Which family of stores it is, for what rights are called there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    S3,
    Gcs,
    Azure,
    Other,
}

impl Kind {
    fn of(kind: &StoreKind) -> Self {
        match kind {
            StoreKind::S3(_) => Self::S3,
            StoreKind::Gcs(_) => Self::Gcs,
            StoreKind::Azure(_) => Self::Azure,
            StoreKind::Filesystem { .. } | StoreKind::Service(_) | StoreKind::Memory => Self::Other,
        }
    }

    fn has_uploads(self) -> bool {
        matches!(self, Self::S3 | Self::Gcs)
    }

    /// The right that a step needs.
    fn right(self, step: &str) -> Option<&'static str> {
        Some(match (self, step) {
            (Self::S3, "write") => "`s3:PutObject` on the objects (and `kms:GenerateDataKey` if a KMS key encrypts)",
            (Self::S3, "read a range") => "`s3:GetObject` on the objects (and `kms:Decrypt` if a KMS key encrypts)",
            (Self::S3, "list") => "`s3:ListBucket` on the bucket",
            (Self::S3, "write in parts, and abort") => "`s3:PutObject` and `s3:AbortMultipartUpload` on the objects",
            (Self::S3, "list unfinished uploads") => "`s3:ListBucketMultipartUploads` on the bucket",
            (Self::S3, _) => "`s3:DeleteObject` on the objects",
            (Self::Gcs, "write") => "`storage.objects.create`, and `storage.objects.delete` to replace",
            (Self::Gcs, "read a range") => "`storage.objects.get`",
            (Self::Gcs, "list") => "`storage.objects.list`",
            (Self::Gcs, "write in parts, and abort") => {
                "`storage.multipartUploads.create` and `.abort`, `storage.objects.create`"
            }
            (Self::Gcs, "list unfinished uploads") => "`storage.multipartUploads.list`",
            (Self::Gcs, _) => "`storage.objects.delete`",
            (Self::Azure, "write" | "write in parts, and abort") => {
                "the action `…/blobs/write` (role Storage Blob Data Contributor), in a signature `c` and `w`"
            }
            (Self::Azure, "read a range") => "the action `…/blobs/read`, in a signature `r`",
            (Self::Azure, "list") => "the action `…/blobs/read`, in a signature `l`, for the whole container",
            (Self::Azure, _) => "the action `…/blobs/delete`, in a signature `d`",
            (Self::Other, _) => return None,
        })
    }
}

/// What an error says, and what that most often means. Every word that fits is said; none is certain.
const SIGNS: &[(&[&str], &str)] = &[
    (
        &["RequestTimeTooSkewed", "the clock of this machine"],
        "The clocks of this machine and the store differ by more than 15 minutes: check NTP here first, then there.",
    ),
    (
        &[
            "PermanentRedirect",
            "TemporaryRedirect",
            "AuthorizationHeaderMalformed",
            "IllegalLocationConstraint",
            "InvalidRegion",
        ],
        "The bucket is in another region than `storage.s3.region` says, or behind another endpoint; the store's answer names the right one if it knows it.",
    ),
    (
        &["bucket does not exist", "container does not exist", "NoSuchBucket", "ContainerNotFound"],
        "There is no such bucket or container under this login and endpoint: create it (it is never made by itself), or correct its name.",
    ),
    (
        &[
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
            "AuthenticationFailed",
            "InvalidAuthenticationInfo",
            "Invalid Credentials",
            "InvalidSecurity",
        ],
        "The store doesn't accept the key or its secret: a typing error, a key of another account, a key that was withdrawn, or a proxy that changes requests.",
    ),
    (
        &[
            "a web page and not a store",
            "what answers is no store",
            "it sends us elsewhere",
            "the answer is not a store's",
            "something that says nothing",
        ],
        "Something else than the store's interface answers: a console, a proxy that wants a login, the other one of `http` and `https`, or a path that is missing in the endpoint.",
    ),
    (
        &["who asks is not known"],
        "The answer doesn't say more: a login that the store doesn't know, or a proxy in front of it that wants one of its own.",
    ),
    (&["invalid HTTP version"], "What listens there doesn't speak HTTP: check the port of the endpoint."),
    (
        &["ExpiredToken", "token expired", "TokenRefreshRequired"],
        "Temporary credentials are over: they need to be renewed.",
    ),
    (
        &["no credentials were"],
        "No credentials were found where the configuration says that they are; the message names the places.",
    ),
    (
        &["certificate verify failed", "self-signed", "self signed", "unable to get local issuer"],
        "The store's certificate isn't signed by an authority that this machine trusts: name the authority's certificate in `storage.tls.ca.file`.",
    ),
    (
        &["Hostname mismatch", "hostname mismatch", "IP address mismatch"],
        "The store's certificate is for another name: correct the endpoint, or use path style (`storage.s3.path.style.access.enabled`).",
    ),
    (
        &["wrong version number", "unexpected EOF during handshake"],
        "Something answers that doesn't speak TLS: `http` instead of `https` in the endpoint, or the other way round.",
    ),
    (
        &["certificate required", "bad certificate"],
        "The store wants to see a certificate of ours: `storage.tls.client.certificate.file`.",
    ),
    (
        &["failed to lookup address", "dns error", "Name or service not known"],
        "The host's name isn't known to DNS here: check the endpoint, the region, and whether the bucket belongs into the host's name.",
    ),
    (
        &["socks", "SOCKS", "tunnel", "proxy", "Proxy"],
        "The way through the proxy failed: check `storage.proxy.*` (or `HTTPS_PROXY` and `NO_PROXY` of the environment), and what the proxy allows.",
    ),
    (
        &["Connection refused"],
        "Nothing listens there: check host and port of the endpoint, and whether the store runs.",
    ),
    (
        &["Connection reset", "connection closed"],
        "The connection was cut: a firewall, a proxy, or `http` to a port of `https`.",
    ),
    (
        &["timed out", "no answer within", "not done after"],
        "No answer came in time: a firewall that drops packets, a wrong address, or a store that is too slow for `storage.s3.api.call.attempt.timeout`.",
    ),
    (&["InvalidStorageClass"], "The store doesn't know `storage.s3.storage.class`."),
    (&["KMS."], "The key of KMS can't be used: it is missing, disabled, or our login may not use it."),
    (&["does not exist: create it"], "`storage.root` isn't there: mount its disk or create it."),
];

fn advice(error: &StorageError, step: &'static str, kind: Kind) -> Vec<String> {
    let text = error.to_string();
    let mut found: Vec<String> = SIGNS
        .iter()
        .filter(|(signs, _)| signs.iter().any(|sign| text.contains(sign)))
        .map(|(_, words)| (*words).to_owned())
        .collect();
    let is_of_login = !found.is_empty();
    if let (StorageError::Refused { .. }, Some(right), false) = (error, kind.right(step), is_of_login) {
        found.push(format!("The store knows us and doesn't allow this. It needs {right}."));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(why: &str) -> StorageError {
        StorageError::Refused {
            action: "put",
            object: "o".to_owned().into(),
            store: "s".to_owned().into(),
            why: why.to_owned().into(),
            remedy: "it",
            source: None,
        }
    }

    #[test]
    fn what_fails_is_explained_in_words() {
        for (why, step, kind, expected) in [
            ("RequestTimeTooSkewed: x", "write", Kind::S3, "clocks"),
            ("AuthorizationHeaderMalformed: the region 'us-east-1' is wrong", "write", Kind::S3, "another region"),
            ("AccessDenied: Access Denied", "write", Kind::S3, "`s3:PutObject`"),
            ("AccessDenied", "list unfinished uploads", Kind::S3, "`s3:ListBucketMultipartUploads`"),
            ("AuthorizationPermissionMismatch: x", "delete", Kind::Azure, "blobs/delete"),
            ("403: does not have storage.objects.create access", "write", Kind::Gcs, "`storage.objects.create`"),
            ("InvalidAccessKeyId: x", "write", Kind::S3, "doesn't accept the key"),
            ("certificate verify failed (self-signed certificate)", "write", Kind::S3, "`storage.tls.ca.file`"),
            ("failed to lookup address information", "write", Kind::Azure, "DNS"),
            ("the answer has status 302: it sends us elsewhere, to x", "write", Kind::S3, "a console"),
            ("the answer has status 401: who asks is not known", "write", Kind::S3, "the store doesn't know"),
            ("tunnel error: unsuccessful", "write", Kind::S3, "proxy"),
        ] {
            let words = advice(&refused(why), step, kind);
            assert!(words.len() == 1 && words[0].contains(expected), "{why}: {words:?}");
        }
    }

    #[tokio::test]
    async fn a_store_that_works_passes_every_step_and_keeps_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        let mut config = Config::new();
        config.set("storage.backend.class", "filesystem");
        config.set("storage.root", root.path().to_str().expect("UTF-8"));
        let found = preflight(&config).await.expect("valid");
        assert!(found.is_usable(), "{found:?}");
        assert_eq!(found.steps.len(), 6);
        let left: Vec<_> =
            std::fs::read_dir(root.path()).expect("readable").map(|e| e.expect("one").file_name()).collect();
        assert_eq!(left, [".undercroft-tmp"]);
        config.set("storage.root", "/not/there");
        let found = preflight(&config).await.expect("valid");
        assert!(!found.is_usable() && found.steps[0].advice[0].contains("`storage.root`"), "{found:?}");
    }

    #[tokio::test]
    async fn a_folder_passes_every_step_however_its_prefix_is_spelt_and_nothing_lies_beside_it() {
        let root = tempfile::tempdir().expect("a folder");
        let beside = format!("/{}", uuid::Uuid::new_v4());
        for prefix in [&format!("{beside}/"), "//x//", "x//y/", "x//y-", "/"] {
            let mut config = Config::new();
            config.set("storage.backend.class", "filesystem");
            config.set("storage.root", root.path().to_str().expect("UTF-8"));
            config.set("key.prefix", prefix);
            let found = preflight(&config).await.expect("valid");
            assert!(found.is_usable() && found.warnings.len() == 1, "{prefix}: {found:?}");
        }
        assert!(!std::path::Path::new(&beside).exists());
    }
}
