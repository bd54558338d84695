//! The folder of a disk cache: whose it is, and what may lie in it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Below the folder that the operator names, which may hold other things.
const NAME: &str = "undercroft-chunks";
const LOCK: &str = "lock";
const FORMAT: &str = "format";
/// How the disk engine calls its files; they are numbered from 0 on.
const FILES: &str = "foyer-storage-direct-fs-";

/// A folder that this process alone uses, for as long as this lives.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    /// It was made by another version or for another size and has been emptied.
    pub(super) is_emptied: bool,
    _lock: File,
}

impl Folder {
    /// Takes a folder for chunks of format `format` in `files` files. Files that don't belong to that are removed. If it
    /// can't be used, why.
    pub(super) fn take(parent: &Path, format: &str, files: u64) -> Result<Self, String> {
        let path = parent.join(NAME);
        let explain = |what: &str, error: &io::Error| format!("{what} `{}`: {error}", path.display());
        fs::create_dir_all(&path).map_err(|error| explain("create", &error))?;
        let lock = File::options().create(true).truncate(false).write(true).open(path.join(LOCK));
        let lock = lock.map_err(|error| explain("lock", &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!("`{}` is in use by another process or another manager", path.display()));
            }
            Err(TryLockError::Error(error)) => return Err(explain("lock", &error)),
        }
        let known = fs::read_to_string(path.join(FORMAT)).ok();
        let is_ours = known.as_deref() == Some(format);
        let mut is_emptied = false;
        for entry in fs::read_dir(&path).map_err(|error| explain("list", &error))? {
            let entry = entry.map_err(|error| explain("list", &error))?;
            let name = entry.file_name();
            let Some(number) = name.to_str().and_then(|name| name.strip_prefix(FILES)) else { continue };
            if !is_ours || number.parse::<u64>().is_ok_and(|number| number >= files) {
                fs::remove_file(entry.path()).map_err(|error| explain("empty", &error))?;
                is_emptied |= !is_ours;
            }
        }
        if !is_ours {
            fs::write(path.join(FORMAT), format).map_err(|error| explain("write to", &error))?;
        }
        Ok(Self { path, is_emptied, _lock: lock })
    }
}
