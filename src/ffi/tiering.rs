//! Delayed upload, for hosts that decide themselves when to copy.

use crate::tiering::{ClosedSegment, CopyLag, LocalRetention, Verdict, judge};

use super::borrow::{self, Growing, Out};
use super::boundary::boundary;
use super::code::uc_status_t;
use super::error::{Failure, uc_error_t};

/// A closed segment, its log and its topic, as far as they decide whether the segment is copied now. Times are
/// milliseconds since 1970. Set `struct_size` to `sizeof(uc_tiering_copy_t)`.
///
/// All zero but for the size is eligible, as in Kafka `remote.copy.lag.ms` is 0 if it isn't set.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_tiering_copy_t {
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    pub now_ms: i64,
    /// Time of the segment's newest record; negative if that is not known.
    pub max_timestamp_ms: i64,
    /// Size of the log behind the segment, the active segment included; negative if that is not known.
    pub bytes_behind: i64,
    /// `remote.copy.lag.ms`: 0 copies at once, -1 follows the local retention.
    pub lag_ms: i64,
    /// `remote.copy.lag.bytes`: 0 copies at once, -1 follows the local retention.
    pub lag_bytes: i64,
    /// `local.retention.ms`: -1 without limit, -2 as `retention_ms`.
    pub local_retention_ms: i64,
    /// `local.retention.bytes`: -1 without limit, -2 as `retention_bytes`.
    pub local_retention_bytes: i64,
    /// `retention.ms`: -1 without limit.
    pub retention_ms: i64,
    /// `retention.bytes`: -1 without limit.
    pub retention_bytes: i64,
}

// SAFETY: repr(C), begins with a u32 size; numbers are valid with any bytes.
unsafe impl Growing for uc_tiering_copy_t {
    const NAME: &'static str = "uc_tiering_copy_t";
    const SIZE_MIN: usize = 80;
}

impl uc_tiering_copy_t {
    fn is_eligible(&self) -> Result<bool, Failure> {
        for (name, value, min) in [
            ("lag_ms", self.lag_ms, -1),
            ("lag_bytes", self.lag_bytes, -1),
            ("local_retention_ms", self.local_retention_ms, -2),
            ("local_retention_bytes", self.local_retention_bytes, -2),
            ("retention_ms", self.retention_ms, -1),
            ("retention_bytes", self.retention_bytes, -1),
        ] {
            if value < min {
                return Err(Failure::argument(format!("{name} is {value}; it is at least {min}")));
            }
        }
        let lag = CopyLag { ms: self.lag_ms, bytes: self.lag_bytes };
        let retention = LocalRetention::effective(
            (self.local_retention_ms, self.local_retention_bytes),
            (self.retention_ms, self.retention_bytes),
        );
        let segment = ClosedSegment { max_timestamp_ms: self.max_timestamp_ms, now_ms: self.now_ms };
        let verdict = judge(lag, Some(retention), segment, || u64::try_from(self.bytes_behind).ok());
        Ok(verdict == Verdict::Eligible)
    }
}

/// Tells whether a closed segment may be copied now (1), or stays local only for a while yet (0).
///
/// It is the decision that `uc_metadata_add` makes on brokers without one of their own, and that of KIP-1241: a segment is
/// held back while neither its age nor the size of the log behind it has reached its limit. A limit above the local
/// retention counts as that, one that is without limit never passes, one of 0 copies at once, and so does a value
/// that would decide and is not known. A host goes through the closed segments of a log from the oldest on and ends at the
/// first that is held back.
///
/// Ownership: `copy` stays the caller's. `*error_out`, if set, is the caller's to free with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT (null, a struct that is too small, a lag or a retention below its
/// least value). Since ABI 1.
///
/// # Safety
/// `copy` is null or a struct as its type says; `eligible_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_tiering_copy_eligible(
    copy: *const uc_tiering_copy_t,
    eligible_out: *mut i32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or a struct of the size that it says; null or valid for one write (# Safety).
        let (copy, eligible_out) = unsafe { (borrow::one(copy)?, Out::required(eligible_out, "eligible_out")?) };
        eligible_out.set(i32::from(copy.is_eligible()?));
        Ok(())
    })
}
