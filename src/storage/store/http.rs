//! HTTP: one client, and bounds for each attempt and for all.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt as _, Stream};
use http::{Method, Request, Response, StatusCode};
use opendal::{Buffer, Error, ErrorKind, HttpBody, HttpTransport, Result};
use opendal_http_transport_reqwest::ReqwestTransport;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use super::super::StorageError;
use super::super::settings::HttpSettings;
use crate::config::{ConfigError, Key, storage as keys};

type ClientKey = (tokio::runtime::Id, HttpSettings);

/// Clients of this process, one for each set of settings: managers that are set up alike share their connections. Their
/// connections live on a runtime, so another runtime has another client.
static CLIENTS: Mutex<Vec<(ClientKey, reqwest::Client)>> = Mutex::new(Vec::new());

/// Where machines ask for their own credentials: never through a proxy.
const METADATA_SERVICES: &str = "169.254.169.254,169.254.170.2,169.254.170.23,fd00:ec2::254,fd00:ec2::23,metadata.google.internal,localhost,127.0.0.1,::1";

/// The client for these settings. HTTP/1.1 only: over HTTP/2 everything would share one connection. Reads files of
/// certificates, once.
pub(super) fn client(runtime: tokio::runtime::Id, http: &HttpSettings) -> Result<reqwest::Client, StorageError> {
    // How many requests are under way is counted outside of the client.
    let key = (runtime, HttpSettings { connections_max: None, ..http.clone() });
    let mut clients = CLIENTS.lock();
    if let Some((_, client)) = clients.iter().find(|(known, _)| *known == key) {
        return Ok(client.clone());
    }
    let mut builder = reqwest::Client::builder()
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(http.connect_timeout)
        .pool_max_idle_per_host(http.idle_connections)
        .pool_idle_timeout(Duration::from_secs(60))
        .redirect(reqwest::redirect::Policy::none())
        .tls_danger_accept_invalid_certs(!http.is_certificate_checked)
        .user_agent(http.user_agent.as_deref().unwrap_or(concat!("undercroft/", env!("CARGO_PKG_VERSION"))));
    if let Some(path) = &http.ca_file {
        let bundle = reqwest::Certificate::from_pem_bundle(&read(&keys::TLS_CA, path)?);
        let bundle = bundle.map_err(|error| unusable(&keys::TLS_CA, path, &words(&error)))?;
        if bundle.is_empty() {
            return Err(unusable(&keys::TLS_CA, path, "no certificate is in it"));
        }
        builder = builder.tls_certs_merge(bundle);
    }
    if let Some((certificate, key)) = &http.client_files {
        let (chain, key_bytes) = (read(&keys::TLS_CERTIFICATE, certificate)?, read(&keys::TLS_KEY, key)?);
        let identity = reqwest::Identity::from_pkcs8_pem(&chain, &key_bytes);
        builder = builder.identity(identity.map_err(|error| unusable(&keys::TLS_KEY, key, &words(&error)))?);
    }
    if let Some(proxy) = &http.proxy {
        let set = reqwest::Proxy::all(&proxy.url).map_err(|e| unusable(&keys::PROXY_HOST, &proxy.url, &words(&e)))?;
        let set = set.no_proxy(reqwest::NoProxy::from_string(METADATA_SERVICES));
        builder = builder.proxy(match &proxy.login {
            Some((user, password)) => set.basic_auth(user, password),
            None => set,
        });
    }
    let client = builder.build().map_err(|error| StorageError::Internal {
        action: "open",
        object: "HTTP client".to_owned().into(),
        why: words(&error).into(),
        source: None,
    })?;
    clients.push((key, client.clone()));
    Ok(client)
}

fn read(key: &Key, path: &str) -> Result<Vec<u8>, StorageError> {
    std::fs::read(path).map_err(|error| unusable(key, path, &error.to_string()))
}

fn unusable(key: &Key, value: &str, why: &str) -> StorageError {
    StorageError::Config(ConfigError::BadValue {
        key: key.name.to_owned(),
        value: value.to_owned(),
        why: why.to_owned(),
        range: "what its description says (`undercroft config`)".to_owned(),
    })
}

fn words(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = inner.to_string();
        cause = inner.source();
    }
    text
}

/// Bounds one attempt: until the answer begins, and between any two pieces of it. Bounds how many are under way.
pub(super) struct BoundedTransport {
    inner: ReqwestTransport,
    attempt_timeout: Duration,
    places: Option<Arc<Semaphore>>,
}

