//! HTTP requests, counted on their way to the store.

use std::time::Instant;

use http::{Method, Request, Response};
use opendal::{Buffer, HttpBody, HttpTransport, HttpTransporter, Operator, Result};

use super::super::metrics::{Ending, HttpMeters, Operation};

/// The operator, with every request that it makes from now on counted.
pub(super) fn counted(operator: Operator, meters: &HttpMeters) -> Operator {
    let context = operator.context().clone();
    let transport = Counted { inner: context.http_transport().clone(), meters: meters.clone() };
    operator.with_context(context.with_http_transport(HttpTransporter::new(transport)))
}

struct Counted {
    inner: HttpTransporter,
    meters: HttpMeters,
}

impl HttpTransport for Counted {
    async fn fetch(&self, request: Request<Buffer>) -> Result<Response<HttpBody>> {
        let operation = operation_of(request.method(), request.uri().path(), request.uri().query().unwrap_or_default());
        let (_in_flight, started) = (self.meters.begin(), Instant::now());
        let answer = self.inner.fetch(request).await;
        let ending = match &answer {
            Ok(response) => Ending::Status(response.status().as_u16()),
            // What our own bound says (`http`), which says "send http request" of everything else.
            Err(error) if error.message().starts_with("no answer within") => Ending::Late,
            Err(_) => Ending::Broken,
        };
        self.meters.ended(operation, started.elapsed(), ending);
        answer
    }
}

/// What a request is for, by the REST interfaces of S3, Google Cloud Storage (JSON and XML) and Azure Blob.
pub(super) fn operation_of(method: &Method, path: &str, query: &str) -> Operation {
    let has = |name: &str| query.split('&').any(|pair| pair == name || pair.split('=').next() == Some(name));
    let is = |pair: &str| query.split('&').any(|found| found == pair);
    match *method {
        Method::GET if has("list-type") || has("uploads") || is("comp=list") => Operation::List,
        // GCS: `/storage/v1/b/<bucket>/o` is the listing, `…/o/<object>` its data or what is known of it.
        Method::GET if path.starts_with("/storage/v1/") && path.ends_with("/o") => Operation::List,
        Method::GET if path.starts_with("/storage/v1/") && !is("alt=media") => Operation::Head,
        Method::GET => Operation::Get,
        Method::HEAD => Operation::Head,
        Method::PUT if has("partNumber") || is("comp=block") || has("upload_id") => Operation::PutPart,
        Method::PUT if is("comp=blocklist") => Operation::CompleteUpload,
        Method::PUT => Operation::Put,
        Method::POST if has("uploads") || is("uploadType=resumable") => Operation::CreateUpload,
        Method::POST if has("uploadId") => Operation::CompleteUpload,
        Method::POST if has("delete") || is("comp=batch") || path.starts_with("/batch/") => Operation::DeleteBatch,
        Method::POST if path.starts_with("/upload/storage/") => Operation::Put,
        Method::DELETE if has("uploadId") => Operation::AbortUpload,
        Method::DELETE => Operation::Delete,
        _ => Operation::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_every_store_are_told_apart() {
        // Source: the REST references of Amazon S3, Google Cloud Storage and Azure Blob Storage.
        for (method, path, query, expected) in [
            (Method::GET, "/b/o.log", "", Operation::Get),
            (Method::GET, "/b", "list-type=2&prefix=a", Operation::List),
            (Method::GET, "/b", "uploads&prefix=a", Operation::List),
            (Method::HEAD, "/b/o", "", Operation::Head),
            (Method::PUT, "/b/o", "", Operation::Put),
            (Method::PUT, "/b/o", "partNumber=1&uploadId=x", Operation::PutPart),
            (Method::POST, "/b/o", "uploads", Operation::CreateUpload),
            (Method::POST, "/b/o", "uploadId=x", Operation::CompleteUpload),
            (Method::DELETE, "/b/o", "uploadId=x", Operation::AbortUpload),
            (Method::DELETE, "/b/o", "", Operation::Delete),
            (Method::POST, "/b", "delete", Operation::DeleteBatch),
            (Method::GET, "/storage/v1/b/x/o", "prefix=a", Operation::List),
            (Method::GET, "/storage/v1/b/x/o/a%2Fb", "alt=media", Operation::Get),
            (Method::GET, "/storage/v1/b/x/o/a%2Fb", "", Operation::Head),
            (Method::POST, "/upload/storage/v1/b/x/o", "uploadType=media&name=a", Operation::Put),
            (Method::POST, "/batch/storage/v1", "", Operation::DeleteBatch),
            (Method::GET, "/container", "restype=container&comp=list", Operation::List),
            (Method::PUT, "/container/blob", "comp=block&blockid=x", Operation::PutPart),
            (Method::PUT, "/container/blob", "comp=blocklist", Operation::CompleteUpload),
            (Method::POST, "/container", "restype=container&comp=batch", Operation::DeleteBatch),
            (Method::POST, "/token", "", Operation::Other),
        ] {
            assert_eq!(operation_of(&method, path, query), expected, "{method} {path} {query}");
        }
    }
}
