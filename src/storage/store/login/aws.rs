//! Credentials for S3.

use std::time::Duration;

use opendal::HttpTransporter;
use reqsign_aws_v4::{
    AssumeRoleCredentialProvider, AssumeRoleWithWebIdentityCredentialProvider, Credential, DefaultCredentialProvider,
    ECSCredentialProvider, EnvCredentialProvider, IMDSv2CredentialProvider, ProfileCredentialProvider, RequestSigner,
    StaticCredentialProvider,
};
use reqsign_core::time::Timestamp;
use reqsign_core::{Context, ProvideCredential, ProvideCredentialChain, Signer};

use super::super::super::settings::{AwsLogin, S3Settings};
use super::watched::Watched;
use super::{LoginTrouble, Noted, context};

/// Credentials of a file are said to end so soon that they are asked for with each request. A signer keeps what holds for
/// two minutes or more, and takes what holds for ten seconds.
const ASK_AGAIN: Duration = Duration::from_secs(60);

type Chain = ProvideCredentialChain<Credential>;

/// Where the credentials of a store come from. Nothing but what is configured: no other place is searched.
pub(in super::super) fn aws_login(s3: &S3Settings, transporter: &HttpTransporter, trouble: &LoginTrouble) -> Chain {
    let source = source(s3, trouble);
    let Some(role) = &s3.role else { return source };
    let signer = Signer::new(context(transporter), source, RequestSigner::new("sts", &s3.region));
    let mut assumed = AssumeRoleCredentialProvider::new(role.arn.clone(), signer)
        .with_region(s3.region.clone())
        .with_regional_sts_endpoint()
        .with_role_session_name(role.session_name.clone())
        .with_duration_seconds(role.seconds);
    if let Some(id) = &role.external_id {
        assumed = assumed.with_external_id(id.clone());
    }
    // What is wrong with the source is told by the source.
    Chain::new().push(Noted { source: assumed, what: "`storage.aws.role.arn`", trouble: trouble.clone() })
}

fn source(s3: &S3Settings, trouble: &LoginTrouble) -> Chain {
    let chain = Chain::new();
    match &s3.login {
        AwsLogin::Keys { access_key, secret_key, session_token } => {
            let keys = StaticCredentialProvider::new(access_key, secret_key);
            chain.push(match session_token {
                Some(token) => keys.with_session_token(token),
                None => keys,
            })
        }
        AwsLogin::File(path) => {
            chain.push(noted("`storage.aws.credentials.file`", trouble, OfFile { file: Watched::new(path) }))
        }
        AwsLogin::Default { profile } => {
            let builder = DefaultCredentialProvider::builder();
            let found = match profile {
                Some(profile) => builder.with_profile(profile),
                None => builder,
            };
            let what = "environment, profile, SSO, web identity, container and instance were searched";
            chain.push(noted(what, trouble, found.build()))
        }
        AwsLogin::Environment => chain.push(noted(
            "`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` in the environment",
            trouble,
            EnvCredentialProvider::new(),
        )),
        AwsLogin::Profile(profile) => {
            let found = ProfileCredentialProvider::new();
            let found = match profile {
                Some(profile) => found.with_profile(profile),
                None => found,
            };
            chain.push(noted("the profile in `~/.aws`", trouble, found))
        }
        AwsLogin::Instance => {
            chain.push(noted("the instance's metadata service", trouble, IMDSv2CredentialProvider::new()))
        }
        AwsLogin::Container => chain.push(noted(
            "the container's service (`AWS_CONTAINER_CREDENTIALS_…`)",
            trouble,
            ECSCredentialProvider::new(),
        )),
        AwsLogin::WebIdentity => {
            let found = AssumeRoleWithWebIdentityCredentialProvider::new()
                .with_region(s3.region.clone())
                .with_regional_sts_endpoint();
            chain.push(noted("`AWS_ROLE_ARN` and `AWS_WEB_IDENTITY_TOKEN_FILE`", trouble, found))
        }
        AwsLogin::Anonymous => chain,
    }
}

