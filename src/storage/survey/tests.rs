//! Checks over a store that says what it is told to say.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;

use super::super::StorageError;
use super::super::fetch::Examiner;
use super::super::layout::ObjectKey;
use super::super::manager::StorageEnv;
use super::super::metrics::StorageMetrics;
use super::super::pace::Pace;
use super::super::settings::Settings;
use super::super::store::{Listed, ObjectStore, OpenUpload, Pages, Take, Upload};
use super::super::transform::KeyRing;
use super::verify::Verifier;
use super::*;
use crate::config::Config;
use crate::metrics::Registry;

const BASE: &str = "topic1-lZ6vvmajTWKDBUTV6SQAtQ/42/00000000000000000023-adh9f8BMS4anaUnD8KWfWg";

/// How a store answers a question about an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Missing,
    Forbidden,
    Silent,
}

/// Lists `listed`, has `objects`, and says of the others what is told, else that they are missing.
#[derive(Default, Clone)]
struct Scripted {
    listed: Vec<String>,
    objects: BTreeMap<String, Bytes>,
    answers: BTreeMap<String, Answer>,
    is_endless: bool,
    /// What a second listing and all after it have, if not the same.
    later: Option<Result<Vec<String>, ()>>,
    listings: Arc<AtomicUsize>,
}

impl Scripted {
    fn object(&self, key: &ObjectKey) -> Result<Bytes, StorageError> {
        let (action, object, store) = ("get", key.as_str().into(), "a script".into());
        match (self.answers.get(key.as_str()), self.objects.get(key.as_str())) {
            (None, Some(bytes)) => Ok(bytes.clone()),
            (None | Some(Answer::Missing), _) => Err(StorageError::NotFound { action, object, store }),
            (Some(Answer::Forbidden), _) => Err(StorageError::Refused {
                action,
                object,
                store,
                why: "AccessDenied".into(),
                remedy: "",
                source: None,
            }),
            (Some(Answer::Silent), _) => Err(StorageError::Timeout { action, object, store, waited_ms: 1, limit: "" }),
        }
    }
}

#[async_trait]
impl ObjectStore for Scripted {
    fn name(&self) -> &str {
        "a script"
    }

    async fn put(&self, _: &ObjectKey, _: Vec<Bytes>) -> Result<(), StorageError> {
        panic!("a check writes")
    }

    async fn upload(&self, _: &ObjectKey, _: usize) -> Result<Box<dyn Upload>, StorageError> {
        panic!("a check writes")
    }

    async fn read(&self, key: &ObjectKey, range: Range<u64>, take: Take<'_>) -> Result<(), StorageError> {
        let at = |position: u64| usize::try_from(position).expect("small");
        take(self.object(key)?.slice(at(range.start)..at(range.end)));
        Ok(())
    }

    async fn get_whole(&self, key: &ObjectKey, _: u64) -> Result<Vec<Bytes>, StorageError> {
        Ok(vec![self.object(key)?])
    }

    async fn size(&self, key: &ObjectKey) -> Result<u64, StorageError> {
        self.object(key).map(|bytes| bytes.len() as u64)
    }

    async fn list(&self, prefix: &str) -> Result<Box<dyn Pages>, StorageError> {
        let row = |key: &String| Listed {
            key: ObjectKey::new(key),
            size: self.objects.get(key).map_or(0, |bytes| bytes.len() as u64),
        };
        let is_later = self.listings.fetch_add(1, Ordering::Relaxed) > 0;
        let (object, store) = (prefix.to_owned().into(), "a script".into());
        let listed = match self.later.as_ref().filter(|_| is_later) {
            None => &self.listed,
            Some(Ok(listed)) => listed,
            Some(Err(())) => {
                return Err(StorageError::Timeout { action: "list", object, store, waited_ms: 1, limit: "" });
            }
        };
        let rows = listed.iter().filter(|key| key.starts_with(prefix)).map(row).collect();
        Ok(Box::new(Script { rows, is_endless: self.is_endless }))
    }

