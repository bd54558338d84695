//! The decision about one segment.

#[cfg(test)]
mod tests;

use std::fmt;

/// How long a segment stays local only: until its newest record is `ms` old, or `bytes` of newer log are behind it,
/// whichever comes first. 0 in either copies at once; -1 follows the local retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyLag {
    pub ms: i64,
    pub bytes: i64,
}

impl CopyLag {
    /// What Kafka 4.4 has too: nothing is held back.
    pub const DEFAULT: Self = Self { ms: 0, bytes: -1 };

    /// Whether no segment is ever held back, whatever else is known.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.ms == 0 || self.bytes == 0
    }
}

/// How much of a log its broker keeps once it is copied; -1 is without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalRetention {
    pub ms: i64,
    pub bytes: i64,
}

impl LocalRetention {
    /// From a topic's settings, of which the local ones may be -2: as the total one of the same unit.
    #[must_use]
    pub fn effective(local: (i64, i64), total: (i64, i64)) -> Self {
        let of = |local, total| if local == -2 { total } else { local };
        Self { ms: of(local.0, total.0), bytes: of(local.1, total.1) }
    }
}

/// A segment that is not written to any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedSegment {
    /// Time of its newest record; negative if that is not known.
    pub max_timestamp_ms: i64,
    pub now_ms: i64,
}

/// What becomes of a segment now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Eligible,
    HeldBack(HeldBack),
}

/// How far a segment is from its limits: what it has, and what it must reach. A limit that is off is `None`; with both
/// off the segment stays local for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBack {
    pub age_ms: Option<(i64, i64)>,
    pub bytes_behind: Option<(i64, i64)>,
}

/// Whether a segment may be copied.
///
/// A limit above the local retention counts as that: a broker drops no segment that isn't copied, so a longer wait
/// would keep more on its disk than it was told to. Whatever is not known counts as a limit that is passed: an early copy
/// costs a little, a disk that fills costs the broker. So no `retention`, a negative or future timestamp, and `None` of
/// `bytes_behind` make eligible whatever they would have decided.
///
/// `bytes_behind` is the size of the log behind the segment, the active segment included; it is asked only if it decides.
/// ```
/// # use undercroft::tiering::{ClosedSegment, CopyLag, LocalRetention, Verdict, judge};
/// let (lag, retention) = (CopyLag { ms: 60_000, bytes: -1 }, LocalRetention { ms: 3_600_000, bytes: -1 });
/// let closed = |now_ms| ClosedSegment { max_timestamp_ms: 1_000, now_ms };
/// assert!(matches!(judge(lag, Some(retention), closed(60_999), || None), Verdict::HeldBack(_)));
/// assert_eq!(judge(lag, Some(retention), closed(61_000), || None), Verdict::Eligible);
/// ```
pub fn judge(
    lag: CopyLag,
    retention: Option<LocalRetention>,
    segment: ClosedSegment,
    bytes_behind: impl FnOnce() -> Option<u64>,
) -> Verdict {
    let Some(retention) = retention.filter(|_| !lag.is_none()) else { return Verdict::Eligible };
    let (lag_ms, lag_bytes) = (limit(lag.ms, retention.ms), limit(lag.bytes, retention.bytes));
    if lag_ms == Some(0) || lag_bytes == Some(0) {
        return Verdict::Eligible;
    }
    let mut held = HeldBack { age_ms: None, bytes_behind: None };
    if let Some(lag_ms) = lag_ms {
        match age_ms(segment) {
            Some(age_ms) if age_ms < lag_ms => held.age_ms = Some((age_ms, lag_ms)),
            _ => return Verdict::Eligible,
        }
    }
    if let Some(lag_bytes) = lag_bytes {
        match bytes_behind().map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)) {
            Some(bytes) if bytes < lag_bytes => held.bytes_behind = Some((bytes, lag_bytes)),
            _ => return Verdict::Eligible,
        }
    }
    Verdict::HeldBack(held)
}

/// The limit that counts; `None` if it can never be passed.
fn limit(lag: i64, retention: i64) -> Option<i64> {
    match (lag, retention) {
        (..0, ..0) => None,
        (..0, retention) => Some(retention),
        (lag, ..0) => Some(lag),
        (lag, retention) => Some(lag.min(retention)),
    }
}

/// `None` if it isn't known, or the newest record is of the future.
fn age_ms(segment: ClosedSegment) -> Option<i64> {
    let age = segment.now_ms.checked_sub(segment.max_timestamp_ms).filter(|_| segment.max_timestamp_ms >= 0);
    age.filter(|&age| age >= 0)
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.age_ms {
            Some((age, lag)) => write!(f, "its newest record is {age} ms old of {lag} ms")?,
            None => f.write_str("its age does not count")?,
        }
        match self.bytes_behind {
            Some((bytes, lag)) => write!(f, ", {bytes} of {lag} bytes are behind it"),
            None => f.write_str(", the size of the log behind it does not count"),
        }
    }
}
