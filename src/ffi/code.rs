//! The numbers that calls answer with. What a number means stands here once: header, `docs/ABI.md` and the shim's
//! constants are compared with it.

use crate::config::ConfigError;
use crate::metadata::MetadataError;
use crate::metadata::log::LogError;
use crate::storage::StorageError;

/// What a function answers: a number of `uc_code`. It is an `int32_t` and no enum, because a newer library may answer
/// with numbers that this header does not know: treat those as UC_ERR_INTERNAL.
pub type uc_status_t = i32;

/// Outcomes. Numbers are never given a second meaning; retired ones stay here as comments.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum uc_code {
    /// It was done.
    UC_OK = 0,

    /// The call is wrong: a null pointer, a number out of range, a struct that is too small. It will never succeed.
    UC_ERR_INVALID_ARGUMENT = 100,
    /// A configuration value is missing or out of range; the message names key, value and range.
    UC_ERR_CONFIG = 101,
    /// The handle is null, freed, closed or not of this type.
    UC_ERR_CLOSED = 102,
    /// It did not happen within the time that was given.
    UC_ERR_TIMEOUT = 103,
    /// Somebody cancelled it.
    UC_ERR_CANCELLED = 104,
    /// This build, this log or this version cannot do it.
    UC_ERR_UNSUPPORTED = 105,
    /// A defect of the library: report it.
    UC_ERR_INTERNAL = 106,

    /// The store answered that the object is not there.
    UC_ERR_NOT_FOUND = 200,
    /// Bytes are there and wrong: keep the object, tell the operator.
    UC_ERR_CORRUPT = 201,
    /// The store or the metadata log did not answer, or is in trouble: try again later.
    UC_ERR_UNREACHABLE = 202,
    /// The store or the metadata log refused: mend login or access rights.
    UC_ERR_REFUSED = 203,
    /// The bucket or folder is not there, not writable or elsewhere: an operator has to act.
    UC_ERR_MISCONFIGURED = 204,
    /// A local file of the segment cannot be read or is not what its metadata says.
    UC_ERR_SOURCE = 205,

    /// Nothing was written and nothing is known yet: ask again later.
    UC_ERR_NOT_READY = 300,
    /// This manager was not told to lead or follow the partition.
    UC_ERR_NOT_ASSIGNED = 301,
    /// No record speaks of the segment, or its deletion has ended.
    UC_ERR_UNKNOWN_SEGMENT = 302,
    /// The state of the segment does not allow this step.
    UC_ERR_ILLEGAL_TRANSITION = 303,
    /// The metadata log is not the one that it must be: a person has to look.
    UC_ERR_LOG_MISMATCH = 304,
    /// Delayed upload: the segment stays local only for now, and nothing was written. Ask again later.
    UC_ERR_TOO_YOUNG = 305,
}

impl uc_code {
    /// All of them, in the order of their numbers.
    #[must_use]
    pub fn all() -> [Self; 20] {
        [
            Self::UC_OK,
            Self::UC_ERR_INVALID_ARGUMENT,
            Self::UC_ERR_CONFIG,
            Self::UC_ERR_CLOSED,
            Self::UC_ERR_TIMEOUT,
            Self::UC_ERR_CANCELLED,
            Self::UC_ERR_UNSUPPORTED,
            Self::UC_ERR_INTERNAL,
            Self::UC_ERR_NOT_FOUND,
            Self::UC_ERR_CORRUPT,
            Self::UC_ERR_UNREACHABLE,
            Self::UC_ERR_REFUSED,
            Self::UC_ERR_MISCONFIGURED,
            Self::UC_ERR_SOURCE,
            Self::UC_ERR_NOT_READY,
            Self::UC_ERR_NOT_ASSIGNED,
            Self::UC_ERR_UNKNOWN_SEGMENT,
            Self::UC_ERR_ILLEGAL_TRANSITION,
            Self::UC_ERR_LOG_MISMATCH,
            Self::UC_ERR_TOO_YOUNG,
        ]
    }

    /// The number as functions return it.
    #[must_use]
    pub fn status(self) -> uc_status_t {
        self as uc_status_t
    }

    /// The code with this number, if this version knows it.
    #[must_use]
    pub fn from_status(status: uc_status_t) -> Option<Self> {
        Self::all().into_iter().find(|code| code.status() == status)
    }

