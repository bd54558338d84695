//! What OpenDAL's errors mean to us.

use std::error::Error as _;

use opendal::{Error, ErrorKind};

use super::elsewhere::told;

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

/// Those among them that come with the right place, if the store knows it.
const ELSEWHERE: &[&str] = &[
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "InvalidRegion",
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
                other => kind_of_status(error).map_or_else(|| kind_of(other, is_temporary), |(kind, _)| kind),
            };
            let hint = match code {
                "NoSuchBucket" => "the bucket does not exist".to_owned(),
                "ContainerNotFound" => "the container does not exist".to_owned(),
                "RequestTimeTooSkewed" => format!("{code}: {message}; the clock of this machine is wrong"),
                _ if message.is_empty() => code.to_owned(),
                _ => format!("{code}: {message}"),
            };
            let hint = match told(error).filter(|_| ELSEWHERE.contains(&code)) {
                Some(place) => format!("{hint}; {place}"),
                None => hint,
            };
            return Self { kind, why: hint, is_temporary, is_of_signer: false };
        }
        let why = match (obstacle(error), kind_of_status(error)) {
            (Some(obstacle), _) => format!("{}; {obstacle}", words(error)),
            (None, Some((_, answer))) => answer,
            (None, None) if is_too_much(error) => format!("{}: {RANGE_IGNORED}", words(error)),
            (None, None) if is_page(error.message()) || is_empty_answer(error.message()) => {
                let what = if is_of_page(error) { NO_STORE } else { "something that says nothing" };
                let status = status_of(error).map_or_else(String::new, |status| format!(", with status {status}"));
                format!("{what} answers{status}")
            }
            (None, None) if is_odd_success(error) => {
                let status = status_of(error).unwrap_or_default();
                format!("{NOT_A_STORES}: the answer has status {status}, and is none to what was asked")
            }
            (None, None) if is_garbage(error) => format!("the answer is not a store's: {}", words(error)),
            (None, None) => words(error),
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
        if obstacle(error).is_some() || is_too_much(error) {
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
            _ if let Some((kind, _)) = kind_of_status(error) => kind,
            _ => match kind_of(error.kind(), error.is_temporary()) {
                TroubleKind::Unforeseen if is_page(message) || is_empty_answer(message) || is_odd_success(error) => {
                    TroubleKind::Misconfigured
                }
                kind => kind,
            },
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

/// What answers when no store does.
pub(super) const NO_STORE: &str = "a web page and not a store";
/// What is said of an answer that a store would not have given.
pub(super) const NOT_A_STORES: &str = "what answers is no store, or something changes what a store says";
/// Who gives other bytes than those that were asked for.
pub(super) const RANGE_IGNORED: &str = "a store or a proxy that ignores ranges";

/// Whether a body is a page for people.
pub(super) fn is_page(body: &str) -> bool {
    let body = body.trim_start();
    let body = match body.split_once("?>") {
        Some((declaration, rest)) if declaration.starts_with("<?xml") => rest.trim_start(),
        _ => body,
    };
    let begins = |with: &str| body.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    begins("<!doctype html") || begins("<html")
}

/// What the driver makes of a body that has no error of a store in it, such as a page that happens to be XML.
fn is_empty_answer(message: &str) -> bool {
    message.starts_with("S3Error { code: \"\", message: \"\"")
}

/// Whether the answer is a page for people, by its body or its header.
fn is_of_page(error: &Error) -> bool {
    is_page(error.message()) || error.to_string().contains("\"content-type\": \"text/html")
}

/// Whether a listing, or another answer that the driver reads, has no form that it knows. What was asked for may be done all the
/// same, so this stays unforeseen.
fn is_garbage(error: &Error) -> bool {
    matches!(error.message(), "deserialize xml" | "deserialize json")
}

/// Whether the driver gives for an error what came with a status of success, as an empty 200 to a delete, which stores
/// answer with 204.
fn is_odd_success(error: &Error) -> bool {
    status_of(error).is_some_and(|status| (200..300).contains(&status)) && !is_garbage(error)
}

/// What a status alone says, and that in words: who isn't known is refused, and who is sent elsewhere asks at a wrong address.
fn kind_of_status(error: &Error) -> Option<(TroubleKind, String)> {
    let status = status_of(error)?;
    let said = |words: &str| format!("the answer has status {status}{words}");
    match status {
        401 | 407 => Some((TroubleKind::Refused, said(": who asks is not known"))),
        300..=303 | 305..=399 => {
            let text = error.to_string();
            let elsewhere = text.split_once("\"location\": \"").and_then(|(_, rest)| rest.split('"').next());
            let elsewhere = elsewhere.map_or_else(String::new, |place| format!(", to {place}"));
            let place = told(error).map_or_else(String::new, |place| format!("; {place}"));
            Some((TroubleKind::Misconfigured, said(&format!(": it sends us elsewhere{elsewhere}{place}"))))
        }
        // What a HEAD gets for an answer with words.
        400 => told(error).map(|place| (TroubleKind::Misconfigured, said(&format!("; {place}")))),
        _ => None,
    }
}

/// The status of the answer that an error was made of. Drivers keep it in words only.
fn status_of(error: &Error) -> Option<u16> {
    let text = error.to_string();
    let digits = |(_, rest): (&str, &str)| rest.get(..3).and_then(|digits| digits.parse().ok());
    text.split_once("Parts { status: ").and_then(digits)
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

/// The driver counts what comes. More than was asked for is no damage: other bytes came than those.
fn is_too_much(error: &Error) -> bool {
    error.message().contains("got too much data")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, headers: &str, message: &str) -> Trouble {
        let parts = format!("Parts {{ status: {status}, version: HTTP/1.1, headers: {{{headers}}} }}");
        Trouble::of(&Error::new(ErrorKind::Unexpected, message.to_owned()).with_context("response", parts))
    }

    #[test]
    fn an_answer_that_is_no_stores_says_that_the_endpoint_is_wrong() {
        for (status, headers, message, kind, words) in [
            (401, "", "", TroubleKind::Refused, "status 401"),
            (401, "", "<html>log in</html>", TroubleKind::Refused, "status 401"),
            (407, "", "", TroubleKind::Refused, "status 407"),
            (302, r#""location": "https://login/""#, "", TroubleKind::Misconfigured, "to https://login/"),
            (301, "", "", TroubleKind::Misconfigured, "sends us elsewhere"),
            (307, "", r#"S3Error { code: "Odd", message: "x" }"#, TroubleKind::Misconfigured, "Odd: x"),
            (400, "", " <!DOCTYPE HTML><html>", TroubleKind::Misconfigured, "a web page"),
            (400, "", "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC>", TroubleKind::Misconfigured, "a web page"),
            (405, "", "<html>nginx</html>", TroubleKind::Misconfigured, "status 405"),
            (
                405,
                r#""content-type": "text/html""#,
                r#"S3Error { code: "", message: "" }"#,
                TroubleKind::Misconfigured,
                "a web page",
            ),
            (400, "", r#"S3Error { code: "", message: "" }"#, TroubleKind::Misconfigured, "status 400"),
            (200, "", "deserialize xml", TroubleKind::Unforeseen, "not a store's"),
            (200, "", "", TroubleKind::Misconfigured, "is no store"),
            (
                200,
                "",
                r#"S3Error { code: "InternalError", message: "x" }"#,
                TroubleKind::Unforeseen,
                "InternalError: x",
            ),
            (409, "", r#"S3Error { code: "OperationAborted", message: "x" }"#, TroubleKind::Unforeseen, "Aborted"),
        ] {
            let trouble = answered(status, headers, message);
            assert!(trouble.kind == kind && trouble.why.contains(words), "{status} {message}: {trouble:?}");
        }
    }
}
