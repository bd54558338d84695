//! Whether an answer is a store's: what answers in its place, or changes what it says, must not be believed.
//!
//! A maintenance page comes with status 200, a login page too, and a proxy may leave out headers. The driver looks at
//! the status alone where an answer has nothing to be read: a segment would count as copied that is nowhere.

#[cfg(test)]
mod tests;

use http::header::{CONTENT_RANGE, CONTENT_TYPE, ETAG, RANGE};
use http::response::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use opendal::raw::parse_content_length;
use opendal::{Buffer, Error, ErrorKind, Result};

use super::super::metrics::Operation;
use super::counted::operation_of;
use super::trouble::{NO_STORE, NOT_A_STORES, RANGE_IGNORED};
use super::uploads::element;

/// What the driver is told of a batch whose answer isn't one: the objects can still be deleted one by one.
pub(super) const NO_BATCH: &str = "the answer is not that to a batch of deletes";

/// What the body of an answer has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// What became of each object of a batch of deletes.
    Deleted,
    /// How an upload in parts is called.
    UploadId,
}

/// What was asked, as far as an answer has to fit.
pub(super) struct Asked {
    operation: Operation,
    method: Method,
    is_json: bool,
    /// Whether the answer has to name what was stored.
    is_stored_by_name: bool,
    told_by_body: Option<Told>,
    /// First byte and last one, both inclusive.
    range: Option<(u64, Option<u64>)>,
}

impl Asked {
    pub(super) fn by(request: &Request<Buffer>) -> Self {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let operation = operation_of(request.method(), path, query);
        let has = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
        Self {
            operation,
            method: request.method().clone(),
            is_json: request.method() == Method::POST && path.starts_with("/upload/storage/"),
            // Azure names the whole only, and no block of it.
            is_stored_by_name: match operation {
                Operation::Put => true,
                Operation::PutPart => has("partNumber"),
                Operation::CompleteUpload => request.method() == Method::PUT,
                _ => false,
            },
            told_by_body: match operation {
                Operation::DeleteBatch if has("delete") => Some(Told::Deleted),
                Operation::CreateUpload if has("uploads") => Some(Told::UploadId),
                _ => None,
            },
            range: request.headers().get(RANGE).and_then(|range| read_range(range, "bytes=")),
        }
    }

    /// Refuses an answer that says "done" and can't be a store's, by its head.
    pub(super) fn check(&self, answer: &Parts) -> Result<()> {
        if !answer.status.is_success() || self.operation == Operation::Other {
            return Ok(());
        }
        if is_page(&answer.headers) {
            return Err(no_store());
        }
        // S3, its relatives and Azure name what they have stored; Google's JSON tells it in the body.
        if self.is_stored_by_name {
            let is_stored = if self.is_json { is_json(&answer.headers) } else { answer.headers.contains_key(ETAG) };
            if !is_stored {
                let lacks = if self.is_json { "without the JSON" } else { "without the ETag" };
                let status = answer.status.as_u16();
                let why = format!("{} was answered with status {status}, but {lacks} that stores send", self.method);
                return Err(Error::new(ErrorKind::ConfigInvalid, format!("{NOT_A_STORES}: {why}")));
            }
        }
        self.range.map_or(Ok(()), |(first, last)| check_range(first, last, answer))
    }

    /// Whether the body has to be seen, too.
    pub(super) fn is_told_by_body(&self, status: StatusCode) -> bool {
        self.told_by_body.is_some() && status == StatusCode::OK
    }

    /// Refuses an answer by its body. In XML that says nothing of either, the driver takes every object for deleted, and
    /// nothing for the name of an upload, which can't be aborted then.
    pub(super) fn check_body(&self, body: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(body);
        match self.told_by_body {
            Some(Told::Deleted) if !text.contains("DeleteResult") => Err(Error::new(ErrorKind::Unsupported, NO_BATCH)),
            Some(Told::UploadId) if element(&text, "UploadId").is_none() => {
                let why = format!("{NOT_A_STORES}: an upload in parts was begun, and the answer doesn't say its id");
                Err(Error::new(ErrorKind::ConfigInvalid, why))
            }
            _ => Ok(()),
        }
    }
}

/// Whatever answers, its "not found" is no word on an object, and its "done" none either.
pub(super) fn no_store() -> Error {
    Error::new(ErrorKind::ConfigInvalid, format!("{NO_STORE} answers"))
}

fn content_type(headers: &HeaderMap) -> String {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// No object of ours is a page for people.
fn is_page(headers: &HeaderMap) -> bool {
    matches!(content_type(headers).as_str(), "text/html" | "application/xhtml+xml")
}

fn is_json(headers: &HeaderMap) -> bool {
    content_type(headers) == "application/json"
}

/// `<unit>5-9…` or `<unit>5-…`; of an answer with no bytes in it (`bytes */11`) and of what has another form nothing.
fn read_range(text: &HeaderValue, unit: &str) -> Option<(u64, Option<u64>)> {
    let (first, rest) = text.to_str().ok()?.strip_prefix(unit)?.split_once('-')?;
    let last = rest.split('/').next().unwrap_or_default();
    Some((first.trim().parse().ok()?, if last.is_empty() { None } else { Some(last.trim().parse().ok()?) }))
}

/// Refuses other bytes than those that were asked for: they would be handed out as these.
fn check_range(first: u64, last: Option<u64>, answer: &Parts) -> Result<()> {
    let asked = last.map_or_else(|| format!("from {first} on"), |last| format!("{first} to {last}"));
    let came = match answer.status {
        // The same bytes if the range begins where the object does and isn't shorter.
        StatusCode::OK => {
            let length = parse_content_length(&answer.headers)?;
            let is_longer = length.zip(last).is_some_and(|(length, last)| length > last.saturating_add(1));
            if first == 0 && !is_longer {
                return Ok(());
            }
            "all of the object".to_owned()
        }
        StatusCode::PARTIAL_CONTENT => {
            match answer.headers.get(CONTENT_RANGE).and_then(|range| read_range(range, "bytes ")) {
                // One that ends before it begins is a store's way to say that nothing is there.
                Some((from, Some(to))) if to >= from && (from != first || last.is_some_and(|last| to > last)) => {
                    format!("bytes {from} to {to}")
                }
                _ => return Ok(()),
            }
        }
        _ => return Ok(()),
    };
    let why = format!("{NOT_A_STORES}: bytes {asked} were asked for, and {came} came: {RANGE_IGNORED}");
    Err(Error::new(ErrorKind::ConfigInvalid, why))
}

/// What is said when more bytes come than were asked for and the answer's head didn't tell.
pub(super) fn too_much(wanted: u64) -> Error {
    let why = format!("{NOT_A_STORES}: more bytes came than the {wanted} that were asked for: {RANGE_IGNORED}");
    Error::new(ErrorKind::ConfigInvalid, why)
}
