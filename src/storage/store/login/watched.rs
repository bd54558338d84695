//! A file that is read again when it changes.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What tells one content from the next: a mounted secret is replaced as a link, so the number of the file counts too.
type Stamp = (Option<SystemTime>, u64, u64);

/// A file and what was made of it. One that can't be read or understood leaves what was there before.
#[derive(Debug)]
pub(super) struct Watched<T> {
    path: PathBuf,
    known: Mutex<Option<Known<T>>>,
}

#[derive(Debug, Clone)]
struct Known<T> {
    stamp: Stamp,
    looked: Instant,
    value: T,
}

impl<T: Clone + Send> Watched<T> {
    pub(super) fn new(path: &str) -> Self {
        Self { path: path.into(), known: Mutex::new(None) }
    }

    /// What the file holds now, made of its bytes by `make`. Also whether that is new.
    ///
    /// # Errors
    /// Why the file can't be read or understood, if it never could.
    pub(super) async fn value(&self, make: impl Fn(&[u8]) -> Result<T, String>) -> Result<(T, bool), String> {
        let known = self.known.lock().clone();
        if let Some(known) = known.as_ref().filter(|known| known.looked.elapsed() < LOOK_EVERY) {
            return Ok((known.value.clone(), false));
        }
        let stamp = tokio::fs::metadata(&self.path)
            .await
            .map(|found| (found.modified().ok(), found.len(), found.ino()))
            .map_err(|error| format!("`{}` can't be read: {error}", self.path.display()));
        let read = match (stamp, &known) {
            (Ok(stamp), Some(known)) if known.stamp == stamp => Ok((stamp, known.value.clone(), false)),
            (Ok(stamp), _) => match tokio::fs::read(&self.path).await {
                Ok(bytes) => make(&bytes)
                    .map(|value| (stamp, value, true))
                    .map_err(|why| format!("`{}`: {why}", self.path.display())),
                Err(error) => Err(format!("`{}` can't be read: {error}", self.path.display())),
            },
            (Err(why), _) => Err(why),
        };
        let (stamp, value, is_new) = match (read, known) {
            (Ok(read), _) => read,
            (Err(why), Some(known)) => {
                tracing::warn!(%why, "credentials were not read again, and those that were there hold on");
                (known.stamp, known.value, false)
            }
            (Err(why), None) => return Err(why),
        };
        let value_known = Known { stamp, looked: Instant::now(), value: value.clone() };
        *self.known.lock() = Some(value_known);
        Ok((value, is_new))
    }
}