    async fn delete(&self, _: &[ObjectKey]) -> Result<(), StorageError> {
        panic!("a check deletes")
    }

    async fn list_uploads(&self, _: &str) -> Result<Vec<OpenUpload>, StorageError> {
        Ok(Vec::new())
    }

    async fn abort_upload(&self, _: &ObjectKey, _: &str) -> Result<(), StorageError> {
        panic!("a check aborts")
    }

    async fn check(&self, _: &ObjectKey) -> Result<(), StorageError> {
        panic!("a check writes")
    }
}

struct Script {
    rows: Vec<Listed>,
    is_endless: bool,
}

#[async_trait]
impl Pages for Script {
    async fn next(&mut self) -> Result<Vec<Listed>, StorageError> {
        Ok(if self.is_endless { self.rows.clone() } else { std::mem::take(&mut self.rows) })
    }
}

fn surveyor(store: Scripted) -> Surveyor {
    let mut config = Config::new();
    config.set("storage.backend.class", "filesystem");
    config.set("storage.root", "/");
    let settings = Settings::parse(&config).expect("settings");
    let (store, runtime): (Arc<dyn ObjectStore>, _) = (Arc::new(store), tokio::runtime::Handle::current());
    let metrics = StorageMetrics::new(&mut Registry::new());
    let examiner = Examiner::new(
        Arc::clone(&store),
        runtime.clone(),
        settings.fetch,
        KeyRing::default(),
        metrics,
        Pace::new(None),
    );
    Surveyor::over(Verifier { store, examiner }, runtime, "", Vec::new())
}

/// Aiven's plain example.
fn example() -> Scripted {
    let mut store = Scripted::default();
    for suffix in ["log", "indexes", "rsm-manifest"] {
        let path = format!("{}/tests/data/aiven/kafka4/m0.{suffix}", env!("CARGO_MANIFEST_DIR"));
        let key = format!("{BASE}.{suffix}");
        store.objects.insert(key.clone(), std::fs::read(path).expect("an example").into());
        store.listed.push(key);
    }
    store
}

async fn verified(store: Scripted) -> (Tally, Vec<(Severity, String)>) {
    let mut findings = Vec::new();
    let tell = |_: Option<&FoundSegment>, checked: &Checked| {
        findings.extend(checked.findings.iter().map(|finding| (finding.severity, finding.object.clone())));
    };
    let (surveyor, progress) = (surveyor(store), Arc::new(Progress::default()));
    let tally = surveyor.verify_all(&Scope::default(), Depth::Heavy, 3, &progress, tell).await;
    assert_eq!(progress.now().segments, tally.segments);
    (tally, findings)
}

