//! HTTP: one client, and a bound for each attempt.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{FutureExt as _, Stream};
use http::{Method, Request, Response, StatusCode};
use opendal::{Buffer, Error, ErrorKind, HttpBody, HttpTransport, Result};
use opendal_http_transport_reqwest::ReqwestTransport;
use parking_lot::Mutex;
use tokio::time::Sleep;

use super::super::settings::CallSettings;

type ClientKey = (tokio::runtime::Id, bool, Duration, usize);

/// Clients of this process, one for each set of settings: managers that are set up alike share their connections. Their
/// connections live on a runtime, so another runtime has another client.
static CLIENTS: Mutex<Vec<(ClientKey, reqwest::Client)>> = Mutex::new(Vec::new());

/// The client for these settings. HTTP/1.1 only: over HTTP/2 everything would share one connection.
pub(super) fn client(
    runtime: tokio::runtime::Id,
    is_certificate_checked: bool,
    calls: &CallSettings,
) -> reqwest::Result<reqwest::Client> {
    let key = (runtime, is_certificate_checked, calls.connect_timeout, calls.idle_connections);
    let mut clients = CLIENTS.lock();
    if let Some((_, client)) = clients.iter().find(|(known, _)| *known == key) {
        return Ok(client.clone());
    }
    let client = reqwest::Client::builder()
        .http1_only()
        .tcp_nodelay(true)
        .connect_timeout(calls.connect_timeout)
        .pool_max_idle_per_host(calls.idle_connections)
        .pool_idle_timeout(Duration::from_secs(60))
        .redirect(reqwest::redirect::Policy::none())
        .danger_accept_invalid_certs(!is_certificate_checked)
        .user_agent(concat!("undercroft/", env!("CARGO_PKG_VERSION")))
        .build()?;
    clients.push((key, client.clone()));
    Ok(client)
}

/// Bounds one attempt: until the answer begins, and between any two pieces of it.
pub(super) struct BoundedTransport {
    inner: ReqwestTransport,
    attempt_timeout: Duration,
}

impl BoundedTransport {
    pub(super) fn new(client: reqwest::Client, attempt_timeout: Duration) -> Self {
        Self { inner: ReqwestTransport::new(client), attempt_timeout }
    }
}

/// What the HTTP client is handed at once. It copies that before it encrypts it: a part handed over whole would be in memory
/// twice, and out of the processor's cache before it is encrypted.
const SLICE: usize = 64 << 10;

/// The same bytes in pieces of at most [`SLICE`], nothing copied.
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

impl HttpTransport for BoundedTransport {
    async fn fetch(&self, request: Request<Buffer>) -> Result<Response<HttpBody>> {
        let is_delete = request.method() == Method::DELETE;
        let bound = self.attempt_timeout + Duration::from_secs(request.body().len() as u64 >> 20);
        let response = tokio::time::timeout(bound, self.inner.fetch(request.map(in_slices)))
            .await
            .map_err(|_| too_late("no answer", bound))??;
        let idle = self.attempt_timeout;
        let (parts, body) = response.into_parts();
        let mut body = body.map_inner(|stream| {
            Box::new(IdleTimeout { inner: stream, idle, sleep: Box::pin(tokio::time::sleep(idle)) })
        });
        // A DELETE that is answered "not found" is taken for success further up, also if it is the bucket that isn't there.
        if is_delete && parts.status == StatusCode::NOT_FOUND {
            let answer = body.to_buffer().await?.to_vec();
            if String::from_utf8_lossy(&answer).contains("NoSuchBucket") {
                return Err(Error::new(ErrorKind::ConfigInvalid, "S3Error { code: \"NoSuchBucket\", message: \"\" }"));
            }
            let stream = futures_util::stream::once(std::future::ready(Ok(Buffer::from(answer))));
            return Ok(Response::from_parts(parts, HttpBody::new(stream, None)));
        }
        Ok(Response::from_parts(parts, body))
    }
}

/// A body that fails when nothing comes for a while.
struct IdleTimeout<S> {
    inner: S,
    idle: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl<S: Stream<Item = Result<Buffer>> + Unpin> Stream for IdleTimeout<S> {
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
        for cut in [0, 1, SLICE, 2 * SLICE + 1] {
            let body = Buffer::from(vec![Bytes::from(bytes[..cut].to_vec()), Bytes::from(bytes[cut..].to_vec())]);
            let sliced = in_slices(body);
            assert_eq!(sliced.to_vec(), bytes, "cut at {cut}");
            assert!(sliced.into_iter().all(|piece| piece.len() <= SLICE));
        }
        assert_eq!(in_slices(Buffer::from(vec![1_u8; SLICE])).count(), 1);
    }
}