    /// Its name in C, with the NUL that C wants.
    #[must_use]
    pub fn c_name(self) -> &'static std::ffi::CStr {
        match self {
            Self::UC_OK => c"UC_OK",
            Self::UC_ERR_INVALID_ARGUMENT => c"UC_ERR_INVALID_ARGUMENT",
            Self::UC_ERR_CONFIG => c"UC_ERR_CONFIG",
            Self::UC_ERR_CLOSED => c"UC_ERR_CLOSED",
            Self::UC_ERR_TIMEOUT => c"UC_ERR_TIMEOUT",
            Self::UC_ERR_CANCELLED => c"UC_ERR_CANCELLED",
            Self::UC_ERR_UNSUPPORTED => c"UC_ERR_UNSUPPORTED",
            Self::UC_ERR_INTERNAL => c"UC_ERR_INTERNAL",
            Self::UC_ERR_NOT_FOUND => c"UC_ERR_NOT_FOUND",
            Self::UC_ERR_CORRUPT => c"UC_ERR_CORRUPT",
            Self::UC_ERR_UNREACHABLE => c"UC_ERR_UNREACHABLE",
            Self::UC_ERR_REFUSED => c"UC_ERR_REFUSED",
            Self::UC_ERR_MISCONFIGURED => c"UC_ERR_MISCONFIGURED",
            Self::UC_ERR_SOURCE => c"UC_ERR_SOURCE",
            Self::UC_ERR_NOT_READY => c"UC_ERR_NOT_READY",
            Self::UC_ERR_NOT_ASSIGNED => c"UC_ERR_NOT_ASSIGNED",
            Self::UC_ERR_UNKNOWN_SEGMENT => c"UC_ERR_UNKNOWN_SEGMENT",
            Self::UC_ERR_ILLEGAL_TRANSITION => c"UC_ERR_ILLEGAL_TRANSITION",
            Self::UC_ERR_LOG_MISMATCH => c"UC_ERR_LOG_MISMATCH",
            Self::UC_ERR_TOO_YOUNG => c"UC_ERR_TOO_YOUNG",
        }
    }

    /// What happened, for a table; an error's own message says what happened to what.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::UC_OK => "done",
            Self::UC_ERR_INVALID_ARGUMENT => "the call is wrong and will never succeed",
            Self::UC_ERR_CONFIG => "a configuration value is missing or out of range",
            Self::UC_ERR_CLOSED => "the handle is null, freed, closed or not of this type",
            Self::UC_ERR_TIMEOUT => "not done within the time that was given",
            Self::UC_ERR_CANCELLED => "cancelled by the host",
            Self::UC_ERR_UNSUPPORTED => "this build, log or version cannot do it",
            Self::UC_ERR_INTERNAL => "a defect of the library",
            Self::UC_ERR_NOT_FOUND => "the object is not in the store",
            Self::UC_ERR_CORRUPT => "bytes are there and wrong",
            Self::UC_ERR_UNREACHABLE => "store or metadata log did not answer",
            Self::UC_ERR_REFUSED => "store or metadata log refused login or rights",
            Self::UC_ERR_MISCONFIGURED => "bucket or folder is missing, not writable or elsewhere",
            Self::UC_ERR_SOURCE => "a local file of the segment is unreadable or wrong",
            Self::UC_ERR_NOT_READY => "nothing was written, nothing is known yet",
            Self::UC_ERR_NOT_ASSIGNED => "this manager neither leads nor follows the partition",
            Self::UC_ERR_UNKNOWN_SEGMENT => "no such segment is known",
            Self::UC_ERR_ILLEGAL_TRANSITION => "the segment's state does not allow this step",
            Self::UC_ERR_LOG_MISMATCH => "the metadata log is not the one that it must be",
            Self::UC_ERR_TOO_YOUNG => "the segment stays local only for now; nothing was written",
        }
    }

    /// Whether the same call may succeed later without anybody's help. An error object says it of its own case, which
    /// may be narrower: `uc_error_is_retriable`.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        match self {
            Self::UC_ERR_TIMEOUT | Self::UC_ERR_UNREACHABLE | Self::UC_ERR_NOT_READY | Self::UC_ERR_TOO_YOUNG => true,
            Self::UC_OK
            | Self::UC_ERR_INVALID_ARGUMENT
            | Self::UC_ERR_CONFIG
            | Self::UC_ERR_CLOSED
            | Self::UC_ERR_CANCELLED
            | Self::UC_ERR_UNSUPPORTED
            | Self::UC_ERR_INTERNAL
            | Self::UC_ERR_NOT_FOUND
            | Self::UC_ERR_CORRUPT
            | Self::UC_ERR_REFUSED
            | Self::UC_ERR_MISCONFIGURED
            | Self::UC_ERR_SOURCE
            | Self::UC_ERR_NOT_ASSIGNED
            | Self::UC_ERR_UNKNOWN_SEGMENT
            | Self::UC_ERR_ILLEGAL_TRANSITION
            | Self::UC_ERR_LOG_MISMATCH => false,
        }
    }

    /// Simple name of the class of Kafka that a Java host throws for it. Retriable ones fall back to
    /// `RemoteStorageException` on brokers that lack the class.
    #[must_use]
    pub fn java_class(self) -> &'static str {
        match self {
            Self::UC_OK => "-",
            Self::UC_ERR_CONFIG => "ConfigException",
            Self::UC_ERR_NOT_FOUND | Self::UC_ERR_UNKNOWN_SEGMENT | Self::UC_ERR_NOT_ASSIGNED => {
                "RemoteResourceNotFoundException"
            }
            Self::UC_ERR_TIMEOUT | Self::UC_ERR_UNREACHABLE => "RetriableRemoteStorageException",
            Self::UC_ERR_NOT_READY | Self::UC_ERR_TOO_YOUNG => "ReplicaNotAvailableException",
            Self::UC_ERR_INVALID_ARGUMENT
            | Self::UC_ERR_CLOSED
            | Self::UC_ERR_CANCELLED
            | Self::UC_ERR_UNSUPPORTED
            | Self::UC_ERR_INTERNAL
            | Self::UC_ERR_CORRUPT
            | Self::UC_ERR_REFUSED
            | Self::UC_ERR_MISCONFIGURED
            | Self::UC_ERR_SOURCE
            | Self::UC_ERR_ILLEGAL_TRANSITION
            | Self::UC_ERR_LOG_MISMATCH => "RemoteStorageException",
        }
    }
}

