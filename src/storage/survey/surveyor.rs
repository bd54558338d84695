//! The way in: a store that is looked into without a manager, and so without a write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream;

use super::super::StorageError;
use super::super::fetch::{Examiner, read_footer};
use super::super::layout::ObjectKey;
use super::super::layout::aiven::{MANIFEST_BYTES_MAX, Manifest, ManifestError};
use super::super::layout::compact::Footer;
use super::super::manager::{Opened, StorageEnv};
use super::super::pace::Pace;
use super::verify::Verifier;
use super::{Checked, Depth, Finding, Found, FoundSegment, Part, Segments, Severity};
use crate::config::Config;

/// Segments in a row that ended with the store's trouble before the rest is not asked for any more.
const TROUBLES_MAX: usize = 20;

/// Which part of a store is meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// What names begin with; a topic, if one is said, stands right behind it.
    pub prefix: String,
    pub topic: Option<String>,
}

impl Scope {
    pub(super) fn listed(&self) -> String {
        match &self.topic {
            Some(topic) => format!("{}{topic}-", self.prefix),
            None => self.prefix.clone(),
        }
    }
}

/// What an object says of itself, or a manifest of its segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Description {
    Compact {
        footer: Footer,
        object_bytes: u64,
    },
    Aiven {
        /// The manifest's name.
        object: String,
        manifest: Manifest,
    },
}

/// How far a check has come; may be looked at from any thread.
#[derive(Debug, Default)]
pub struct Progress {
    segments: AtomicU64,
    bytes: AtomicU64,
    findings: AtomicU64,
    segments_listed: AtomicU64,
    bytes_listed: AtomicU64,
    is_all_listed: AtomicBool,
}

/// Numbers of a [`Progress`] at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progressed {
    pub segments: u64,
    /// Bytes of objects that have been checked, or passed over in a light check.
    pub bytes: u64,
    pub findings: u64,
    /// Segments and bytes that there are in all, once that is known.
    pub of: Option<(u64, u64)>,
}

impl Progress {
    #[must_use]
    pub fn now(&self) -> Progressed {
        let get = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let is_known = self.is_all_listed.load(Ordering::Acquire);
        Progressed {
            segments: get(&self.segments),
            bytes: get(&self.bytes),
            findings: get(&self.findings),
            of: is_known.then(|| (get(&self.segments_listed), get(&self.bytes_listed))),
        }
    }

    fn read(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What a check of many segments came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub segments: u64,
    pub bytes: u64,
    pub good: u64,
    /// Deleted between the listing and the look at it.
    pub gone: u64,
    pub corrupt: u64,
    pub missing: u64,
    pub untold: u64,
    /// Objects that belong to no segment.
    pub foreign: u64,
    /// Why the check ended before all was looked at, if it did.
    pub cut_short: Option<String>,
}

impl Tally {
    fn count(&mut self, found: &FoundSegment, checked: &Checked) {
        self.segments += 1;
        self.bytes = self.bytes.saturating_add(found.bytes());
        match checked.severity() {
            None | Some(Severity::Notice) => self.good += 1,
            Some(Severity::Gone) => self.gone += 1,
            Some(Severity::Untold) => self.untold += 1,
            Some(Severity::Missing) => self.missing += 1,
            Some(Severity::Corrupt) => self.corrupt += 1,
        }
    }
}

/// Looks into a store. Clones share everything. It never writes, so it may be pointed at any store at any time.
#[derive(Clone)]
pub struct Surveyor {
    verifier: Arc<Verifier>,
    runtime: tokio::runtime::Handle,
    key_prefix: Arc<str>,
    warnings: Arc<[String]>,
}

impl std::fmt::Debug for Surveyor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surveyor").field("store", &self.verifier.store.name()).finish_non_exhaustive()
    }
}

impl Surveyor {
    /// Sets everything up, without asking the store anything. `bytes_per_second` limits what is read of data.
    ///
    /// # Errors
    /// [`StorageError::Config`] only.
    pub fn open(config: &Config, env: StorageEnv, bytes_per_second: Option<u64>) -> Result<Self, StorageError> {
        let Opened { settings, key_ring, warnings, store, metrics, .. } = Opened::new(config, &env)?;
        let pace = Pace::new(bytes_per_second);
        let runtime = env.runtime;
        let examiner = Examiner::new(Arc::clone(&store), runtime.clone(), settings.fetch, key_ring, metrics, pace);
        Ok(Self::over(Verifier { store, examiner }, runtime, &settings.key_prefix, warnings))
    }

    pub(super) fn over(
        verifier: Verifier,
        runtime: tokio::runtime::Handle,
        key_prefix: &str,
        warnings: Vec<String>,
    ) -> Self {
        Self { verifier: Arc::new(verifier), runtime, key_prefix: key_prefix.into(), warnings: warnings.into() }
    }

    /// The store in words.
    #[must_use]
    pub fn store_name(&self) -> &str {
        self.verifier.store.name()
    }

    /// The configured `key.prefix`.
    #[must_use]
    pub fn key_prefix(&self) -> &str {
        &self.key_prefix
    }

    /// What an operator should hear of the configuration.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What there is, page by page.
    ///
    /// # Errors
    /// What the store says.
    pub async fn segments(&self, scope: &Scope) -> Result<Segments, StorageError> {
        Segments::begin(self.verifier.store.as_ref(), scope.clone()).await
    }

