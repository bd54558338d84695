//! Azure's Blob Storage.

use super::http::{clash, endpoint, has_more_than_an_address, own};
use crate::config::{Config, ConfigError, storage as keys};

#[derive(Clone)]
pub(in super::super) struct AzureSettings {
    pub(in super::super) container: String,
    pub(in super::super) endpoint: String,
    pub(in super::super) account: Option<String>,
    pub(in super::super) login: AzureLogin,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub(in super::super) enum AzureLogin {
    Key(String),
    Signature(String),
    /// The identity of the process or its machine.
    Identity,
}

impl std::fmt::Debug for AzureSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AzureSettings")
            .field("container", &self.container)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

impl AzureSettings {
    pub(super) fn secrets(&self) -> Vec<String> {
        match &self.login {
            AzureLogin::Key(secret) | AzureLogin::Signature(secret) => vec![secret.clone()],
            AzureLogin::Identity => Vec::new(),
        }
    }
}

/// What a connection string or the keys say.
#[derive(Default)]
struct Account {
    name: Option<String>,
    key: Option<String>,
    signature: Option<String>,
    endpoint: Option<String>,
}

/// Public: it is the same in every Azurite.
const DEVELOPMENT_ACCOUNT: &str = "devstoreaccount1";
const DEVELOPMENT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

pub(super) fn parse(config: &Config) -> Result<AzureSettings, ConfigError> {
    let account = match own(config, &keys::AZURE_CONNECTION) {
        Some(text) => {
            let others = [&keys::AZURE_ACCOUNT, &keys::AZURE_KEY, &keys::AZURE_SAS, &keys::AZURE_ENDPOINT];
            if let Some(set) = others.into_iter().find(|key| own(config, key).is_some()) {
                return Err(clash(set, &keys::AZURE_CONNECTION));
            }
            of_connection_string(&text).map_err(|why| ConfigError::bad_value(&keys::AZURE_CONNECTION, &text, why))?
        }
        None => Account {
            name: own(config, &keys::AZURE_ACCOUNT),
            key: own(config, &keys::AZURE_KEY),
            signature: own(config, &keys::AZURE_SAS),
            endpoint: endpoint(config, &keys::AZURE_ENDPOINT)?,
        },
    };
    let of_account = account.name.as_ref().map(|name| format!("https://{name}.blob.core.windows.net"));
    let endpoint = account
        .endpoint
        .or(of_account)
        .ok_or_else(|| ConfigError::missing(&keys::AZURE_ACCOUNT, "the `azure` store needs an account or endpoint"))?;
    let login = match (account.key, account.signature) {
        (Some(_), Some(_)) => return Err(clash(&keys::AZURE_SAS, &keys::AZURE_KEY)),
        (Some(_), None) if account.name.is_none() => {
            return Err(ConfigError::missing(&keys::AZURE_ACCOUNT, "its key is set"));
        }
        (Some(key), None) => {
            use base64::Engine as _;
            if base64::engine::general_purpose::STANDARD.decode(&key).is_err() {
                return Err(ConfigError::bad_value(&keys::AZURE_KEY, &key, "not base64"));
            }
            AzureLogin::Key(key)
        }
        (None, Some(token)) => AzureLogin::Signature(token.trim_start_matches('?').to_owned()),
        (None, None) => AzureLogin::Identity,
    };
    Ok(AzureSettings {
        container: config.required(&keys::AZURE_CONTAINER, "the `azure` store needs a container")?.to_owned(),
        endpoint,
        account: account.name,
        login,
    })
}

fn of_connection_string(text: &str) -> Result<Account, &'static str> {
    let pairs: Vec<_> = text.split(';').map(str::trim).filter(|pair| !pair.is_empty()).collect();
    if pairs.iter().any(|pair| !pair.contains('=')) {
        return Err("not a connection string: pairs of name and value with `=`, separated by `;`");
    }
    let field = |name: &str| {
        let value = pairs.iter().find_map(|pair| {
            let (key, value) = pair.split_once('=')?;
            key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        value.filter(|value| !value.is_empty())
    };
    if field("UseDevelopmentStorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(Account {
            name: Some(DEVELOPMENT_ACCOUNT.to_owned()),
            key: Some(DEVELOPMENT_KEY.to_owned()),
            signature: None,
            endpoint: Some(format!("http://127.0.0.1:10000/{DEVELOPMENT_ACCOUNT}")),
        });
    }
    let name = field("AccountName");
    let of_suffix = || {
        let (scheme, suffix) = (field("DefaultEndpointsProtocol"), field("EndpointSuffix"));
        let (scheme, suffix) =
            (scheme.as_deref().unwrap_or("https"), suffix.as_deref().unwrap_or("core.windows.net").to_owned());
        name.as_ref().map(|name| format!("{scheme}://{name}.blob.{suffix}"))
    };
    let endpoint = field("BlobEndpoint").or_else(of_suffix);
    if endpoint.as_deref().is_none_or(|url| !super::http::is_url(url)) {
        return Err("it has neither an account nor an endpoint for blobs");
    }
    if endpoint.as_deref().is_some_and(has_more_than_an_address) {
        return Err("its endpoint has a login or a query: `AccountKey` or `SharedAccessSignature` say who asks");
    }
    let endpoint = endpoint.map(|url| url.trim_end_matches('/').to_owned());
    Ok(Account { endpoint, key: field("AccountKey"), signature: field("SharedAccessSignature"), name })
}
