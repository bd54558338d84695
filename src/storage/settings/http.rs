//! How requests travel: trust, proxy, connections.

use std::time::Duration;

use super::size;
use crate::config::{Config, ConfigError, Key, quoted, storage as keys};

/// Everything that an HTTP client is made from. Managers with the same share a client.
#[derive(Clone, PartialEq, Eq)]
pub(in super::super) struct HttpSettings {
    pub(in super::super) connect_timeout: Duration,
    pub(in super::super) idle_connections: usize,
    /// Requests at once, of one manager.
    pub(in super::super) connections_max: Option<usize>,
    pub(in super::super) is_certificate_checked: bool,
    pub(in super::super) ca_file: Option<String>,
    /// Certificate and key of the client.
    pub(in super::super) client_files: Option<(String, String)>,
    pub(in super::super) proxy: Option<ProxySettings>,
    pub(in super::super) user_agent: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub(in super::super) struct ProxySettings {
    /// Without name and password.
    pub(in super::super) url: String,
    pub(in super::super) login: Option<(String, String)>,
}

impl std::fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let proxy = self.proxy.as_ref().map(|proxy| &proxy.url);
        f.debug_struct("HttpSettings").field("ca_file", &self.ca_file).field("proxy", &proxy).finish_non_exhaustive()
    }
}

impl HttpSettings {
    pub(super) fn parse(config: &Config) -> Result<Self, ConfigError> {
        let client_files = match (own(config, &keys::TLS_CERTIFICATE), own(config, &keys::TLS_KEY)) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err(ConfigError::missing(&keys::TLS_KEY, "the certificate is set")),
            (None, Some(_)) => return Err(ConfigError::missing(&keys::TLS_CERTIFICATE, "its key is set")),
        };
        let user_agent = own(config, &keys::USER_AGENT);
        if let Some(text) = user_agent.as_deref().filter(|text| !text.bytes().all(|b| (32..127).contains(&b))) {
            return Err(ConfigError::bad_value(&keys::USER_AGENT, text, "not in plain ASCII"));
        }
        Ok(Self {
            connect_timeout: config.millis(&keys::CONNECT_TIMEOUT)?,
            idle_connections: size(config.unsigned(&keys::IDLE_CONNECTIONS)?),
            connections_max: Some(size(config.unsigned(&keys::CONNECTIONS_MAX)?)).filter(|&max| max > 0),
            is_certificate_checked: config.boolean(&keys::AWS_CERTIFICATE_CHECK)?,
            ca_file: own(config, &keys::TLS_CA),
            client_files,
            proxy: proxy(config)?,
            user_agent,
        })
    }
}

fn proxy(config: &Config) -> Result<Option<ProxySettings>, ConfigError> {
    let Some(host) = own(config, &keys::PROXY_HOST) else {
        let others = [&keys::PROXY_PORT, &keys::PROXY_USER, &keys::PROXY_PASSWORD];
        return match others.into_iter().find(|key| own(config, key).is_some()) {
            Some(set) => Err(ConfigError::missing(&keys::PROXY_HOST, &format!("`{}` is set", set.name))),
            None => Ok(None),
        };
    };
    let scheme = match config.choice(&keys::PROXY_SCHEME)? {
        // Names are the proxy's to resolve, as Java leaves them to it.
        "socks5" => "socks5h",
        other => other,
    };
    let port =
        config.integer(&keys::PROXY_PORT)?.ok_or_else(|| ConfigError::missing(&keys::PROXY_PORT, "its host is set"))?;
    let url = format!("{scheme}://{host}:{port}");
    if host.contains(['/', '@']) || !is_url(&url) {
        let shown = if host.contains('@') { "[hidden]" } else { &host };
        return Err(ConfigError::bad_value(&keys::PROXY_HOST, shown, "not a host's name or address"));
    }
    let login = match (own(config, &keys::PROXY_USER), own(config, &keys::PROXY_PASSWORD)) {
        (Some(user), password) => Some((user, password.unwrap_or_default())),
        (None, None) => None,
        (None, Some(_)) => return Err(ConfigError::missing(&keys::PROXY_USER, "its password is set")),
    };
    Ok(Some(ProxySettings { url, login }))
}

/// A text that is there and not empty.
pub(super) fn own(config: &Config, key: &'static Key) -> Option<String> {
    config.text(key).filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Whether it names a scheme, a host, and a port that there is or none.
pub(super) fn is_url(text: &str) -> bool {
    text.parse().is_ok_and(|url: http::Uri| url.scheme().is_some() && url.authority().is_some_and(is_place))
}

/// A port that is none would be passed over by whoever connects, and that of the scheme taken for it.
fn is_place(authority: &http::uri::Authority) -> bool {
    let (host, place) = (authority.host(), authority.as_str().rsplit('@').next().unwrap_or_default());
    let is_port =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0);
    !host.is_empty()
        && place.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

/// An endpoint, if one is set, that is a URL and says nothing but where the store is: it is in every message.
pub(super) fn endpoint(config: &Config, key: &'static Key) -> Result<Option<String>, ConfigError> {
    let endpoint = own(config, key);
    let Some(url) = endpoint.as_deref() else { return Ok(None) };
    let bad = |why: &str| ConfigError::BadValue {
        key: key.name.to_owned(),
        // Without a scheme it is no URL, and what stands before an `@` a login all the same.
        value: if url.contains("://") || !url.contains('@') { quoted(url, &[], 300) } else { "[hidden]".to_owned() },
        why: why.to_owned(),
        range: "http://host[:port] or https://host[:port]".to_owned(),
    };
    if !is_url(url) || !url.starts_with("http") {
        return Err(bad("not a URL"));
    }
    if has_more_than_an_address(url) {
        return Err(bad("an endpoint has no login and no query: who asks is said by keys of its own"));
    }
    Ok(endpoint)
}

/// Whether a URL has a user's name or a query, which may be secret.
pub(super) fn has_more_than_an_address(url: &str) -> bool {
    let has_more =
        |url: http::Uri| url.query().is_some() || url.authority().is_some_and(|of| of.as_str().contains('@'));
    url.parse().is_ok_and(has_more)
}

/// Two values that exclude each other, or each of which needs the other.
pub(super) fn clash(key: &'static Key, other: &'static Key) -> ConfigError {
    ConfigError::Unsupported {
        key: key.name.to_owned(),
        value: "[set]".to_owned(),
        why: format!("`{}` is set too, and only one of them can hold", other.name),
    }
}
