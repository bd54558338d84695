//! The listing of a folder store: everything that can be read by its name, and at the end, loudly, what could not be looked into.

use std::collections::VecDeque;
use std::fs::{self, ReadDir};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use opendal::{Error, ErrorKind};

use super::super::StorageError;
use super::super::layout::ObjectKey;
use super::calls::Caller;
use super::driver::PAGE;
use super::folder::TEMPORARY;
use super::{Listed, Pages};

/// Troubles of one listing that are named.
const NAMED_MAX: usize = 3;

/// The rest of a listing. One folder or link that can't be looked into takes nothing from the rest: that comes first, and the end is
/// an error then, so that a part is never taken for the whole.
pub(super) struct FolderPages {
    /// Gone while a page is read, and for good if that never ended.
    walk: Option<Walk>,
    prefix: String,
    caller: Caller,
}

impl FolderPages {
    pub(super) fn new(root: &Path, prefix: &str, caller: &Caller) -> Self {
        Self { walk: Some(Walk::new(root, prefix)), prefix: prefix.to_owned(), caller: caller.clone() }
    }
}

#[async_trait]
impl Pages for FolderPages {
    async fn next(&mut self) -> Result<Vec<Listed>, StorageError> {
        let Some(mut walk) = self.walk.take() else {
            return Err(StorageError::Internal {
                action: "list",
                object: format!("{} in {}", self.prefix, self.caller.store).into(),
                why: "the listing failed before its end".to_owned().into(),
                source: None,
            });
        };
        let (walked, mut call) = (&mut self.walk, self.caller.call("list", &self.prefix));
        call.only_attempt(async {
            let read = tokio::task::spawn_blocking(move || (walk.page(), walk)).await;
            let (page, mut walk) =
                read.map_err(|error| Error::new(ErrorKind::Unexpected, "list a folder").set_source(error))?;
            if page.is_empty()
                && let Some(error) = walk.trouble()
            {
                return Err(error);
            }
            *walked = Some(walk);
            Ok(page)
        })
        .await
    }
}

/// A folder that is to be read, and those that led to it.
struct Step {
    path: PathBuf,
    /// By its name below the root, with a slash at the end but for the root.
    key: String,
    above: Option<Arc<Above>>,
}

/// Device and number of a folder, and the folder that it was found in: a link may lead back to one of them.
struct Above {
    id: (u64, u64),
    above: Option<Arc<Above>>,
}

impl Above {
    fn has(mut self: &Arc<Self>, id: (u64, u64)) -> bool {
        loop {
            match &self.above {
                _ if self.id == id => return true,
                Some(above) => self = above,
                None => return false,
            }
        }
    }
}

/// A walk through the folders, one of them open at a time: all objects of a folder come one after the other.
struct Walk {
    steps: Vec<Step>,
    open: Option<(ReadDir, Step)>,
    /// What names in the first folder begin with.
    begin: Option<String>,
    troubles: VecDeque<(String, io::Error)>,
    troubles_count: usize,
}

impl Walk {
    fn new(root: &Path, prefix: &str) -> Self {
        let (folder, begin) = prefix.rsplit_once('/').map_or(("", prefix), |(folder, begin)| (folder, begin));
        let key = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let first = Step { path: root.join(folder), key, above: None };
        let begin = Some(begin.to_owned());
        Self { steps: vec![first], open: None, begin, troubles: VecDeque::new(), troubles_count: 0 }
    }

    /// The next objects; none at the end. Touches the disk.
    fn page(&mut self) -> Vec<Listed> {
        let mut page = Vec::new();
        while page.len() < PAGE {
            let Some((mut entries, step)) = self.open.take().or_else(|| self.next_folder()) else { break };
            match entries.next() {
                // The rest of it may be had or not: what goes on after an error may never end.
                Some(Err(error)) => {
                    self.note(&step.key, error);
                    self.begin = None;
                }
                Some(Ok(entry)) => {
                    if let Some(listed) = self.entry(&entry, &step) {
                        page.push(listed);
                    }
                    self.open = Some((entries, step));
                }
                None => self.begin = None,
            }
        }
        page
    }

    fn next_folder(&mut self) -> Option<(ReadDir, Step)> {
        loop {
            let mut step = self.steps.pop()?;
            let opened = fs::metadata(&step.path).and_then(|found| {
                let id = (found.dev(), found.ino());
                if step.above.as_ref().is_some_and(|above| above.has(id)) {
                    return Err(io::Error::other("a symbolic link leads back to a folder that it lies in"));
                }
                Ok((fs::read_dir(&step.path)?, id))
            });
            match opened {
                Ok((entries, id)) => {
                    step.above = Some(Arc::new(Above { id, above: step.above.take() }));
                    return Some((entries, step));
                }
                // Removed in the meantime, or never there: then nothing is in it.
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
                Err(error) => self.note(&step.key, error),
            }
        }
    }

