//! Uploads in parts that somebody began and nobody ended, found and aborted by requests of our own: OpenDAL has none for
//! that. Amazon's S3, its relatives, and the XML interface of Google's store, which is made after it.

use std::str::FromStr as _;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use opendal::{Buffer, Error, ErrorKind, HttpTransporter, Result};
use reqsign_core::Signer;
use reqsign_core::time::Timestamp;

use super::super::layout::ObjectKey;
use super::super::settings::{AwsLogin, GcsSettings, GoogleLogin, S3Settings};
use super::OpenUpload;
use super::login::{LoginTrouble, SCOPE, aws_login, context, google_login};

/// Pages of a listing: a store that never ends one must not hold us for ever.
const PAGES_MAX: usize = 1000;

/// Asks one bucket.
pub(super) struct Uploads {
    /// With the bucket, without a slash at the end.
    url: String,
    signer: Option<Signing>,
    is_requester_paying: bool,
    transporter: HttpTransporter,
}

enum Signing {
    Aws(Signer<reqsign_aws_v4::Credential>),
    Google(Signer<reqsign_google::Credential>),
}

impl Uploads {
    pub(super) fn of_s3(s3: &S3Settings, transporter: &HttpTransporter, trouble: &LoginTrouble) -> Self {
        let url = match (s3.is_path_style, s3.url().split_once("://")) {
            (false, Some((scheme, host))) => format!("{scheme}://{}.{host}", s3.bucket),
            _ => format!("{}/{}", s3.url(), s3.bucket),
        };
        let signer = (s3.login != AwsLogin::Anonymous || s3.role.is_some()).then(|| {
            let signer = reqsign_aws_v4::RequestSigner::new("s3", &s3.region);
            Signing::Aws(Signer::new(context(transporter), aws_login(s3, transporter, trouble), signer))
        });
        Self { url, signer, is_requester_paying: s3.is_requester_paying, transporter: transporter.clone() }
    }

    pub(super) fn of_gcs(gcs: &GcsSettings, transporter: &HttpTransporter, trouble: &LoginTrouble) -> Self {
        let signer = (gcs.login != GoogleLogin::Anonymous).then(|| {
            let signer = reqsign_google::RequestSigner::new("storage").with_scope(SCOPE);
            Signing::Google(Signer::new(context(transporter), google_login(&gcs.login, trouble), signer))
        });
        let url = format!("{}/{}", gcs.url(), gcs.bucket);
        Self { url, signer, is_requester_paying: false, transporter: transporter.clone() }
    }

    /// Open uploads of objects whose keys begin with `prefix`.
    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<OpenUpload>> {
        let (mut found, mut after) = (Vec::new(), None::<(String, String)>);
        for _ in 0..PAGES_MAX {
            let mut query = format!("uploads=&prefix={}", encoded(prefix));
            if let Some((key, id)) = &after {
                query.push_str(&format!("&key-marker={}&upload-id-marker={}", encoded(key), encoded(id)));
            }
            let answer = self.send(Method::GET, &format!("{}/?{query}", self.url)).await?;
            let text = String::from_utf8_lossy(&answer);
            // A relative that doesn't know the question may list objects instead.
            if !text.contains("ListMultipartUploadsResult") {
                return Err(Error::new(ErrorKind::Unsupported, "the store doesn't list unfinished uploads"));
            }
            let uploads = elements(&text, "Upload").filter_map(upload);
            // Not every relative keeps to the prefix.
            found.extend(uploads.filter(|upload| upload.key.as_str().starts_with(prefix)));
            let next = (element(&text, "NextKeyMarker"), element(&text, "NextUploadIdMarker"));
            match (element(&text, "IsTruncated").as_deref(), next) {
                (Some("true"), (Some(key), id)) if Some(&key) != after.as_ref().map(|(key, _)| key) || id.is_some() => {
                    after = Some((key, id.unwrap_or_default()));
                }
                _ => return Ok(found),
            }
        }
        Ok(found)
    }