impl From<&ConfigError> for uc_code {
    fn from(_: &ConfigError) -> Self {
        Self::UC_ERR_CONFIG
    }
}

impl From<&StorageError> for uc_code {
    fn from(error: &StorageError) -> Self {
        match error {
            StorageError::NotFound { .. } => Self::UC_ERR_NOT_FOUND,
            StorageError::Corrupt { .. } => Self::UC_ERR_CORRUPT,
            StorageError::Unreachable { .. } => Self::UC_ERR_UNREACHABLE,
            StorageError::Refused { .. } => Self::UC_ERR_REFUSED,
            StorageError::Misconfigured { .. } => Self::UC_ERR_MISCONFIGURED,
            StorageError::Config(error) => error.into(),
            StorageError::Source { .. } => Self::UC_ERR_SOURCE,
            StorageError::InvalidArgument { .. } => Self::UC_ERR_INVALID_ARGUMENT,
            StorageError::Unsupported { .. } => Self::UC_ERR_UNSUPPORTED,
            StorageError::Condemned { .. } => Self::UC_ERR_ILLEGAL_TRANSITION,
            StorageError::Timeout { .. } => Self::UC_ERR_TIMEOUT,
            StorageError::Cancelled { .. } => Self::UC_ERR_CANCELLED,
            StorageError::Closed { .. } => Self::UC_ERR_CLOSED,
            StorageError::Internal { .. } => Self::UC_ERR_INTERNAL,
        }
    }
}

impl From<&MetadataError> for uc_code {
    fn from(error: &MetadataError) -> Self {
        match error {
            MetadataError::NotReady { .. } | MetadataError::StoreDown { .. } => Self::UC_ERR_NOT_READY,
            MetadataError::TooYoung { .. } => Self::UC_ERR_TOO_YOUNG,
            MetadataError::NotAssigned { .. } => Self::UC_ERR_NOT_ASSIGNED,
            MetadataError::UnknownSegment { .. } => Self::UC_ERR_UNKNOWN_SEGMENT,
            MetadataError::Refused { .. } => Self::UC_ERR_ILLEGAL_TRANSITION,
            MetadataError::InvalidArgument { .. } => Self::UC_ERR_INVALID_ARGUMENT,
            MetadataError::Log(error) => error.into(),
            MetadataError::Timeout { .. } => Self::UC_ERR_TIMEOUT,
            MetadataError::Config(error) => error.into(),
            MetadataError::Closed => Self::UC_ERR_CLOSED,
            MetadataError::Internal { .. } => Self::UC_ERR_INTERNAL,
        }
    }
}

impl From<&LogError> for uc_code {
    fn from(error: &LogError) -> Self {
        match error {
            LogError::Unreachable { .. } | LogError::TooFewBrokers { .. } => Self::UC_ERR_UNREACHABLE,
            LogError::Refused { .. } => Self::UC_ERR_REFUSED,
            LogError::Mismatch { .. } => Self::UC_ERR_LOG_MISMATCH,
            LogError::Corrupt { .. } => Self::UC_ERR_CORRUPT,
            LogError::Timeout { .. } => Self::UC_ERR_TIMEOUT,
            LogError::Closed { .. } => Self::UC_ERR_CLOSED,
            LogError::Unsupported { .. } => Self::UC_ERR_UNSUPPORTED,
            LogError::Config(error) => error.into(),
            LogError::Internal { .. } => Self::UC_ERR_INTERNAL,
        }
    }
}
