//! Where a bucket is that was looked for in another place, if the store says so.
//!
//! S3 says it in a header, or in an element of its error that the driver leaves out. Drivers keep an answer's headers, in
//! words only: so what the body says is put among these.

use http::response::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
use opendal::Error;

use super::uploads::element;

const REGION: HeaderName = HeaderName::from_static("x-amz-bucket-region");
/// No store sends it.
const ENDPOINT: HeaderName = HeaderName::from_static("x-undercroft-endpoint");

/// Whether an answer with this status may say where else to ask.
pub(super) fn may_be_told(status: StatusCode) -> bool {
    matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::TEMPORARY_REDIRECT | StatusCode::BAD_REQUEST)
}

/// Keeps what the body of such an answer says. What the store put into a header holds.
pub(super) fn keep(parts: &mut Parts, body: &str) {
    for (header, name) in [(REGION, "Region"), (ENDPOINT, "Endpoint")] {
        let said = element(body, name).and_then(|said| HeaderValue::from_str(&said).ok());
        if let Some(said) = said {
            parts.headers.entry(header).or_insert(said);
        }
    }
}

/// The place that the answer behind an error names, in words.
pub(super) fn told(error: &Error) -> Option<String> {
    let text = error.to_string();
    let header = |name: &HeaderName| {
        let (_, rest) = text.split_once(&format!("\"{name}\": \""))?;
        rest.split('"').next().filter(|said| !said.is_empty()).map(str::to_owned)
    };
    let places = [("region", header(&REGION)), ("endpoint", header(&ENDPOINT))];
    let places: Vec<_> = places.into_iter().filter_map(|(what, said)| Some(format!("{what} `{}`", said?))).collect();
    (!places.is_empty()).then(|| format!("the store names {}", places.join(" and ")))
}
