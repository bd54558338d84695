//! HTTP: the requests of stores, over connections of our own; bounds for each attempt and for all.

mod client;
mod connect;
mod link;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt as _, Stream};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use hyper::body::Incoming;
use opendal::raw::{parse_content_encoding, parse_content_length};
use opendal::{Buffer, Error, ErrorKind, HttpBody, HttpTransport, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

use super::elsewhere;
use super::genuine::{Asked, no_store};
use super::trouble::is_page;
pub(super) use client::client;
use client::{Client, is_metadata_service};

/// Bounds one attempt: until the answer begins, and between any two pieces of it. Bounds how many are under way.
pub(super) struct BoundedTransport {
    client: Client,
    attempt_timeout: Duration,
    places: Option<Arc<Semaphore>>,
}

impl BoundedTransport {
    pub(super) fn new(client: Client, attempt_timeout: Duration, at_once: Option<usize>) -> Self {
        let places = at_once.map(|count| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))));
        Self { client, attempt_timeout, places }
    }
}

fn too_late(what: &'static str, waited: Duration) -> Error {
    Error::new(ErrorKind::Unexpected, format!("{what} within {} ms", waited.as_millis())).set_temporary()
}

/// What stores say of a bucket or container that isn't there, in the body of a 404 or its header.
const NO_BUCKET: [&str; 3] = ["NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist"];

impl HttpTransport for BoundedTransport {
    async fn fetch(&self, request: Request<Buffer>) -> Result<Response<HttpBody>> {
        let place = match &self.places {
            Some(places) => Arc::clone(places).acquire_owned().await.ok(),
            None => None,
        };
        let (is_head, asked) = (request.method() == Method::HEAD, Asked::by(&request));
        let is_login = request.uri().host().is_some_and(is_metadata_service);
        let to = request.uri().clone();
        let bound = self.attempt_timeout + Duration::from_secs(request.body().len() as u64 >> 20);
        let response = tokio::time::timeout(bound, self.client.send(request))
            .await
            .map_err(|_| too_late("no answer", bound))?
            .map_err(|error| broken("send http request", &to, error))?;
        let (mut parts, body) = response.into_parts();
        let is_length_told = !is_head && parse_content_encoding(&parts.headers)?.is_none();
        let length = if is_length_told { parse_content_length(&parts.headers)? } else { None };
        // Drivers name it in what they say of the answer.
        parts.extensions.insert(to.clone());
        let idle = self.attempt_timeout;
        let sleep = Box::pin(tokio::time::sleep(idle));
        let mut body = HttpBody::new(Bounded { inner: body, to, idle, sleep, heard: None, _place: place }, length);
        // Not every driver knows this status, and then takes it for something unforeseen.
        if parts.status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Err(Error::new(ErrorKind::RangeNotSatisfied, "it ends before the range that was asked for"));
        }
        if !is_login {
            asked.check(&parts)?;
        }
        if asked.is_told_by_body(parts.status) {
            let answer = body.to_buffer().await?;
            asked.check_body(&answer.to_vec())?;
            return Ok(Response::from_parts(parts, whole(answer)));
        }
        if elsewhere::may_be_told(parts.status) && !is_head && !is_login {
            let answer = body.to_buffer().await?;
            elsewhere::keep(&mut parts, &String::from_utf8_lossy(&answer.to_vec()));
            return Ok(Response::from_parts(parts, whole(answer)));
        }
        // A DELETE that is answered "not found" is taken for success further up, and a GET for a missing object, also if it
        // is the bucket that isn't there.
        if parts.status == StatusCode::NOT_FOUND {
            let answer = if is_head { Vec::new() } else { body.to_buffer().await?.to_vec() };
            let text = String::from_utf8_lossy(&answer);
            let code = parts.headers.get("x-ms-error-code").and_then(|code| code.to_str().ok()).unwrap_or_default();
            if !is_login && is_page(&text) {
                return Err(no_store());
            }
            if NO_BUCKET.iter().any(|words| text.contains(words) || code == *words) {
                return Err(Error::new(ErrorKind::ConfigInvalid, "S3Error { code: \"NoSuchBucket\", message: \"\" }"));
            }
            return Ok(Response::from_parts(parts, whole(Buffer::from(answer))));
        }
        Ok(Response::from_parts(parts, body))
    }
}

/// A body that was read already.
fn whole(body: Buffer) -> HttpBody {
    HttpBody::new(futures_util::stream::once(std::future::ready(Ok(body))), None)
}

fn broken(what: &'static str, to: &Uri, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Unexpected, what).with_context("url", to.to_string()).set_temporary().set_source(error)
}

/// A body that fails when nothing comes for a while, and keeps its request counted.
struct Bounded {
    inner: Incoming,
    to: Uri,
    idle: Duration,
    sleep: Pin<Box<Sleep>>,
    /// When something came last, unless the clock runs from then already.
    heard: Option<Instant>,
    /// Given back with the end of the body.
    _place: Option<OwnedSemaphorePermit>,
}

impl Stream for Bounded {
    type Item = Result<Buffer>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Poll::Ready(item) = Pin::new(&mut self.inner).poll_frame(context) {
            self.heard = Some(Instant::now());
            match item {
                None => return Poll::Ready(None),
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(broken("read data from http response", &self.to, error))));
                }
                // Trailers, which nobody reads, and nothing.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) if !piece.is_empty() => return Poll::Ready(Some(Ok(Buffer::from(piece)))),
                    _ => {}
                },
            }
        }
        if let Some(heard) = self.heard.take() {
            let deadline = heard + self.idle;
            self.sleep.as_mut().reset(deadline);
        }
        match self.sleep.poll_unpin(context) {
            Poll::Ready(()) => Poll::Ready(Some(Err(too_late("the answer stopped, and nothing came", self.idle)))),
            Poll::Pending => Poll::Pending,
        }
    }
}