impl BoundedTransport {
    pub(super) fn new(client: reqwest::Client, attempt_timeout: Duration, at_once: Option<usize>) -> Self {
        let places = at_once.map(|count| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))));
        Self { inner: ReqwestTransport::new(client), attempt_timeout, places }
    }
}

/// What the HTTP client is handed at once. It copies that before it encrypts it: a part handed over whole would be in memory
/// twice, and out of the processor's cache before it is encrypted.
const SLICE: usize = 64 << 10;

/// The same bytes in pieces of at most [`SLICE`], nothing copied. None of the pieces of `body` may be empty: OpenDAL never gets past
/// an empty one.
fn in_slices(body: Buffer) -> Buffer {
    if body.len() <= SLICE {
        return body;
    }
    let mut slices = Vec::with_capacity(body.len() / SLICE + 2);
    for mut piece in body {
        while piece.len() > SLICE {
            slices.push(piece.split_to(SLICE));
        }
        slices.push(piece);
    }
    Buffer::from(slices)
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
        let is_head = request.method() == Method::HEAD;
        let bound = self.attempt_timeout + Duration::from_secs(request.body().len() as u64 >> 20);
        let response = tokio::time::timeout(bound, self.inner.fetch(request.map(in_slices)))
            .await
            .map_err(|_| too_late("no answer", bound))??;
        let idle = self.attempt_timeout;
        let (parts, body) = response.into_parts();
        let mut body = body.map_inner(|stream| {
            Box::new(Bounded { inner: stream, idle, sleep: Box::pin(tokio::time::sleep(idle)), _place: place })
        });
        // Not every driver knows this status, and then takes it for something unforeseen.
        if parts.status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Err(Error::new(ErrorKind::RangeNotSatisfied, "it ends before the range that was asked for"));
        }
        // A DELETE that is answered "not found" is taken for success further up, and a GET for a missing object, also if it
        // is the bucket that isn't there.
        if parts.status == StatusCode::NOT_FOUND {
            let answer = if is_head { Vec::new() } else { body.to_buffer().await?.to_vec() };
            let text = String::from_utf8_lossy(&answer);
            let code = parts.headers.get("x-ms-error-code").and_then(|code| code.to_str().ok()).unwrap_or_default();
            if NO_BUCKET.iter().any(|words| text.contains(words) || code == *words) {
                return Err(Error::new(ErrorKind::ConfigInvalid, "S3Error { code: \"NoSuchBucket\", message: \"\" }"));
            }
            let stream = futures_util::stream::once(std::future::ready(Ok(Buffer::from(answer))));
            return Ok(Response::from_parts(parts, HttpBody::new(stream, None)));
        }
        Ok(Response::from_parts(parts, body))
    }
}

/// A body that fails when nothing comes for a while, and keeps its request counted.
struct Bounded<S> {
    inner: S,
    idle: Duration,
    sleep: Pin<Box<Sleep>>,
    /// Given back with the end of the body.
    _place: Option<OwnedSemaphorePermit>,
}

impl<S: Stream<Item = Result<Buffer>> + Unpin> Stream for Bounded<S> {
    type Item = Result<Buffer>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(item) = Pin::new(&mut self.inner).poll_next(context) {
            let deadline = tokio::time::Instant::now() + self.idle;
            self.sleep.as_mut().reset(deadline);
            return Poll::Ready(item);
        }
        match self.sleep.poll_unpin(context) {
            Poll::Ready(()) => Poll::Ready(Some(Err(too_late("the answer stopped, and nothing came", self.idle)))),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_large_body_is_handed_over_in_small_pieces_that_are_its_bytes() {
        let bytes: Vec<u8> = (0..3 * SLICE + 7).map(|i| (i % 251) as u8).collect();
        for cut in [1, SLICE, 2 * SLICE + 1] {
            let body = Buffer::from(vec![Bytes::from(bytes[..cut].to_vec()), Bytes::from(bytes[cut..].to_vec())]);
            let sliced = in_slices(body);
            assert_eq!(sliced.to_vec(), bytes, "cut at {cut}");
            assert!(sliced.into_iter().all(|piece| piece.len() <= SLICE));
        }
        assert_eq!(in_slices(Buffer::from(vec![1_u8; SLICE])).count(), 1);
    }
}
