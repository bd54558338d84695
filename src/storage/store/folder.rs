//! What a folder needs beyond OpenDAL: a root that is never made up, no empty folders, and names that survive a crash.

use std::io;
use std::path::{Path, PathBuf};

use super::super::layout::as_kept;

/// Below the root: files that are being written. On the same file system, so that a rename makes them visible.
pub(super) const TEMPORARY: &str = ".undercroft-tmp";

/// The root of a folder store.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(super) fn new(root: &str) -> Self {
        Self { root: PathBuf::from(root) }
    }

    /// Fails, and says why, if the root isn't there: a disk that isn't mounted must not be mistaken for an empty store.
    /// Touches the disk.
    pub(super) fn require_root(&self) -> Result<(), String> {
        match std::fs::metadata(&self.root) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(_) => Err("it is not a folder".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err("the folder does not exist: create it, or mount its disk".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Makes the folders of `key` again, which the delete of a neighbour may have removed in the meantime.
    pub(super) async fn make_parents(&self, key: &str) {
        if let Some(parent) = self.path(key).parent() {
            let _ = tokio::fs::create_dir_all(parent).await;
        }
    }

    /// Makes the name of `key` durable, and those of the folders it lies in.
    pub(super) async fn sync_parents(&self, key: &str) -> io::Result<()> {
        let (root, path) = (self.root.clone(), self.path(key));
        let sync = move || {
            for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(&root)) {
                std::fs::File::open(folder)?.sync_all()?;
            }
            Ok(())
        };
        tokio::task::spawn_blocking(sync).await.map_err(io::Error::other)?
    }

    /// Removes the folders of `key` that are empty now.
    pub(super) async fn remove_empty_parents(&self, key: &str) {
        let (root, path) = (self.root.clone(), self.path(key));
        let remove = move || {
            let folders = path.ancestors().skip(1);
            for folder in folders.take_while(|folder| *folder != root && folder.starts_with(&root)) {
                // Fails if something is in it, which is what stops us.
                if std::fs::remove_dir(folder).is_err() {
                    break;
                }
            }
        };
        let _ = tokio::task::spawn_blocking(remove).await;
    }

    /// Removes what writes of `key` that never ended left, whoever made them. Temporary files are called as the object
    /// is, a dot, and some random letters.
    pub(super) async fn remove_temporaries(&self, key: &str) {
        let (folder, path) = (self.temporary(), PathBuf::from(key));
        let remove = move || {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let found = entry.file_name();
                let rest = found.to_str().and_then(|found| found.strip_prefix(name));
                if rest.is_some_and(|rest| rest.starts_with('.')) {
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        };
        let _ = tokio::task::spawn_blocking(remove).await;
    }

    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join(TEMPORARY)
    }

    /// Where an object lies. A slash in front, which would lead out of the root, is left out as the driver does it.
    fn path(&self, key: &str) -> PathBuf {
        self.root.join(&*as_kept(key))
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}
