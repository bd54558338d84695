//! Clients of this process, made from settings.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Uri, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use opendal::Buffer;
use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use openssl::ssl::{SslConnector, SslMethod, SslVerifyMode, SslVersion};
use openssl::x509::X509;
use parking_lot::Mutex;

use super::super::super::StorageError;
use super::super::super::settings::{HttpSettings, ProxySettings};
use super::super::super::small_file::{BUNDLE_BYTES_MAX, KEY_FILE_BYTES_MAX, read_small_file};
use super::connect::Connector;
use crate::config::{ConfigError, Key, storage as keys};

type ClientKey = (tokio::runtime::Id, HttpSettings);

/// Clients of this process, one for each set of settings: managers that are set up alike share their connections. Their
/// connections live on a runtime, so another runtime has another client.
static CLIENTS: Mutex<Vec<(ClientKey, Client)>> = Mutex::new(Vec::new());

/// Where machines ask for their own credentials: never through a proxy.
const METADATA_SERVICES: &str = "169.254.169.254,169.254.170.2,169.254.170.23,fd00:ec2::254,fd00:ec2::23,metadata.google.internal,localhost,127.0.0.1,::1";

/// Whether a machine's credentials are asked for: those who give them have their own ways to say what they send.
pub(super) fn is_metadata_service(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host != "localhost" && host != "127.0.0.1" && METADATA_SERVICES.split(',').any(|known| known == host)
}

const IDLE: Duration = Duration::from_secs(60);
/// What a connection reads at once, at most: eight records of TLS, which stay in the processor's cache on their way.
const BUFFER_MAX: usize = 128 << 10;

/// A pool of connections and how they are made. Copies share it.
#[derive(Clone)]
pub(in super::super) struct Client {
    pool: legacy::Client<Connector, Sent>,
    proxies: Arc<Matcher>,
    user_agent: HeaderValue,
}

/// The client for these settings. HTTP/1.1 only: over HTTP/2 everything would share one connection. Reads files of
/// certificates, once.
pub(in super::super) fn client(runtime: tokio::runtime::Id, http: &HttpSettings) -> Result<Client, StorageError> {
    // How many requests are under way is counted outside of the client.
    let key = (runtime, HttpSettings { connections_max: None, ..http.clone() });
    let mut clients = CLIENTS.lock();
    if let Some((_, client)) = clients.iter().find(|(known, _)| *known == key) {
        return Ok(client.clone());
    }
    let proxies = Arc::new(match &http.proxy {
        Some(proxy) => Matcher::builder().all(with_login(proxy)).no(METADATA_SERVICES).build(),
        // Told by the environment, as everywhere on the machine.
        None => Matcher::from_env(),
    });
    let connector = Connector::new(tls(http)?, http.is_certificate_checked, Arc::clone(&proxies), http.connect_timeout);
    let pool = legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(http.idle_connections)
        .http1_max_buf_size(BUFFER_MAX)
        .build(connector);
    let agent = http.user_agent.as_deref().unwrap_or(concat!("undercroft/", env!("CARGO_PKG_VERSION")));
    let user_agent =
        HeaderValue::from_str(agent).map_err(|error| unusable(&keys::USER_AGENT, agent, &error.to_string()))?;
    let client = Client { pool, proxies, user_agent };
    clients.push((key, client.clone()));
    Ok(client)
}

impl Client {
    /// Sends a request; its answer's head.
    pub(super) async fn send(&self, request: Request<Buffer>) -> Result<Response<Incoming>, legacy::Error> {
        let mut request = request.map(Sent);
        let login = self.login_at_proxy(request.uri());
        let headers = request.headers_mut();
        set_default(headers, header::USER_AGENT, || self.user_agent.clone());
        set_default(headers, header::ACCEPT, || HeaderValue::from_static("*/*"));
        if let Some(login) = login {
            headers.insert(header::PROXY_AUTHORIZATION, login);
        }
        self.pool.request(request).await
    }