fn noted<P>(what: &'static str, trouble: &LoginTrouble, source: P) -> Noted<P> {
    Noted { source, what, trouble: trouble.clone() }
}

/// The properties file of Aiven's plugin.
#[derive(Debug)]
struct OfFile {
    file: Watched<Credential>,
}

impl ProvideCredential for OfFile {
    type Credential = Credential;

    async fn provide_credential(&self, _: &Context) -> reqsign_core::Result<Option<Credential>> {
        let (mut credential, is_new) =
            self.file.value(parse_properties).await.map_err(reqsign_core::Error::credential_invalid)?;
        if is_new {
            tracing::info!("the credentials of `storage.aws.credentials.file` were read");
        }
        credential.expires_in = Some(Timestamp::now() + ASK_AGAIN);
        Ok(Some(credential))
    }
}

const PREFIXES: [&str; 3] = ["rsm.config.storage.", "storage.", ""];

/// Keys and token of a properties file, each with or without the prefix of a broker's file.
fn parse_properties(bytes: &[u8]) -> Result<Credential, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
    let value = |name: &str| {
        let found = text.lines().rev().find_map(|line| {
            let line = line.trim_start();
            if line.starts_with(['#', '!']) {
                return None;
            }
            let at = line.find(['=', ':'])?;
            let key = line[..at].trim();
            let is_it = PREFIXES.iter().any(|prefix| key.strip_prefix(prefix) == Some(name));
            is_it.then(|| line[at + 1..].trim().to_owned())
        });
        found.filter(|value| !value.is_empty())
    };
    let needed = |name: &str| value(name).ok_or_else(|| format!("`{name}` is not set in it"));
    Ok(Credential {
        access_key_id: needed("aws.access.key.id")?,
        secret_access_key: needed("aws.secret.access.key")?,
        session_token: value("aws.session.token"),
        expires_in: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_properties_file_of_aivens_plugin_is_understood() {
        let text = "# keys\naws.access.key.id = old\nrsm.config.storage.aws.access.key.id=AK\n! no\nstorage.aws.secret.access.key: s=e:c\n";
        let credential = parse_properties(text.as_bytes()).expect("valid");
        assert_eq!((credential.access_key_id.as_str(), credential.secret_access_key.as_str()), ("AK", "s=e:c"));
        assert_eq!(credential.session_token, None);
        let error = parse_properties(b"aws.access.key.id=AK\naws.secret.access.key=\n").expect_err("half");
        assert!(error.contains("`aws.secret.access.key` is not set"), "{error}");
    }

    #[tokio::test]
    async fn a_changed_file_is_read_again_and_a_broken_one_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("aws.properties");
        let provider = OfFile { file: Watched::new(path.to_str().expect("UTF-8")) };
        let context = Context::new();
        assert!(provider.provide_credential(&context).await.expect_err("not there").to_string().contains("aws.prop"));
        let write = |key: &str| {
            std::fs::write(&path, format!("aws.access.key.id={key}\naws.secret.access.key=s\n")).expect("written");
        };
        let key = async || provider.provide_credential(&context).await.expect("there").expect("some").access_key_id;
        write("first");
        assert_eq!(key().await, "first");
        write("the-second");
        assert_eq!(key().await, "first", "looked at once a second");
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert_eq!(key().await, "the-second");
        std::fs::write(&path, "nothing").expect("written");
        tokio::time::sleep(Duration::from_millis(1100)).await;
        assert_eq!(key().await, "the-second");
    }

    /// A signer that kept them would go on with keys that were taken away.
    #[tokio::test]
    async fn credentials_of_a_file_are_asked_for_with_each_request_and_taken_each_time() {
        use reqsign_core::SigningCredential as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p");
        std::fs::write(&path, "aws.access.key.id=a\naws.secret.access.key=s\n").expect("written");
        let provider = OfFile { file: Watched::new(path.to_str().expect("UTF-8")) };
        let credential = provider.provide_credential(&Context::new()).await.expect("there").expect("some");
        assert!(!credential.is_valid(), "not kept");
        assert!(credential.is_valid_at(Timestamp::now() + Duration::from_secs(11)), "but taken");
    }
}