#[tokio::test]
async fn forbidden_and_silent_are_never_missing() {
    for (answer, severity) in [
        (Answer::Forbidden, Severity::Untold),
        (Answer::Silent, Severity::Untold),
        (Answer::Missing, Severity::Missing),
    ] {
        for suffix in ["log", "rsm-manifest"] {
            let mut store = example();
            store.answers.insert(format!("{BASE}.{suffix}"), answer);
            let (tally, findings) = verified(store.clone()).await;
            assert_eq!(findings[0], (severity, format!("{BASE}.{suffix}")), "{answer:?}");
            let counts = if severity == Severity::Missing { (1, 0) } else { (0, 1) };
            assert_eq!(
                (tally.missing, tally.untold, tally.corrupt),
                (counts.0, counts.1, 0),
                "{answer:?} {findings:?}"
            );
            // The same of an object that wasn't listed.
            store.listed.retain(|key| !key.ends_with(suffix));
            let (_, findings) = verified(store).await;
            assert_eq!(findings[0].0, severity, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn what_was_not_listed_and_is_there_is_good() {
    let mut store = example();
    store.listed.retain(|key| key.ends_with("log"));
    let (tally, findings) = verified(store).await;
    assert_eq!((tally.good, tally.segments), (1, 1), "{findings:?}");
}

#[tokio::test]
async fn a_segment_that_was_deleted_after_it_was_listed_is_gone_and_neither_good_nor_a_fault() {
    // Another segment's objects, and of this one an object of the other layout, are none of its own.
    for later in [vec![], vec![format!("{BASE}.ucseg"), format!("{BASE}B.log")]] {
        for lost in 0..3 {
            let mut store = Scripted { later: Some(Ok(later.clone())), ..example() };
            store.objects.clear();
            store.listed.remove(lost);
            let (tally, findings) = verified(store).await;
            assert_eq!(findings, [(Severity::Gone, BASE.to_owned())]);
            assert_eq!(tally, Tally { segments: 1, gone: 1, ..Tally::default() });
        }
    }
}

#[tokio::test]
async fn what_the_store_still_lists_and_does_not_have_is_missing() {
    for suffix in ["log", "indexes", "rsm-manifest", "ucseg"] {
        let name = format!("{BASE}.{suffix}");
        let mut store = Scripted { later: Some(Ok(vec![name.clone()])), ..example() };
        if suffix == "ucseg" {
            store.listed = vec![name.clone()];
        }
        store.objects.clear();
        let (tally, findings) = verified(store).await;
        assert_eq!(findings, [(Severity::Missing, name)]);
        assert_eq!(tally, Tally { segments: 1, missing: 1, ..Tally::default() });
    }
}

#[tokio::test]
async fn whether_it_is_gone_or_lost_is_untold_if_the_store_lists_no_more() {
    let mut store = Scripted { later: Some(Err(())), ..example() };
    store.objects.clear();
    let (tally, findings) = verified(store).await;
    assert_eq!((findings[0].0, tally.untold, tally.good, tally.missing), (Severity::Untold, 1, 0, 0), "{findings:?}");
}

#[tokio::test]
async fn a_listing_that_never_ends_is_noticed() {
    let store = Scripted { is_endless: true, ..example() };
    let (tally, findings) = verified(store.clone()).await;
    assert!(tally.cut_short.is_some() && tally.segments <= 5, "{tally:?}");
    assert!(findings.iter().any(|(severity, _)| *severity == Severity::Untold), "{findings:?}");
    let mut segments = surveyor(store).segments(&Scope::default()).await.expect("begun");
    let error = loop {
        match segments.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("it has no end"), "{error}");
    assert!(matches!(segments.next().await, Ok(None)));
}

#[tokio::test]
async fn a_store_in_trouble_is_left_alone_after_some_segments() {
    let mut store = Scripted::default();
    for number in 0..1000 {
        let key = format!("t-lZ6vvmajTWKDBUTV6SQAtQ/1/{number:020}-adh9f8BMS4anaUnD8KWfWg.ucseg");
        store.answers.insert(key.clone(), Answer::Silent);
        store.listed.push(key);
    }
    let (tally, findings) = verified(store).await;
    assert!((20..40).contains(&tally.untold) && tally.cut_short.is_some(), "{tally:?}");
    assert!(findings.iter().all(|(severity, _)| *severity == Severity::Untold));
}

#[tokio::test]
async fn a_key_pair_that_cannot_be_used_keeps_writers_from_starting_and_nobody_from_looking() {
    let mut config = Config::new();
    for (key, value) in [
        ("storage.backend.class", "memory"),
        ("encryption.enabled", "true"),
        ("encryption.key.pair.id", "gone"),
        ("encryption.key.pairs", "gone"),
        ("encryption.key.pairs.gone.private.key.file", "/nowhere/private.pem"),
        ("encryption.key.pairs.gone.public.key.file", "/nowhere/public.pem"),
    ] {
        config.set(key, value);
    }
    let env = StorageEnv { runtime: tokio::runtime::Handle::current() };
    let refused = super::super::StorageManager::open(&config, env.clone());
    assert!(matches!(refused, Err(StorageError::Config(_))), "{refused:?}");
    let refused = super::super::preflight(&config).await;
    assert!(matches!(refused, Err(StorageError::Config(_))), "{refused:?}");
    let surveyor = Surveyor::open(&config, env, None).expect("it only reads");
    assert_eq!(surveyor.warnings().len(), 1);
}