    /// What an object says of itself, by its name in the store: any of a segment's.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` if it is no such object; what the store says.
    pub async fn describe(&self, object: &str) -> Result<Description, StorageError> {
        let store = self.verifier.store.as_ref();
        let base = object
            .rsplit_once('.')
            .and_then(|(base, suffix)| Part::AIVEN.into_iter().any(|part| part.suffix() == suffix).then_some(base));
        let Some(base) = base else {
            let (footer, object_bytes) = read_footer(store, &ObjectKey::new(object), "inspect").await?;
            return Ok(Description::Compact { footer, object_bytes });
        };
        let object = format!("{base}.{}", Part::Manifest.suffix());
        let bytes = store.get_whole(&ObjectKey::new(&object), MANIFEST_BYTES_MAX).await?.concat();
        let manifest = Manifest::decode(&bytes).map_err(|error| match error {
            ManifestError::Unsupported(_) => StorageError::Unsupported {
                action: "inspect",
                object: object.as_str().into(),
                why: error.to_string().into(),
            },
            ManifestError::Corrupt(why) => StorageError::Corrupt {
                action: "inspect",
                object: object.as_str().into(),
                store: store.name().into(),
                place: "the manifest".into(),
                why: why.into(),
            },
        })?;
        Ok(Description::Aiven { object, manifest })
    }

    /// Checks one segment.
    pub async fn verify(&self, found: &FoundSegment, depth: Depth) -> Checked {
        self.verifier.verify(found, depth, &|_| {}).await
    }

    /// Checks all that is meant, `parallel` segments at a time, and tells of each as it is done: `tell` gets the segment,
    /// or `None` for an object that is nobody's and for the listing itself.
    pub async fn verify_all(
        &self,
        scope: &Scope,
        depth: Depth,
        parallel: usize,
        progress: &Arc<Progress>,
        mut tell: impl FnMut(Option<&FoundSegment>, &Checked),
    ) -> Tally {
        let mut tally = Tally::default();
        let segments = match self.segments(scope).await {
            Ok(segments) => segments,
            Err(error) => {
                self.cut_short(scope, &error, &mut tally, &mut tell);
                return tally;
            }
        };
        let listing = stream::unfold(Some(segments), |segments| async {
            let mut segments = segments?;
            match segments.next().await {
                Ok(Some(found)) => Some((Ok(found), Some(segments))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        let checks = listing.map(|found| self.check(found, depth, Arc::clone(progress)));
        let mut checks = std::pin::pin!(checks.buffer_unordered(parallel.max(1)));
        let mut troubles = 0;
        while let Some(outcome) = checks.next().await {
            match outcome {
                Ok((Found::Segment(found), checked)) => {
                    tally.count(&found, &checked);
                    progress.segments.fetch_add(1, Ordering::Relaxed);
                    progress.findings.fetch_add(checked.findings.len() as u64, Ordering::Relaxed);
                    tell(Some(&found), &checked);
                    let is_trouble = checked.findings.iter().any(Finding::is_of_the_store);
                    troubles = if is_trouble { troubles + 1 } else { 0 };
                    if troubles >= TROUBLES_MAX {
                        let why = format!("the last {troubles} segments could not be read, so the rest was left");
                        tally.cut_short = Some(why);
                        break;
                    }
                }
                Ok((Found::Foreign { .. }, checked)) => {
                    tally.foreign += 1;
                    tell(None, &checked);
                }
                Err(error) => self.cut_short(scope, &error, &mut tally, &mut tell),
            }
        }
        tally
    }

    /// Finds out, with a listing of its own, how much there is in all.
    pub async fn count(&self, scope: &Scope, progress: &Progress) {
        let Ok(mut segments) = self.segments(scope).await else { return };
        // What can't be listed has no sum, and whoever checks is told why.
        while let Ok(found) = segments.next().await {
            match found {
                Some(Found::Segment(found)) => {
                    progress.segments_listed.fetch_add(1, Ordering::Relaxed);
                    progress.bytes_listed.fetch_add(found.bytes(), Ordering::Relaxed);
                }
                Some(Found::Foreign { .. }) => {}
                None => return progress.is_all_listed.store(true, Ordering::Release),
            }
        }
    }

    async fn check(
        &self,
        found: Result<Found, StorageError>,
        depth: Depth,
        progress: Arc<Progress>,
    ) -> Result<(Found, Checked), StorageError> {
        let segment = match found? {
            Found::Segment(segment) => segment,
            Found::Foreign { object, bytes } => {
                let why = "no object of a segment";
                let findings = vec![Finding::new(Severity::Notice, &object, "", why)];
                return Ok((Found::Foreign { object, bytes }, Checked { findings }));
            }
        };
        let (verifier, of) = (Arc::clone(&self.verifier), segment.clone());
        // A task of its own: checksums of several segments are work for several cores.
        let task = self.runtime.spawn(async move {
            let read = AtomicU64::new(0);
            let count = |bytes| {
                read.fetch_add(bytes, Ordering::Relaxed);
                progress.read(bytes);
            };
            let checked = verifier.verify(&of, depth, &count).await;
            progress.read(of.bytes().saturating_sub(read.load(Ordering::Relaxed)));
            checked
        });
        let checked = task.await.map_err(|error| StorageError::Internal {
            action: "verify",
            object: segment.name.base.as_str().into(),
            why: error.to_string().into(),
            source: None,
        })?;
        Ok((Found::Segment(segment), checked))
    }

    /// The listing broke off: what it would have had is untold.
    fn cut_short(
        &self,
        scope: &Scope,
        error: &StorageError,
        tally: &mut Tally,
        tell: &mut impl FnMut(Option<&FoundSegment>, &Checked),
    ) {
        let object = scope.listed();
        let finding = Finding::new(Severity::Untold, &object, "the listing", error.to_string());
        tell(None, &Checked { findings: vec![finding] });
        tally.cut_short = Some("the listing broke off".to_owned());
    }
}
