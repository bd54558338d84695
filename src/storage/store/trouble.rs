//! What OpenDAL's errors mean to us.

use std::error::Error as _;

use opendal::{Error, ErrorKind};

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleKind {
    NotFound,
    /// The object is shorter than the range that was asked for.
    Short,
    Refused,
    Misconfigured,
    Unreachable,
    Unforeseen,
}

/// An error of the store, sorted and in words.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) kind: TroubleKind,
    pub(super) why: String,
    pub(super) is_temporary: bool,
    /// There were no credentials to sign a request with.
    pub(super) is_of_signer: bool,
}

/// Codes of S3, Azure and GCS that mean "not you", whatever status they come with.
const REFUSALS: &[&str] = &[
    "401",
    "AccessDenied",
    "AccountIsDisabled",
    "AccountProblem",
    "AllAccessDisabled",
    "AuthenticationFailed",
    "AuthorizationFailure",
    "AuthorizationPermissionMismatch",
    "AuthorizationResourceTypeMismatch",
    "AuthorizationServiceMismatch",
    "ExpiredToken",
    "InsufficientAccountPermissions",
    "InvalidAccessKeyId",
    "InvalidAuthenticationInfo",
    "InvalidSecurity",
    "InvalidToken",
    "KeyBasedAuthenticationNotPermitted",
    "NoAuthenticationInformation",
    "NotSignedUp",
    "PublicAccessNotPermitted",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
];

/// Codes of S3 and Azure that mean "not here", or "not so".
const MISCONFIGURATIONS: &[&str] = &[
    "AuthorizationHeaderMalformed",
    "ContainerBeingDeleted",
    "ContainerDisabled",
    "ContainerNotFound",
    "IllegalLocationConstraintException",
    "InvalidBucketName",
    "InvalidRegion",
    "InvalidResourceName",
    "InvalidStorageClass",
    "NoSuchBucket",
    "PermanentRedirect",
    "TemporaryRedirect",
];

impl Trouble {
    pub(super) fn of(error: &Error) -> Self {
        let is_temporary = error.is_temporary();
        if let Some((code, message)) = code_of(error.message()) {
            let kind = match error.kind() {
                _ if REFUSALS.contains(&code) => TroubleKind::Refused,
                _ if code == "InvalidRange" => TroubleKind::Short,
                _ if MISCONFIGURATIONS.contains(&code) => TroubleKind::Misconfigured,
                other => kind_of(other, is_temporary),
            };
            let hint = match code {
                "NoSuchBucket" => "the bucket does not exist".to_owned(),
                "ContainerNotFound" => "the container does not exist".to_owned(),
                "RequestTimeTooSkewed" => format!("{code}: {message}; the clock of this machine is wrong"),
                _ if message.is_empty() => code.to_owned(),
                _ => format!("{code}: {message}"),
            };
            return Self { kind, why: hint, is_temporary, is_of_signer: false };
        }
        let why = match obstacle(error) {
            Some(obstacle) => format!("{}; {obstacle}", words(error)),
            None => words(error),
        };
        Self { kind: Self::without_code(error), why, is_temporary, is_of_signer: is_of_signer(error) }
    }

    /// Whether the same call may succeed in a moment.
    pub(super) fn may_pass(error: &Error) -> bool {
        error.is_temporary() && obstacle(error).is_none()
    }

    fn without_code(error: &Error) -> TroubleKind {
        let message = error.message();
        if message.contains("got too little data")
            || error.kind() == ErrorKind::RangeNotSatisfied
            || (message.contains("content range") && has_empty_range(error))
        {
            return TroubleKind::Short;
        }
        if obstacle(error).is_some() {
            return TroubleKind::Misconfigured;
        }
        match io_error(error).map(std::io::Error::kind) {
            Some(std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem) => {
                TroubleKind::Misconfigured
            }
            Some(
                std::io::ErrorKind::StorageFull
                | std::io::ErrorKind::QuotaExceeded
                | std::io::ErrorKind::TimedOut
                | std::io::ErrorKind::StaleNetworkFileHandle
                | std::io::ErrorKind::Interrupted,
            ) => TroubleKind::Unreachable,
            _ if message == "send http request" || message == "read data from http response" => {
                TroubleKind::Unreachable
            }
            _ if is_of_signer(error) => TroubleKind::Refused,
            _ => kind_of(error.kind(), error.is_temporary()),
        }
    }
}

