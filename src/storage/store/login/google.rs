//! Credentials for Google's Cloud Storage.

use std::time::Duration;

use parking_lot::Mutex;
use reqsign_core::time::Timestamp;
use reqsign_core::{Context, ProvideCredential, ProvideCredentialChain, SigningCredential as _};
use reqsign_google::{
    Credential, DefaultCredentialProvider, ServiceAccountTokenCredentialProvider, StaticCredentialProvider,
    TokenCredentialProvider,
};

use super::super::super::settings::GoogleLogin;
use super::watched::Watched;
use super::{LoginTrouble, Noted};

pub(in super::super) const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";

/// As for S3: tokens are said to end so soon that the signer asks with each request, and so learns of a changed file.
const ASK_AGAIN: Duration = Duration::from_secs(60);
/// How long before its end a token is replaced.
const REFRESH: Duration = Duration::from_secs(150);

/// Where the credentials of a store come from.
pub(in super::super) fn google_login(
    login: &GoogleLogin,
    trouble: &LoginTrouble,
) -> ProvideCredentialChain<Credential> {
    let chain = ProvideCredentialChain::new();
    let noted = |what, source| Noted { source, what, trouble: trouble.clone() };
    match login {
        GoogleLogin::Json(text) => {
            chain.push(noted("`storage.gcs.credentials.json`", Tokens::new(Source::Json(text.clone()))))
        }
        GoogleLogin::File(path) => {
            chain.push(noted("`storage.gcs.credentials.path`", Tokens::new(Source::File(Watched::new(path)))))
        }
        GoogleLogin::Default => chain.push(noted(
            "`GOOGLE_APPLICATION_CREDENTIALS`, gcloud's file and the machine's metadata service were searched",
            Tokens::new(Source::Default),
        )),
        GoogleLogin::Anonymous => chain,
    }
}

enum Source {
    Json(String),
    File(Watched<String>),
    Default,
}

/// Tokens, kept until shortly before their end. The signer by itself would fetch a new one of a service account for each
/// request.
struct Tokens {
    source: Source,
    token: Mutex<Option<Credential>>,
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    fn new(source: Source) -> Self {
        Self { source, token: Mutex::new(None) }
    }

    fn kept(&self) -> Option<Credential> {
        let kept = self.token.lock().clone()?;
        let end = kept.token.as_ref()?.expires_at;
        end.is_none_or(|end| end > Timestamp::now() + REFRESH).then_some(kept)
    }
}

impl ProvideCredential for Tokens {
    type Credential = Credential;

    async fn provide_credential(&self, context: &Context) -> reqsign_core::Result<Option<Credential>> {
        let (text, is_new) = match &self.source {
            Source::Json(text) => (Some(text.clone()), false),
            Source::File(file) => {
                let read = file.value(|bytes| match serde_json::from_slice::<serde_json::Value>(bytes) {
                    Ok(serde_json::Value::Object(_)) => String::from_utf8(bytes.to_vec()).map_err(|e| e.to_string()),
                    _ => Err("it is not a JSON object".to_owned()),
                });
                let (text, is_new) = read.await.map_err(reqsign_core::Error::credential_invalid)?;
                (Some(text), is_new)
            }
            Source::Default => (None, false),
        };
        if is_new {
            tracing::info!("the credentials of `storage.gcs.credentials.path` were read");
        } else if let Some(kept) = self.kept() {
            return Ok(Some(hurried(kept)));
        }
        let provided = match text {
            Some(text) => of_json(&text, context).await?,
            None => DefaultCredentialProvider::new().provide_credential(context).await?,
        };
        let Some(provided) = provided else { return Ok(None) };
        let credential = match (&provided.token, provided.service_account.clone()) {
            (None, Some(account)) => {
                let tokens = ServiceAccountTokenCredentialProvider::new(account).with_scope(SCOPE);
                tokens.provide_credential(context).await?
            }
            _ => Some(provided),
        };
        self.token.lock().clone_from(&credential);
        Ok(credential.map(hurried))
    }
}

/// The credential, with an end that makes the signer ask again.
fn hurried(mut credential: Credential) -> Credential {
    let soon = Timestamp::now() + ASK_AGAIN;
    if let Some(token) = &mut credential.token
        && token.is_valid_at(soon)
    {
        token.expires_at = Some(soon);
    }
    credential
}

/// Aiven's plugin takes a bare token too.
async fn of_json(text: &str, context: &Context) -> reqsign_core::Result<Option<Credential>> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| reqsign_core::Error::credential_invalid(format!("not JSON: {error}")))?;
    match value.get("access_token").and_then(serde_json::Value::as_str) {
        Some(token) => TokenCredentialProvider::new(token).provide_credential(context).await,
        None => StaticCredentialProvider::new(text).with_scope(SCOPE).provide_credential(context).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_bare_token_is_taken_and_a_changed_file_brings_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gcs.json");
        std::fs::write(&path, r#"{"access_token": "one"}"#).expect("written");
        let tokens = Tokens::new(Source::File(Watched::new(path.to_str().expect("UTF-8"))));
        let context = Context::new();
        let token = async || {
            let credential = tokens.provide_credential(&context).await.expect("there").expect("some");
            assert!(!credential.has_valid_token(), "asked for again with each request");
            assert!(credential.is_valid_at(Timestamp::now() + Duration::from_secs(11)), "but taken");
            credential.token.expect("some").access_token
        };
        assert_eq!(token().await, "one");
        std::fs::write(&path, r#"{"access_token": "number-two"}"#).expect("written");
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert_eq!(token().await, "number-two");
    }
}