    /// Aborts one; one that isn't there counts as aborted.
    pub(super) async fn abort(&self, key: &ObjectKey, id: &str) -> Result<()> {
        let path: Vec<_> = key.as_str().split('/').map(encoded).collect();
        let url = format!("{}/{}?uploadId={}", self.url, path.join("/"), encoded(id));
        match self.send(Method::DELETE, &url).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            other => other.map(|_| ()),
        }
    }

    async fn send(&self, method: Method, url: &str) -> Result<Bytes> {
        let request = Request::builder().method(method).uri(url);
        let request =
            if self.is_requester_paying { request.header("x-amz-request-payer", "requester") } else { request };
        let request = request
            .body(Buffer::new())
            .map_err(|error| Error::new(ErrorKind::Unexpected, "build a request").set_source(error))?;
        let (mut parts, body) = request.into_parts();
        let signed = match &self.signer {
            Some(Signing::Aws(signer)) => signer.sign(&mut parts, None).await,
            Some(Signing::Google(signer)) => signer.sign(&mut parts, None).await,
            None => Ok(()),
        };
        signed.map_err(|error| {
            Error::new(ErrorKind::Unexpected, "signing http request failed: no credential").set_source(error)
        })?;
        parts.headers.remove(header::HOST);
        let answer = self.transporter.send(Request::from_parts(parts, body)).await?;
        let (parts, body) = answer.into_parts();
        let body = body.to_bytes();
        if parts.status.is_success() {
            return Ok(body);
        }
        Err(refusal(parts.status, &String::from_utf8_lossy(&body)))
    }
}

fn refusal(status: StatusCode, text: &str) -> Error {
    let (kind, is_temporary) = match status.as_u16() {
        401 | 403 => (ErrorKind::PermissionDenied, false),
        300..=399 => (ErrorKind::ConfigInvalid, false),
        404 => (ErrorKind::NotFound, false),
        400 | 405 | 501 => (ErrorKind::Unsupported, false),
        429 => (ErrorKind::RateLimited, true),
        500 | 502 | 503 | 504 => (ErrorKind::Unexpected, true),
        _ => (ErrorKind::Unexpected, false),
    };
    let message = match (element(text, "Code"), element(text, "Message")) {
        (Some(code), message) => {
            format!("S3Error {{ code: {code:?}, message: {:?} }}", message.unwrap_or_default())
        }
        (None, _) => format!("status {status}"),
    };
    let error = Error::new(kind, message);
    if is_temporary { error.set_temporary() } else { error }
}

fn upload(text: &str) -> Option<OpenUpload> {
    let started = element(text, "Initiated").and_then(|time| Timestamp::from_str(&time).ok());
    let started = started.and_then(|time| time.as_system_time().duration_since(std::time::UNIX_EPOCH).ok());
    Some(OpenUpload {
        key: ObjectKey::new(&element(text, "Key")?),
        id: element(text, "UploadId")?,
        started_ms: started.and_then(|since| i64::try_from(since.as_millis()).ok()),
    })
}

/// What stands between the tags of each element of that name; none has one of its own name in it.
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let from = rest.find(&begin)? + begin.len();
        let to = from + rest[from..].find(&end)?;
        let found = &rest[from..to];
        rest = &rest[to + end.len()..];
        Some(found)
    })
}

/// The text of the first such element, if it has any.
pub(super) fn element(text: &str, name: &str) -> Option<String> {
    elements(text, name).next().filter(|found| !found.is_empty()).map(plain)
}

/// Text without XML's entities.
fn plain(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(end) = rest.find(';') else { break };
        let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        let meant = match &rest[1..end] {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            other => match other.strip_prefix("#x") {
                Some(hex) => number(hex, 16),
                None => other.strip_prefix('#').and_then(|digits| number(digits, 10)),
            },
        };
        match meant {
            Some(character) => out.push(character),
            None => out.push_str(&rest[..=end]),
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

/// Percent-encoding as signatures want it: all but letters, digits, `-`, `.`, `_` and `~`.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_understood() {
        let text = "<?xml?><ListMultipartUploadsResult xmlns='x'><IsTruncated>false</IsTruncated>\
            <Upload><Key>a/b&amp;c&#x2F;d</Key><UploadId>one</UploadId><Initiated>2026-11-30T12:00:00.000Z</Initiated></Upload>\
            <Upload><UploadId>two</UploadId><Key>e</Key></Upload></ListMultipartUploadsResult>";
        let found: Vec<_> = elements(text, "Upload").map(|text| upload(text).expect("whole")).collect();
        assert_eq!(found[0].key.as_str(), "a/b&c/d");
        assert_eq!((found[0].id.as_str(), found[0].started_ms), ("one", Some(1_796_040_000_000)));
        assert_eq!((found[1].key.as_str(), found[1].id.as_str(), found[1].started_ms), ("e", "two", None));
        assert!(elements("<Upload><Key>half", "Upload").next().is_none());
        assert_eq!(plain("&unknown; & &#99999999;"), "&unknown; & &#99999999;");
    }

    #[test]
    fn names_that_need_care_in_a_url_get_it() {
        assert_eq!(encoded("a b+c=d&e/ü"), "a%20b%2Bc%3Dd%26e%2F%C3%BC");
    }
}