    fn entry(&mut self, entry: &fs::DirEntry, step: &Step) -> Option<Listed> {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if self.begin.as_ref().is_some_and(|begin| !name.starts_with(begin.as_str())) {
            return None;
        }
        let key = format!("{}{name}", step.key);
        if key == TEMPORARY {
            return None;
        }
        // What a link leads to: it is what a read of that name would get.
        match fs::metadata(entry.path()) {
            Ok(found) if found.is_dir() => {
                self.steps.push(Step { path: entry.path(), key: format!("{key}/"), above: step.above.clone() });
                None
            }
            Ok(found) => found.is_file().then(|| Listed { key: ObjectKey::new(&key), size: found.len() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.note(&key, error);
                None
            }
        }
    }

    fn note(&mut self, key: &str, error: io::Error) {
        self.troubles_count += 1;
        if self.troubles.len() < NAMED_MAX {
            self.troubles.push_back((key.to_owned(), error));
        }
    }

    /// What could not be looked into, if anything could not.
    fn trouble(&mut self) -> Option<Error> {
        let count = self.troubles_count;
        let (key, error) = self.troubles.pop_front()?;
        let name = |key: &str| if key.is_empty() { "the root".to_owned() } else { format!("`{key}`") };
        let mut what = format!("what lies in {} could not be listed", name(&key));
        for (key, _) in &self.troubles {
            what.push_str(&format!(", nor in {}", name(key)));
        }
        let more = count - 1 - self.troubles.len();
        if more > 0 {
            what.push_str(&format!(", nor {more} more"));
        }
        Some(Error::new(ErrorKind::ConfigInvalid, what).set_source(error))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::super::settings::Settings;
    use super::super::{DriverStore, ObjectStore as _, StoreMeters};
    use super::*;
    use crate::config::Config;

    /// Keys in order, and how the listing ended.
    async fn listed(root: &Path, prefix: &str) -> (Vec<String>, Result<(), StorageError>) {
        let mut config = Config::new();
        config.set("storage.backend.class", "filesystem");
        config.set("storage.root", root.to_str().expect("UTF-8"));
        let settings = Settings::parse(&config).expect("settings");
        let runtime = tokio::runtime::Handle::current().id();
        let store = DriverStore::open(settings.store, runtime, StoreMeters::default()).expect("a store");
        let (mut pages, mut keys) = (store.list(prefix).await.expect("begins"), Vec::new());
        let end = loop {
            match pages.next().await {
                Ok(page) if page.is_empty() => break Ok(()),
                Ok(page) => keys.extend(page.into_iter().map(|listed| listed.key.to_string())),
                Err(error) => {
                    assert!(pages.next().await.is_err(), "what failed has no end");
                    break Err(error);
                }
            }
        };
        keys.sort();
        (keys, end)
    }

    fn store(keys: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for key in keys {
            let path = root.path().join(key);
            fs::create_dir_all(path.parent().expect("a parent")).expect("created");
            fs::write(path, key).expect("written");
        }
        root
    }

    #[tokio::test]
    async fn all_that_begins_with_the_prefix_is_listed_and_nothing_else() {
        let root = store(&["a/b/1", "a/b/2", "a/bc", "a/c/1", "ab", ".undercroft-tmp/x", "z/.undercroft-tmp/y"]);
        for (prefix, keys) in [
            ("", &["a/b/1", "a/b/2", "a/bc", "a/c/1", "ab", "z/.undercroft-tmp/y"][..]),
            ("a", &["a/b/1", "a/b/2", "a/bc", "a/c/1", "ab"]),
            ("a/", &["a/b/1", "a/b/2", "a/bc", "a/c/1"]),
            ("a/b", &["a/b/1", "a/b/2", "a/bc"]),
            ("a/b/2", &["a/b/2"]),
            ("a/bc/x", &[]),
            ("nowhere/x", &[]),
        ] {
            let (found, end) = listed(root.path(), prefix).await;
            assert!(end.is_ok(), "{prefix}: {end:?}");
            assert_eq!(found, keys, "{prefix}");
        }
    }

    #[tokio::test]
    async fn a_link_that_leads_back_is_named_and_the_rest_is_listed_before() {
        let root = store(&["a/1", "b/c/2", "d/3"]);
        symlink("../..", root.path().join("b/c/up")).expect("linked");
        let (found, end) = listed(root.path(), "").await;
        assert_eq!(found, ["a/1", "b/c/2", "d/3"]);
        let error = end.expect_err("not the whole");
        assert!(matches!(&error, StorageError::Misconfigured { .. }), "{error:?}");
        assert!(error.to_string().contains("`b/c/up/`") && error.to_string().contains("leads back"), "{error}");
    }

    #[tokio::test]
    async fn what_cannot_be_looked_into_is_named_and_counted() {
        let root = store(&["a/1"]);
        for at in 0..5 {
            symlink(format!("self{at}"), root.path().join(format!("self{at}"))).expect("linked");
        }
        let (found, end) = listed(root.path(), "").await;
        assert_eq!(found, ["a/1"]);
        let text = end.expect_err("not the whole").to_string();
        assert!(text.contains("`self") && text.contains("nor 2 more") && text.contains("symbolic link"), "{text}");
        assert_eq!(listed(root.path(), "a/").await.1.ok(), Some(()), "they are elsewhere");
    }

    #[tokio::test]
    async fn a_folder_that_may_not_be_read_is_named() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = store(&["a/1", "b/2"]);
        let shut = root.path().join("b");
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).expect("changed");
        if fs::read_dir(&shut).is_ok() {
            // Nothing is forbidden to root.
            return;
        }
        let (found, end) = listed(root.path(), "").await;
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).expect("changed");
        assert_eq!(found, ["a/1"]);
        assert!(end.expect_err("not the whole").to_string().contains("`b/` could not be listed"));
    }

    #[tokio::test]
    async fn links_are_what_they_lead_to() {
        let (root, elsewhere) = (store(&["a/1"]), store(&["x/2"]));
        symlink(elsewhere.path().join("x"), root.path().join("linked")).expect("linked");
        symlink(root.path().join("a/1"), root.path().join("one")).expect("linked");
        symlink("gone", root.path().join("dangling")).expect("linked");
        let (found, end) = listed(root.path(), "").await;
        assert_eq!((found, end.is_ok()), (["a/1", "linked/2", "one"].map(str::to_owned).to_vec(), true));
    }
}