fn kind_of(kind: ErrorKind, is_temporary: bool) -> TroubleKind {
    match kind {
        ErrorKind::NotFound => TroubleKind::NotFound,
        ErrorKind::PermissionDenied => TroubleKind::Refused,
        ErrorKind::ConfigInvalid => TroubleKind::Misconfigured,
        ErrorKind::RangeNotSatisfied => TroubleKind::Short,
        ErrorKind::RateLimited => TroubleKind::Unreachable,
        _ if is_temporary => TroubleKind::Unreachable,
        _ => TroubleKind::Unforeseen,
    }
}

/// Code and message of a store's error. OpenDAL hands on S3's as `S3Error { code: "…", message: "…", … }`, Azure's in the
/// same way, GCS's as `GcsErrorResponse { error: GcsError { …, code: 403, message: "…" } }`, and what it can't read as it is.
fn code_of(message: &str) -> Option<(&str, &str)> {
    let between = |begin: &str, end: &[char]| {
        let rest = &message[message.rfind(begin)? + begin.len()..];
        rest.split(end).next()
    };
    if message.starts_with("GcsErrorResponse") {
        let code = between(", code: ", &[',', ' ']).or_else(|| between(" code: ", &[',', ' ']))?;
        return Some((code, between("message: \"", &['"']).unwrap_or_default()));
    }
    let code = between("code: \"", &['"']).or_else(|| between("<Code>", &['<'])).filter(|code| !code.is_empty())?;
    Some((code, between("message: \"", &['"']).or_else(|| between("<Message>", &['<'])).unwrap_or_default()))
}

fn is_of_signer(error: &Error) -> bool {
    let message = error.message();
    message.contains("signing http request") || message.contains("credential")
}

/// Whether the store answered with no byte, as Azurite does for a range that begins at an object's end: `bytes 11-10/11`,
/// which the driver can't read.
fn has_empty_range(error: &Error) -> bool {
    let text = error.to_string();
    let range = text.split_once("value: bytes ").and_then(|(_, rest)| rest.split_once('/'));
    let ends = range.and_then(|(range, _)| range.split_once('-'));
    matches!(ends.map(|(from, to)| (from.parse::<u64>(), to.parse::<u64>())), Some((Ok(from), Ok(to))) if to < from)
}

/// What stands in the way of a file until somebody moves it.
fn obstacle(error: &Error) -> Option<&'static str> {
    let io = io_error(error)?;
    match io.kind() {
        std::io::ErrorKind::IsADirectory
        | std::io::ErrorKind::NotADirectory
        | std::io::ErrorKind::DirectoryNotEmpty => Some("something else lies where the object has to be"),
        std::io::ErrorKind::InvalidFilename => Some(
            "file systems take names of 255 bytes, which is a topic's name of 232 bytes: leave longer ones out of tiering, or keep segments in `s3`",
        ),
        _ if io.raw_os_error() == Some(libc::ELOOP) => Some("a symbolic link leads back to itself"),
        _ => None,
    }
}

fn io_error(error: &Error) -> Option<&std::io::Error> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return Some(io);
        }
        cause = inner.source();
    }
    None
}

/// The error in words: what it says and what lies at its bottom, without the request's headers.
fn words(error: &Error) -> String {
    let mut bottom = None;
    let mut cause = error.source();
    while let Some(inner) = cause {
        bottom = Some(inner.to_string());
        cause = inner.source();
    }
    let message = match error.message() {
        "send http request" => "",
        "" => error.kind().into_static(),
        other => other,
    };
    let text = match bottom {
        Some(bottom) if message.is_empty() || message.contains(&bottom) => bottom,
        Some(bottom) => format!("{message}: {bottom}"),
        None if message.is_empty() => error.kind().into_static().to_owned(),
        None => message.to_owned(),
    };
    match text.char_indices().nth(300) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
