//! Makes connections: straight or through a proxy, and under TLS where the URL says so.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use openssl::ssl::SslConnector;
use tokio_openssl::SslStream;
use tower_service::Service;

use super::link::{Link, Raw, buffered};

pub(super) type Failure = Box<dyn Error + Send + Sync>;
type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<Link>, Failure>> + Send>>;

/// Probes of a connection on which nothing happens: what a firewall forgot shows after a minute, not after hours.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 3;
const SOCKS_PORT: u16 = 1080;

/// Connects to the host of a URL. Cheap to copy.
#[derive(Clone)]
pub(super) struct Connector {
    tcp: HttpConnector,
    tls: SslConnector,
    is_certificate_checked: bool,
    proxies: Arc<Matcher>,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(
        tls: SslConnector,
        is_certificate_checked: bool,
        proxies: Arc<Matcher>,
        timeout: Duration,
    ) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(timeout));
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE));
        tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        Self { tcp, tls, is_certificate_checked, proxies, timeout }
    }

    async fn connect(self, to: Uri) -> Result<TokioIo<Link>, Failure> {
        let is_secure = to.scheme_str() == Some("https");
        let Some(proxy) = self.proxies.intercept(&to) else {
            let link = self.direct(&to).await?;
            return Ok(TokioIo::new(link));
        };
        let scheme = proxy.uri().scheme_str().unwrap_or_default();
        let link = match scheme {
            "socks5" | "socks5h" => {
                let tcp = self.through_socks(&proxy, &to).await?;
                if is_secure { self.secured(tcp.into_inner(), &to).await? } else { Link::plain(tcp.into_inner()) }
            }
            "http" | "https" if is_secure => {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), self.without_proxy());
                if let Some(login) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(login.clone());
                }
                let link = tunnel.call(to.clone()).await.map_err(|error| at_proxy(&proxy, error))?;
                self.secured(link.into_inner(), &to).await?
            }
            "http" | "https" => self.direct(proxy.uri()).await.map_err(|error| at_proxy(&proxy, error))?.of_proxy(),
            other => return Err(format!("a proxy of kind `{other}` can't be used").into()),
        };
        Ok(TokioIo::new(link))
    }

    /// What leads to a proxy leads through no other one.
    fn without_proxy(&self) -> Self {
        Self { proxies: Arc::new(Matcher::builder().build()), ..self.clone() }
    }

    async fn direct(&self, to: &Uri) -> Result<Link, Failure> {
        let tcp = self.tcp.clone().call(to.clone()).await?.into_inner();
        if to.scheme_str() == Some("https") { self.secured(tcp, to).await } else { Ok(Link::plain(tcp)) }
    }

    async fn through_socks(&self, proxy: &Intercept, to: &Uri) -> Result<TokioIo<tokio::net::TcpStream>, Failure> {
        let (host, port) = (proxy.uri().host().unwrap_or_default(), proxy.uri().port_u16().unwrap_or(SOCKS_PORT));
        let at: Uri = format!("http://{host}:{port}").parse()?;
        // Names are the proxy's to resolve, whichever way its URL is spelt: here it would hold up a thread of the runtime.
        let mut socks = SocksV5::new(at, self.tcp.clone()).local_dns(false);
        if let Some((user, password)) = proxy.raw_auth() {
            socks = socks.with_auth(user.to_owned(), password.to_owned());
        }
        socks.call(with_port(to)?).await.map_err(|error| at_proxy(proxy, error))
    }

    async fn secured(&self, raw: impl Raw + 'static, to: &Uri) -> Result<Link, Failure> {
        let host = to.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let mut settings = self.tls.configure()?;
        settings.set_verify_hostname(self.is_certificate_checked);
        let mut stream = SslStream::new(settings.into_ssl(host)?, buffered(raw))?;
        Pin::new(&mut stream).connect().await.map_err(|error| {
            let verdict = stream.ssl().verify_result();
            if !self.is_certificate_checked || verdict == openssl::x509::X509VerifyResult::OK {
                Failure::from(error)
            } else {
                format!("{error}: {}", verdict.error_string()).into()
            }
        })?;
        Ok(Link::secure(stream))
    }
}

/// The same place, with the port that its scheme implies.
pub(super) fn with_port(to: &Uri) -> Result<Uri, http::uri::InvalidUri> {
    if to.port().is_some() {
        return Ok(to.clone());
    }
    let port = if to.scheme_str() == Some("https") { 443 } else { 80 };
    format!("{}://{}:{port}", to.scheme_str().unwrap_or("http"), to.host().unwrap_or_default()).parse()
}

/// The proxy is to blame, not the store.
fn at_proxy(proxy: &Intercept, error: impl Into<Failure>) -> Failure {
    let error = error.into();
    let mut why: &dyn Error = &*error;
    while let Some(inner) = why.source() {
        why = inner;
    }
    let at = proxy.uri().authority().map_or_else(String::new, ToString::to_string);
    format!("proxy {}: {why}", at.rsplit('@').next().unwrap_or_default()).into()
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Link>;
    type Error = Failure;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connector, timeout) = (self.clone(), self.timeout);
        Box::pin(async move {
            tokio::time::timeout(timeout, connector.connect(to))
                .await
                .map_err(|_| Failure::from(format!("no connection within {} ms", timeout.as_millis())))?
        })
    }
}
