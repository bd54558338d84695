//! A file that is read again when it changes.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

/// How often the file is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often it is said that it can't be read.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// What tells one content from the next: a mounted secret is replaced as a link, so the number of the file counts too.
type Stamp = (Option<SystemTime>, u64, u64);

/// A file and what was made of it. One that can't be read or understood leaves what was there before.
#[derive(Debug)]
pub(super) struct Watched<T> {
    path: PathBuf,
    known: Mutex<Option<Known<T>>>,
    /// When it was said last that it can't be read.
    said: Mutex<Option<Instant>>,
}

#[derive(Debug, Clone)]
struct Known<T> {
    stamp: Stamp,
    looked: Instant,
    value: T,
}

impl<T: Clone + Send> Watched<T> {
    pub(super) fn new(path: &str) -> Self {
        Self { path: path.into(), known: Mutex::new(None), said: Mutex::new(None) }
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
            (Ok(stamp), _) => match super::read(self.path.clone()).await {
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
                if self.is_said(Instant::now()) {
                    tracing::warn!(%why, "credentials were not read again, and those that were there hold on");
                }
                (known.stamp, known.value, false)
            }
            (Err(why), None) => return Err(why),
        };
        if is_new {
            *self.said.lock() = None;
        }
        let value_known = Known { stamp, looked: Instant::now(), value: value.clone() };
        *self.known.lock() = Some(value_known);
        Ok((value, is_new))
    }

    /// Whether a failure is told of now: the first one, and one a minute.
    fn is_said(&self, now: Instant) -> bool {
        let mut said = self.said.lock();
        let is_news = said.is_none_or(|last| now.duration_since(last) >= SAY_EVERY);
        if is_news {
            *said = Some(now);
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_a_file_cannot_be_read_is_said_once_a_minute() {
        let (start, file) = (Instant::now(), Watched::<()>::new("/not/there"));
        let said: Vec<u64> = (0..200).filter(|&second| file.is_said(start + Duration::from_secs(second))).collect();
        assert_eq!(said, [0, 60, 120, 180]);
    }
}