    /// What a proxy wants to see in each request that it is asked for; under TLS it sees only the first one, for the tunnel.
    fn login_at_proxy(&self, to: &Uri) -> Option<HeaderValue> {
        if to.scheme_str() != Some("http") {
            return None;
        }
        self.proxies.intercept(to)?.basic_auth().cloned()
    }
}

fn set_default(headers: &mut HeaderMap, name: header::HeaderName, value: impl FnOnce() -> HeaderValue) {
    headers.entry(name).or_insert_with(value);
}

fn with_login(proxy: &ProxySettings) -> String {
    let Some(((user, password), (scheme, place))) = proxy.login.as_ref().zip(proxy.url.split_once("://")) else {
        return proxy.url.clone();
    };
    let coded =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    format!("{scheme}://{}:{}@{place}", coded(user), coded(password))
}

fn tls(http: &HttpSettings) -> Result<SslConnector, StorageError> {
    let own = |error: ErrorStack| StorageError::Internal {
        action: "open",
        object: "HTTP client".to_owned().into(),
        why: words(&error).into(),
        source: None,
    };
    let mut builder = SslConnector::builder(SslMethod::tls_client()).map_err(own)?;
    builder.set_min_proto_version(Some(SslVersion::TLS1_2)).map_err(own)?;
    if cfg!(feature = "vendored") {
        // It knows only where its own build would have put them.
        let found = openssl_probe::probe();
        if let Some(file) = &found.cert_file {
            let _ = builder.load_verify_locations(Some(file), None);
        }
        for folder in &found.cert_dir {
            let _ = builder.load_verify_locations(None, Some(folder));
        }
    }
    if !http.is_certificate_checked {
        builder.set_verify(SslVerifyMode::NONE);
    }
    if let Some(path) = &http.ca_file {
        let bundle = X509::stack_from_pem(&read(&keys::TLS_CA, path, BUNDLE_BYTES_MAX)?);
        let bundle = bundle.map_err(|error| unusable(&keys::TLS_CA, path, &words(&error)))?;
        if bundle.is_empty() {
            return Err(unusable(&keys::TLS_CA, path, "no certificate is in it"));
        }
        for certificate in bundle {
            builder.cert_store_mut().add_cert(certificate).map_err(own)?;
        }
    }
    if let Some((certificate, key)) = &http.client_files {
        let chain = read(&keys::TLS_CERTIFICATE, certificate, BUNDLE_BYTES_MAX)?;
        let key_bytes = read(&keys::TLS_KEY, key, KEY_FILE_BYTES_MAX)?;
        let chain =
            X509::stack_from_pem(&chain).map_err(|e| unusable(&keys::TLS_CERTIFICATE, certificate, &words(&e)))?;
        let mut chain = chain.into_iter();
        let first =
            chain.next().ok_or_else(|| unusable(&keys::TLS_CERTIFICATE, certificate, "no certificate is in it"))?;
        let of_key = |error: ErrorStack| unusable(&keys::TLS_KEY, key, &words(&error));
        builder.set_certificate(&first).map_err(own)?;
        let private = PKey::private_key_from_pem(&key_bytes).map_err(of_key)?;
        builder.set_private_key(&private).map_err(of_key)?;
        builder.check_private_key().map_err(of_key)?;
        for between in chain {
            builder.add_extra_chain_cert(between).map_err(own)?;
        }
    }
    Ok(builder.build())
}

fn words(error: &ErrorStack) -> String {
    let first = error.errors().first();
    first.and_then(|error| error.reason()).map_or_else(|| error.to_string(), str::to_owned)
}

fn read(key: &Key, path: &str, bytes_max: u64) -> Result<Vec<u8>, StorageError> {
    read_small_file(path.as_ref(), bytes_max).map_err(|error| unusable(key, path, &error.to_string()))
}

fn unusable(key: &Key, value: &str, why: &str) -> StorageError {
    StorageError::Config(ConfigError::BadValue {
        key: key.name.to_owned(),
        value: value.to_owned(),
        why: why.to_owned(),
        range: "what its description says (`undercroft config`)".to_owned(),
    })
}

/// A request's body: its pieces as they are.
pub(super) struct Sent(Buffer);

impl Body for Sent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}
